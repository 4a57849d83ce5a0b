/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morph split: Morph data out of a program, into a sidecar that is found by build ID. The sidecar is
 * written first: whatever fails, the data is in one of the two places.
 */

#define _GNU_SOURCE
#include "cli/verb.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "module/morph_data.h"
#include "module/sidecar.h"

int split_run(int argc, char **argv);

struct split {
	const char *path;
	const char *output; /* the sidecar's name, or NULL */
	const char *dir;    /* where sidecars are, by build ID; NULL: the system's */
	bool keep;	    /* leave the section in the program */
	bool json;
};

/* The program, held: whoever may write to its directory may move both, and put links in their place. */
struct place {
	int dir_fd, fd;
	char path[PATH_MAX]; /* without links */
	const char *name;    /* in @path */
};

static void place_done(struct place *place)
{
	if (place->fd >= 0)
		close(place->fd);
	if (place->dir_fd >= 0)
		close(place->dir_fd);
}

static int place_open(const char *path, struct place *ret, struct fault *reterr)
{
	char *slash;

	if (!realpath(path, ret->path))
		return fault_errno(reterr, -errno, "%s", path);
	slash = strrchr(ret->path, '/');
	ret->name = slash + 1;
	*slash = '\0';
	ret->dir_fd = open(ret->path[0] ? ret->path : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*slash = '/';
	if (ret->dir_fd >= 0)
		ret->fd = openat(ret->dir_fd, ret->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	return ret->fd < 0 ? fault_errno(reterr, -errno, "%s", path) : 0;
}

/* Before the sidecar is written: a program that cannot be replaced needs none. */
static int place_check(const struct place *place, struct fault *reterr)
{
	if (faccessat(place->dir_fd, ".", W_OK | X_OK, AT_EACCESS) == 0)
		return 0;
	return fault_errno(reterr, -errno,
			   "%s: cannot be replaced, for its directory cannot be written to; --keep leaves it "
			   "as it is",
			   place->path);
}

static int sidecar_name(const struct split *split, const struct image *image, char ret[PATH_MAX],
			struct fault *reterr)
{
	char *slash;
	int r;

	if (split->output) {
		if (snprintf(ret, PATH_MAX, "%s", split->output) >= PATH_MAX)
			return fault_errno(reterr, -ENAMETOOLONG, "%s", split->output);
		return 0;
	}
	r = sidecar_path(image_build_id(image), split->dir, ret, PATH_MAX);
	if (r < 0)
		return fault_set(reterr, r, "%s: has no build ID to find a sidecar by", split->path);
	slash = strrchr(ret, '/');
	*slash = '\0';
	r = file_mkdirs(ret, 0755, reterr);
	*slash = '/';
	return r;
}

/* All that is loaded stays; the program names its sidecar from now on. */
static int section_remove(const struct place *place, const struct image *image,
			  const struct image_section *section, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer file = { 0 };
	int r = sidecar_split(image, section->data, section->size, &file, reterr);

	return r < 0 ? r :
		       file_write_like(place->dir_fd, place->name, file.data, file.size, image_stat(image),
				       image_path(image), reterr);
}

static void result_show(const struct split *split, const struct image *image, const char *sidecar,
			size_t size)
{
	struct json json = json_to(stdout);
	char id[BUILD_ID_MAX_TEXT];

	if (!split->json) {
		printf("%s\n", SHOWN(sidecar));
		return;
	}
	json_object_begin(&json, NULL);
	json_string(&json, "program", split->path);
	json_string(&json, "build_id", build_id_text(image_build_id(image), id));
	json_string(&json, "sidecar", sidecar);
	json_u64(&json, "bytes", size);
	json_bool(&json, "kept", split->keep);
	json_object_end(&json);
}

static int split(const struct split *split, struct fault *reterr)
{
	_clean_(place_done) struct place place = { .dir_fd = -1, .fd = -1 };
	_clean_(morph_data_freep) struct morph_data *data = NULL;
	_clean_(image_freep) struct image *image = NULL;
	const struct image_section *section;
	char name[PATH_MAX];
	int r = place_open(split->path, &place, reterr);

	if (r == 0)
		r = image_open_fd(place.fd, split->path, &image, reterr);
	if (r < 0)
		return r;
	section = image_section_find(image, MORPH_SECTION);
	if (!section || !section->data)
		return fault_set(reterr, -ENODATA, "%s: has no section %s to split off", split->path,
				 MORPH_SECTION);
	r = morph_data_load(image, NULL, &data, reterr); /* never move what is damaged */
	if (r == 0)
		r = morph_data_unpack(data, reterr);
	if (r == 0 && !split->keep)
		r = place_check(&place, reterr);
	if (r == 0)
		r = sidecar_name(split, image, name, reterr);
	if (r == 0 && file_is_same(name, split->path))
		r = fault_set(reterr, -EINVAL, "%s: is the program itself; name another file for the sidecar",
			      name);
	if (r == 0)
		r = file_write(name, section->data, section->size, 0644, reterr);
	if (r == 0 && !split->keep)
		r = section_remove(&place, image, section, reterr);
	if (r == 0)
		result_show(split, image, name, section->size);
	return r;
}

int split_run(int argc, char **argv)
{
	static const struct option options[] = {
		{ "output", required_argument, NULL, 'o' }, { "dir", required_argument, NULL, 'd' },
		{ "keep", no_argument, NULL, 'k' },	    { "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },	    { NULL }
	};
	struct split s = { 0 };
	struct fault fault;
	int c;

	while ((c = getopt_long(argc, argv, "o:h", options, NULL)) >= 0) {
		if (c == 'o')
			s.output = optarg;
		else if (c == 'd')
			s.dir = optarg;
		else if (c == 'k')
			s.keep = true;
		else if (c == 'j')
			s.json = true;
		else
			return c == 'h' ? verb_help("split") : verb_usage("split");
	}
	if (optind + 1 != argc || (s.output && s.dir))
		return verb_usage("split");
	s.path = argv[optind];
	return split(&s, &fault) < 0 ? verb_fail("split", &fault) : VERB_DONE;
}

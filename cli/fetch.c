/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morph fetch: the sidecar that a program names, from debuginfod servers. Who talks to them is morph-fetch, in a sandbox with a
 * network and, when we are root, as user nobody; what it hands out is hashed here once more, and put where sidecars are.
 */

#define _GNU_SOURCE
#include "cli/verb.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <libgen.h>
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/prefix.h"
#include "base/text.h"
#include "module/morph_data.h"
#include "module/sidecar.h"
#include "sandbox/sandbox.h"

#define URLS_MAX 16
#define NOBODY "nobody"
#define LIMIT_BYTES (64ull << 20)
#define TIMEOUT_S 120
#define NOBODY_HAS_IT 3 /* morph-fetch's exit status */

int fetch_run(int argc, char **argv);

struct fetching {
	const char *path;   /* of the program */
	const char *output; /* the sidecar's name, or NULL */
	const char *dir;    /* where sidecars are, by build ID; NULL: ours */
	const char *urls[URLS_MAX + 1];
	size_t n_urls;
	bool json;
	/* what the sandbox needs */
	char program[PATH_MAX], place[PATH_MAX];
	char build_id[BUILD_ID_MAX_TEXT], sha256[SHA256_TEXT];
};

static int urls_add(struct fetching *f, const char *url)
{
	if (f->n_urls == URLS_MAX)
		return -E2BIG;
	f->urls[f->n_urls++] = url;
	return 0;
}

/* What elfutils' tools use, too. @text is kept. */
static int urls_of_environment(struct fetching *f, char *text)
{
	char *rest = NULL;
	int r = 0;

	for (char *url = strtok_r(text, " \t\n", &rest); url && r == 0; url = strtok_r(NULL, " \t\n", &rest))
		r = urls_add(f, url);
	return r;
}

/* ---- in the sandbox ---- */

static int ask(void *userdata)
{
	struct fetching *f = userdata;
	char limit[32];
	const char *words[URLS_MAX + 16] = { f->program, "--build-id", f->build_id, "--sha256", f->sha256,
					     "-o",	 "sidecar",    "--limit",   limit,	"--" };
	size_t n = 10;

	snprintf(limit, sizeof(limit), "%llu", LIMIT_BYTES);
	for (size_t i = 0; i < f->n_urls; i++)
		words[n++] = f->urls[i];
	execv(f->program, (char *const *)words);
	fprintf(stderr, "%s: %s\n", f->program, strerror(errno));
	return 1;
}

static int ask_in_sandbox(struct fetching *f, const struct passwd *user, struct fault *reterr)
{
	char beside[PATH_MAX];
	const char *const readable[] = { "/usr",  "/lib",	  "/lib64",	   "/bin", "/etc/ld.so.cache",
					 "/proc", "/dev/urandom", SANDBOX_NETWORK, beside, NULL };
	const struct sandbox_options options = { .uid = user ? user->pw_uid : (uid_t)-1,
						 .gid = user ? user->pw_gid : (gid_t)-1,
						 .directory = f->place,
						 .readable = readable,
						 .limits = { .file_bytes = LIMIT_BYTES, .cpu_s = TIMEOUT_S },
						 .timeout_s = TIMEOUT_S + 10,
						 .network = true,
						 .userdata = f,
						 .keep_fd = -1 };
	struct sandbox_report report = { 0 };
	int status, r;

	snprintf(beside, sizeof(beside), "%s", f->program);
	dirname(beside);
	r = sandbox_run(&options, ask, &report, &status, reterr);
	if (r < 0)
		return r;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	return fault_set(reterr, -ENODATA, "%s: its sidecar was not found (build ID %s)%s", f->path,
			 f->build_id,
			 WIFEXITED(status) && WEXITSTATUS(status) == NOBODY_HAS_IT ?
				 "; no server has it" :
				 "; what the servers did stands above");
}

/* ---- what came out ---- */

/* Root's go where `morph` and morphd look by themselves. */
static int directory_of(const struct fetching *f, char ret[PATH_MAX], struct fault *reterr)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	int n;

	if (f->dir)
		n = snprintf(ret, PATH_MAX, "%s", f->dir);
	else if (geteuid() == 0)
		n = snprintf(ret, PATH_MAX, "%s", SIDECAR_FETCHED_DIR);
	else if (cache && *cache)
		n = snprintf(ret, PATH_MAX, "%s/morph/sidecars", cache);
	else if (home && *home)
		n = snprintf(ret, PATH_MAX, "%s/.cache/morph/sidecars", home);
	else
		return fault_set(reterr, -ENOENT,
				 "there is no $HOME to keep a sidecar in; say where with --dir");
	return n < PATH_MAX ? 0 : fault_errno(reterr, -ENAMETOOLONG, "%.100s", ret);
}

static int name_of(const struct fetching *f, const struct image *image, char ret[PATH_MAX],
		   char directory[PATH_MAX], struct fault *reterr)
{
	char parent[PATH_MAX];
	int r;

	directory[0] = '\0';
	if (f->output)
		return snprintf(ret, PATH_MAX, "%s", f->output) < PATH_MAX ?
			       0 :
			       fault_errno(reterr, -ENAMETOOLONG, "%.100s", f->output);
	r = directory_of(f, directory, reterr);
	if (r == 0 && sidecar_path(image_build_id(image), directory, ret, PATH_MAX) < 0)
		r = fault_errno(reterr, -ENAMETOOLONG, "%s", directory);
	if (r < 0)
		return r;
	snprintf(parent, sizeof(parent), "%s", ret);
	return file_mkdirs(dirname(parent), 0755, reterr);
}

static void result_show(const struct fetching *f, const char *name, const char *directory, size_t size)
{
	struct json json = json_to(stdout);

	if (!f->json) {
		printf("%s\n", SHOWN(name));
		if (*directory && strcmp(directory, SIDECAR_FETCHED_DIR) != 0)
			fprintf(stderr, "morph fetch: say --sidecar-dir %s where it is needed\n",
				SHOWN(directory));
		return;
	}
	json_object_begin(&json, NULL);
	json_string(&json, "program", f->path);
	json_string(&json, "build_id", f->build_id);
	json_string(&json, "sha256", f->sha256);
	json_string(&json, "sidecar", name);
	json_u64(&json, "bytes", size);
	json_object_end(&json);
}

static int sidecar_take(const struct fetching *f, const struct image *image, struct fault *reterr)
{
	_clean_(file_map_donep) struct file_map map = { 0 };
	_clean_(fd_closep) int fd = -1;
	char from[PATH_MAX + 16], to[PATH_MAX], directory[PATH_MAX];
	int r;

	snprintf(from, sizeof(from), "%s/sidecar", f->place);
	fd = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return fault_errno(reterr, -errno, "%s", from);
	r = file_map_fd(fd, from, &map, reterr);
	if (r == 0)
		r = sidecar_check(image, map.data, map.size, "what was fetched", reterr);
	if (r == 0)
		r = name_of(f, image, to, directory, reterr);
	if (r == 0)
		r = file_write(to, map.data, map.size, 0644, reterr);
	if (r == 0)
		result_show(f, to, directory, map.size);
	return r;
}

/* ---- the whole ---- */

static int place_make(struct fetching *f, const struct passwd *user, struct fault *reterr)
{
	snprintf(f->place, sizeof(f->place), "/var/tmp/morph-fetch.XXXXXX");
	if (!mkdtemp(f->place))
		return fault_errno(reterr, -errno, "%s", f->place);
	if (user && chown(f->place, user->pw_uid, user->pw_gid) < 0)
		return fault_errno(reterr, -errno, "%s", f->place);
	return 0;
}

static int named(struct fetching *f, const struct image *image, struct fault *reterr)
{
	const struct image_section *section = image_section_find(image, MORPH_SECTION);
	uint8_t hash[SHA256_BYTES];

	if (section && section->data)
		return fault_set(reterr, -EEXIST,
				 "%s: carries its Morph data itself; nothing is to be fetched", f->path);
	if (sidecar_named(image, hash) < 0 || image_build_id(image)->size < BUILD_ID_MIN_BYTES)
		return fault_set(
			reterr, -ENODATA,
			"%s: names no sidecar, so nothing that a server has could be believed; build it "
			"with morph cc",
			f->path);
	sha256_text(hash, f->sha256);
	build_id_text(image_build_id(image), f->build_id);
	return prefix_program(PREFIX_LIBEXEC, "morph-fetch", f->program, reterr);
}

static int fetch(struct fetching *f, struct fault *reterr)
{
	_clean_(image_freep) struct image *image = NULL;
	const struct passwd *user = geteuid() == 0 ? getpwnam(NOBODY) : NULL;
	int r = image_open(f->path, &image, reterr);

	if (r == 0)
		r = named(f, image, reterr);
	if (r == 0 && geteuid() == 0 && !user)
		r = fault_set(reterr, -ENOENT,
			      "there is no user " NOBODY " to talk to servers as; run this as another user");
	if (r == 0)
		r = place_make(f, user, reterr);
	if (r == 0)
		r = ask_in_sandbox(f, user, reterr);
	if (r == 0)
		r = sidecar_take(f, image, reterr);
	if (f->place[0])
		file_remove_tree(f->place, NULL);
	return r;
}

int fetch_run(int argc, char **argv)
{
	static const struct option options[] = {
		{ "output", required_argument, NULL, 'o' }, { "dir", required_argument, NULL, 'd' },
		{ "url", required_argument, NULL, 'u' },    { "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },	    { NULL }
	};
	_clean_(freep) char *environment = strdup(getenv("DEBUGINFOD_URLS") ?: "");
	struct fetching f = { 0 };
	struct fault fault = { "" };
	bool full = false;
	int c;

	while ((c = getopt_long(argc, argv, "o:h", options, NULL)) >= 0) {
		if (c == 'o')
			f.output = optarg;
		else if (c == 'd')
			f.dir = optarg;
		else if (c == 'u')
			full |= urls_add(&f, optarg) < 0;
		else if (c == 'j')
			f.json = true;
		else
			return c == 'h' ? verb_help("fetch") : verb_usage("fetch");
	}
	if (optind + 1 != argc || (f.output && f.dir) || !environment)
		return verb_usage("fetch");
	if (!f.n_urls)
		full |= urls_of_environment(&f, environment) < 0;
	f.path = argv[optind];
	if (full || !f.n_urls) {
		fault_set(&fault, -EINVAL,
			  full ? "more than %d servers" :
				 "no server is named; set DEBUGINFOD_URLS, or give up to %d with --url",
			  URLS_MAX);
		return verb_refuse("fetch", &fault);
	}
	return fetch(&f, &fault) < 0 ? verb_fail("fetch", &fault) : VERB_DONE;
}

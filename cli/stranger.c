/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "cli/stranger.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "manager/place/place.h"
#include "module/morph_data.h"

/* As morphd has them; its answer to Status names them. */
static int rules_get(const struct daemon_options *options, struct settings *ret)
{
	_clean_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	_clean_(record_done) struct record daemon = { 0 };
	struct fault ignored;
	const char *prefixes, *owners;
	int r = settings_init(ret);

	if (r == 0)
		r = daemon_call(options, "Status", &reply, &ignored, "", NULL, NULL, 0);
	if (r == 0)
		r = record_read(reply, &daemon);
	prefixes = r < 0 ? NULL : record_text(&daemon, "prefixes");
	owners = r < 0 ? NULL : record_text(&daemon, "owners");
	if (!prefixes || !owners)
		return -ENODATA;
	ret->uid = (unsigned)record_integer(&daemon, "uid");
	r = config_set(settings_keys, "prefixes", prefixes, ret, &ignored);
	return r < 0 ? r : config_set(settings_keys, "owners", owners, ret, &ignored);
}

/* The first rule that keeps the file from being taken; 0 when none does. */
static int rules_try(const struct settings *rules, int fd, const char *typed, struct fault *reterr)
{
	_clean_(freep) char *path = realpath(typed, NULL);
	_clean_(fd_closep) int dir_fd = -1;
	char directory[PATH_MAX];
	const char *slash = path ? strrchr(path, '/') : NULL;
	int r = slash ? place_check_listed(rules, path, reterr) : fault_errno(reterr, -errno, "%s", typed);

	if (r < 0)
		return r;
	snprintf(directory, sizeof(directory), "%.*s", slash > path ? (int)(slash - path) : 1, path);
	dir_fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0)
		return fault_errno(reterr, -errno, "%s", directory);
	r = place_check_writers(rules, dir_fd, fd, path, reterr);
	return r < 0 ? r : place_check_mount(rules, fd, path, reterr);
}

/* What the file itself says: 0 when it could be optimized. */
static int content_try(int fd, const char *path, struct fault *reterr)
{
	_clean_(image_freep) struct image *image = NULL;
	struct morph_peek peek;
	int r = image_open_fd(fd, path, &image, reterr);

	if (r == 0 && !image_build_id(image)->size)
		r = fault_set(reterr, -ENODATA,
			      "%s: has no build ID of at least 8 bytes; link with --build-id", path);
	if (r == 0)
		r = morph_data_peek(image, NULL, &peek, reterr);
	if (r == 0 && peek.origin.size)
		r = fault_set(reterr, -ENODATA, "%s: is a generation made elsewhere", path);
	return r;
}

void stranger_explain(const struct daemon_options *options, const char *path, struct fault *ret)
{
	_clean_(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int error = fd < 0 ? errno : 0, r;
	struct settings rules;
	struct stat st;

	if (error == ENOENT || error == ENOTDIR) {
		fault_set(ret, -error, "%s: does not exist, and is not known to morphd", path);
		return;
	}
	r = rules_get(options, &rules);
	if (fd < 0 || fstat(fd, &st) < 0)
		fault_errno(ret, -(error ?: errno), "not known to morphd; and you cannot read it: %s", path);
	else if (!S_ISREG(st.st_mode))
		fault_set(ret, -EINVAL, "not known to morphd; and not a regular file: %s", path);
	else if (content_try(fd, path, ret) < 0 || (r == 0 && rules_try(&rules, fd, path, ret) < 0))
		fault_prefix(ret, -ENODATA, "not known to morphd");
	else
		fault_set(ret, -ENODATA,
			  "%s: carries Morph data and is not known to morphd: it was not seen running yet; "
			  "`morph reoptimize` makes it known",
			  path);
	settings_done(&rules);
}

/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/program/examine.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "manager/place/place.h"
#include "manager/program/sidecars.h"
#include "module/image.h"
#include "module/morph_data.h"
#include "module/sidecar.h"

static void say(struct examination *e, enum carries carries, const char *note)
{
	e->carries = carries;
	snprintf(e->note, sizeof(e->note), "%s", note);
}

static void look_inside(const struct settings *settings, const struct image *image, struct examination *e)
{
	struct morph_peek data = { 0 };
	char sidecars[PATH_MAX];
	struct fault fault = { "" };
	int r = morph_data_peek(image, sidecars_directory(settings, e->build_id, sidecars), &data, &fault);

	if (r == -ENODATA)
		say(e, CARRIES_NO, "it carries no Morph data; build it with `morph-cc`");
	else if (r == -ENOENT && sidecar_named(image, e->sidecar) == 0)
		say(e, CARRIES_ELSEWHERE,
		    "its Morph data is a sidecar that is not installed; install the package that has it, or "
		    "set "
		    "debuginfod_urls in morphd.conf");
	else if (r < 0)
		say(e, CARRIES_NO, fault.text);
	else if (data.origin.size)
		say(e, CARRIES_NO, "it is a generation made elsewhere: the shipped file is not known here");
	else
		e->carries = CARRIES_YES;
	snprintf(e->llvm_version, sizeof(e->llvm_version), "%s", data.llvm_version);
}

static void identify(const struct settings *settings, const char *build_id, struct examination *e)
{
	_clean_(image_freep) struct image *image = NULL;
	struct fault fault = { "" };

	if (image_open_fd(e->file.fd, e->file.path, &image, &fault) < 0) {
		say(e, CARRIES_NO, fault.text);
		return;
	}
	build_id_text(image_build_id(image), e->build_id);
	if (!e->build_id[0])
		say(e, CARRIES_NO, "it has no build ID of at least 8 bytes; link with --build-id");
	else if (build_id && strcmp(build_id, e->build_id) != 0)
		say(e, CARRIES_REFUSED, "the file at its path is another build");
	else
		look_inside(settings, image, e);
}

int examine_open(const struct settings *settings, const char *path, struct examination *ret,
		 struct fault *reterr)
{
	*ret = (struct examination){ .file = { .dir_fd = -1, .fd = -1 } };
	return replacement_open(settings->root, path, &ret->file, reterr);
}

static int place_check(const struct settings *settings, const struct replacement *file, bool is_known,
		       struct fault *reterr)
{
	int r = is_known ? 0 : place_check_listed(settings, file->path, reterr);

	if (r == 0)
		r = place_check_writers(settings, file->dir_fd, file->fd, file->path, reterr);
	return r < 0 || is_known ? r : place_check_mount(settings, file->fd, file->path, reterr);
}

void examine_inside(const struct settings *settings, const char *build_id, bool is_known,
		    struct examination *e)
{
	struct fault fault = { "" };

	e->is_misplaced = place_check(settings, &e->file, is_known, &fault) < 0;
	if (e->is_misplaced)
		say(e, CARRIES_REFUSED, fault.text);
	else
		identify(settings, build_id, e);
	if (e->carries == CARRIES_UNKNOWN)
		e->carries = CARRIES_REFUSED;
}

int examine_file(const struct settings *settings, const char *path, const char *build_id,
		 struct examination *ret, struct fault *reterr)
{
	int r = place_check_listed(settings, path, reterr);

	*ret = (struct examination){ .file = { .dir_fd = -1, .fd = -1 } };
	if (r == 0)
		r = examine_open(settings, path, ret, reterr);
	if (r < 0)
		return r;
	examine_inside(settings, build_id, false, ret);
	return 0;
}

void examination_done(struct examination *examination)
{
	replacement_done(&examination->file);
}

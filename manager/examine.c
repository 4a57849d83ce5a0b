/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/examine.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "module/image.h"
#include "module/morph_data.h"

static void say(struct examination *e, enum carries carries, const char *note)
{
	e->carries = carries;
	snprintf(e->note, sizeof(e->note), "%s", note);
}

static void look_inside(const struct settings *settings, const struct image *image,
			struct examination *e)
{
	_clean_(morph_data_freep) struct morph_data *data = NULL;
	char sidecars[PATH_MAX];
	struct fault fault = { "" };
	int r = morph_data_load(image, settings_path(settings, settings->sidecar_directory, sidecars),
				&data, &fault);

	if (r == -ENODATA)
		say(e, CARRIES_NO, "it carries no Morph data; build it with `morph cc`");
	else if (r < 0)
		say(e, CARRIES_NO, fault.text);
	else if (!data->n_modules)
		say(e, CARRIES_NO, "it is a generation made elsewhere: the shipped file is not known here");
	else
		e->carries = CARRIES_YES;
	if (data && data->llvm_version)
		snprintf(e->llvm_version, sizeof(e->llvm_version), "%s", data->llvm_version);
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
		say(e, CARRIES_NO, "it has no build ID; link with --build-id");
	else if (build_id && strcmp(build_id, e->build_id) != 0)
		say(e, CARRIES_REFUSED, "the file at its path is another build");
	else
		look_inside(settings, image, e);
}

int examine_file(const struct settings *settings, const char *path, const char *build_id,
		 struct examination *ret, struct fault *reterr)
{
	int r;

	*ret = (struct examination){ .file = { .dir_fd = -1, .fd = -1 } };
	r = replacement_open(settings->root, path, &ret->file, reterr);
	if (r < 0)
		return r;
	if (settings_owner_is_allowed(settings, ret->file.st.st_uid))
		identify(settings, build_id, ret);
	else
		snprintf(ret->note, sizeof(ret->note),
			 "it belongs to user %u, and morphd.conf does not list that user in owners",
			 ret->file.st.st_uid);
	if (ret->carries == CARRIES_UNKNOWN)
		ret->carries = CARRIES_REFUSED;
	return 0;
}

void examination_done(struct examination *examination)
{
	replacement_done(&examination->file);
}

/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "fleet/counts_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/base64.h"
#include "base/child.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "module/image.h"
#include "module/morph_data.h"
#include "profiles/infer/estimate.h"

#define TIMEOUT_S 60

struct counts {
	struct exchange *exchange;
	struct buffer text;
	struct counts_report report;
};

/* ---- which programs ---- */

/* Of the shipped file; false: it carries nothing for Morph, or is no program at all. */
static bool build_find(const char *path, struct build_id *ret)
{
	_clean_(image_freep) struct image *image = NULL;
	struct morph_peek peek = { 0 };
	struct fault ignored;
	struct stat st;
	int r;

	if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode) || image_open(path, &image, &ignored) < 0)
		return false;
	r = morph_data_peek(image, NULL, &peek, &ignored);
	/* A sidecar that is not installed says nothing of the program but that it has one. */
	*ret = r == 0 && peek.origin.size ? peek.origin : *image_build_id(image);
	return (r == 0 || r == -ENOENT) && ret->size >= BUILD_ID_MIN_BYTES;
}

/* The package manager's list; NUL-terminated. */
static int package_list(const char *name, struct buffer *ret, struct fault *reterr)
{
	char *const dpkg[] = { (char *)"dpkg-query", (char *)"-L", (char *)"--", (char *)name, NULL };
	char *const rpm[] = { (char *)"rpm", (char *)"-ql", (char *)"--", (char *)name, NULL };
	_clean_(buffer_donep) struct buffer err = { 0 };
	struct child_options options = { .retout = ret, .reterrout = &err, .timeout_s = TIMEOUT_S };
	struct fault ignored;

	if (child_check(dpkg, &options, &ignored) == 0)
		return 0;
	buffer_done(ret);
	*ret = (struct buffer){ 0 };
	if (child_check(rpm, &options, &ignored) == 0)
		return 0;
	return fault_set(reterr, -ENOENT,
			 "%.200s: no package of that name is installed; a program is named by its path",
			 name);
}

/* ---- what the fleet counted of one ---- */

static int profile_append(struct counts *c, const char *path, const struct profile *profile)
{
	_clean_(buffer_donep) struct buffer bytes = { 0 };
	char id[BUILD_ID_MAX_TEXT];

	if (profile_encode(profile, &bytes) < 0 || bytes.bad)
		return -ENOMEM;
	buffer_printf(&c->text, "\nProgram: %s\nBuild-Id: %s\nSamples: %.0f\nProfile:\n", path,
		      build_id_text(&profile->build_id, id), profile->samples);
	base64_append(&c->text, bytes.data, bytes.size, " ");
	c->report.n_programs++;
	c->report.samples += profile->samples;
	return c->text.bad ? -ENOMEM : 0;
}

/* Counts from what machines saw: the file that they saw it in is at hand here, and will not be where the counts are read. */
static int profile_complete(const char *path, struct profile *profile, struct fault *reterr)
{
	_clean_(morph_data_freep) struct morph_data *data = NULL;
	_clean_(image_freep) struct image *image = NULL;
	int r = profile->n_seen ? image_open(path, &image, reterr) : 0;

	if (r < 0 || !profile->n_seen)
		return r;
	if (!build_id_is_equal(image_build_id(image), &profile->build_id))
		return fault_set(
			reterr, -EXDEV,
			"%s: Morph has put a generation into its place, and counts are estimated from the "
			"shipped file; `morph rollback` it, or say export where Morph does not run",
			SHOWN(path));
	r = morph_data_load(image, NULL, &data, reterr);
	if (r == 0 && !data->map)
		r = fault_set(reterr, -ENODATA, "%s: its Morph data has no block map", SHOWN(path));
	return r < 0 ? r : estimate_seen(data->map, image, profile, reterr);
}

static int program_add(struct counts *c, const char *path, struct fault *reterr)
{
	_clean_(profile_freep) struct profile *profile = NULL;
	struct fault fault = { "" };
	struct build_id id;
	int r;

	if (!build_find(path, &id))
		return 0;
	r = exchange_ask(c->exchange, &id, &profile, &fault);
	if (r == -ENODATA) {
		log_info("%s: %s", SHOWN(path), fault.text);
		c->report.n_unknown++;
		return 0;
	}
	if (r == 0)
		r = profile_complete(path, profile, &fault);
	if (r < 0) {
		*reterr = fault;
		return r;
	}
	/* A path that a line cannot hold would be another one there. */
	if (strpbrk(path, "\n\r") || strlen(path) > 4000)
		return fault_set(reterr, -EINVAL, "%.200s: a path that no such file can hold", SHOWN(path));
	return profile_append(c, path, profile) < 0 ? fault_errno(reterr, -ENOMEM, "%s", path) : 0;
}

static int programs_add(struct counts *c, const char *name, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer list = { 0 };
	char *rest = NULL;
	int r = 0;

	if (strchr(name, '/')) {
		_clean_(freep) char *path = realpath(name, NULL);

		return path ? program_add(c, path, reterr) : fault_errno(reterr, -errno, "%.200s", name);
	}
	r = package_list(name, &list, reterr);
	if (r < 0)
		return r;
	for (char *path = strtok_r((char *)list.data, "\n", &rest); path && r == 0;
	     path = strtok_r(NULL, "\n", &rest))
		r = program_add(c, path, reterr);
	return r;
}

static int counts_make(struct counts *c, const char *name, const char *output, struct fault *reterr)
{
	int r;

	buffer_printf(&c->text, "# What a fleet's machines counted of %s; `morph fleet export` wrote it.\n",
		      name);
	buffer_printf(&c->text,
		      "# In a source package it is debian/PACKAGE.morph-counts, which dh_morph(1) reads.\n");
	r = programs_add(c, name, reterr);
	if (r < 0)
		return r;
	if (!c->report.n_programs)
		return fault_set(reterr, -ENODATA,
				 c->report.n_unknown ?
					 "%.200s: the fleet knows none of its %zu programs that carry IR" :
					 "%.200s: nothing of it carries IR",
				 name, c->report.n_unknown);
	return file_write(output, c->text.data, c->text.size, 0644, reterr);
}

int counts_file_write(struct exchange *exchange, const char *name, const char *output,
		      struct counts_report *retreport, struct fault *reterr)
{
	struct counts c = { .exchange = exchange };
	int r = counts_make(&c, name, output, reterr);

	*retreport = c.report;
	buffer_done(&c.text);
	return r;
}

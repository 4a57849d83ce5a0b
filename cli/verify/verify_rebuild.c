/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The recorded edit once more: the store's shipped file, profile and options, this machine's Morph and LLVM. An edit is
 * a function of these (docs/decisions/0081), so the bytes must be the generation's.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "base/config.h"
#include "base/file.h"
#include "base/json_reader.h"
#include "base/macro.h"
#include "cli/shared/repeat.h"
#include "cli/verify/verify.h"
#include "manager/keep/path.h"
#include "manager/keep/store.h"

static int _printf_(3, 4) say(struct verdict *v, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(v->rebuilt, sizeof(v->rebuilt), fmt, ap);
	va_end(ap);
	return code;
}

/* ---- may it be repeated here? ---- */

static int version_check(struct json_reader *report, const char *name, const char *query, const char *what,
			 const char *here, struct verdict *v)
{
	_clean_(freep) char *made_by = json_reader_text(report, query);

	if (!made_by)
		return say(v, -ENODATA, "cannot be repeated: %s does not say which %s made it", name, what);
	if (strcmp(made_by, here) != 0)
		return say(v, -ENOTSUP, "cannot be repeated here: it was made by %s %s, and this is %s", what,
			   made_by, here);
	return 0;
}

static int inputs_check(struct repeat *b, const struct record_program *program,
			const struct record_generation *g, struct verdict *v)
{
	const struct record_generation *shipped = record_generation_find(program, 0);
	_clean_(freep) char *recorded = json_reader_text(b->made, "$.profile_sha256");
	struct fault fault = { "" };

	if (!shipped || store_check_file(b->original, shipped->digest, &fault) < 0)
		return say(v, 0, "the shipped file in the store is not what the edit began with: %s",
			   fault.text);
	if (store_check_file(b->binary, g->digest, &fault) < 0)
		return say(v, 0, "the generation in the store is not what was made: %s", fault.text);
	if (access(b->profile, R_OK) < 0)
		return say(v, -ENOENT, "cannot be repeated: %s: %s", b->profile, strerror(errno));
	if (recorded && store_check_file(b->profile, recorded, &fault) < 0)
		return say(v, 0, "the profile in the store is not the one it was made from: %s", fault.text);
	return 0;
}

/* ---- the edit ---- */

/* Where do they part? */
static int compare(const struct repeat *b, const char *out, struct verdict *v)
{
	_clean_(file_map_donep) struct file_map was = { 0 }, is = { 0 };
	struct fault fault = { "" };
	size_t at = 0, n = 0;

	if (file_map_open(b->binary, &was, &fault) < 0 || file_map_open(out, &is, &fault) < 0)
		return say(v, -EIO, "%s", fault.text);
	if (was.size == is.size && memcmp(was.data, is.data, is.size) == 0)
		return say(v, 1, "the recorded edit gives the same %zu bytes", is.size);
	for (size_t i = MIN(was.size, is.size); i-- > 0;)
		if (was.data[i] != is.data[i]) {
			at = i;
			n++;
		}
	return say(v, 0, "the recorded edit gives other bytes: %zu of %zu differ, the first at offset %zu%s",
		   n, MIN(was.size, is.size), n ? at : MIN(was.size, is.size),
		   was.size != is.size ? ", and its size is another one" : "");
}

static int edit(struct repeat *b, struct verdict *v)
{
	struct fault fault = { "" };
	_clean_(json_reader_freep) struct json_reader *again = NULL;
	char out[PATH_MAX], report[PATH_MAX + 8];
	int r = repeat_command(b, path_join(b->directory, "out", out), &fault);

	if (r == 0)
		r = repeat_run(b, &fault);
	if (r < 0)
		return say(v, -ECHILD, "the recorded edit cannot be repeated: %.300s", fault.text);
	snprintf(report, sizeof(report), "%s.json", out);
	again = json_reader_open(report);
	r = version_check(again, report, "$.llvm", "LLVM", MORPH_LLVM_VERSION, v);
	return r < 0 ? r : compare(b, out, v);
}

int verify_rebuild(const struct settings *settings, const struct record_program *program, int64_t number,
		   const char *store, struct verdict *ret)
{
	const struct record_generation *g = record_generation_find(program, number);
	_clean_(repeat_done) struct repeat b = { 0 };
	char sidecars[PATH_MAX];
	struct fault fault = { "" };
	int r;

	if (!g || !store[0])
		return say(ret, -EACCES, "only root can repeat an edit: the store is root's");
	snprintf(sidecars, sizeof(sidecars), "%s%s", settings->root, settings->sidecar_directory);
	repeat_of_store(&b, store, program->build_id, number, sidecars);
	ret->rebuilt[0] = '\0';
	r = inputs_check(&b, program, g, ret);
	if (r < 0 || ret->rebuilt[0])
		return r;
	r = version_check(b.made, b.report, "$.morph", "Morph", MORPH_VERSION, ret);
	if (r == 0)
		r = version_check(b.made, b.report, "$.llvm", "LLVM", MORPH_LLVM_VERSION, ret);
	if (r == 0 && repeat_directory(&b, program->build_id, &fault) < 0)
		r = say(ret, -EIO, "%s", fault.text);
	return r < 0 ? r : edit(&b, ret);
}

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
#include <sys/stat.h>
#include <unistd.h>

#include "base/child.h"
#include "base/config.h"
#include "base/file.h"
#include "base/json_reader.h"
#include "base/macro.h"
#include "cli/verify/verify.h"
#include "manager/keep/path.h"
#include "manager/keep/store.h"

#define WORDS_MAX 24

struct rebuild {
	char directory[64]; /* temporary; "": not made */
	char report[PATH_MAX], profile[PATH_MAX], original[PATH_MAX], binary[PATH_MAX], sidecar[PATH_MAX];
	char sidecars[PATH_MAX], out[PATH_MAX];
	struct json_reader *made; /* owned; what the report says */
	char *words[WORDS_MAX];	  /* owned */
	size_t n_words;
};

static int _printf_(3, 4) say(struct verdict *v, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(v->rebuilt, sizeof(v->rebuilt), fmt, ap);
	va_end(ap);
	return code;
}

static void rebuild_done(struct rebuild *b)
{
	if (b->directory[0])
		file_remove_tree(b->directory, NULL);
	json_reader_free(b->made);
	for (size_t i = 0; i < b->n_words; i++)
		free(b->words[i]);
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

static int inputs_check(struct rebuild *b, const struct record_program *program,
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

static void _printf_(2, 3) word(struct rebuild *b, const char *fmt, ...)
{
	va_list ap;

	if (b->n_words + 1 == WORDS_MAX)
		return;
	va_start(ap, fmt);
	if (vasprintf(&b->words[b->n_words], fmt, ap) >= 0)
		b->n_words++;
	va_end(ap);
}

static int directory_make(struct rebuild *b, const char *build_id, struct verdict *v)
{
	char name[PATH_MAX], parent[PATH_MAX];
	struct fault fault = { "" };
	int r = 0;

	strcpy(b->directory, "/tmp/morph-verify.XXXXXX");
	if (!mkdtemp(b->directory)) {
		b->directory[0] = '\0';
		return say(v, -errno, "/tmp: %s", strerror(errno));
	}
	path_join(b->directory, "out", b->out);
	if (access(b->sidecar, F_OK) != 0)
		return 0;
	/* The Morph data that the package had in a file of its own, which may be gone by now. */
	path_join(b->directory, "sidecars", b->sidecars);
	snprintf(parent, sizeof(parent), "%.64s/sidecars/%.2s", b->directory, build_id);
	snprintf(name, sizeof(name), "%.80s/%.128s.morph", parent, build_id + 2);
	if (chmod(b->directory, 0755) < 0)
		r = -errno;
	if (r == 0)
		r = file_mkdirs(parent, 0755, &fault);
	if (r == 0)
		r = file_copy(b->sidecar, name, &fault);
	if (r == 0 && chmod(name, 0644) < 0)
		r = -errno;
	return r < 0 ? say(v, r, "%s: %s", name, fault.text) : 0;
}

static int command_make(struct rebuild *b, struct verdict *v)
{
	_clean_(freep) char *cpu = json_reader_text(b->made, "$.cpu");
	_clean_(freep) char *tune = json_reader_text(b->made, "$.tuned_for");
	_clean_(freep) char *rebased = json_reader_text(b->made, "$.rebased");
	double layout_only = 0;
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n < 0)
		return say(v, -errno, "/proc/self/exe: %s", strerror(errno));
	self[n] = '\0';
	word(b, "%s", self);
	word(b, "optimize");
	word(b, "%s", b->original);
	word(b, "--profile=%s", b->profile);
	word(b, "--output=%s", b->out);
	word(b, "--report=%s.json", b->out);
	word(b, "--sidecar-dir=%s", b->sidecars);
	word(b, "--cpu=%s", cpu ? cpu : "shipped");
	if (cpu && tune)
		word(b, "--tune=%s", tune);
	if (json_reader_number(b->made, "$.layout_only", &layout_only) && layout_only == 1)
		word(b, "--layout-only");
	if (rebased)
		word(b, "--rebase");
	word(b, "--memory=0");
	word(b, "--force");
	return 0;
}

/* Where do they part? */
static int compare(const struct rebuild *b, struct verdict *v)
{
	_clean_(file_map_donep) struct file_map was = { 0 }, is = { 0 };
	struct fault fault = { "" };
	size_t at = 0, n = 0;

	if (file_map_open(b->binary, &was, &fault) < 0 || file_map_open(b->out, &is, &fault) < 0)
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

static int edit(struct rebuild *b, struct verdict *v)
{
	_clean_(buffer_donep) struct buffer err = { 0 };
	struct child_options options = { .reterrout = &err };
	struct fault fault = { "" };
	_clean_(json_reader_freep) struct json_reader *again = NULL;
	char report[PATH_MAX + 8];
	int r = command_make(b, v);

	if (r < 0)
		return r;
	if (child_check(b->words, &options, &fault) < 0)
		return say(v, -ECHILD, "the recorded edit cannot be repeated: %.300s", fault.text);
	snprintf(report, sizeof(report), "%s.json", b->out);
	again = json_reader_open(report);
	r = version_check(again, report, "$.llvm", "LLVM", MORPH_LLVM_VERSION, v);
	return r < 0 ? r : compare(b, v);
}

int verify_rebuild(const struct settings *settings, const struct record_program *program, int64_t number,
		   const char *store, struct verdict *ret)
{
	const struct record_generation *g = record_generation_find(program, number);
	_clean_(rebuild_done) struct rebuild b = { 0 };
	int r;

	if (!g || !store[0])
		return say(ret, -EACCES, "only root can repeat an edit: the store is root's");
	store_path(store, program->build_id, "original", b.original);
	store_generation_path(store, program->build_id, number, "binary", b.binary);
	store_generation_path(store, program->build_id, number, "profile", b.profile);
	store_generation_path(store, program->build_id, number, "report.json", b.report);
	store_generation_path(store, program->build_id, number, "sidecar", b.sidecar);
	snprintf(b.sidecars, sizeof(b.sidecars), "%s%s", settings->root, settings->sidecar_directory);
	ret->rebuilt[0] = '\0';
	b.made = json_reader_open(b.report);
	r = inputs_check(&b, program, g, ret);
	if (r < 0 || ret->rebuilt[0])
		return r;
	r = version_check(b.made, b.report, "$.morph", "Morph", MORPH_VERSION, ret);
	if (r == 0)
		r = version_check(b.made, b.report, "$.llvm", "LLVM", MORPH_LLVM_VERSION, ret);
	if (r == 0)
		r = directory_make(&b, program->build_id, ret);
	return r < 0 ? r : edit(&b, ret);
}

/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "cli/tune/candidates.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/child.h"
#include "base/file.h"
#include "base/json.h"
#include "base/table.h"
#include "base/text.h"
#include "cli/shared/self.h"
#include "module/image.h"

/* A new one is a line, and its name in morph-tune(1). */
static const struct candidate_kind kinds[] = {
	{ "shipped", "as shipped", { NULL }, true },
	{ "optimized", "what an edit makes", { NULL }, true },
	{ "portable", "for the CPU as shipped", { "--cpu=shipped" }, true },
	{ "layout", "placed, with its instructions as shipped", { "--layout-only" }, true },
	{ "no-copies", "without copies of callees that take room", { "--copies=0" }, true },
	{ "more-copies",
	  "with twice the room for copies of callees, at half the price",
	  { "--copies=2" },
	  true },
	{ "no-unroll", "loops unrolled as shipped", { "--no-unroll" }, true },
	{ "narrow", "vectors of 128 bits", { "--vector-width=128" }, false },
	{ "no-vectors", "vectorized as shipped", { "--vector-width=0" }, false },
	{ "no-align", "hot loops where they fall", { "--without=loops" }, true },
	{ "plain",
	  "for the CPU as shipped, no copies, loops as shipped",
	  { "--cpu=shipped", "--copies=0", "--no-unroll" },
	  false },
};

static const struct candidate_kind active_kind = {
	"active", "the generation that stands there now", { NULL }, true
};

/* ---- which ---- */

static const struct candidate_kind *kind_find(const char *name, size_t size)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strlen(kinds[i].name) == size && strncmp(kinds[i].name, name, size) == 0)
			return &kinds[i];
	return NULL;
}

static void candidate_add(struct candidates *candidates, const struct candidate_kind *kind)
{
	for (size_t i = 0; i < candidates->n; i++)
		if (candidates->list[i].kind == kind)
			return;
	if (candidates->n < CANDIDATES_MOST)
		candidates->list[candidates->n++] = (struct candidate){ .kind = kind };
}

int candidates_choose(const struct candidates_request *request, struct candidates *ret, struct fault *reterr)
{
	*ret = (struct candidates){ 0 };
	candidate_add(ret, &kinds[0]);
	if (request->active)
		candidate_add(ret, &active_kind);
	for (size_t i = 0; i < ARRAY_SIZE(kinds) && !request->names; i++)
		if (kinds[i].by_default)
			candidate_add(ret, &kinds[i]);
	for (const char *at = request->names; at && *at;) {
		size_t n = strcspn(at, ",");
		const struct candidate_kind *kind = kind_find(at, n);

		if (!kind) {
			char name[64];

			snprintf(name, sizeof(name), "%.*s", (int)MIN(n, sizeof(name) - 1), at);
			return fault_set(reterr, -EINVAL,
					 "no candidate \"%s\"; `morph tune --list` shows them", SHOWN(name));
		}
		candidate_add(ret, kind);
		at += n + (at[n] == ',');
	}
	return 0;
}

/* ---- how ---- */

/* As the installed one is, so that whoever runs it may; the directory is ours alone. */
static int file_take(const char *from, const char *to, const char *program, struct fault *reterr)
{
	struct stat st;
	int r = stat(program, &st) < 0 ? fault_errno(reterr, -errno, "%s", program) : 0;

	if (r == 0 && strcmp(from, to) != 0)
		r = file_copy(from, to, reterr);
	if (r == 0 && geteuid() == 0 && chown(to, st.st_uid, st.st_gid) < 0)
		r = fault_errno(reterr, -errno, "%s", to);
	if (r == 0 && chmod(to, (st.st_mode & 0777) | S_IXUSR | S_IRUSR) < 0)
		r = fault_errno(reterr, -errno, "%s", to);
	return r;
}

static int edit(const struct candidates_request *request, const struct candidate *candidate,
		struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer said = { 0 };
	struct child_options options = { .retout = &said, .reterrout = &said };
	char self[PATH_MAX], report[PATH_MAX + 8], memo[PATH_MAX + 8];
	const char *words[24] = { self,		  "optimize",	    request->shipped, "--force",
				  "--profile",	  request->profile, "--output",	      candidate->file,
				  "--report",	  report,	    "--memo",	      memo,
				  "--no-fallback" };
	size_t n = 13;
	int r = self_find(self, reterr);

	snprintf(report, sizeof(report), "%s.json", candidate->file);
	/* One for all: they differ in what a memo does not hold. */
	snprintf(memo, sizeof(memo), "%s/memo", request->directory);
	for (size_t i = 0; candidate->kind->options[i]; i++)
		words[n++] = candidate->kind->options[i];
	if (request->sidecar_dir) {
		words[n++] = "--sidecar-dir";
		words[n++] = request->sidecar_dir;
	}
	if (request->jobs) {
		words[n++] = "--jobs";
		words[n++] = request->jobs;
	}
	if (request->selftest)
		words[n++] = "--selftest";
	return r < 0 ? r : child_check((char *const *)words, &options, reterr);
}

static bool is_compared(const struct image_section *section)
{
	return section->flags & SHF_ALLOC && section->type != SHT_NOTE;
}

/* Is all that is loaded the same, but for notes that name it? */
static bool is_same_program(const char *a_path, const char *b_path)
{
	_clean_(image_freep) struct image *a = NULL, *b = NULL;
	size_t n;

	if (image_open(a_path, &a, NULL) < 0 || image_open(b_path, &b, NULL) < 0)
		return false;
	n = image_n_sections(a);
	if (n != image_n_sections(b))
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct image_section *x = image_section_at(a, i), *y = image_section_at(b, i);

		if (is_compared(x) != is_compared(y))
			return false;
		if (is_compared(x) &&
		    (x->size != y->size || x->address != y->address || !x->data != !y->data ||
		     (x->data && memcmp(x->data, y->data, x->size) != 0)))
			return false;
	}
	return true;
}

static void duplicate_find(struct candidates *candidates, struct candidate *candidate)
{
	for (const struct candidate *other = candidates->list; other < candidate; other++)
		if (!other->failed[0] && is_same_program(other->file, candidate->file)) {
			snprintf(candidate->failed, sizeof(candidate->failed), "is the same code as %s",
				 other->kind->name);
			return;
		}
}

static int candidate_make(const struct candidates_request *request, struct candidate *candidate,
			  struct fault *reterr)
{
	const char *from = candidate->kind == &kinds[0]	   ? request->shipped :
			   candidate->kind == &active_kind ? request->active :
							     candidate->file;
	int r = 0;

	if (snprintf(candidate->file, sizeof(candidate->file), "%s/%s", request->directory,
		     candidate->kind->name) >= (int)sizeof(candidate->file))
		return fault_errno(reterr, -ENAMETOOLONG, "%s", request->directory);
	if (from == candidate->file)
		r = edit(request, candidate, reterr);
	return r < 0 ? r : file_take(from, candidate->file, request->program, reterr);
}

int candidates_begin(const struct candidates_request *request, struct candidates *candidates,
		     struct fault *reterr)
{
	return candidate_make(request, &candidates->list[0], reterr);
}

int candidates_make(const struct candidates_request *request, struct candidates *candidates,
		    struct progress *progress, struct fault *reterr)
{
	for (size_t i = 1; i < candidates->n; i++) {
		struct candidate *candidate = &candidates->list[i];
		struct fault fault = { "" };
		char what[96];
		int r;

		snprintf(what, sizeof(what), "making %s", candidate->kind->name);
		progress_step(progress, what, i, candidates->n);
		r = candidate_make(request, candidate, &fault);
		if (*request->interrupted)
			return fault_set(reterr, -EINTR, "interrupted");
		if (r < 0)
			snprintf(candidate->failed, sizeof(candidate->failed), "%.399s", fault.text);
		else
			duplicate_find(candidates, candidate);
	}
	return 0;
}

int candidates_print(bool as_json, FILE *file)
{
	_clean_(table_freep) struct table *table = table_new("candidate|by default|options|what it is");
	struct json json = json_to(file);

	if (as_json)
		json_array_begin(&json, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct candidate_kind *kind = &kinds[i];
		char options[128] = "";

		for (size_t k = 0; kind->options[k]; k++)
			snprintf(options + strlen(options), sizeof(options) - strlen(options), "%s%s",
				 k ? " " : "", kind->options[k]);
		if (as_json) {
			json_object_begin(&json, NULL);
			json_string(&json, "name", kind->name);
			json_string(&json, "title", kind->title);
			json_bool(&json, "by_default", kind->by_default);
			json_object_end(&json);
		} else if (table) {
			table_cell(table, "%s", kind->name);
			table_cell(table, "%s", kind->by_default ? "yes" : "");
			table_cell(table, "%s", options);
			table_cell(table, "%s", kind->title);
		}
	}
	if (as_json)
		json_array_end(&json);
	return as_json ? 0 : !table ? -ENOMEM : table_print(table, file);
}

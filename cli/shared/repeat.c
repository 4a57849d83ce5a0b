/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "cli/shared/repeat.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/child.h"
#include "base/file.h"
#include "base/macro.h"
#include "cli/shared/self.h"
#include "manager/keep/path.h"
#include "manager/keep/store.h"

static void words_drop(struct repeat *b)
{
	for (size_t i = 0; i < b->n_words; i++)
		free(b->words[i]);
	free(b->words);
	b->words = NULL;
	b->n_words = b->room = 0;
}

void repeat_of_store(struct repeat *ret, const char *store, const char *build_id, int64_t number,
		     const char *sidecar_dir)
{
	*ret = (struct repeat){ 0 };
	store_path(store, build_id, "original", ret->original);
	store_generation_path(store, build_id, number, "binary", ret->binary);
	store_generation_path(store, build_id, number, "profile", ret->profile);
	store_generation_path(store, build_id, number, "report.json", ret->report);
	snprintf(ret->sidecars, sizeof(ret->sidecars), "%s", sidecar_dir);
	ret->made = json_reader_open(ret->report);
}

void repeat_done(struct repeat *b)
{
	if (b->directory[0])
		file_remove_tree(b->directory, NULL);
	json_reader_free(b->made);
	words_drop(b);
}

/* The Morph data that the package had in a file of its own, which may be gone by now. */
static int sidecar_place(struct repeat *b, const char *build_id, struct fault *reterr)
{
	char from[PATH_MAX], name[PATH_MAX], parent[PATH_MAX], beside[PATH_MAX];
	char *slash;
	int r;

	snprintf(beside, sizeof(beside), "%s", b->binary);
	slash = strrchr(beside, '/');
	if (!slash)
		return 0;
	*slash = '\0';
	if (access(path_join(beside, "sidecar", from), F_OK) != 0)
		return 0;
	path_join(b->directory, "sidecars", b->sidecars);
	snprintf(parent, sizeof(parent), "%.64s/sidecars/%.2s", b->directory, build_id);
	snprintf(name, sizeof(name), "%.80s/%.128s.morph", parent, build_id + 2);
	r = file_mkdirs(parent, 0755, reterr);
	if (r == 0)
		r = file_copy(from, name, reterr);
	return r == 0 && chmod(name, 0644) < 0 ? fault_errno(reterr, -errno, "%s", name) : r;
}

int repeat_directory(struct repeat *b, const char *build_id, struct fault *reterr)
{
	strcpy(b->directory, "/var/tmp/morph-repeat.XXXXXX");
	if (!mkdtemp(b->directory)) {
		b->directory[0] = '\0';
		return fault_errno(reterr, -errno, "/var/tmp");
	}
	if (chmod(b->directory, 0755) < 0)
		return fault_errno(reterr, -errno, "%s", b->directory);
	return sidecar_place(b, build_id, reterr);
}

void repeat_word(struct repeat *b, const char *fmt, ...)
{
	va_list ap;

	if (b->n_words + 2 > b->room) {
		char **more = reallocarray(b->words, 2 * b->room + 32, sizeof(*more));

		if (!more)
			return; /* repeat_run() finds no words */
		b->words = more;
		b->room = 2 * b->room + 32;
	}
	va_start(ap, fmt);
	if (vasprintf(&b->words[b->n_words], fmt, ap) >= 0)
		b->words[++b->n_words] = NULL;
	va_end(ap);
}

/* The functions that kept their code. */
static void kept_words(struct repeat *b)
{
	for (unsigned i = 0;; i++) {
		char query[64];
		_clean_(freep) char *name = NULL, *hash = NULL;
		double may_lack = 0;

		snprintf(query, sizeof(query), "$.as_shipped[%u].name", i);
		name = json_reader_text(b->made, query);
		if (!name)
			return;
		snprintf(query, sizeof(query), "$.as_shipped[%u].only_cfg_hash", i);
		hash = json_reader_text(b->made, query);
		snprintf(query, sizeof(query), "$.as_shipped[%u].may_lack", i);
		json_reader_number(b->made, query, &may_lack);
		if (may_lack == 1)
			repeat_word(b, "--as-shipped-if=%s:%s", hash ? hash : "0", name);
		else
			repeat_word(b, "--as-shipped=%s", name);
	}
}

static void without_words(struct repeat *b)
{
	for (unsigned i = 0;; i++) {
		_clean_(freep) char *name = NULL;
		char query[64];

		snprintf(query, sizeof(query), "$.without[%u]", i);
		name = json_reader_text(b->made, query);
		if (!name)
			return;
		repeat_word(b, "--without=%s", name);
	}
}

static void recorded_words(struct repeat *b)
{
	_clean_(freep) char *cpu = json_reader_text(b->made, "$.cpu");
	_clean_(freep) char *tune = json_reader_text(b->made, "$.tuned_for");
	_clean_(freep) char *rebased = json_reader_text(b->made, "$.rebased");
	double layout_only = 0, number = 0;

	repeat_word(b, "--cpu=%s", cpu ? cpu : "shipped");
	if (cpu && tune)
		repeat_word(b, "--tune=%s", tune);
	if (json_reader_number(b->made, "$.layout_only", &layout_only) && layout_only == 1)
		repeat_word(b, "--layout-only");
	if (json_reader_number(b->made, "$.copies", &number))
		repeat_word(b, "--copies=%g", number);
	if (json_reader_number(b->made, "$.unroll", &number) && number == 0)
		repeat_word(b, "--no-unroll");
	if (json_reader_number(b->made, "$.vector_bits", &number))
		repeat_word(b, "--vector-width=%.0f", number);
	if (rebased)
		repeat_word(b, "--rebase");
	kept_words(b);
	without_words(b);
}

int repeat_command(struct repeat *b, const char *out, struct fault *reterr)
{
	char self[PATH_MAX];
	int r = self_find(self, reterr);

	if (r < 0)
		return r;
	words_drop(b);
	repeat_word(b, "%s", self);
	repeat_word(b, "optimize");
	repeat_word(b, "%s", b->original);
	repeat_word(b, "--profile=%s", b->profile);
	repeat_word(b, "--output=%s", out);
	repeat_word(b, "--report=%s.json", out);
	if (b->sidecars[0])
		repeat_word(b, "--sidecar-dir=%s", b->sidecars);
	if (b->made)
		recorded_words(b);
	repeat_word(b, "--memory=0");
	repeat_word(b, "--force");
	repeat_word(b, "--no-fallback");
	return 0;
}

int repeat_run(struct repeat *b, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer err = { 0 };
	struct child_options options = { .reterrout = &err };

	return b->n_words < 6 ? fault_errno(reterr, -ENOMEM, "the edit") :
				child_check(b->words, &options, reterr);
}

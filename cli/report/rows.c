/* SPDX-License-Identifier: Apache-2.0 */

/*
 * 1. modules come in order of file: each file's names are read once, and let go before the next
 * 2. places ascend, so those of one procedure (or line) mostly follow each other: they are one row at once
 * 3. rows are sorted by their cells, equal ones united, and sorted by weight
 */

#define _GNU_SOURCE
#include "cli/report/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#define UNKNOWN "?"
#define NOTHING "-" /* not to be known: the kernel, generated code */

static const struct named dimensions[BY_END] = {
	[BY_ADDRESS] = { "address", "each instruction that samples name" },
	[BY_LINE] = { "line", "source line, where there is debug information" },
	[BY_PROCEDURE] = { "procedure", "function, as symbols tell" },
	[BY_IMAGE] = { "image", "executable, library, kernel, generated code" },
	[BY_PROCESS] = { "process", "name of the process" },
	[BY_UNIT] = { "unit", "service, scope or slice, so containers, too" },
	[BY_USER] = { "user", "whose processes" },
	[BY_NAMESPACE] = { "namespace", "mount namespace; a container has one of its own" },
	[BY_LOG] = { "log", "each sample log by itself" },
	[BY_MODE] = { "mode", "user, kernel, unknown: the machine in three lines" },
};

struct named dimension_at(size_t i)
{
	return i < BY_END ? dimensions[i] : (struct named){ NULL, NULL };
}

unsigned dimension_bits(enum dimension dimension)
{
	unsigned bits = 1u << dimension;

	if (bits & (1u << BY_LINE | 1u << BY_ADDRESS))
		bits |= 1u << BY_PROCEDURE;
	if (bits & 1u << BY_PROCEDURE)
		bits |= 1u << BY_IMAGE;
	return bits;
}

int dimensions_parse(const char *text, unsigned *ret, struct fault *reterr)
{
	unsigned by = 0;

	for (const char *at = text;; at++) {
		size_t n = strcspn(at, ","), i = 0;
		char name[32];

		snprintf(name, sizeof(name), "%.*s", (int)MIN(n, sizeof(name) - 1), at);
		while (i < BY_END && strcmp(dimensions[i].name, name) != 0)
			i++;
		if (i == BY_END)
			return names_refuse("dimension", name, dimension_at, reterr);
		by |= dimension_bits((enum dimension)i);
		at += n;
		if (!*at)
			break;
	}
	*ret = by;
	return 0;
}

void rows_needs(unsigned by, struct ran_options *ret)
{
	ret->places = by & 1u << BY_PROCEDURE;
	ret->users = by & 1u << BY_USER;
	ret->logs = by & 1u << BY_LOG;
	ret->processes = by & (1u << BY_PROCESS | 1u << BY_UNIT);
}

void rows_done(struct rows *rows)
{
	free(rows->list);
	free(rows->notes);
	arena_free(rows->strings);
	*rows = (struct rows){ 0 };
}

/* --- cells ---------------------------------------------------------------------------------------- */

static const char *text_keep(struct rows *rows, const char *text)
{
	return arena_strndup(rows->strings, text, strlen(text));
}

static const char *user_cell(struct rows *rows, const struct sample_module *module)
{
	const struct passwd *user;
	char number[16];

	if (module->user == SAMPLE_USER_UNKNOWN)
		return UNKNOWN;
	user = getpwuid(module->user);
	if (user)
		return text_keep(rows, user->pw_name);
	snprintf(number, sizeof(number), "%" PRIu32, module->user);
	return text_keep(rows, number);
}

static const char *namespace_cell(struct rows *rows, const struct sample_module *module)
{
	char number[16];

	if (!module->space)
		return "host";
	snprintf(number, sizeof(number), "%" PRIu32, module->space);
	return text_keep(rows, number);
}

static const char *mode_cell(const struct sample_module *module)
{
	return (int)module->kind == RAN_LOST	    ? "unknown" :
	       module->kind == SAMPLE_MODULE_KERNEL ? "kernel" :
						      "user";
}

/* A path of another mount namespace names another file than ours: it is shown as such. */
static const char *image_cell(struct rows *rows, const struct sample_module *module)
{
	_clean_(freep) char *text = NULL;

	if (!module->space)
		return text_keep(rows, module->path);
	if (asprintf(&text, "%s (namespace %" PRIu32 ")", module->path, module->space) < 0) {
		text = NULL;
		return NULL;
	}
	return text_keep(rows, text);
}

/* The cells that all places of a module share. */
static int cells_make(struct rows *rows, const struct ran *ran, const struct ran_module *module,
		      struct row *ret)
{
	const struct sample_module *identity = &module->identity;

	if (rows->by & 1u << BY_IMAGE)
		ret->cells[BY_IMAGE] = image_cell(rows, identity);
	if (rows->by & 1u << BY_USER)
		ret->cells[BY_USER] = user_cell(rows, identity);
	if (rows->by & 1u << BY_PROCESS)
		ret->cells[BY_PROCESS] =
			module->process ? text_keep(rows, ran->processes[module->process].name) : UNKNOWN;
	if (rows->by & 1u << BY_UNIT)
		ret->cells[BY_UNIT] =
			module->process ? text_keep(rows, ran->processes[module->process].unit) : UNKNOWN;
	if (rows->by & 1u << BY_NAMESPACE)
		ret->cells[BY_NAMESPACE] = namespace_cell(rows, identity);
	if (rows->by & 1u << BY_MODE)
		ret->cells[BY_MODE] = mode_cell(identity);
	if (rows->by & 1u << BY_LOG)
		ret->cells[BY_LOG] =
			module->log < ran->n_logs ? text_keep(rows, ran->logs[module->log]) : UNKNOWN;
	for (unsigned i = 0; i < BY_END; i++)
		if (rows->by & 1u << i && i > BY_PROCEDURE && !ret->cells[i])
			return -ENOMEM;
	return 0;
}

/* --- rows ----------------------------------------------------------------------------------------- */

static int row_add(struct rows *rows, const struct row *row)
{
	if (rows->n == rows->capacity) {
		size_t capacity = rows->capacity ? rows->capacity * 2 : 256;
		void *list = reallocarray(rows->list, capacity, sizeof(*rows->list));

		if (!list)
			return -ENOMEM;
		rows->list = list;
		rows->capacity = capacity;
	}
	rows->list[rows->n++] = *row;
	return 0;
}

/* What the next place shares with the one before it makes one row of both. */
struct place_names {
	const char *procedure;
	char line[LINE_TEXT_BYTES], address[24];
};

static int place_row(struct rows *rows, const struct place_names *names, struct row *row)
{
	row->cells[BY_PROCEDURE] = text_keep(rows, names->procedure);
	if (rows->by & 1u << BY_LINE)
		row->cells[BY_LINE] = text_keep(rows, names->line);
	if (rows->by & 1u << BY_ADDRESS)
		row->cells[BY_ADDRESS] = text_keep(rows, names->address);
	for (unsigned i = 0; i <= BY_PROCEDURE; i++)
		if (rows->by & 1u << i && !row->cells[i])
			return -ENOMEM;
	return row_add(rows, row);
}

static int places_add(struct rows *rows, const struct ran_module *module, struct procedures *procedures,
		      const struct row *common)
{
	const char *unknown = module->identity.kind == SAMPLE_MODULE_FILE ? UNKNOWN : NOTHING;
	struct place_names names = { 0 };
	struct row *row = NULL;

	for (size_t i = 0; i < module->n_counts; i++) {
		const struct ran_count *count = &module->counts[i];
		struct procedure_place place = procedure_place(procedures, count->offset);
		const char *name = place.name ?: unknown;
		char line[LINE_TEXT_BYTES];

		if (!(rows->by & 1u << BY_LINE) || !procedure_line(procedures, count->offset, line))
			strcpy(line, unknown);
		if (!row || rows->by & 1u << BY_ADDRESS ||
		    (name != names.procedure && strcmp(name, names.procedure) != 0) ||
		    strcmp(line, names.line) != 0) {
			struct row new = *common;

			names.procedure = name;
			strcpy(names.line, line);
			strcpy(names.address, unknown);
			if (place.address)
				snprintf(names.address, sizeof(names.address), "0x%" PRIx64, place.address);
			new.address = place.address;
			new.procedure_offset = place.start ? place.address - place.start : 0;
			if (place_row(rows, &names, &new) < 0)
				return -ENOMEM;
			row = &rows->list[rows->n - 1];
		}
		row->samples = samples_add(row->samples, count->samples);
		row->weight += count->weight;
	}
	return 0;
}

static int nowhere_add(struct rows *rows, const struct ran_module *module, const struct row *common)
{
	struct row row = *common;

	if (!(module->weight_nowhere > 0))
		return 0;
	row.samples = module->samples_nowhere;
	row.weight = module->weight_nowhere;
	row.cells[BY_PROCEDURE] = UNKNOWN;
	row.cells[BY_LINE] = rows->by & 1u << BY_LINE ? UNKNOWN : NULL;
	row.cells[BY_ADDRESS] = rows->by & 1u << BY_ADDRESS ? UNKNOWN : NULL;
	return row_add(rows, &row);
}

static int note_add(struct rows *rows, const struct ran_module *module, enum procedures_lack lack)
{
	struct rows_note *last = rows->n_notes ? &rows->notes[rows->n_notes - 1] : NULL;
	struct rows_note *notes;

	if (!procedures_sentence(lack))
		return 0;
	if (last && last->lack == lack && strcmp(last->path, module->identity.path) == 0) {
		last->weight += module->weight;
		return 0;
	}
	notes = reallocarray(rows->notes, rows->n_notes + 1, sizeof(*notes));
	if (!notes)
		return -ENOMEM;
	rows->notes = notes;
	notes[rows->n_notes] =
		(struct rows_note){ text_keep(rows, module->identity.path), lack, module->weight };
	return notes[rows->n_notes++].path ? 0 : -ENOMEM;
}

/* Do both ask for the names of the same file? */
static bool is_same_file(const struct ran_module *a, const struct ran_module *b)
{
	return a && a->identity.kind == b->identity.kind && a->identity.space == b->identity.space &&
	       a->identity.file_size == b->identity.file_size &&
	       a->identity.mtime_ns == b->identity.mtime_ns &&
	       build_id_is_equal(&a->identity.build_id, &b->identity.build_id) &&
	       strcmp(a->identity.path, b->identity.path) == 0;
}

static int named_add(struct rows *rows, const struct ran *ran, const struct rows_options *options)
{
	_clean_(procedures_freep) struct procedures *procedures = NULL;
	enum procedures_lack lack = PROCEDURES_KNOWN;
	int r = 0;

	for (size_t i = 0; r == 0 && i < ran->n_modules; i++) {
		const struct ran_module *module = ran->modules[i];
		struct row common = { .module = module };

		if (!i || !is_same_file(ran->modules[i - 1], module)) {
			struct procedures_question question = { &module->identity, module->copy,
								options->debug_dir,
								rows->by & 1u << BY_LINE };

			procedures_free(procedures);
			procedures = procedures_open(&question, &lack);
		}
		r = procedures ? cells_make(rows, ran, module, &common) : -ENOMEM;
		if (r == 0)
			r = places_add(rows, module, procedures, &common);
		if (r == 0)
			r = nowhere_add(rows, module, &common);
		if (r == 0)
			r = note_add(rows, module, module->weight_nowhere > 0 ? PROCEDURES_NO_PLACES : lack);
	}
	return r;
}

static int unnamed_add(struct rows *rows, const struct ran *ran)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ran->n_modules; i++) {
		struct row row = { .module = ran->modules[i],
				   .samples = ran->modules[i]->samples,
				   .weight = ran->modules[i]->weight };

		r = cells_make(rows, ran, ran->modules[i], &row);
		if (r == 0)
			r = row_add(rows, &row);
	}
	return r;
}

/* --- order ---------------------------------------------------------------------------------------- */

static int by_cells(const void *pa, const void *pb)
{
	const struct row *a = pa, *b = pb;

	for (unsigned i = BY_END; i-- > 0;) {
		int order = a->cells[i] ? strcmp(a->cells[i], b->cells[i]) : 0;

		if (order)
			return order;
	}
	return 0;
}

static int by_weight(const void *pa, const void *pb)
{
	const struct row *a = pa, *b = pb;

	if (a->weight != b->weight)
		return a->weight < b->weight ? 1 : -1;
	return by_cells(a, b);
}

static int note_by_weight(const void *pa, const void *pb)
{
	const struct rows_note *a = pa, *b = pb;

	if (a->weight != b->weight)
		return a->weight < b->weight ? 1 : -1;
	return strcmp(a->path, b->path);
}

static void unite(struct rows *rows)
{
	size_t n = 0;

	if (rows->n)
		qsort(rows->list, rows->n, sizeof(*rows->list), by_cells);
	for (size_t i = 0; i < rows->n; i++) {
		if (n && by_cells(&rows->list[n - 1], &rows->list[i]) == 0) {
			rows->list[n - 1].samples =
				samples_add(rows->list[n - 1].samples, rows->list[i].samples);
			rows->list[n - 1].weight += rows->list[i].weight;
		} else {
			rows->list[n++] = rows->list[i];
		}
	}
	rows->n = n;
	if (n)
		qsort(rows->list, n, sizeof(*rows->list), by_weight);
	if (rows->n_notes)
		qsort(rows->notes, rows->n_notes, sizeof(*rows->notes), note_by_weight);
}

int rows_make(const struct ran *ran, const struct rows_options *options, struct rows *ret)
{
	_clean_(rows_done) struct rows rows = { .by = options->by, .strings = arena_new() };
	int r = !rows.strings			   ? -ENOMEM :
		options->by & (1u << BY_PROCEDURE) ? named_add(&rows, ran, options) :
						     unnamed_add(&rows, ran);

	if (r < 0)
		return r;
	unite(&rows);
	*ret = rows;
	rows = (struct rows){ 0 };
	return 0;
}

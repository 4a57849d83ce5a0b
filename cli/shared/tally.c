/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/shared/tally.h"

#include <errno.h>
#include <string.h>

#include "module/array.h"
#include "profiles/samples/sample_log.h"

int tally_init(struct tally *tally, size_t n_columns)
{
	*tally = (struct tally){ .n_columns = n_columns, .arena = arena_new() };
	return tally->arena ? 0 : -ENOMEM;
}

void tally_done(struct tally *tally)
{
	free(tally->entries);
	arena_free(tally->arena);
	*tally = (struct tally){ 0 };
}

int tally_add(struct tally *tally, const char *module, const char *function, size_t column, double samples)
{
	if (!array_reserve(tally->entries, tally->n_entries, &tally->capacity))
		return -ENOMEM;
	tally->entries[tally->n_entries++] = (struct tally_entry){ module, function, column, samples };
	return 0;
}

static int compare(const void *pa, const void *pb)
{
	const struct tally_entry *a = pa, *b = pb;
	int order = a->module == b->module ? 0 : strcmp(a->module, b->module);

	if (order == 0 && a->function != b->function)
		order = strcmp(a->function, b->function);
	return order;
}

int tally_settle(struct tally *tally)
{
	struct tally_row *row = NULL;

	if (tally->n_entries)
		qsort(tally->entries, tally->n_entries, sizeof(*tally->entries), compare);
	tally->n_rows = tally->n_entries > 0;
	for (size_t i = 1; i < tally->n_entries; i++)
		tally->n_rows += compare(&tally->entries[i - 1], &tally->entries[i]) != 0;
	tally->rows = arena_array(tally->arena, struct tally_row, tally->n_rows + 1);
	if (!tally->rows)
		return -ENOMEM;
	for (size_t i = 0; i < tally->n_entries; i++) {
		const struct tally_entry *entry = &tally->entries[i];

		if (i == 0 || compare(entry - 1, entry) != 0) {
			row = row ? row + 1 : tally->rows;
			*row = (struct tally_row){ entry->module, entry->function,
						   arena_array(tally->arena, double, tally->n_columns) };
			if (!row->samples)
				return -ENOMEM;
		}
		row->samples[entry->column] += entry->samples;
	}
	free(tally->entries);
	tally->entries = NULL;
	tally->n_entries = tally->capacity = 0;
	return 0;
}

int tally_log_read(const char *path, struct sample_log **ret, struct fault *reterr)
{
	_clean_(sample_log_freep) struct sample_log *log = NULL;
	int r = sample_log_read(path, &log, reterr);

	if (r < 0)
		return r;
	if (log->source == SAMPLE_SOURCE_EXACT || !(log->rate_hz > 0))
		return fault_set(reterr, -ENODATA,
				 "%s: holds counts, not samples of a clock; counts tell no time", path);
	if (!log->n_modules)
		return fault_set(reterr, -ENODATA, "%s: holds no samples; record for longer", path);
	if (sample_log_unite(log) < 0)
		return fault_errno(reterr, -ENOMEM, "%s", path);
	*ret = TAKE(log);
	return 0;
}

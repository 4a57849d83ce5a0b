/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/annotate/view.h"

bool annotate_line(const struct annotate_view *view, uint64_t address, const char **retfile,
		   uint32_t *retline, const char **retinlined)
{
	const struct source_row *row = view->source ? source_row_at(view->source, address) : NULL;
	uint32_t scopes[SOURCE_DEPTH];
	unsigned n;

	if (!row || row->file == SOURCE_NONE)
		return false;
	n = source_scopes_at(view->source, address, scopes);
	*retfile = view->source->files[row->file];
	*retline = row->line;
	*retinlined = n > 1 ? view->source->scopes[scopes[n - 1]].name : NULL;
	return true;
}

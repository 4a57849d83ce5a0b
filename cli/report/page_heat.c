/* SPDX-License-Identifier: Apache-2.0 */

/* The page's section on text heat. Whatever came from a file goes through html_text(). */

#include <inttypes.h>
#include <string.h>

#include "cli/report/html.h"
#include "cli/report/page.h"

/* How hot a cell is drawn: w0 without a sample, then by the share of the file's samples that is in it, at least. */
static const double levels[] = { 0, 0.001, 0.003, 0.01, 0.03, 0.1 };

static unsigned level_of(double share)
{
	unsigned level = 0;

	while (share > 0 && level < ARRAY_SIZE(levels) && share >= levels[level])
		level++;
	return level;
}

static void strip(FILE *out, const struct heat_file *file, uint64_t cell_bytes)
{
	fprintf(out,
		"<div class=\"heat\" role=\"img\" aria-label=\"text from its first byte to its last, hotter "
		"where "
		"more samples fall; 90 %% of them are in %" PRIu64 " of %" PRIu64 " pages\">",
		file->n_most, file->n_pages);
	for (size_t i = 0; i < HEAT_CELLS; i++) {
		if (i * cell_bytes >= file->text_bytes)
			fputs("<i></i>", out);
		else if (file->cells[i] > 0)
			fprintf(out, "<i class=\"w%u\" title=\"%.2f %% of the samples\"></i>",
				level_of(file->cells[i]), 100 * file->cells[i]);
		else
			fputs("<i class=\"w0\"></i>", out);
	}
	fputs("</div>\n", out);
}

static void file_write_heat(FILE *out, const char *what, const struct heat_file *file, uint64_t cell_bytes)
{
	fprintf(out,
		"<p class=\"name\">%s: 90 %% of %" PRIu64 " samples in <b>%" PRIu64 "</b> of %" PRIu64
		" pages; %" PRIu64 " have any <small>",
		what, file->samples, file->n_most, file->n_pages, file->n_touched);
	html_text(out, file->path);
	fputs("</small></p>\n", out);
	strip(out, file, cell_bytes);
}

void page_heat(FILE *out, const struct page *page)
{
	const struct heats *heats = page->heats;

	if (!heats->n && !heats->n_alone)
		return;
	fputs("<h2>Where in their text programs are hot</h2>\n", out);
	if (heats->n)
		fputs("<p class=\"dim\">The shipped file, and below it what Morph made of it: each bar is "
		      "the program's "
		      "text from its first byte to its last, both to one scale; the more of the samples fall "
		      "into a part, "
		      "the stronger its color. Fewer pages (4 KiB each) of hot text need less of caches and "
		      "TLB.</p>\n",
		      out);
	for (size_t i = 0; i < heats->n; i++) {
		const struct heat_pair *pair = &heats->list[i];
		const char *slash = strrchr(pair->shipped.path, '/');

		fputs("<div><b class=\"name\">", out);
		html_text(out, slash && slash[1] ? slash + 1 : pair->shipped.path);
		fputs("</b>\n", out);
		file_write_heat(out, "as shipped", &pair->shipped, pair->cell_bytes);
		file_write_heat(out, "generation", &pair->generation, pair->cell_bytes);
		fputs("</div>\n", out);
	}
	if (heats->n_alone)
		fprintf(out,
			"<p class=\"dim\">Of %zu generations there is nothing to compare with: their shipped "
			"files "
			"have no samples here, or cannot be read.</p>\n",
			heats->n_alone);
}

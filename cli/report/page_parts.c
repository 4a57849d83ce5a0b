/* SPDX-License-Identifier: Apache-2.0 */

/* The page's sections. Whatever came from a file goes through html_text(). */

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/utsname.h>

#include "cli/daemon.h"
#include "cli/report/html.h"
#include "cli/report/page.h"
#include "cli/shared/demangle.h"
#include "profiles/cycles/culprit.h"

#define PROGRAMS 25u
#define PROGRAMS_LEAST 10u /* so many are told, however small */
#define PROGRAM_FUNCTIONS 12u
#define FUNCTIONS 25u
#define PICTURE_LEAST 1.5 /* percent: below it, programs are drawn as one */
#define PICTURE_NAME 0.08 /* of a program: below it, a function has no room for its name */
#define PICTURE_FUNCTIONS 14u
#define HUES 8u
#define WORTH_SAYING 0.02 /* of a function's time */

static const char *base_name(const char *path)
{
	const char *slash = path[0] == '/' ? strrchr(path, '/') : NULL;

	return slash && slash[1] ? slash + 1 : path;
}

static double percent(const struct page *page, double weight)
{
	return report_percent(page->ran, weight);
}

static void bar(FILE *out, double part_percent)
{
	fprintf(out, "<span class=\"bar\" style=\"width:%.2f%%\"></span>", part_percent);
}

/* Of the longest bar, not of everything: small shares are to be compared, too. */
static double of_first(double weight, double first)
{
	return first > 0 ? 100 * weight / first : 0;
}

/* --- head ----------------------------------------------------------------------------------------- */

static void tile(FILE *out, const char *value, const char *title)
{
	fprintf(out, "<div><b>%s</b><small>%s</small></div>\n", value, title);
}

void page_summary(FILE *out, const struct page *page)
{
	const struct ran *ran = page->ran;
	double seen = (double)ran->user + (double)ran->kernel;
	char text[64], first[DAEMON_TIME_TEXT], last[DAEMON_TIME_TEXT];
	struct utsname machine;

	fputs("<h1>Where the time went</h1>\n<p class=\"dim\">", out);
	if (uname(&machine) == 0) {
		html_text(out, machine.nodename);
		fputs(". ", out);
	}
	if (ran->last_ns)
		fprintf(out, "%s to %s. ", daemon_time((int64_t)ran->first_ns, first),
			daemon_time((int64_t)ran->last_ns, last));
	fputs(ran->is_kept ? "What morphd has counted since it first saw each program." :
			     "From samples of a clock: each share is of the time that CPUs were busy.",
	      out);
	fputs("</p>\n<div class=\"tiles\">\n", out);
	if (ran->is_clocked) {
		snprintf(text, sizeof(text), ran->weight < 7200 ? "%.1f s" : "%.1f h",
			 ran->weight < 7200 ? ran->weight : ran->weight / 3600);
		tile(out, text, "CPU time");
	}
	snprintf(text, sizeof(text), "%" PRIu64, ran->samples);
	tile(out, text, "samples");
	if (seen > 0) {
		snprintf(text, sizeof(text), "%.1f %%", 100 * (double)ran->kernel / seen);
		tile(out, text, "in the kernel");
	}
	snprintf(text, sizeof(text), "%zu", page->rows->n);
	tile(out, text, "functions seen");
	fputs("</div>\n", out);
}

/* --- picture -------------------------------------------------------------------------------------- */

/* Heights: flex-grow takes no number below one as a share of the whole, so they are of 1000. */
static void picture_part(FILE *out, const char *name, double share)
{
	fprintf(out, "<span style=\"flex:%.1f 1 0\" title=\"", 1000 * share);
	html_text(out, name);
	fprintf(out, " %.1f %%\">", 100 * share);
	if (share >= PICTURE_NAME)
		html_text(out, name);
	fputs("</span>", out);
}

static void picture_program(FILE *out, const struct page *page, const struct page_image *image, size_t hue)
{
	double rest = image->weight;
	char class[8] = "hx";

	if (image->name[0] == '/')
		snprintf(class, sizeof(class), "h%zu", hue % HUES);
	fprintf(out, "<div class=\"%s\" style=\"flex:%.3f 1 0\" title=\"", class,
		percent(page, image->weight));
	html_text(out, image->name);
	fprintf(out, " %.1f %%\"><span class=\"top\">", percent(page, image->weight));
	html_text(out, base_name(image->name));
	fputs("</span><div class=\"parts\">", out);
	for (size_t i = 0; i < image->n && i < PICTURE_FUNCTIONS && image->weight > 0 &&
			   strcmp(image->rows[i]->cells[BY_PROCEDURE], "-") != 0;
	     i++) {
		const struct row *row = image->rows[i];

		if (row->weight < 0.02 * image->weight)
			break;
		picture_part(out, demangled(row->cells[BY_PROCEDURE]), row->weight / image->weight);
		rest -= row->weight;
	}
	if (image->weight > 0 && rest > 1e-6 * image->weight)
		picture_part(out, rest < image->weight ? "others" : "", rest / image->weight);
	fputs("</div></div>\n", out);
}

void page_picture(FILE *out, const struct page *page, const struct page_images *images)
{
	double rest = page->ran->weight;

	fputs("<div class=\"picture\" role=\"img\" aria-label=\"programs, as wide as their share of the "
	      "time, with "
	      "their functions; the tables below say the same\">\n",
	      out);
	for (size_t i = 0; i < images->n; i++) {
		if (percent(page, images->list[i].weight) < PICTURE_LEAST)
			break;
		picture_program(out, page, &images->list[i], i);
		rest -= images->list[i].weight;
	}
	if (percent(page, rest) > 0.05) {
		struct page_image others = { .name = "others", .weight = rest };

		picture_program(out, page, &others, 0);
	}
	fputs("</div>\n", out);
}

/* --- programs and functions ----------------------------------------------------------------------- */

static void function_row(FILE *out, const struct page *page, const struct row *row, double first,
			 bool with_image)
{
	fputs("<tr><td class=\"name\">", out);
	html_text(out, demangled(row->cells[BY_PROCEDURE]));
	bar(out, of_first(row->weight, first));
	if (with_image) {
		fputs("<small>", out);
		html_text(out, row->cells[BY_IMAGE]);
		fputs("</small>", out);
	}
	fprintf(out, "</td><td class=\"num\">%.2f %%</td><td class=\"num wide\">%" PRIu64 "</td></tr>\n",
		percent(page, row->weight), row->samples);
}

static const char function_head[] = "<table><thead><tr><th>function</th><th class=\"num\">share</th>"
				    "<th class=\"num wide\">samples</th></tr></thead><tbody>\n";

static void program(FILE *out, const struct page *page, const struct page_image *image, double first)
{
	fputs("<details><summary><span class=\"name\"><b>", out);
	html_text(out, base_name(image->name));
	fprintf(out, "</b></span><span class=\"num\">%.2f %%</span>", percent(page, image->weight));
	bar(out, of_first(image->weight, first));
	if (base_name(image->name) != image->name) {
		fputs("<small>", out);
		html_text(out, image->name);
		fputs("</small>", out);
	}
	fputs("</summary>\n", out);
	fputs(function_head, out);
	for (size_t i = 0; i < image->n && i < PROGRAM_FUNCTIONS; i++)
		function_row(out, page, image->rows[i], image->rows[0]->weight, false);
	fputs("</tbody></table>\n", out);
	if (image->n > PROGRAM_FUNCTIONS)
		fprintf(out, "<p class=\"dim\">and %zu functions more</p>\n", image->n - PROGRAM_FUNCTIONS);
	fputs("</details>\n", out);
}

void page_programs(FILE *out, const struct page *page, const struct page_images *images)
{
	size_t n = 0;

	fputs("<h2>Programs</h2>\n<p class=\"dim\">Executables, libraries, the kernel and generated code. "
	      "Each opens "
	      "to its functions.</p>\n",
	      out);
	while (n < images->n && n < PROGRAMS &&
	       (n < PROGRAMS_LEAST || percent(page, images->list[n].weight) >= 0.5))
		program(out, page, &images->list[n++], images->list[0].weight);
	if (images->n > n)
		fprintf(out, "<p class=\"dim\">and %zu more</p>\n", images->n - n);
}

void page_functions(FILE *out, const struct page *page)
{
	const struct rows *rows = page->rows;

	fputs("<h2>Functions</h2>\n", out);
	fputs(function_head, out);
	for (size_t i = 0; i < rows->n && i < FUNCTIONS; i++)
		function_row(out, page, &rows->list[i], rows->list[0].weight, true);
	fputs("</tbody></table>\n", out);
	if (rows->n > FUNCTIONS)
		fprintf(out, "<p class=\"dim\">and %zu more</p>\n", rows->n - FUNCTIONS);
}

/* --- stalls --------------------------------------------------------------------------------------- */

static void cause(FILE *out, unsigned k, double least, double most)
{
	fprintf(out, "<li title=\"%s\"><i class=\"s%u\"></i>%s ", culprit_title(k), k, culprit_name(k));
	if (100 * (most - least) < 0.5)
		fprintf(out, "%.0f %%</li>", 100 * most);
	else
		fprintf(out, "%.0f to %.0f %%</li>", 100 * least, 100 * most);
}

static void stall_shares(FILE *out, const struct cycles_summary *summary)
{
	double rest = 1;

	fputs("<div class=\"stack\">", out);
	for (unsigned k = 0; k < CULPRIT_END; k++) {
		if (summary->least[k] > 0)
			fprintf(out, "<i class=\"s%u\" style=\"width:%.2f%%\"></i>", k,
				100 * summary->least[k]);
		rest -= summary->least[k];
	}
	if (rest > 0.005)
		fprintf(out, "<i class=\"may\" style=\"width:%.2f%%\"></i>", 100 * rest);
	fputs("</div>\n<ul class=\"causes\">", out);
	for (unsigned k = 0; k < CULPRIT_END; k++)
		if (summary->most[k] >= WORTH_SAYING)
			cause(out, k, summary->least[k], summary->most[k]);
	fputs("</ul>\n", out);
}

void page_stalls(FILE *out, const struct page *page)
{
	fputs("<h2>What the hottest functions waited for</h2>\n", out);
	if (!page->stalls->n) {
		fputs("<p class=\"dim\">Not known: it takes sample logs, and functions of files that are "
		      "still "
		      "here.</p>\n",
		      out);
		return;
	}
	fputs("<p class=\"dim\">A cause is named when the code, the counts and the other samples rule out "
	      "all others; "
	      "hatched is what one of several may have cost. <b>morph annotate</b> tells it for every "
	      "instruction.</p>\n",
	      out);
	for (size_t i = 0; i < page->stalls->n; i++) {
		const struct stall *stall = &page->stalls->list[i];

		fputs("<div><span class=\"name\"><b>", out);
		html_text(out, demangled(stall->row->cells[BY_PROCEDURE]));
		fputs("</b> <small>", out);
		html_text(out, base_name(stall->row->cells[BY_IMAGE]));
		fprintf(out, ", %.1f %% of the time</small></span>\n", percent(page, stall->row->weight));
		if (stall->lack.text[0]) {
			fputs("<p class=\"dim name\">", out);
			html_text(out, stall->lack.text);
			fputs("</p>", out);
		} else {
			stall_shares(out, &stall->summary);
		}
		fputs("</div>\n", out);
	}
}

/* --- what Morph made ------------------------------------------------------------------------------ */

static void generation_row(FILE *out, const struct made_generation *made)
{
	char time[DAEMON_TIME_TEXT];

	fputs("<tr><td class=\"name\">", out);
	html_text(out, base_name(made->path));
	fputs("<small>", out);
	html_text(out, made->path);
	fputs("</small></td><td class=\"num\">", out);
	if (made->number && !isnan(made->gain))
		fprintf(out, "%.1f %%", 100 * made->gain);
	fputs("</td><td class=\"num\">", out);
	if (made->number && !isnan(made->measured))
		fprintf(out, "%.1f %%<small>%.1f .. %.1f</small>", 100 * made->measured,
			100 * made->measured_low, 100 * made->measured_high);
	fprintf(out,
		"</td><td class=\"num wide\">%" PRId64 "</td><td class=\"wide\">%s</td><td class=\"name\">",
		made->samples, made->number ? daemon_time(made->created_ns, time) : "");
	if (made->is_active)
		fputs("<span class=\"tag\">active</span> ", out);
	if (made->number)
		fprintf(out, "generation %" PRId64 ", ", made->number);
	html_text(out, made->number ? made->state : "as shipped");
	if (made->crashes)
		fprintf(out, ", %" PRId64 " crashes", made->crashes);
	if (made->reason) {
		fputs("<small>", out);
		html_text(out, made->reason);
		fputs("</small>", out);
	}
	fputs("</td></tr>\n", out);
}

void page_generations(FILE *out, const struct page *page)
{
	const struct made_generations *made = page->generations;

	fputs("<h2>What Morph made faster</h2>\n", out);
	if (page->no_generations || !made->n) {
		fputs("<p class=\"dim name\">", out);
		html_text(out, page->no_generations ?: "No program of this machine was re-optimized yet.");
		fputs("</p>\n", out);
		return;
	}
	fputs("<p class=\"dim\">Predicted: so much less of the cost of what is executed. Measured: of the "
	      "CPU time of a "
	      "start, with its interval; empty until there were enough starts.</p>\n"
	      "<table><thead><tr><th>program</th><th class=\"num\">predicted gain</th><th "
	      "class=\"num\">measured</th>"
	      "<th class=\"num wide\">samples</th><th "
	      "class=\"wide\">made</th><th>state</th></tr></thead><tbody>\n",
	      out);
	for (size_t i = 0; i < made->n; i++)
		generation_row(out, &made->list[i]);
	fputs("</tbody></table>\n", out);
}

/* --- what is not known ---------------------------------------------------------------------------- */

void page_notes(FILE *out, const struct page *page)
{
	const struct ran *ran = page->ran;
	const struct rows *rows = page->rows;

	if (!rows->n_notes && !ran->n_beyond && !ran->n_damaged)
		return;
	fputs("<h2>What is not known</h2>\n<ul class=\"name\">\n", out);
	for (size_t i = 0; i < rows->n_notes && i < PROGRAMS; i++) {
		fputs("<li>", out);
		html_text(out, rows->notes[i].path);
		fprintf(out, " <small>(%.1f %%)</small> %s</li>\n", percent(page, rows->notes[i].weight),
			procedures_sentence(rows->notes[i].lack));
	}
	if (rows->n_notes > PROGRAMS)
		fprintf(out, "<li>and %zu files more of which names are lacking</li>\n",
			rows->n_notes - PROGRAMS);
	if (ran->n_beyond)
		fprintf(out, "<li>%zu logs reach beyond the time asked for, and were taken whole</li>\n",
			ran->n_beyond);
	if (ran->n_damaged) {
		fprintf(out, "<li>%zu files were left out; the first: ", ran->n_damaged);
		html_text(out, ran->damage.text);
		fputs("</li>\n", out);
	}
	fputs("</ul>\n", out);
}

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The page's flame graph (Gregg 2016, "The Flame Graph"), callers above: each frame is as wide as its share of the time, and
 * lies below the one that called it. A click on a frame makes it as wide as the page, by style alone (:target, :has()).
 * Whatever came from a file goes through html_text().
 */

#include <string.h>

#include "cli/report/html.h"
#include "cli/report/page.h"
#include "cli/shared/demangle.h"

#define LEAST_SHARE 0.002 /* of all stacks: below it a frame is not drawn */
#define MAX_FRAMES 4000u  /* on the page */
#define HUES 8u

struct flame {
	FILE *out;
	const struct call_tree *calls;
	size_t n; /* drawn */
};

static const char *frame_name(const struct call_place *place)
{
	const char *slash = place->image[0] == '/' ? strrchr(place->image, '/') : NULL;

	if (place->procedure)
		return demangled(place->procedure);
	return slash && slash[1] ? slash + 1 : place->image;
}

/* The same image has the same color; what is the kernel's, generated or missing is gray. */
static void frame_class(const struct call_place *place, char ret[8])
{
	unsigned hash = 0;

	strcpy(ret, "hx");
	if (place->image[0] != '/')
		return;
	for (const char *p = place->image; *p; p++)
		hash = hash * 31 + (unsigned char)*p;
	snprintf(ret, 8, "h%u", hash % HUES);
}

static void frame_begin(struct flame *flame, const struct call *call)
{
	double share = call->weight / flame->calls->weight;
	char class[8];

	frame_class(call->place, class);
	fprintf(flame->out,
		"<div class=\"fl\" id=\"f%zu\" style=\"flex:%.1f 1 0\"><a class=\"%s\" href=\"#f%zu\" "
		"title=\"",
		flame->n, 10000 * share, class, flame->n);
	html_text(flame->out, frame_name(call->place));
	if (call->place->procedure) {
		fputs(" (", flame->out);
		html_text(flame->out, call->place->image);
		fputs(")", flame->out);
	}
	fprintf(flame->out, " %.1f %%\">", 100 * share);
	html_text(flame->out, frame_name(call->place));
	fputs("</a>", flame->out);
	flame->n++;
}

static bool is_drawn(const struct flame *flame, uint32_t number)
{
	return number != STACKS_ROOT && flame->n < MAX_FRAMES &&
	       flame->calls->list[number].weight >= LEAST_SHARE * flame->calls->weight;
}

/* What the callees do not have is the function's own time: room that stays empty. Stacks are at most 128 frames deep. */
static void frames_draw(struct flame *flame, uint32_t first, double weight)
{
	if (!is_drawn(flame, first))
		return;
	fputs("<div class=\"fr\">", flame->out);
	for (uint32_t i = first; is_drawn(flame, i); i = flame->calls->list[i].next) {
		const struct call *call = &flame->calls->list[i];

		frame_begin(flame, call);
		frames_draw(flame, call->first, call->weight);
		fputs("</div>", flame->out);
		weight -= call->weight;
	}
	if (weight > 1e-9 * flame->calls->weight)
		fprintf(flame->out, "<i style=\"flex:%.1f 1 0\"></i>", 10000 * weight / flame->calls->weight);
	fputs("</div>", flame->out);
}

void page_flame(FILE *out, const struct page *page)
{
	struct flame flame = { out, page->calls, 0 };

	if (!(page->calls->weight > 0))
		return;
	fputs("<h2 id=\"flame\">Who called what</h2>\n<p class=\"dim\">Processes at the top, below each "
	      "function what it "
	      "called, as wide as its share of the time with all that it called; empty room below a function "
	      "is its "
	      "own time. A click makes a part as wide as the page; <a href=\"#flame\">all of it</a> again. "
	      "Callers are known where programs keep frame pointers.",
	      out);
	if (page->ran->weight_stackless > 0)
		fprintf(out, " Logs with %.1f %% of the time have no stacks.",
			report_percent(page->ran, page->ran->weight_stackless));
	fputs("</p>\n<div class=\"flame\">", out);
	frames_draw(&flame, page->calls->first, page->calls->weight);
	fputs("</div>\n", out);
}

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * page.h - the report as one file of HTML: no script, no address, nothing from a network
 *
 * A policy in the page's own head (Content-Security-Policy: default-src 'none') has the browser refuse both, should a
 * name ever get through as markup. Light or dark as the reader's system is; readable at the width of a phone.
 */

#include "cli/report/call_tree.h"
#include "cli/report/generations.h"
#include "cli/report/heat.h"
#include "cli/report/report.h"
#include "cli/report/stalls.h"

struct page {
	const struct ran *ran;
	const struct rows *rows; /* procedures and images, most weight first */
	const struct stalls *stalls;
	const struct made_generations *generations;
	const struct heats *heats;
	const struct call_tree *calls;
	const char *no_generations; /* why there are none to tell of; NULL: there may be some */
};

/** page_write() - the whole file at @path, or nothing; 0 or -errno with @reterr */
int page_write(const struct page *page, const char *path, struct fault *reterr);

/** page_image() - all procedures of one image are a program; private to the page */
struct page_image {
	const char *name; /* borrowed from the rows */
	uint64_t samples;
	double weight;
	const struct row **rows; /* of its procedures, most weight first; in one array for all */
	size_t n;
};

struct page_images {
	struct page_image *list; /* most weight first */
	size_t n;
	const struct row **rows;
};

int page_images_make(const struct rows *rows, struct page_images *ret); /* 0 or -ENOMEM */
void page_images_done(struct page_images *images);

/** page_parts.c: the sections */
void page_summary(FILE *out, const struct page *page);
void page_picture(FILE *out, const struct page *page, const struct page_images *images);
void page_programs(FILE *out, const struct page *page, const struct page_images *images);
void page_functions(FILE *out, const struct page *page);
void page_stalls(FILE *out, const struct page *page);
void page_generations(FILE *out, const struct page *page);
void page_notes(FILE *out, const struct page *page);
/** page_flame.c: who called whom */
void page_flame(FILE *out, const struct page *page);
/** page_heat.c: another one */
void page_heat(FILE *out, const struct page *page);

/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "cli/report/page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/file.h"
#include "cli/report/page_style.h"

void page_images_done(struct page_images *images)
{
	free(images->list);
	free(images->rows);
	*images = (struct page_images){ 0 };
}

static int by_image(const void *pa, const void *pb)
{
	const struct row *a = *(const struct row *const *)pa, *b = *(const struct row *const *)pb;
	int order = strcmp(a->cells[BY_IMAGE], b->cells[BY_IMAGE]);

	if (order)
		return order;
	if (a->weight != b->weight)
		return a->weight < b->weight ? 1 : -1;
	return strcmp(a->cells[BY_PROCEDURE], b->cells[BY_PROCEDURE]);
}

static int by_weight(const void *pa, const void *pb)
{
	const struct page_image *a = pa, *b = pb;

	if (a->weight != b->weight)
		return a->weight < b->weight ? 1 : -1;
	return strcmp(a->name, b->name);
}

int page_images_make(const struct rows *rows, struct page_images *ret)
{
	struct page_images images = { calloc(rows->n + 1, sizeof(*images.list)), 0,
				      calloc(rows->n + 1, sizeof(*images.rows)) };

	if (!images.list || !images.rows) {
		page_images_done(&images);
		return -ENOMEM;
	}
	for (size_t i = 0; i < rows->n; i++)
		images.rows[i] = &rows->list[i];
	if (rows->n)
		qsort(images.rows, rows->n, sizeof(*images.rows), by_image);
	for (size_t i = 0; i < rows->n; i++) {
		const struct row *row = images.rows[i];
		struct page_image *image = &images.list[images.n];

		if (!images.n || strcmp(image[-1].name, row->cells[BY_IMAGE]) != 0)
			*image = (struct page_image){ .name = row->cells[BY_IMAGE], .rows = &images.rows[i] },
			images.n++;
		else
			image--;
		image->samples = samples_add(image->samples, row->samples);
		image->weight += row->weight;
		image->n++;
	}
	if (images.n)
		qsort(images.list, images.n, sizeof(*images.list), by_weight);
	*ret = images;
	return 0;
}

static void body_write(FILE *out, const struct page *page, const struct page_images *images)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
	      "'unsafe-inline'\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<meta name=\"color-scheme\" content=\"light dark\">\n"
	      "<title>Where the time went</title>\n<style>\n",
	      out);
	fputs(page_style, out);
	fputs("</style>\n</head>\n<body>\n<main>\n", out);
	page_summary(out, page);
	page_picture(out, page, images);
	page_flame(out, page);
	page_programs(out, page, images);
	page_generations(out, page);
	page_heat(out, page);
	page_stalls(out, page);
	page_functions(out, page);
	page_notes(out, page);
	fputs("</main>\n<footer>Made by <b>morph report</b> " MORPH_VERSION
	      ". This file asks nothing of a network.</footer>\n</body>\n</html>\n",
	      out);
}

int page_write(const struct page *page, const char *path, struct fault *reterr)
{
	_clean_(page_images_done) struct page_images images = { 0 };
	_clean_(freep) char *text = NULL;
	size_t size = 0;
	FILE *out = page_images_make(page->rows, &images) < 0 ? NULL : open_memstream(&text, &size);
	bool is_whole;

	if (!out)
		return fault_errno(reterr, -ENOMEM, "%s", path);
	body_write(out, page, &images);
	is_whole = !ferror(out);
	if (fclose(out) != 0 || !is_whole)
		return fault_errno(reterr, -ENOMEM, "%s", path);
	/* Who calls what in other users' programs is for who asked. */
	return file_write(path, text, size, page->calls->n ? 0600 : 0644, reterr);
}

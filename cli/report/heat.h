/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * heat.h - where in a program's text its samples fall: the shipped file against a generation of it, for the page
 *
 * Layout is what Morph changes: what runs much shall lie together. That is seen in which parts of the text are hot, and
 * said in a number: how many pages hold nine tenths of the samples. Text is what the executable segments load, one behind
 * the other, in the order of the file's program headers.
 *
 * Which file a generation was made from is what it says of itself (module/morph_data.h): enough for a picture, which names
 * both paths.
 */

#include "cli/report/ran.h"

#define HEAT_CELLS 96u	    /* parts of the larger of two texts; the other has cells of the same size */
#define HEAT_PAIRS 8u	    /* the most sampled generations */
#define HEAT_FILES 256u	    /* so many of the most sampled files are looked into */
#define HEAT_PAGE_SHIFT 12u /* of 4 KiB, also where the machine's are larger */
#define HEAT_MOST 0.9

struct heat_file {
	const char *path; /* borrowed from what ran */
	uint64_t samples; /* in its text */
	uint64_t text_bytes;
	uint64_t n_pages, n_touched,
		n_most;		  /* of the text; with a sample; that hold HEAT_MOST of the samples */
	double cells[HEAT_CELLS]; /* shares of its samples; they add up to 1 */
};

struct heat_pair {
	struct heat_file shipped, generation;
	uint64_t cell_bytes;
};

struct heats {
	struct heat_pair list[HEAT_PAIRS]; /* generations with most weight first */
	size_t n;
	size_t n_alone; /* generations that were sampled, and their shipped file was not, or not with places */
};

/** heats_make() - after ran_finish(), with places; 0 or -ENOMEM. O(n log n) for n places, and an open for each file */
int heats_make(const struct ran *ran, struct heats *ret);

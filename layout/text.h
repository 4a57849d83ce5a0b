/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * text.h - graphs as text, for golden tests, bug reports and the benchmark
 *
 *	# anything			 to the end of the line
 *	function NAME			 begins a function; its lines follow
 *	block SIZE COUNT [WORD...]	 the next block; words: pad sticky keep indirect,
 *	conf=0..255,
 *					 align=LOG2; without conf the count is exact
 *	edge FROM TO COUNT KIND		 kind: jump branch switch unwind
 *	program				 begins the call graph, once
 *	part SIZE COUNT [NAME]		 the next part
 *	call FROM TO COUNT [OFFSET]	 between parts by number; bytes from the start of FROM
 *
 * Counts are what strtod() reads in the C locale. Numbers of blocks and parts start at 0.
 */

#include "base/bytes.h"
#include "base/fault.h"
#include "layout/graph.h"

struct layout_named {
	const char *name;
	struct layout_graph graph;
};

struct layout_text {
	struct layout_named *functions;
	size_t n_functions;
	struct layout_program program;
	const char **part_names; /* one per node; "" when it has none */
};

/**
 * layout_text_parse() - @ret and all it points to come from @arena
 * Return: 0; -EBADMSG with @reterr (line and what is wrong); -ENOMEM. Cost: O(size).
 */
int layout_text_parse(struct arena *arena, const char *bytes, size_t size, struct layout_text *ret,
		      struct fault *reterr);

/** layout_text_dump() - the inverse; test ret->bad afterwards */
void layout_text_dump(const struct layout_text *text, struct buffer *ret);

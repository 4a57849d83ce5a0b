/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * block_map_columns.h - the encoded block map, as its writer and its reader see it
 *
 * A head with the counts, then the columns in this order, each a length and that many bytes. One kind
 * of number stands in one column, as a difference from what is expected where something is; the
 * container's compressor does the rest, or map_model.h. docs/format-block-map.md says it in full.
 */

enum column {
	COLUMN_NAMES,	   /* NUL-terminated: one a function, then one an IR function told apart */
	COLUMN_FUNCTIONS,  /* per function: gap to the previous one's end, number of blocks */
	COLUMN_IR,	   /* per function: is it described, under its own name? */
	COLUMN_GUID_KINDS, /* per function, then per IR function told apart: enum guid_kind */
	COLUMN_GUIDS,	   /* eight bytes each: of functions, of IR functions, of probes */
	COLUMN_HASH_LOW,   /* per IR function: its CFG hash; the high half is nearly constant */
	COLUMN_HASH_HIGH,
	COLUMN_IDS,   /* per block: ID - (previous ID + 1) */
	COLUMN_GAPS,  /* per block: address - previous block's end */
	COLUMN_SIZES, /* per block, like the next four */
	COLUMN_FLAGS,
	COLUMN_N_EDGES,
	COLUMN_N_CALLS,
	COLUMN_N_PROBES,
	COLUMN_TARGETS,	      /* per edge: target - (own place + 1) */
	COLUMN_PROBABILITIES, /* per edge: 0: what is left to 2^31; else place in the dictionary + 1 */
	COLUMN_DICTIONARY,    /* the probabilities that occur, most frequent first */
	COLUMN_CALLS,	      /* per call: end offset - previous one's */
	COLUMN_INDICES,	      /* per probe: index - (previous index of the function + 1) */
	COLUMN_PROBE_GUIDS,   /* per probe: enum probe_guid, or that of an IR function */
	N_COLUMNS
};

enum guid_kind { GUID_OF_NAME = 0, GUID_GIVEN = 1 };
enum probe_guid { PROBE_OF_FUNCTION = 0, PROBE_GUID_GIVEN = 1, PROBE_OF_IR_FUNCTION = 2 /* + n */ };

#define PROBABILITY_ONE (1u << 31)

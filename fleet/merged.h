/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * merged.h - what the fleet knows of a module, from the database's rows to a profile
 *
 * The values are those of fleet.pull() and fleet.seen() in PostgreSQL's binary format; whoever answers may have sent anything.
 */

#include <stddef.h>
#include <stdint.h>

#include "profiles/store/profile.h"

#define MERGED_FIELDS 6
#define MERGED_MAX_BYTES ((size_t)256 << 20) /* of one answer */
#define MERGED_MAX_COUNTS (1u << 24)	     /* blocks in all, as in a stored profile */

struct merged_field {
	const void *bytes; /* borrowed; NULL: the value is NULL */
	size_t size;
};

struct merged {
	struct profile *profile; /* owned */
	size_t n_counts;
};

/**
 * merged_begin() - an empty one for @build_id; -ENOMEM
 * Executions come out as parts of the module's samples, MERGED_ONE for each.
 */
int merged_begin(const struct build_id *build_id, struct merged *ret);
void merged_done(struct merged *merged);
static inline void merged_donep(struct merged *merged)
{
	merged_done(merged);
}
#define MERGED_ONE 0x1p20

/** merged_add() - one row: guid, hash, weight, samples, executions, spread. -EBADMSG: it makes no sense; -ENOMEM */
int merged_add(struct merged *merged, const struct merged_field fields[MERGED_FIELDS], struct fault *reterr);

#define MERGED_SEEN_FIELDS 5
#define MERGED_PAGE_BYTES 4096u

/** merged_add_seen() - one row of fleet.seen(): page, weight, bytes in it, targets, weights; likewise */
int merged_add_seen(struct merged *merged, const struct merged_field fields[MERGED_SEEN_FIELDS],
		    struct fault *reterr);

/** merged_end() - all rows were added */
void merged_end(struct merged *merged);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * culprit.h - what an instruction may have waited for
 *
 * Two are no stalls, three are known from the code alone (the best case contains them), the others are what remains when
 * all that cannot be has been ruled out (DCPI 1997, section 6.3). A cause that cannot be ruled out and has no rival is
 * certain; of several, each may have cost everything or nothing.
 */

#include "arch/insn.h"

struct named_culprit {
	const char *name, *title;
};

// clang-format off: a table
#define CULPRITS(row) \
	row(EXECUTION, "execution", "work: a place in the pipeline") \
	row(DEPENDENCY, "dependency", "the result of an instruction before, caches hit") \
	row(UNIT, "unit", "an instruction that takes long by itself: division, square root, copies by microcode") \
	row(DATA, "data-cache", "a load that missed a cache or the TLB") \
	row(STORE, "store-buffer", "room for a store") \
	row(FORWARD, "store-forward", "a load of bytes that a store before it wrote in part") \
	row(FETCH, "instruction-cache", "code that missed a cache or the TLB") \
	row(MISPREDICT, "mispredict", "a branch that went another way than was predicted") \
	row(FRONT, "front-end", "fetching and decoding at a jump's target, code in the cache") \
	row(SERIALIZE, "serialize", "an instruction that waits for all before it: fences, atomic ones, system calls") \
	row(FAULT, "page-fault", "what comes behind a page fault") \
	row(UNKNOWN, "unknown", "nothing that is known here explains it")
// clang-format on

#define CULPRIT_ENUM(id, name, title) CULPRIT_##id,
enum culprit { CULPRITS(CULPRIT_ENUM) CULPRIT_END };

/** culprit_name() - for people and JSON */
const char *culprit_name(enum culprit culprit);
const char *culprit_title(enum culprit culprit);

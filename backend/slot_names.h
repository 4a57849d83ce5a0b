/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * slot_names.h - which names the slots of a linked file's GOT, and the entries of .iplt, are for
 *
 * A slot only has an address, which several names may have, and those that nothing defines have none; an entry (of a
 * function that is chosen at start) only has the function that chooses. But the code that a link took in says by a
 * relocation which name it means, and as linked it says which slot or entry. Where both stand is known from the names
 * that are defined beside it.
 * Source: System V ABI, AMD64 supplement, "Relocation Types". Other machines' slots have no names here.
 */

#include "backend/used_inputs.h"
#include "base/arena.h"
#include "module/image.h"

struct slot_list {
	const char **names; /* from the first; NULL: not known. In the arena, and in the inputs */
	size_t n;
};

struct slot_names {
	struct slot_list slots, entries;
};

/**
 * slot_names_read() - what foreign bytes claim: a name need not be one of @output's
 * Return: 0 or -ENOMEM. Cost: O(symbols log symbols + relocations).
 */
int slot_names_read(const struct image *output, const struct used_inputs *used, struct arena *arena,
		    struct slot_names *ret);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * example.h - Morph data of one program, by which models begin trained; part of the format
 *
 * A small program has not enough IR to learn from: what all C and C++ programs have in common takes most of its bytes.
 * So both directions learn first from this one: code of Morph's own, linked with start files that only name what such
 * files name. scripts/example makes it; docs/format-morph.md has its SHA-256.
 */

#include "base/bytes.h"

#define EXAMPLE_VERSION 1u /* of the frame that the bytes stand in */

struct example {
	struct buffer fields; /* without build ID and what follows it in the head */
	struct buffer map;    /* block_map_encode() */
	struct buffer ir;     /* modules, one behind the other */
};

/** example_get() - made once, and kept; NULL: no memory */
const struct example *example_get(void);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * mutant.h - what a Morph executable carries, changed on purpose
 *
 * A mutant is a shipped program, to the bit as it was, whose section .morph says something else and is well framed:
 * right checksums, right build ID. A *class* is one way to change it; with a seed it makes one mutant, always the same.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "module/morph_data.h"

struct mutant {
	struct arena *arena;		/* owned; all that a class makes */
	struct morph_data *data;	/* owned; the classes change it in place */
	const struct morph_data *other; /* borrowed: of another program; NULL: none */
	const char *plants;		/* directory of objects to slip in; NULL: none */
	uint64_t random;
	char what[256]; /* what was done, for people */
};

/** mutant_draw() - a number below @below, or any when that is 0 */
uint64_t mutant_draw(struct mutant *mutant, uint64_t below);
/** mutant_says() - add to what was done; returns 0 */
int mutant_says(struct mutant *mutant, const char *fmt, ...) _printf_(2, 3);
/** mutant_bytes() - change @bytes in place as random damage does; *size may shrink */
void mutant_bytes(struct mutant *mutant, uint8_t *bytes, size_t *size);

/*
 * Each class returns 0; MUTANT_NONE when this program has nothing of that kind; -errno.
 */
enum { MUTANT_NONE = 1 };
struct mutant_class {
	const char *name;
	int (*make)(struct mutant *mutant);
};

extern const struct mutant_class mutant_plan_classes[], mutant_data_classes[],
	mutant_object_classes[]; /* up to a NULL name */

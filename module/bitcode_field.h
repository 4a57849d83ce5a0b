/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * bitcode_field.h - a field of bitcode: what part it plays, and in what form it is coded
 */

#include "module/bitstream.h"

/* In what form a field is coded. */
enum field_form {
	FIELD_PLAIN,
	FIELD_DELTA,	/* the difference to @base, its sign in bit 0 */
	FIELD_BACKWARD, /* @base - field */
	FIELD_CHAR6,	/* the character that the six bits stand for */
};

struct field {
	enum primitive_role role;
	unsigned width; /* bits; VBR: of a chunk */
	bool is_fixed;	/* exactly so many */
	enum field_form form;
	uint64_t base;
};

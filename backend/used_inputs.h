/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * used_inputs.h - the files and archive members that a link really used, in the linker's order
 *
 * From the lines of ld.lld --trace: "FILE" or "ARCHIVE(MEMBER)", printed as each is taken in, which is
 * also the order in which lld lays their sections out.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/fault.h"
#include "base/macro.h"

enum used_kind {
	USED_OBJECT = 1, /* machine code */
	USED_IR,	 /* bitcode, or an object that carries it */
	USED_SHARED,
};

struct used_input {
	enum used_kind kind;
	char *name;	      /* owned; as the linker printed it */
	const uint8_t *bytes; /* borrowed from used_inputs */
	size_t size;
	const char *path; /* of the file that it is or lies in; NULL: a member of a thin archive */
	size_t at;	  /* where it begins there; path and this are borrowed from used_inputs */
};

struct used_inputs {
	struct used_input *inputs; /* owned */
	size_t n_inputs, capacity;
	struct used_file **files; /* private: mapped files and archives */
	size_t n_files, files_capacity;
};

/**
 * used_inputs_read() - @trace: what the linker printed
 * @retother: appended: the lines that name no file, which belong to the caller of the linker
 * Return: 0; -ENODATA: a member cannot be told from others of its name; -errno; @reterr filled.
 */
int used_inputs_read(const struct buffer *trace, struct used_inputs *ret, struct buffer *retother,
		     struct fault *reterr);
void used_inputs_done(struct used_inputs *used);
static inline void used_inputs_donep(struct used_inputs *used)
{
	used_inputs_done(used);
}

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * line_program.h - the line number program of one unit (DWARF 4, 6.2), private to the writer
 */

#include "base/bytes.h"
#include "debug/describe.h"

struct line_program {
	struct buffer body, files; /* owned */
	uint32_t *numbers;	   /* owned; by place in source->files[]: the unit's number, 0: none yet */
	uint32_t n_files;
	const struct source *source;
	const char *directory; /* of the unit: names below it are relative */
};

int line_program_init(struct line_program *program, const struct source *source, const char *directory);
void line_program_done(struct line_program *program);

/** line_program_file() - the unit's number of a file in source->files[]; 0 for SOURCE_NONE */
uint32_t line_program_file(struct line_program *program, uint32_t file);

/** line_program_add() - sequences for @rows, each ended by a row without a file. Errors stay in the buffers */
void line_program_add(struct line_program *program, const struct described_row *rows, size_t n);

/** line_program_write() - header and body behind @ret */
void line_program_write(const struct line_program *program, struct buffer *ret);

/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "debug/line_program.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BASE (-5)
#define LINE_RANGE 14
#define OPCODE_BASE 13

int line_program_init(struct line_program *program, const struct source *source, const char *directory)
{
	*program = (struct line_program){ .source = source, .directory = directory };
	program->numbers = calloc(source->n_files + 1, sizeof(*program->numbers));
	return program->numbers ? 0 : -ENOMEM;
}

void line_program_done(struct line_program *program)
{
	buffer_done(&program->body);
	buffer_done(&program->files);
	free(program->numbers);
}

uint32_t line_program_file(struct line_program *program, uint32_t file)
{
	size_t n = strlen(program->directory);
	const char *name;

	if (file == SOURCE_NONE)
		return 0;
	if (program->numbers[file])
		return program->numbers[file];
	name = program->source->files[file];
	if (n && strncmp(name, program->directory, n) == 0 && name[n] == '/')
		name += n + 1;
	buffer_bytes(&program->files, name, strlen(name) + 1);
	buffer_bytes(&program->files, "\0\0\0", 3); /* directory, time, length: not said */
	return program->numbers[file] = ++program->n_files;
}

/* The state machine's registers. */
struct registers {
	uint64_t address;
	uint32_t file, line, column;
	bool is_statement;
};

static void sequence_begin(struct buffer *body, uint64_t address, struct registers *at)
{
	*at = (struct registers){ address, 1, 1, 0, true };
	buffer_u8(body, 0);
	buffer_uleb(body, 9);
	buffer_u8(body, DW_LNE_set_address);
	buffer_u64(body, address);
}

static void sequence_end(struct buffer *body, uint64_t address, const struct registers *at)
{
	buffer_u8(body, DW_LNS_advance_pc);
	buffer_uleb(body, address - at->address);
	buffer_u8(body, 0);
	buffer_uleb(body, 1);
	buffer_u8(body, DW_LNE_end_sequence);
}

/* A row at @address and @line: one special opcode where there is one. */
static void row_emit(struct buffer *body, uint64_t address, uint32_t line, struct registers *at)
{
	int64_t lines = (int64_t)line - at->line;
	uint64_t bytes = address - at->address;

	at->line = line;
	at->address = address;
	if (lines < LINE_BASE || lines >= LINE_BASE + LINE_RANGE) {
		buffer_u8(body, DW_LNS_advance_line);
		buffer_sleb(body, lines);
		lines = 0;
	}
	if (bytes > (255 - OPCODE_BASE) / LINE_RANGE - 1) {
		buffer_u8(body, DW_LNS_advance_pc);
		buffer_uleb(body, bytes);
		bytes = 0;
	}
	buffer_u8(body, (uint8_t)((uint64_t)(lines - LINE_BASE) + LINE_RANGE * bytes + OPCODE_BASE));
}

void line_program_add(struct line_program *program, const struct described_row *rows, size_t n)
{
	struct buffer *body = &program->body;
	struct registers at;
	bool open = false;

	for (size_t i = 0; i < n; i++) {
		const struct described_row *row = &rows[i];
		uint32_t file = line_program_file(program, row->file);

		if (!file) {
			if (open)
				sequence_end(body, row->address, &at);
			open = false;
			continue;
		}
		if (!open)
			sequence_begin(body, row->address, &at);
		open = true;
		if (file != at.file) {
			buffer_u8(body, DW_LNS_set_file);
			buffer_uleb(body, at.file = file);
		}
		if (row->column != at.column) {
			buffer_u8(body, DW_LNS_set_column);
			buffer_uleb(body, at.column = row->column);
		}
		if (row->is_statement != at.is_statement) {
			buffer_u8(body, DW_LNS_negate_stmt);
			at.is_statement = row->is_statement;
		}
		row_emit(body, row->address, row->line, &at);
	}
}

void line_program_write(const struct line_program *program, struct buffer *ret)
{
	static const uint8_t operands[OPCODE_BASE - 1] = { 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1 };
	size_t header = 5 + sizeof(operands) + 1 + 1 + program->files.size + 1;

	buffer_u32(ret, (uint32_t)(2 + 4 + header + program->body.size));
	buffer_u16(ret, 4);
	buffer_u32(ret, (uint32_t)header);
	buffer_u8(ret, 1); /* bytes: aarch64's addresses are multiples of 4 all the same */
	buffer_u8(ret, 1); /* operations an instruction */
	buffer_u8(ret, 1); /* rows are statements by default */
	buffer_u8(ret, (uint8_t)LINE_BASE);
	buffer_u8(ret, LINE_RANGE);
	buffer_u8(ret, OPCODE_BASE);
	buffer_bytes(ret, operands, sizeof(operands));
	buffer_u8(ret, 0); /* no directories */
	buffer_bytes(ret, program->files.data, program->files.size);
	buffer_u8(ret, 0);
	buffer_bytes(ret, program->body.data, program->body.size);
	ret->bad |= program->files.bad || program->body.bad;
}

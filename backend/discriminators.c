/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Line number programs are walked (DWARF 5, 6.2.5), not run: the length of every operation is known without its state.
 */

#include "backend/discriminators.h"

#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"

#define MOST 0xffffffull /* libdw: 24 bits */

enum { EXTENDED = 0, FIXED_ADVANCE_PC = 9, SET_DISCRIMINATOR = 4 };

struct table {
	struct reader program;
	uint8_t opcode_base;
	const uint8_t *operands; /* how many, of operations 1 to opcode_base - 1 */
};

/* The header of the table at @reader, which then is at the next one. */
static bool table_read(struct reader *reader, struct table *ret)
{
	uint64_t length = reader_u32(reader), header;
	bool wide = length == 0xffffffff;
	struct reader unit, fields;
	uint16_t version;

	if (wide)
		length = reader_u64(reader);
	unit = reader_sub(reader, length);
	version = reader_u16(&unit);
	if (version >= 5)
		reader_u16(&unit); /* sizes of addresses and of segment selectors */
	header = wide ? reader_u64(&unit) : reader_u32(&unit);
	fields = reader_sub(&unit, header);
	reader_bytes(&fields, version >= 4 ? 5 : 4);
	ret->opcode_base = reader_u8(&fields);
	ret->operands = reader_bytes(&fields, ret->opcode_base ? ret->opcode_base - 1 : 0);
	ret->program = unit;
	return !reader->bad && !unit.bad && !fields.bad && version >= 2 && version <= 5 && ret->opcode_base;
}

/* Behind the 0 of an extended operation. @bytes: what @program reads, to be changed. */
static bool extended_walk(struct reader *program, uint8_t *bytes)
{
	struct reader operation = reader_sub(program, reader_uleb(program));
	size_t first, n;
	uint64_t value;

	if (reader_u8(&operation) != SET_DISCRIMINATOR)
		return false;
	first = (size_t)(operation.at - program->start);
	n = reader_left(&operation);
	value = reader_uleb(&operation);
	if (operation.bad || value <= MOST)
		return false;
	memset(bytes + first, 0x80, n - 1); /* LEB128 of 0, as long as before */
	bytes[first + n - 1] = 0;
	return true;
}

size_t discriminators_shorten(uint8_t *bytes, size_t size)
{
	struct reader reader = reader_of(bytes, size);
	struct table table;
	size_t n = 0;

	while (reader_left(&reader) && table_read(&reader, &table)) {
		struct reader *program = &table.program;

		program->start = bytes;
		while (reader_left(program) && !program->bad) {
			uint8_t operation = reader_u8(program);

			if (operation == EXTENDED)
				n += extended_walk(program, bytes);
			else if (operation == FIXED_ADVANCE_PC && table.opcode_base > FIXED_ADVANCE_PC)
				reader_u16(program);
			else if (operation < table.opcode_base)
				for (unsigned i = table.operands[operation - 1]; i > 0; i--)
					reader_uleb(program);
		}
		if (program->bad)
			break;
	}
	return n;
}

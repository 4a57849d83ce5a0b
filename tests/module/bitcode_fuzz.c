/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Bitcode of any origin: as input of the scanner and of the packer, which must give it back; and, behind
 * its first byte, as packed bytes.
 */

#include <string.h>

#include "module/bitcode.h"
#include "module/bitcode_pack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void pack_and_compare(const uint8_t *data, size_t size)
{
	_clean_(buffer_donep) struct buffer packed = { 0 }, out = { 0 };
	struct bitcode_span span = { data, size };
	struct fault fault;

	if (bitcode_pack(&span, 1, &packed) < 0 ||
	    bitcode_unpack(packed.data, packed.size, &size, 1, &out, &fault) < 0 || out.size != size ||
	    (size && memcmp(out.data, data, size) != 0))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_clean_(buffer_donep) struct buffer trimmed = { 0 }, out = { 0 };
	size_t n, sizes[2] = { size ? data[0] * 4u : 0, 64 };
	struct bitcode_symbols symbols;
	struct bitcode_facts facts;
	struct fault fault;
	bool has;

	bitcode_size(data, size, &n, &fault);
	bitcode_facts_read(data, size, &facts, &fault);
	bitcode_has_debug_info(data, size, &has, &fault);
	bitcode_has_described_loops(data, size, &has, &fault);
	bitcode_trim(data, size, &trimmed, &fault);
	if (bitcode_symbols_read(data, size, &symbols, &fault) == 0) {
		bitcode_symbols_have(&symbols, "main");
		bitcode_symbols_done(&symbols);
	}
	pack_and_compare(data, size);
	if (size)
		bitcode_unpack(data + 1, size - 1, sizes, 2, &out, &fault);
	return 0;
}

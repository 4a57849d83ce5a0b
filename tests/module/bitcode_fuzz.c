/* SPDX-License-Identifier: Apache-2.0 */

/* Bitcode of any origin: as input of the scanners and of the packer, which must give it back. The last byte chooses. */

#include <string.h>

#include "module/bitcode.h"
#include "module/bitcode_pack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void pack_and_compare(const uint8_t *data, size_t size)
{
	_clean_(buffer_donep) struct buffer packed = { 0 }, out = { 0 };
	struct bitcode_span span = { data, size };
	struct fault fault;

	if (bitcode_pack(&span, 1, NULL, &packed) < 0 ||
	    bitcode_unpack(packed.data, packed.size, NULL, &size, 1, &out, &fault) < 0 || out.size != size ||
	    (size && memcmp(out.data, data, size) != 0))
		abort();
}

static void symbols_read(const uint8_t *data, size_t size)
{
	struct bitcode_symbols symbols;
	struct fault fault;

	if (bitcode_symbols_read(data, size, &symbols, &fault) < 0)
		return;
	bitcode_symbols_have(&symbols, "main");
	bitcode_symbols_done(&symbols);
}

static void trim(const uint8_t *data, size_t size)
{
	_clean_(buffer_donep) struct buffer trimmed = { 0 };
	struct fault fault;

	bitcode_trim(data, size, &trimmed, &fault);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bitcode_facts facts;
	struct fault fault;
	bool has;
	size_t n;

	if (size == 0)
		return 0;
	size--;
	/* Packing takes a thousand times as long as all others, and is done to modules of one's own: the corpus has to do. */
	if (!IS_FUZZED && size % 8 == 0)
		pack_and_compare(data, size);
	switch (data[size] % 16) {
	case 1:
	case 2:
	case 3:
		bitcode_size(data, size, &n, &fault);
		bitcode_has_debug_info(data, size, &has, &fault);
		break;
	case 4:
	case 5:
	case 6: bitcode_facts_read(data, size, &facts, &fault); break;
	case 7:
	case 8:
	case 9:
		bitcode_has_described_loops(data, size, &has, &fault);
		bitcode_has_thunks(data, size, &has, &fault);
		bitcode_reads_files(data, size);
		break;
	case 10:
	case 11:
	case 12: trim(data, size); break;
	default: symbols_read(data, size);
	}
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */

/* A memo as whoever could write it made it: what it says is bounded, and what is written of it can be read. */

#include "editor/steps/memo.h"

#include <stdlib.h>

#define PART_MAX (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void parts_get(const struct memo *memo)
{
	for (enum memo_part part = 0; part < MEMO_PARTS; part++) {
		_clean_(buffer_donep) struct buffer bytes = { 0 };

		if (memo_get(memo, part, PART_MAX, &bytes) == 0 && bytes.size > PART_MAX)
			abort();
	}
}

static void tables_use(struct memo *memo, const uint8_t *known, const uint8_t *unknown)
{
	struct reader found;

	for (enum memo_part table = MEMO_TABLES; table < MEMO_PARTS; table++) {
		if (memo_find(memo, table, known, &found) && !reader_bytes(&found, reader_left(&found)))
			abort();
		if (!memo_find(memo, table, unknown, &found) && memo_add(memo, table, unknown, "\1a", 2) < 0)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t key[SHA256_BYTES], known[MEMO_KEY_BYTES], unknown[MEMO_KEY_BYTES] = { 255, 255 };
	_clean_(memo_freep) struct memo *memo = memo_new(key), *again = memo_new(key);
	_clean_(buffer_donep) struct buffer file = { 0 };
	struct reader found;
	struct fault fault;

	if (!memo || !again || memo_read(memo, data, size, &fault) < 0)
		return 0;
	parts_get(memo);
	tables_use(memo, known, unknown);
	if (memo_write(memo, &file) == 0 && file.size &&
	    (memo_read(again, file.data, file.size, &fault) < 0 ||
	     !memo_find(again, MEMO_HALVES, unknown, &found)))
		abort();
	return 0;
}

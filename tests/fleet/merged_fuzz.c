/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Rows that a database answers with: any bytes are refused with a sentence, or become a profile that can be written and read.
 * An input is rows of six values (of what was counted), or of five (of what was seen), each a length (ULEB) and that many bytes.
 */

#include "fleet/merged.h"

#include <errno.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
	if (!condition)
		abort();
}

static int row_add(struct merged *merged, struct reader *reader, int n, struct fault *fault)
{
	struct merged_field fields[MERGED_FIELDS];
	int r;

	for (int i = 0; i < n; i++)
		fields[i].bytes = reader_string(reader, &fields[i].size);
	fault->text[0] = '\0';
	if (reader->bad)
		return -EBADMSG;
	r = n == MERGED_FIELDS ? merged_add(merged, fields, fault) : merged_add_seen(merged, fields, fault);
	must(r == 0 || fault->text[0]);
	return r;
}

/* @n: values of a row: of what was counted, or seen */
static void answer(const uint8_t *data, size_t size, int n)
{
	const struct build_id id = { .size = 20, .bytes = { 1, 2, 3 } };
	struct reader reader = reader_of(data, size);
	struct merged merged;
	struct fault fault;
	int r = merged_begin(&id, &merged);

	while (r == 0 && reader_left(&reader))
		r = row_add(&merged, &reader, n, &fault);
	if (r == 0) {
		struct buffer bytes = { 0 };
		struct profile *back = NULL;

		merged_end(&merged);
		must(profile_encode(merged.profile, &bytes) == 0);
		must(profile_decode(bytes.data, bytes.size, &back, &fault) == 0);
		profile_free(back);
		buffer_done(&bytes);
	}
	merged_done(&merged);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	answer(data, size, MERGED_FIELDS);
	answer(data, size, MERGED_SEEN_FIELDS);
	return 0;
}

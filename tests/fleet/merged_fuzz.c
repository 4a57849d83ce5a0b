/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Rows that a database answers with: any bytes are refused with a sentence, or become a profile that can be written and read.
 * An input is rows of six values, each a length (ULEB) and that many bytes.
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct build_id id = { .size = 20, .bytes = { 1, 2, 3 } };
	struct reader reader = reader_of(data, size);
	struct merged merged;
	struct fault fault;
	int r = merged_begin(&id, &merged);

	while (r == 0 && reader_left(&reader)) {
		struct merged_field fields[MERGED_FIELDS];

		for (int i = 0; i < MERGED_FIELDS; i++)
			fields[i].bytes = reader_string(&reader, &fields[i].size);
		fault.text[0] = '\0';
		r = reader.bad ? -EBADMSG : merged_add(&merged, fields, &fault);
		must(r == 0 || reader.bad || fault.text[0]);
	}
	if (r == 0) {
		struct buffer bytes = { 0 };
		struct profile *back = NULL;

		must(profile_encode(merged.profile, &bytes) == 0);
		must(profile_decode(bytes.data, bytes.size, &back, &fault) == 0);
		profile_free(back);
		buffer_done(&bytes);
	}
	merged_done(&merged);
	return 0;
}

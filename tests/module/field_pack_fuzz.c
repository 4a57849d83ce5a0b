/* SPDX-License-Identifier: Apache-2.0 */

/* Packed fields and block map from anybody; what unpacks must come back when it is packed again. */

#include "module/field_pack.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_same(const struct buffer *a, const struct buffer *b)
{
	return a->size == b->size && (!a->size || memcmp(a->data, b->data, a->size) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_clean_(buffer_donep) struct buffer fields = { 0 }, map = { 0 }, packed = { 0 }, fields_again = { 0 },
					    map_again = { 0 };
	const struct build_id id = { .size = 4, .bytes = { 1, 2, 3, 4 } };
	struct reader in = reader_of(data, size);
	struct fault fault;

	if (field_unpack(&id, &in, 1u << 20, false, &fields, &map, &fault) < 0)
		return 0;
	if (field_pack(&id, &fields, &map, false, &packed) < 0)
		abort();
	in = reader_of(packed.data, packed.size);
	if (field_unpack(&id, &in, 1u << 20, false, &fields_again, &map_again, &fault) < 0 ||
	    reader_left(&in) || !is_same(&fields, &fields_again) || !is_same(&map, &map_again))
		abort();
	return 0;
}

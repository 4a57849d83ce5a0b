/* SPDX-License-Identifier: Apache-2.0 */

/* A file of the cache of code as anybody could have made it: no more comes out than was asked for, and never another key's. */

#include "editor/code/code_cache.h"

#include <stdlib.h>

#define OBJECT_MAX (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t key[SHA256_BYTES] = { 1 }, other[SHA256_BYTES] = { 2 };
	_clean_(buffer_donep) struct buffer object = { 0 }, again = { 0 }, file = { 0 }, none = { 0 };

	if (code_entry_unpack(data, size, key, OBJECT_MAX, &object) < 0)
		return 0;
	if (object.size > OBJECT_MAX || code_entry_unpack(data, size, other, OBJECT_MAX, &none) == 0)
		abort();
	if (code_entry_pack(key, object.data, object.size, &file) < 0 ||
	    code_entry_unpack(file.data, file.size, key, OBJECT_MAX, &again) < 0 || again.size != object.size)
		abort();
	return 0;
}

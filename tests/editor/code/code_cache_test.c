/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/code/code_cache.h"

#include <errno.h>
#include <string.h>

#include "tests/test.h"

static const uint8_t key[SHA256_BYTES] = { 1 }, other[SHA256_BYTES] = { 2 };

TEST(what_was_packed_comes_out_under_its_key_alone)
{
	_clean_(buffer_donep) struct buffer file = { 0 }, object = { 0 }, none = { 0 };

	CHECK_INT(code_entry_pack(key, "code", 4, &file), 0);
	CHECK_INT(code_entry_unpack(file.data, file.size, key, 4, &object), 0);
	CHECK(object.size == 4 && memcmp(object.data, "code", 4) == 0);
	CHECK_INT(code_entry_unpack(file.data, file.size, other, 4, &none), -ESTALE);
	CHECK_INT(code_entry_unpack(file.data, file.size, key, 3, &none), -EBADMSG);
	CHECK_INT(none.size, 0);
}

TEST(a_file_with_any_byte_changed_is_none)
{
	_clean_(buffer_donep) struct buffer file = { 0 }, none = { 0 };

	CHECK_INT(code_entry_pack(key, "some code of a module", 21, &file), 0);
	for (size_t i = 0; i < file.size; i++) {
		file.data[i] ^= 1;
		CHECK(code_entry_unpack(file.data, file.size, key, 100, &none) < 0);
		file.data[i] ^= 1;
		CHECK(code_entry_unpack(file.data, i, key, 100, &none) < 0);
	}
	CHECK_INT(none.size, 0);
}

TEST_MAIN()

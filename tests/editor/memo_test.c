/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/steps/memo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "tests/test.h"

static const uint8_t key[SHA256_BYTES] = { 1, 2, 3 }, other[SHA256_BYTES] = { 3, 2, 1 };

static void proof_of(unsigned i, uint8_t ret[MEMO_KEY_BYTES])
{
	memset(ret, 0, MEMO_KEY_BYTES);
	memcpy(ret, &i, sizeof(i));
}

static void memo_fill(struct memo *memo, unsigned n_proofs)
{
	char directory[] = "/tmp/morph-memo.XXXXXX", path[64];
	struct fault fault = { "" };

	CHECK(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/part", directory);
	CHECK_INT(memo_put(memo, MEMO_IR, "bitcode", 7, path, &fault), 0);
	CHECK_INT(memo_put(memo, MEMO_CODE, "objects", 7, path, &fault), 0);
	file_remove_tree(directory, NULL);
	for (unsigned i = 0; i < n_proofs; i++) {
		uint8_t proof[MEMO_KEY_BYTES];

		proof_of(i, proof);
		CHECK_INT(memo_add(memo, MEMO_PROOFS, proof, "\3one\3two", i % 2 ? 8 : 0), 0);
	}
}

TEST(what_was_put_is_there_in_the_next_one)
{
	_clean_(memo_freep) struct memo *memo = memo_new(key), *next = memo_new(key);
	_clean_(buffer_donep) struct buffer file = { 0 }, part = { 0 }, nothing = { 0 };
	uint8_t proof[MEMO_KEY_BYTES];
	struct reader found;

	memo_fill(memo, 100);
	CHECK_INT(memo_write(memo, &file), 0);
	CHECK_INT(memo_read(next, file.data, file.size, NULL), 0);
	CHECK_INT(memo_get(next, MEMO_CODE, 7, &part), 0);
	CHECK(part.size == 7 && memcmp(part.data, "objects", 7) == 0);
	for (unsigned i = 0; i < 100; i++) {
		proof_of(i, proof);
		CHECK(memo_find(next, MEMO_PROOFS, proof, &found));
		CHECK_INT(reader_left(&found), i % 2 ? 8 : 0);
		CHECK(!reader_left(&found) || memcmp(found.at, "\3one\3two", 8) == 0);
	}
	proof_of(100, proof);
	CHECK(!memo_find(next, MEMO_PROOFS, proof, &found));
	CHECK_INT(memo_write(next, &nothing), 0);
	CHECK_INT(nothing.size, 0);
}

TEST(a_part_is_no_larger_than_asked_for)
{
	_clean_(memo_freep) struct memo *memo = memo_new(key), *next = memo_new(key);
	_clean_(buffer_donep) struct buffer file = { 0 }, part = { 0 };

	memo_fill(memo, 0);
	CHECK_INT(memo_write(memo, &file), 0);
	CHECK_INT(memo_read(next, file.data, file.size, NULL), 0);
	CHECK_INT(memo_get(next, MEMO_CODE, 6, &part), -EBADMSG);
	CHECK_INT(memo_get(next, MEMO_PROOFS, 6, &part), -ENOENT);
}

TEST(another_programs_memo_is_as_good_as_none)
{
	_clean_(memo_freep) struct memo *memo = memo_new(key), *next = memo_new(other);
	_clean_(buffer_donep) struct buffer file = { 0 }, part = { 0 };
	uint8_t proof[MEMO_KEY_BYTES];
	struct reader found;
	struct fault fault;

	memo_fill(memo, 1);
	CHECK_INT(memo_write(memo, &file), 0);
	CHECK_INT(memo_read(next, file.data, file.size, &fault), -ESTALE);
	CHECK_INT(memo_get(next, MEMO_IR, 100, &part), -ENOENT);
	proof_of(0, proof);
	CHECK(!memo_find(next, MEMO_PROOFS, proof, &found));
}

TEST(every_shorter_file_is_refused)
{
	_clean_(memo_freep) struct memo *memo = memo_new(key);
	_clean_(buffer_donep) struct buffer file = { 0 };

	memo_fill(memo, 3);
	CHECK_INT(memo_write(memo, &file), 0);
	for (size_t n = 0; n < file.size; n++) {
		_clean_(memo_freep) struct memo *next = memo_new(key);
		_clean_(buffer_donep) struct buffer part = { 0 };
		struct fault fault;

		CHECK(memo_read(next, file.data, n, &fault) < 0);
		CHECK_INT(memo_get(next, MEMO_IR, 100, &part), -ENOENT);
	}
}

TEST(what_was_not_asked_for_goes_when_there_is_too_much)
{
	_clean_(memo_freep) struct memo *memo = memo_new(key), *next = memo_new(key), *last = memo_new(key);
	_clean_(buffer_donep) struct buffer file = { 0 }, again = { 0 };
	uint8_t proof[MEMO_KEY_BYTES];
	struct reader found;

	memo_fill(memo, MEMO_ENTRIES_MAX);
	CHECK_INT(memo_write(memo, &file), 0);
	CHECK_INT(memo_read(next, file.data, file.size, NULL), 0);
	proof_of(MEMO_ENTRIES_MAX - 1, proof);
	CHECK(memo_find(next, MEMO_PROOFS, proof, &found));
	proof_of(MEMO_ENTRIES_MAX, proof);
	CHECK_INT(memo_add(next, MEMO_PROOFS, proof, NULL, 0), 0);
	CHECK_INT(memo_write(next, &again), 0);
	CHECK_INT(memo_read(last, again.data, again.size, NULL), 0);
	CHECK(memo_find(last, MEMO_PROOFS, proof, &found));
	proof_of(MEMO_ENTRIES_MAX - 1, proof);
	CHECK(memo_find(last, MEMO_PROOFS, proof, &found));
}

TEST_MAIN()

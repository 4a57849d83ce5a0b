/* SPDX-License-Identifier: Apache-2.0 */

#include "module/build_id.h"

#include <errno.h>

#include "tests/attack.h"

TEST(text_and_bytes_are_inverse)
{
	char text[BUILD_ID_MAX_TEXT];
	struct build_id id;

	CHECK_INT(build_id_parse("00ff1aB201020304", &id), 0);
	CHECK_INT(id.size, 8);
	CHECK_STR(build_id_text(&id, text), "00ff1ab201020304");
}

TEST(what_is_not_hexadecimal_is_refused)
{
	struct build_id id;

	CHECK_INT(build_id_parse("", &id), -EINVAL);
	CHECK_INT(build_id_parse("abc", &id), -EINVAL);
	CHECK_INT(build_id_parse("zz", &id), -EINVAL);
}

TEST(the_build_id_is_found_behind_another_note_without_final_padding)
{
	static const uint8_t notes[] = { 4, 0, 0,   0,	 1,   0, 0,    0,    1,	   0, 0, 0, 'A', 'B', 'C',
					 0, 7, 0,   0,	 0,   4, 0,    0,    0,	   9, 0, 0, 0,	 3,   0,
					 0, 0, 'G', 'N', 'U', 0, 0xaa, 0xbb, 0xcc, 4, 5, 6, 7,	 8,   9 };
	struct build_id id;

	CHECK(build_id_find_note(notes, sizeof(notes), &id));
	CHECK_INT(id.size, 9);
	CHECK_INT(id.bytes[2], 0xcc);
	CHECK(!build_id_find_note(notes, sizeof(notes) - 1, &id));
	CHECK(!build_id_find_note(notes, 20, &id));
}

/* Such an ID is chosen, not computed; and in the store "ab" would be the directory of all that begin so. */
TEST(short_and_long_build_ids_are_no_build_ids)
{
	char text[2 * 40 + 1];
	bool none = true, note = true;

	for (unsigned n = 1; n <= 33; n += n == BUILD_ID_MIN_BYTES - 1 ? 33 - n : 1) {
		uint8_t notes[16 + 36] = { 4, 0, 0, 0, (uint8_t)n, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0 };
		struct build_id id;

		memset(text, 'a', 2 * n);
		text[2 * n] = '\0';
		memset(notes + 16, 0xaa, n);
		none = none && build_id_parse(text, &id) == -EINVAL;
		note = note && !build_id_find_note(notes, sizeof(notes), &id);
	}
	ATTACK("gate-build-id-of-1-to-7-and-33-bytes-as-text", none);
	ATTACK("gate-build-id-of-1-to-7-and-33-bytes-in-a-note", note);
}

/* One that is too short is no build ID, and another may follow. */
TEST(the_first_usable_note_counts)
{
	static const uint8_t notes[] = { 4, 0, 0,   0,	 4,   0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U',
					 0, 1, 2,   3,	 4,   4, 0, 0, 0, 8, 0, 0, 0,	3,   0,
					 0, 0, 'G', 'N', 'U', 0, 9, 8, 7, 6, 5, 4, 3,	2 };
	struct build_id id;

	CHECK(build_id_find_note(notes, sizeof(notes), &id));
	CHECK_INT(id.bytes[0], 9);
}

TEST_MAIN()

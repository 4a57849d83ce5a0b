/* SPDX-License-Identifier: Apache-2.0 */

#include "module/build_id.h"

#include <errno.h>

#include "tests/test.h"

TEST(text_and_bytes_are_inverse)
{
	char text[BUILD_ID_MAX_TEXT];
	struct build_id id;

	CHECK_INT(build_id_parse("00ff1aB2", &id), 0);
	CHECK_INT(id.size, 4);
	CHECK_STR(build_id_text(&id, text), "00ff1ab2");
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
	static const uint8_t notes[] = {
		4, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 'A', 'B', 'C', 0, 7, 0, 0, 0,
		4, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0, 0xaa, 0xbb, 0xcc,
	};
	struct build_id id;

	CHECK(build_id_find_note(notes, sizeof(notes), &id));
	CHECK_INT(id.size, 3);
	CHECK_INT(id.bytes[2], 0xcc);
	CHECK(!build_id_find_note(notes, sizeof(notes) - 1, &id));
	CHECK(!build_id_find_note(notes, 20, &id));
}

TEST_MAIN()

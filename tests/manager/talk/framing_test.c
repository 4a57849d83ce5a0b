/* SPDX-License-Identifier: Apache-2.0 */

#include "manager/talk/framing.h"

#include <errno.h>

#include "manager/talk/allowance.h"
#include "manager/talk/audience.h"
#include "tests/attack.h"

#define HELLO "\0AUTH EXTERNAL 30\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\n"

static struct framing f;
static struct buffer out;

static int take(const void *bytes, size_t size)
{
	return framing_take(&f, bytes, size, &out);
}

static void begin(void)
{
	f = (struct framing){ .n_held = 0 };
	buffer_done(&out);
	out = (struct buffer){ 0 };
	CHECK_INT(take(HELLO, sizeof(HELLO) - 1), 0);
	CHECK_INT(out.size, sizeof(HELLO) - 1);
	out.size = 0;
}

/* A header that claims these lengths, then zeros. */
static size_t message(uint8_t bytes[256], char order, uint32_t fields, uint32_t body)
{
	memset(bytes, 0, 256);
	bytes[0] = (uint8_t)order;
	bytes[1] = bytes[3] = 1;
	for (unsigned i = 0; i < 4; i++) {
		unsigned at = order == 'l' ? i : 3 - i;

		bytes[4 + at] = (uint8_t)(body >> 8 * i);
		bytes[12 + at] = (uint8_t)(fields >> 8 * i);
	}
	return 16 + ((fields + 7) & ~7u) + body;
}

TEST(whole_messages_pass_however_they_come)
{
	uint8_t bytes[256];
	size_t n;

	for (const char *order = "lB"; *order; order++) {
		begin();
		n = message(bytes, *order, 13, 5);
		for (size_t i = 0; i < n; i++) {
			CHECK_INT(out.size, 0);
			CHECK_INT(take(bytes + i, 1), 0);
		}
		CHECK_INT(out.size, n);
		CHECK_INT(take(bytes, n), 0);
		CHECK_INT(take(bytes, n), 0);
		CHECK_INT(out.size, 3 * n);
		CHECK_INT(f.n_messages, 3);
	}
	buffer_done(&out);
}

TEST(what_is_too_long_is_refused_by_its_header)
{
	static const uint32_t lengths[] = { FRAMING_MESSAGE_MAX, 127u << 20, UINT32_MAX, UINT32_MAX - 7 };
	uint8_t bytes[256];
	bool all = true;

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		begin();
		message(bytes, 'l', 0, lengths[i]);
		all = all && take(bytes, 16) == -EMSGSIZE && out.size == 0;
		begin();
		message(bytes, 'B', lengths[i], 0);
		all = all && take(bytes, 16) == -EMSGSIZE && out.size == 0;
	}
	ATTACK("bus-message-of-128-megabytes", all);
	buffer_done(&out);
}

TEST(lines_without_end_and_lines_without_number_are_refused)
{
	char line[FRAMING_LINE_MAX + 1];
	int r = 0;

	memset(line, 'A', sizeof(line));
	f = (struct framing){ .n_held = 0 };
	CHECK_INT(take("", 1), 0);
	ATTACK("bus-endless-line", take(line, sizeof(line)) == -EMSGSIZE);
	f = (struct framing){ .n_held = 0 };
	CHECK_INT(take("", 1), 0);
	for (unsigned i = 0; r == 0 && i < 1000; i++)
		r = take("DATA\r\n", 6);
	ATTACK("bus-endless-authentication", r == -EPROTO);
	buffer_done(&out);
	out = (struct buffer){ 0 };
	f = (struct framing){ .n_held = 0 };
	CHECK_INT(take("GET / HTTP/1.0\r\n", 16), -EPROTO);
	begin();
	CHECK_INT(take("AAAAAAAAAAAAAAAA", 16), -EPROTO);
	buffer_done(&out);
}

TEST(a_user_has_so_many_calls_and_gets_new_ones_in_time)
{
	static struct allowance a;
	const uint64_t second = 1000000000;
	unsigned n = 0;

	while (n < 1000 && allowance_take(&a, 1000, second))
		n++;
	CHECK_INT(n, ALLOWANCE_BURST);
	CHECK(allowance_take(&a, 1001, second));
	CHECK(!allowance_take(&a, 1000, second + 1000));
	for (n = 0; n < 1000 && allowance_take(&a, 1000, 3 * second); n++)
		;
	CHECK_INT(n, 2 * ALLOWANCE_PER_SECOND);
	ATTACK("bus-storm-of-calls", !allowance_take(&a, 1000, 3 * second));
}

TEST(what_others_have_is_not_told)
{
	struct settings s = { .prefixes = (char *)"/usr /opt" };
	struct audience nobody, root, user = { .settings = &s, .home = "/home/alice" };

	audience_of(&s, 65534, false, &nobody);
	audience_of(&s, 0, true, &root);
	CHECK(audience_sees(&nobody, "/usr/bin/x") && audience_sees(&nobody, NULL) &&
	      audience_sees(&nobody, "[kernel]"));
	CHECK(audience_sees(&root, "/home/alice/x") && audience_sees(&user, "/home/alice/x"));
	ATTACK("bus-paths-of-other-users", !audience_sees(&nobody, "/home/alice/x") &&
						   !audience_sees(&user, "/home/alicex/x") &&
						   !audience_sees(&user, "/home/alice/../bob/x") &&
						   !audience_sees(&nobody, "memfd:secret"));
}

TEST_MAIN()

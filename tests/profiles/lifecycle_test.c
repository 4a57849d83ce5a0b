/* SPDX-License-Identifier: Apache-2.0 */

#include "profiles/lifecycle.h"

#include <errno.h>

#include "tests/test.h"

static struct lifecycle example(void)
{
	struct lifecycle lifecycle = { 0 };
	struct lifecycle_event event = { .kind = LIFECYCLE_SIGNAL, .time_ns = 5, .pid = 7, .count = 1,
					 .value = 11, .build_id = { .size = 8, .bytes = { 1, 0xab } },
					 .path = "/opt/a b\n\\c", .comm = "-x", .fault_path = "/lib/y.so",
					 .fault_offset = UINT64_MAX };

	CHECK_INT(lifecycle_add(&lifecycle, &event), 0);
	event = (struct lifecycle_event){ .kind = LIFECYCLE_EXIT, .count = 1, .value = -3, .path = "/bin/z" };
	CHECK_INT(lifecycle_add(&lifecycle, &event), 0);
	return lifecycle;
}

TEST(what_is_written_reads_back_the_same)
{
	_clean_(lifecycle_donep) struct lifecycle out = example(), in = { 0 };
	_clean_(buffer_donep) struct buffer text = { 0 };
	struct fault fault;

	CHECK_INT(lifecycle_encode(&out, &text), 0);
	CHECK_INT(lifecycle_decode((char *)text.data, text.size, &in, &fault), 0);
	CHECK_INT(in.n_events, 2);
	CHECK_STR(in.events[0].path, "/opt/a b\n\\c");
	CHECK_STR(in.events[0].comm, "-x");
	CHECK_STR(in.events[0].fault_path, "/lib/y.so");
	CHECK(in.events[0].fault_offset == UINT64_MAX);
	CHECK_INT(in.events[0].build_id.bytes[1], 0xab);
	CHECK_INT(in.events[1].value, -3);
	CHECK_STR(in.events[1].comm, "");
}

TEST(equal_starts_and_ends_are_united_but_signals_are_not)
{
	_clean_(lifecycle_donep) struct lifecycle lifecycle = example();
	struct lifecycle_event event = { .kind = LIFECYCLE_EXIT, .count = 4, .value = -3, .path = "/bin/z",
					 .pid = 9 };

	CHECK_INT(lifecycle_add(&lifecycle, &event), 0);
	CHECK_INT(lifecycle.n_events, 2);
	CHECK_INT(lifecycle.events[1].count, 5);
	CHECK_INT(lifecycle.events[1].pid, 9);
	event = (struct lifecycle_event){ .kind = LIFECYCLE_SIGNAL, .count = 1, .value = 11 };
	lifecycle_add(&lifecycle, &event);
	lifecycle_add(&lifecycle, &event);
	CHECK_INT(lifecycle.n_events, 4);
}

TEST(every_truncation_is_refused_except_between_lines)
{
	_clean_(lifecycle_donep) struct lifecycle out = example();
	_clean_(buffer_donep) struct buffer text = { 0 };

	lifecycle_encode(&out, &text);
	for (size_t size = 0; size < text.size; size++) {
		_clean_(lifecycle_donep) struct lifecycle in = { 0 };
		int r = lifecycle_decode((char *)text.data, size, &in, NULL);

		CHECK(r == (size && text.data[size - 1] == '\n' ? 0 : -EBADMSG));
	}
}

TEST(nonsense_and_other_versions_are_refused)
{
	static const char other[] = "morph-events 2\n", bad[] = "morph-events 1\nexec 1 2 0 0 - - - - 0 -\n";
	struct lifecycle in = { 0 };
	struct fault fault;

	CHECK_INT(lifecycle_decode(other, strlen(other), &in, &fault), -EPROTONOSUPPORT);
	CHECK_INT(lifecycle_decode(bad, strlen(bad), &in, &fault), -EBADMSG);
	CHECK(strstr(fault.text, "line 2"));
}

TEST_MAIN()

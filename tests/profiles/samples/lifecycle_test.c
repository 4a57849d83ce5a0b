/* SPDX-License-Identifier: Apache-2.0 */

#include "profiles/samples/lifecycle.h"

#include <errno.h>

#include "tests/test.h"

static struct lifecycle example(void)
{
	struct lifecycle lifecycle = { 0 };
	struct lifecycle_event event = { .kind = LIFECYCLE_SIGNAL,
					 .time_ns = 5,
					 .pid = 7,
					 .count = 1,
					 .value = 11,
					 .build_id = { .size = 8, .bytes = { 1, 0xab } },
					 .path = "/opt/a b\n\\c",
					 .comm = "-x",
					 .fault_path = "/lib/y.so",
					 .fault_offset = UINT64_MAX,
					 .user = 1000,
					 .code = -6,
					 .space = 7,
					 .file = { 1, 2, 3, UINT64_MAX } };

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
	CHECK_INT(in.events[0].user, 1000);
	CHECK_INT(in.events[0].code, -6);
	CHECK_INT(in.events[0].space, 7);
	CHECK(file_identity_is_equal(&in.events[0].file, &out.events[0].file));
	CHECK(!file_identity_is_known(&in.events[0].fault_file));
	CHECK_INT(in.events[1].value, -3);
	CHECK_STR(in.events[1].comm, "");
}

TEST(equal_events_of_one_user_are_united)
{
	_clean_(lifecycle_donep) struct lifecycle lifecycle = example();
	struct lifecycle_event event = {
		.kind = LIFECYCLE_EXIT, .count = 4, .value = -3, .path = "/bin/z", .pid = 9
	};

	CHECK_INT(lifecycle_add(&lifecycle, &event), 0);
	CHECK_INT(lifecycle.n_events, 2);
	CHECK_INT(lifecycle.events[1].count, 5);
	CHECK_INT(lifecycle.events[1].pid, 9);
	event = (struct lifecycle_event){ .kind = LIFECYCLE_SIGNAL, .count = 1, .value = 11 };
	lifecycle_add(&lifecycle, &event);
	lifecycle_add(&lifecycle, &event);
	CHECK_INT(lifecycle.n_events, 3);
	CHECK_INT(lifecycle.events[2].count, 2);
	event.user = 1000;
	lifecycle_add(&lifecycle, &event);
	event.code = -6;
	lifecycle_add(&lifecycle, &event);
	event.file = (struct file_identity){ 1, 2, 3, 4 };
	lifecycle_add(&lifecycle, &event);
	CHECK_INT(lifecycle.n_events, 6);
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
	static const char other[] = "morph-events 3\n", bad[] = "morph-events 1\nexec 1 2 0 0 - - - - 0 -\n";
	static const char old[] = "morph-events 1\nexec 1 2 1 0 - - - - 0 -\n";
	struct lifecycle in = { 0 };
	struct fault fault;

	CHECK_INT(lifecycle_decode(other, strlen(other), &in, &fault), -EPROTONOSUPPORT);
	CHECK_INT(lifecycle_decode(bad, strlen(bad), &in, &fault), -EBADMSG);
	CHECK(strstr(fault.text, "line 2"));
	/* Of version 1, nobody knows whose process and which file it was. */
	CHECK_INT(lifecycle_decode(old, strlen(old), &in, &fault), 0);
	CHECK(in.n_events == 1 && in.events[0].user == LIFECYCLE_USER_UNKNOWN);
	CHECK(!file_identity_is_known(&in.events[0].file));
	lifecycle_done(&in);
}

TEST_MAIN()

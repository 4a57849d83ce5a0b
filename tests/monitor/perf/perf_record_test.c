/* SPDX-License-Identifier: Apache-2.0 */

#include "monitor/perf/perf_record.h"

#include <errno.h>

#include "base/bytes.h"
#include "monitor/machine/perf_event.h"
#include "monitor/perf/event_queue.h"
#include "tests/test.h"

static const struct perf_format plain = {
	.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
	.sample_id_all = true,
};

static void header(struct buffer *buffer, uint32_t type, uint16_t misc)
{
	buffer->size = 0;
	buffer_u32(buffer, type);
	buffer_u16(buffer, misc);
	buffer_u16(buffer, 0);
}

static int decode(struct buffer *buffer, const struct perf_format *format, struct perf_record *ret)
{
	buffer->data[6] = (uint8_t)buffer->size;
	buffer->data[7] = (uint8_t)(buffer->size >> 8);
	return perf_record_decode(buffer->data, buffer->size, format, ret);
}

static void trailer(struct buffer *buffer, uint64_t time)
{
	buffer_u32(buffer, 10);
	buffer_u32(buffer, 11);
	buffer_u64(buffer, time);
}

TEST(a_sample_gives_address_task_and_time)
{
	_clean_(buffer_donep) struct buffer buffer = { 0 };
	struct perf_record record;

	header(&buffer, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	buffer_u64(&buffer, 0x401000);
	trailer(&buffer, 99);
	CHECK_INT(decode(&buffer, &plain, &record), 0);
	CHECK_INT(record.ip, 0x401000);
	CHECK_INT(record.pid, 10);
	CHECK_INT(record.time_ns, 99);
	buffer.size -= 8;
	CHECK_INT(decode(&buffer, &plain, &record), -EBADMSG);
}

TEST(a_mapping_with_build_id_and_one_with_inode)
{
	static const uint8_t id[20] = { 1, 2, 3 };
	_clean_(buffer_donep) struct buffer buffer = { 0 };
	struct perf_record record;

	for (int with_id = 0; with_id < 2; with_id++) {
		header(&buffer, PERF_RECORD_MMAP2, with_id ? PERF_RECORD_MISC_MMAP_BUILD_ID : 0);
		buffer_u32(&buffer, 5);
		buffer_u32(&buffer, 5);
		buffer_u64(&buffer, 0x7000);
		buffer_u64(&buffer, 0x1000);
		buffer_u64(&buffer, 0x2000);
		buffer_u32(&buffer, with_id ? 20 : 8); /* size of the ID, or major number */
		if (with_id)
			buffer_bytes(&buffer, id, 20);
		else
			for (int i = 0; i < 5; i++)
				buffer_u32(&buffer, 1);
		buffer_u32(&buffer, 5);
		buffer_u32(&buffer, 2);
		buffer_bytes(&buffer, "/a\0\0\0\0\0\0", 8);
		trailer(&buffer, 77);
		CHECK_INT(decode(&buffer, &plain, &record), 0);
		CHECK_STR(record.name, "/a");
		CHECK_INT(record.offset, 0x2000);
		CHECK_INT(record.time_ns, 77);
		CHECK_INT(record.build_id.size, with_id ? 20 : 0);
		CHECK_INT(record.inode, with_id ? 0 : 0x100000001);
	}
}

TEST(a_branch_stack_is_decoded_behind_a_call_chain)
{
	struct perf_format format = plain;
	_clean_(buffer_donep) struct buffer buffer = { 0 };
	struct perf_record record;

	format.sample_type |= PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_BRANCH_STACK;
	format.has_branch_counters = true;
	header(&buffer, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	buffer_u64(&buffer, 0x401000);
	trailer(&buffer, 99);
	buffer_u64(&buffer, 1);
	buffer_u64(&buffer, 0xabc);
	buffer_u64(&buffer, 2);
	buffer_u64(&buffer, 0);
	for (unsigned i = 0; i < 2; i++) {
		buffer_u64(&buffer, 100 + i);
		buffer_u64(&buffer, 200 + i);
		buffer_u64(&buffer, 0);
	}
	CHECK_INT(decode(&buffer, &format, &record), 0);
	CHECK_INT(record.n_branches, 2);
	CHECK_INT(record.branches[1].from, 101);
	CHECK_INT(record.branches[1].to, 201);
}

TEST(registers_are_decoded_where_the_program_is_a_64_bit_one)
{
	static const uint64_t abis[] = { PERF_SAMPLE_REGS_ABI_NONE, PERF_SAMPLE_REGS_ABI_32,
					 PERF_SAMPLE_REGS_ABI_64 };
	struct perf_format format = plain;
	struct perf_record record;

	format.sample_type |= PERF_SAMPLE_REGS_USER;
	format.n_registers = 3;
	for (unsigned i = 0; i < ARRAY_SIZE(abis); i++) {
		_clean_(buffer_donep) struct buffer buffer = { 0 };

		header(&buffer, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
		buffer_u64(&buffer, 0x401000);
		trailer(&buffer, 99);
		buffer_u64(&buffer, abis[i]);
		for (unsigned k = 0; abis[i] && k < 3; k++)
			buffer_u64(&buffer, 7 + k);
		CHECK_INT(decode(&buffer, &format, &record), 0);
		CHECK_INT(record.n_registers, abis[i] == PERF_SAMPLE_REGS_ABI_64 ? 3 : 0);
		CHECK(!record.n_registers || record.registers[2] == 9);
		if (!abis[i])
			continue;
		format.n_registers = 4; /* more than the record holds */
		CHECK_INT(decode(&buffer, &format, &record), -EBADMSG);
		format.n_registers = 3;
	}
}

TEST(a_name_without_end_is_refused)
{
	_clean_(buffer_donep) struct buffer buffer = { 0 };
	struct perf_record record;

	header(&buffer, PERF_RECORD_COMM, 0);
	buffer_u64(&buffer, 0);
	buffer_bytes(&buffer, "abcdefgh", 8);
	CHECK_INT(decode(&buffer, &plain, &record), -EBADMSG);
}

TEST(an_attribute_never_asks_for_a_frequency)
{
	struct perf_options options = { .clock = PERF_CLOCK_CYCLES,
					.period = 1000003,
					.branches = true,
					.side_band = true,
					.build_ids = true,
					.wakeup_bytes = 4096 };
	struct perf_event_attr attr;

	perf_attr_fill(&options, &attr);
	CHECK(!attr.freq);
	CHECK_INT(attr.sample_period, 1000003);
	CHECK_INT(attr.type, PERF_TYPE_HARDWARE);
	CHECK(attr.sample_type & PERF_SAMPLE_BRANCH_STACK);
	CHECK(attr.branch_sample_type & PERF_SAMPLE_BRANCH_USER);
	CHECK(attr.mmap2 && attr.build_id && attr.task && attr.comm_exec);
	options.clock = PERF_CLOCK_CPU;
	perf_attr_fill(&options, &attr);
	CHECK_INT(attr.config, PERF_COUNT_SW_CPU_CLOCK);
	CHECK(!(attr.sample_type & PERF_SAMPLE_BRANCH_STACK));
}

static int in_order(const struct perf_record *record, void *closure)
{
	uint64_t *last = closure;

	CHECK(record->time_ns >= *last);
	*last = record->time_ns;
	return 0;
}

TEST(records_leave_the_queue_in_the_order_of_time)
{
	struct event_queue queue = { 0 };
	uint64_t last = 0;

	for (uint64_t i = 0; i < 1000; i++) {
		struct perf_record record = { .type = PERF_RECORD_COMM,
					      .time_ns = i * 7919 % 1000,
					      .name = "comm" };

		CHECK_INT(event_queue_push(&queue, &record), 0);
	}
	CHECK_INT(event_queue_take(&queue, 500, in_order, &last), 0);
	CHECK_INT(queue.n, 500);
	CHECK_INT(last, 499);
	CHECK_INT(event_queue_take(&queue, UINT64_MAX, in_order, &last), 0);
	CHECK_INT(queue.n, 0);
	event_queue_done(&queue);
}

TEST_MAIN()

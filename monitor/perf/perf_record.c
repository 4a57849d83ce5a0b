/* SPDX-License-Identifier: Apache-2.0 */

#include "monitor/perf/perf_record.h"

#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "monitor/identify/identity.h"

static void sample_decode(struct reader *reader, const struct perf_format *format, struct perf_record *ret)
{
	uint64_t type = format->sample_type;

	if (type & PERF_SAMPLE_IDENTIFIER)
		reader_u64(reader);
	if (type & PERF_SAMPLE_IP)
		ret->ip = reader_u64(reader);
	if (type & PERF_SAMPLE_TID) {
		ret->pid = reader_u32(reader);
		ret->tid = reader_u32(reader);
	}
	if (type & PERF_SAMPLE_TIME)
		ret->time_ns = reader_u64(reader);
	for (uint64_t skipped = type & (PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
					PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD);
	     skipped; skipped &= skipped - 1)
		reader_u64(reader);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		uint64_t n = reader_u64(reader);

		if (n > reader_left(reader) / sizeof(uint64_t))
			reader->bad = true;
		reader_bytes(reader, n * sizeof(uint64_t));
	}
	if (type & PERF_SAMPLE_BRANCH_STACK) {
		uint64_t n = reader_u64(reader);

		if (format->has_branch_counters)
			reader_u64(reader);
		if (n > reader_left(reader) / sizeof(struct perf_branch_entry))
			reader->bad = true;
		ret->branches = reader_bytes(reader, n * sizeof(struct perf_branch_entry));
		ret->n_branches = ret->branches ? n : 0;
	}
	if (type & PERF_SAMPLE_REGS_USER) {
		uint64_t abi = reader_u64(reader);
		const void *registers =
			abi ? reader_bytes(reader, format->n_registers * sizeof(uint64_t)) : NULL;

		if (registers && abi == PERF_SAMPLE_REGS_ABI_64) {
			ret->registers = registers;
			ret->n_registers = format->n_registers;
		}
	}
}

/* A NUL-terminated string, padded to eight bytes. */
static void name_decode(struct reader *reader, struct perf_record *ret)
{
	const void *end = reader->bad ? NULL : memchr(reader->at, '\0', reader_left(reader));
	size_t size = end ? (size_t)((const uint8_t *)end - reader->at) + 1 : 0;

	if (!end) {
		reader->bad = true;
		return;
	}
	ret->name = reader_bytes(reader, size);
	reader_bytes(reader, MIN((size + 7) / 8 * 8 - size, reader_left(reader)));
}

static void build_id_decode(struct reader *reader, struct perf_record *ret)
{
	uint8_t size = reader_u8(reader);
	const uint8_t *id;

	reader_bytes(reader, 3);
	id = reader_bytes(reader, 20);
	if (size > 20)
		reader->bad = true;
	if (reader->bad)
		return;
	ret->build_id.size = size < IDENTITY_MIN_BUILD_ID ? 0 : size;
	memcpy(ret->build_id.bytes, id, size);
}

static void mapping_decode(struct reader *reader, struct perf_record *ret)
{
	ret->pid = reader_u32(reader);
	ret->tid = reader_u32(reader);
	ret->start = reader_u64(reader);
	ret->length = reader_u64(reader);
	ret->offset = reader_u64(reader);
	if (ret->type == PERF_RECORD_MMAP2 && ret->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		build_id_decode(reader, ret);
	} else if (ret->type == PERF_RECORD_MMAP2) {
		ret->major = reader_u32(reader);
		ret->minor = reader_u32(reader);
		ret->inode = reader_u64(reader);
		ret->generation = reader_u64(reader);
	}
	if (ret->type == PERF_RECORD_MMAP2) {
		ret->protection = reader_u32(reader);
		reader_u32(reader); /* flags */
	}
	name_decode(reader, ret);
}

static void task_decode(struct reader *reader, struct perf_record *ret)
{
	ret->pid = reader_u32(reader);
	ret->ppid = reader_u32(reader);
	ret->tid = reader_u32(reader);
	ret->ptid = reader_u32(reader);
	ret->time_ns = reader_u64(reader);
}

/* What sample_id_all appends: the identity of whoever caused the record, in this order. */
static void trailer_decode(struct reader *reader, const struct perf_format *format, struct perf_record *ret)
{
	uint64_t type = format->sample_type;

	if (!format->sample_id_all || reader->bad)
		return;
	if (type & PERF_SAMPLE_TID)
		reader_u64(reader);
	if (type & PERF_SAMPLE_TIME)
		ret->time_ns = reader_u64(reader);
}

static void body_decode(struct reader *reader, const struct perf_format *format, struct perf_record *ret)
{
	switch (ret->type) {
	case PERF_RECORD_SAMPLE: sample_decode(reader, format, ret); return; /* has no trailer */
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2: mapping_decode(reader, ret); break;
	case PERF_RECORD_COMM:
		ret->pid = reader_u32(reader);
		ret->tid = reader_u32(reader);
		name_decode(reader, ret);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT: task_decode(reader, ret); break;
	case PERF_RECORD_LOST:
		reader_u64(reader); /* event ID */
		ret->lost = reader_u64(reader);
		break;
	case PERF_RECORD_LOST_SAMPLES: ret->lost = reader_u64(reader); break;
	default: return;
	}
	trailer_decode(reader, format, ret);
}

int perf_record_decode(const void *bytes, size_t size, const struct perf_format *format,
		       struct perf_record *ret)
{
	struct perf_event_header header;
	struct perf_record record = { 0 };
	struct reader reader;

	if (size < sizeof(header))
		return -EBADMSG;
	memcpy(&header, bytes, sizeof(header));
	if (header.size < sizeof(header) || header.size > size || header.size % sizeof(uint64_t))
		return -EBADMSG;
	record.type = header.type;
	record.misc = header.misc;
	reader = reader_of((const uint8_t *)bytes + sizeof(header), header.size - sizeof(header));
	body_decode(&reader, format, &record);
	if (reader.bad)
		return -EBADMSG;
	*ret = record;
	return 0;
}

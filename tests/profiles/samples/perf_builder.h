/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Writes perf.data files byte by byte, for what this machine's hardware cannot record (branch
 * stacks, hybrid PMUs) and for damage at chosen places.
 */

#include <linux/perf_event.h>
#include <string.h>

#include "base/bytes.h"

#define PERF_BUILDER_ATTR_BYTES 128u

struct perf_builder_event {
	uint32_t type;
	uint64_t config, period, sample_type, read_format, branch_sample_type, flags;
	uint64_t id;
};

struct perf_builder {
	struct buffer records, build_ids;
	struct perf_builder_event events[4];
	size_t n_events;
	size_t record_at; /* of the record under construction */
};

static inline void perf_builder_done(struct perf_builder *builder)
{
	buffer_done(&builder->records);
	buffer_done(&builder->build_ids);
}

static inline void record_begin(struct perf_builder *builder, uint32_t type, uint16_t misc)
{
	builder->record_at = builder->records.size;
	buffer_u32(&builder->records, type);
	buffer_u16(&builder->records, misc);
	buffer_u16(&builder->records, 0);
}

static inline void record_end(struct perf_builder *builder)
{
	uint16_t size = (uint16_t)(builder->records.size - builder->record_at);

	memcpy(builder->records.data + builder->record_at + 6, &size, sizeof(size));
}

static inline void pad_name(struct buffer *out, const char *name)
{
	size_t n = strlen(name) + 1;

	buffer_bytes(out, name, n);
	for (; n % 8; n++)
		buffer_u8(out, 0);
}

/* The sample ID at the end: TID, TIME, IDENTIFIER as sample_type says. */
static inline void trailer(struct perf_builder *builder, uint32_t pid, uint64_t time)
{
	const struct perf_builder_event *event = &builder->events[0];

	if (!(event->flags >> 18 & 1))
		return;
	if (event->sample_type & PERF_SAMPLE_TID)
		buffer_u64(&builder->records, pid | (uint64_t)pid << 32);
	if (event->sample_type & PERF_SAMPLE_TIME)
		buffer_u64(&builder->records, time);
	if (event->sample_type & PERF_SAMPLE_IDENTIFIER)
		buffer_u64(&builder->records, event->id);
}

static inline void record_mmap2(struct perf_builder *builder, uint32_t pid, uint64_t start, uint64_t size,
				uint64_t offset, const char *name, const uint8_t *build_id, uint64_t time)
{
	struct buffer *out = &builder->records;

	record_begin(builder, PERF_RECORD_MMAP2,
		     (uint16_t)(PERF_RECORD_MISC_USER | (build_id ? PERF_RECORD_MISC_MMAP_BUILD_ID : 0)));
	buffer_u32(out, pid);
	buffer_u32(out, pid);
	buffer_u64(out, start);
	buffer_u64(out, size);
	buffer_u64(out, offset);
	buffer_u32(out, build_id ? 20 : 0);
	for (unsigned i = 0; i < 20; i++)
		buffer_u8(out, build_id ? build_id[i] : 0);
	buffer_u32(out, 5); /* PROT_READ | PROT_EXEC */
	buffer_u32(out, 2);
	pad_name(out, name);
	trailer(builder, pid, time);
	record_end(builder);
}

static inline void record_fork(struct perf_builder *builder, uint32_t pid, uint32_t parent, uint64_t time)
{
	record_begin(builder, PERF_RECORD_FORK, 0);
	buffer_u32(&builder->records, pid);
	buffer_u32(&builder->records, parent);
	buffer_u32(&builder->records, pid);
	buffer_u32(&builder->records, parent);
	buffer_u64(&builder->records, time);
	trailer(builder, pid, time);
	record_end(builder);
}

static inline void record_exec(struct perf_builder *builder, uint32_t pid, uint64_t time)
{
	record_begin(builder, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
	buffer_u32(&builder->records, pid);
	buffer_u32(&builder->records, pid);
	pad_name(&builder->records, "x");
	trailer(builder, pid, time);
	record_end(builder);
}

/* @branches: n_branches pairs of from, to. Fields that the event has beyond these are zero. */
static inline void record_sample(struct perf_builder *builder, size_t event_index, uint16_t misc,
				 uint32_t pid, uint64_t ip, uint64_t time, const uint64_t *branches,
				 size_t n_branches)
{
	const struct perf_builder_event *event = &builder->events[event_index];
	struct buffer *out = &builder->records;
	uint64_t type = event->sample_type;

	record_begin(builder, PERF_RECORD_SAMPLE, misc);
	if (type & PERF_SAMPLE_IDENTIFIER)
		buffer_u64(out, event->id);
	if (type & PERF_SAMPLE_IP)
		buffer_u64(out, ip);
	if (type & PERF_SAMPLE_TID)
		buffer_u64(out, pid | (uint64_t)pid << 32);
	if (type & PERF_SAMPLE_TIME)
		buffer_u64(out, time);
	if (type & PERF_SAMPLE_ID)
		buffer_u64(out, event->id);
	if (type & PERF_SAMPLE_CPU)
		buffer_u64(out, 0);
	if (type & PERF_SAMPLE_PERIOD)
		buffer_u64(out, event->period);
	if (type & PERF_SAMPLE_READ) { /* a group of one, with times, ID and lost */
		buffer_u64(out, 1);
		for (unsigned i = 0; i < 5; i++)
			buffer_u64(out, 7);
	}
	if (type & PERF_SAMPLE_CALLCHAIN) {
		buffer_u64(out, 2);
		buffer_u64(out, ip);
		buffer_u64(out, ip + 1);
	}
	if (type & PERF_SAMPLE_RAW) {
		buffer_u32(out, 4);
		buffer_u32(out, 0);
	}
	if (type & PERF_SAMPLE_BRANCH_STACK) {
		buffer_u64(out, n_branches);
		if (event->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX)
			buffer_u64(out, 0);
		for (size_t i = 0; i < n_branches; i++) {
			buffer_u64(out, branches[2 * i]);
			buffer_u64(out, branches[2 * i + 1]);
			buffer_u64(out, 0);
		}
	}
	record_end(builder);
}

/* Of an event with USUAL fields and a call chain: addresses innermost first, with context marks. */
static inline void record_chain(struct perf_builder *builder, uint16_t misc, uint32_t pid, uint64_t time,
				const uint64_t *chain, size_t n)
{
	struct buffer *out = &builder->records;

	record_begin(builder, PERF_RECORD_SAMPLE, misc);
	buffer_u64(out, n > 1 ? chain[1] : 0);
	buffer_u64(out, pid | (uint64_t)pid << 32);
	buffer_u64(out, time);
	buffer_u64(out, builder->events[0].period);
	buffer_u64(out, n);
	for (size_t i = 0; i < n; i++)
		buffer_u64(out, chain[i]);
	record_end(builder);
}

static inline void record_name(struct perf_builder *builder, uint32_t pid, uint32_t thread, const char *name)
{
	record_begin(builder, PERF_RECORD_COMM, 0);
	buffer_u32(&builder->records, pid);
	buffer_u32(&builder->records, thread);
	pad_name(&builder->records, name);
	trailer(builder, pid, 0);
	record_end(builder);
}

/* An entry of the build ID table. */
static inline void build_id_entry(struct perf_builder *builder, const uint8_t *id, const char *name)
{
	struct buffer *out = &builder->build_ids;

	buffer_u32(out, 0);
	buffer_u16(out, PERF_RECORD_MISC_USER | 1u << 15);
	buffer_u16(out, (uint16_t)(36 + (strlen(name) + 8) / 8 * 8));
	buffer_u32(out, UINT32_MAX);
	buffer_bytes(out, id, 20);
	buffer_u32(out, 20);
	pad_name(out, name);
}

static inline void put_attribute(const struct perf_builder_event *event, uint64_t ids_at, struct buffer *out)
{
	size_t end = out->size + PERF_BUILDER_ATTR_BYTES;

	buffer_u32(out, event->type);
	buffer_u32(out, PERF_BUILDER_ATTR_BYTES);
	buffer_u64(out, event->config);
	buffer_u64(out, event->period);
	buffer_u64(out, event->sample_type);
	buffer_u64(out, event->read_format);
	buffer_u64(out, event->flags);
	for (unsigned i = 0; i < 3; i++)
		buffer_u64(out, 0);
	buffer_u64(out, event->branch_sample_type);
	while (out->size < end)
		buffer_u64(out, 0);
	buffer_u64(out, ids_at);
	buffer_u64(out, 8);
}

/* The whole file: header, IDs, attributes, records, the build ID table. */
static inline void perf_builder_finish(const struct perf_builder *builder, struct buffer *ret)
{
	uint64_t attributes_at = 104 + 8 * builder->n_events;
	uint64_t attributes_size = builder->n_events * (PERF_BUILDER_ATTR_BYTES + 16);
	uint64_t data_at = attributes_at + attributes_size;

	buffer_bytes(ret, "PERFILE2", 8);
	buffer_u64(ret, 104);
	buffer_u64(ret, PERF_BUILDER_ATTR_BYTES + 16);
	buffer_u64(ret, attributes_at);
	buffer_u64(ret, attributes_size);
	buffer_u64(ret, data_at);
	buffer_u64(ret, builder->records.size);
	buffer_u64(ret, 0);
	buffer_u64(ret, 0);
	buffer_u64(ret, builder->build_ids.size ? 1u << 2 : 0);
	for (unsigned i = 0; i < 3; i++)
		buffer_u64(ret, 0);
	for (size_t i = 0; i < builder->n_events; i++)
		buffer_u64(ret, builder->events[i].id);
	for (size_t i = 0; i < builder->n_events; i++)
		put_attribute(&builder->events[i], 104 + 8 * i, ret);
	buffer_bytes(ret, builder->records.data, builder->records.size);
	if (!builder->build_ids.size)
		return;
	buffer_u64(ret, data_at + builder->records.size + 16);
	buffer_u64(ret, builder->build_ids.size);
	buffer_bytes(ret, builder->build_ids.data, builder->build_ids.size);
}

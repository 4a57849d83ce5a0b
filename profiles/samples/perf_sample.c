/* SPDX-License-Identifier: Apache-2.0 */

#include "profiles/samples/perf_sample.h"

#include <errno.h>

#include "base/macro.h"

#define BRANCH_ENTRY_BYTES 24u
#define MISC_BRANCH_HW_INDEX (1u << 17) /* PERF_SAMPLE_BRANCH_HW_INDEX */
#define READ_FORMAT_LOST (1u << 4)

static void read_skip(const struct perf_event *event, struct reader *in)
{
	uint64_t format = event->read_format, n = 1, words;

	words = 1 + !!(format & PERF_FORMAT_ID) + !!(format & READ_FORMAT_LOST);
	if (format & PERF_FORMAT_GROUP)
		n = reader_u64(in);
	words = n > reader_left(in) ? UINT64_MAX / 8 : n * words;
	words += !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) + !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	reader_bytes(in, words * 8);
}

static struct reader words_get(struct reader *in)
{
	uint64_t n = reader_u64(in);

	return reader_sub(in, n > reader_left(in) ? UINT64_MAX : n * 8);
}

static struct reader branches_get(const struct perf_event *event, struct reader *in)
{
	uint64_t n = reader_u64(in);

	if (event->branch_sample_type & MISC_BRANCH_HW_INDEX)
		reader_u64(in);
	return reader_sub(in, n > reader_left(in) ? UINT64_MAX : n * BRANCH_ENTRY_BYTES);
}

/* Fields in the order of perf_event_open(2), "PERF_RECORD_SAMPLE". */
int perf_sample_get(const struct perf_file *file, const struct perf_record *record, struct perf_sample *ret)
{
	static const uint64_t between[] = { PERF_SAMPLE_TIME,	   PERF_SAMPLE_ADDR, PERF_SAMPLE_ID,
					    PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU,  PERF_SAMPLE_PERIOD };
	struct reader in = perf_record_reader(file, record);
	const struct perf_event *event = &file->events[record->event];
	uint64_t type = event->sample_type;

	*ret = (struct perf_sample){ 0 };
	if (type & PERF_SAMPLE_IDENTIFIER)
		reader_u64(&in);
	if (type & PERF_SAMPLE_IP)
		ret->ip = reader_u64(&in);
	if (type & PERF_SAMPLE_TID)
		ret->pid = (uint32_t)reader_u64(&in); /* the thread is the upper half */
	for (size_t i = 0; i < ARRAY_SIZE(between); i++)
		if (type & between[i])
			reader_u64(&in);
	if (!(type & (PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_BRANCH_STACK)))
		return in.bad ? -EBADMSG : 0;
	if (type & PERF_SAMPLE_READ)
		read_skip(event, &in);
	if (type & PERF_SAMPLE_CALLCHAIN)
		ret->chain = words_get(&in);
	if (type & PERF_SAMPLE_RAW)
		reader_bytes(&in, reader_u32(&in));
	if (type & PERF_SAMPLE_BRANCH_STACK)
		ret->branches = branches_get(event, &in);
	return in.bad ? -EBADMSG : 0;
}

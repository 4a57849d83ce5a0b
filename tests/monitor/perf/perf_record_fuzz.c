/* SPDX-License-Identifier: Apache-2.0 */

/* A stream of perf records under several formats; the first byte chooses. */

#include "monitor/perf/perf_record.h"

#include <stdlib.h>
#include <string.h>

#include "monitor/perf/event_queue.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int drop(const struct perf_record *record, void *closure)
{
	*(size_t *)closure += record->name ? strlen(record->name) : 0;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct perf_format format = {
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.sample_id_all = true,
	};
	struct event_queue queue = { 0 };
	struct perf_record record;
	size_t at = 0, sum = 0;
	uint8_t *records; /* aligned, as the kernel's buffer is */

	if (!size)
		return 0;
	if (data[0] & 1)
		format.sample_type |= PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_BRANCH_STACK;
	if (data[0] & 2)
		format.sample_type |= PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_IDENTIFIER;
	if (data[0] & 16) {
		format.sample_type |= PERF_SAMPLE_REGS_USER;
		format.n_registers = data[0] >> 5;
	}
	format.has_branch_counters = data[0] & 4;
	format.sample_id_all = !(data[0] & 8);
	records = malloc(size);
	if (!records)
		return 0;
	memcpy(records, data + 1, --size);
	while (perf_record_decode(records + at, size - at, &format, &record) == 0) {
		struct perf_event_header header;

		memcpy(&header, records + at, sizeof(header));
		event_queue_push(&queue, &record);
		at += header.size;
	}
	event_queue_take(&queue, UINT64_MAX / 2, drop, &sum);
	event_queue_done(&queue);
	free(records);
	return 0;
}

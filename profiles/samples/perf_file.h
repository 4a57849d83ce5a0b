/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * perf_file.h - the frame of a perf.data file: events, features, records in the order of time
 *
 * Written from the kernel's tools/perf/Documentation/perf.data-file-format.txt and the layout of
 * records in linux/perf_event.h. Foreign bytes throughout: every read is range-checked.
 */

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/fault.h"
#include "module/build_id.h"

#define PERF_FILE_MAX_EVENTS 1024u

/* One event that was recorded (perf_event_attr). */
struct perf_event {
	uint32_t type;
	uint64_t config;
	uint64_t period;      /* or frequency, see is_frequency */
	uint64_t sample_type; /* PERF_SAMPLE_* */
	uint64_t read_format;
	uint64_t branch_sample_type;
	bool is_frequency, has_sample_ids; /* attr.freq, attr.sample_id_all */
	char name[64];			   /* as perf says it: "cpu-clock", "cycles:u" */
};

/* A record of the kernel's (type below 64); what perf adds for itself is left out. */
struct perf_record {
	uint64_t time_ns; /* of the recording's own clock; 0: written at its start */
	uint64_t offset;  /* in the file, of the header */
	uint32_t type;	  /* PERF_RECORD_* */
	uint16_t misc;
	uint16_t size;	/* bytes after the header, without the trailing sample ID */
	uint32_t event; /* index in events[]; UINT32_MAX: not known */
};

struct perf_build_id {
	struct build_id id;
	const char *name; /* borrowed from the file, NUL-terminated */
	bool is_kernel;
};

struct perf_id {
	uint64_t id;
	uint32_t event;
};

struct perf_file {
	const uint8_t *bytes; /* borrowed */
	size_t size;
	struct perf_event *events; /* owned */
	size_t n_events;
	struct perf_record *records; /* owned; sorted by time, then by place */
	size_t n_records;
	struct perf_build_id *build_ids; /* owned; sorted by name */
	size_t n_build_ids;
	uint32_t n_cpus; /* 0: not recorded */
	/* private */
	struct perf_id *ids; /* sorted */
	size_t n_ids;
};

/**
 * perf_file_parse() - @bytes must outlive @ret
 * Return: 0; -EBADMSG: damaged; -EPROTONOSUPPORT: a form of perf.data that Morph does not read
 * (big-endian, pipe mode, compressed); -ENOMEM; @reterr says which. Cost: O(n log n), 32 bytes per
 * record.
 */
int perf_file_parse(const void *bytes, size_t size, struct perf_file *ret, struct fault *reterr);
void perf_file_done(struct perf_file *file);

/** perf_record_reader() - over what follows the record's header */
struct reader perf_record_reader(const struct perf_file *file, const struct perf_record *record);

/** perf_file_build_id() - what the file says about @name, or NULL */
const struct build_id *perf_file_build_id(const struct perf_file *file, const char *name);

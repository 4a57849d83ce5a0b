/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * perf_record.h - one record of a perf ring buffer or perf.data file, decoded
 *
 * Layout: perf_event_open(2), "MMAP layout", for events opened with the sample types named in the
 * format and sample_id_all. Foreign bytes: all reads are checked.
 */

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "module/build_id.h"

/* The bits of perf_event_attr.sample_type that the decoder understands. */
#define PERF_RECORD_KNOWN_TYPES                                                                            \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | \
	 PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |                   \
	 PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER)

struct perf_format {
	uint64_t sample_type;
	bool sample_id_all;
	unsigned n_registers;	  /* of PERF_SAMPLE_REGS_USER: bits in the event's mask */
	bool has_branch_counters; /* PERF_SAMPLE_BRANCH_HW_INDEX: a u64 before the entries */
};

struct perf_record {
	uint32_t type; /* PERF_RECORD_* */
	uint16_t misc;
	uint32_t pid, tid;		/* of the sample, or the process the record is about */
	uint32_t ppid, ptid;		/* FORK, EXIT */
	uint64_t time_ns;		/* 0: not in the record */
	uint64_t ip;			/* SAMPLE */
	uint64_t start, length, offset; /* MMAP, MMAP2 */
	uint32_t protection;
	uint32_t major, minor; /* MMAP2 without build ID */
	uint64_t inode, generation;
	struct build_id build_id;		  /* MMAP2 with one */
	const char *name;			  /* MMAP*, COMM: borrowed, NUL-terminated; else NULL */
	uint64_t lost;				  /* LOST, LOST_SAMPLES */
	const struct perf_branch_entry *branches; /* borrowed */
	uint64_t n_branches;
	const uint64_t *registers; /* borrowed; of a 64-bit program's user mode */
	uint64_t n_registers;
};

/**
 * perf_record_decode() - one record
 * @bytes: starts with struct perf_event_header, aligned to 8 as the kernel's records are
 * @size:  available bytes; the header's own size must not be larger
 * Return: 0; -EBADMSG when the record does not hold what its type promises. Types that are not listed
 * above decode to their type and misc only.
 */
int perf_record_decode(const void *bytes, size_t size, const struct perf_format *format,
		       struct perf_record *ret);

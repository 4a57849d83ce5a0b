/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * perf_sample.h - the fields of one PERF_RECORD_SAMPLE that Morph uses
 */

#include "profiles/samples/perf_file.h"

struct perf_sample {
	uint64_t ip;
	uint32_t pid;
	struct reader
		chain; /* empty, or the addresses of the call chain, innermost first, with context marks */
	struct reader branches; /* empty, or the entries of the branch stack: from, to, flags */
};

/** perf_sample_get() - 0, or -EBADMSG: the record is not whole */
int perf_sample_get(const struct perf_file *file, const struct perf_record *record, struct perf_sample *ret);

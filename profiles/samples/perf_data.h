/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * perf_data.h - a perf.data file, as `perf record` leaves it, as a sample log
 *
 * Every sample of a clock or cycles event counts one. Of the classes cycles, cpu-clock,
 * task-clock, ref-cycles the first that the file holds is taken (hybrid machines have two events
 * of the same class); other events do not sample time. Branch stacks of any event become branches
 * between offsets of one file. Kernel and idle samples are totals only. Modules carry the build
 * IDs of the recording, from the mmap records or from the build ID table.
 */

#include "base/fault.h"
#include "profiles/samples/import.h"

/**
 * perf_data_decode() - foreign bytes to a normalized log
 * @event: name of the event to take ("cycles" also means "cycles:u"), or NULL for the rule above
 * @end_ns: CLOCK_REALTIME of the end of the recording, 0: unknown (perf's own clock says nothing
 * about it)
 * @retsummary: may be NULL
 * Return: 0; -EBADMSG, -EPROTONOSUPPORT as perf_file_parse(); -ENODATA: no such event, or no event
 * that samples time (@reterr lists what there is); -E2BIG; -ENOMEM.
 */
int perf_data_decode(const void *bytes, size_t size, const char *event, uint64_t end_ns,
		     struct sample_log **ret, struct import_summary *retsummary, struct fault *reterr);

/** perf_data_read() - the same for a file (import.h); its time of modification is the end of the recording */
int perf_data_read(const char *path, const char *event, struct sample_log **ret,
		   struct import_summary *retsummary, struct fault *reterr);

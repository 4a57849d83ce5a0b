/* SPDX-License-Identifier: Apache-2.0 */

/* Foreign bytes as a perf.data file. What is imported must obey the sample log's law and encode. */

#include "profiles/samples/perf_data.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_clean_(sample_log_freep) struct sample_log *log = NULL;
	_clean_(buffer_donep) struct buffer bytes = { 0 };
	struct import_summary summary;
	struct fault fault;

	if (perf_data_decode(data, size, NULL, 1, &log, &summary, &fault) != 0)
		return 0;
	if (sample_log_check(log, &fault) != 0 || sample_log_encode(log, &bytes) != 0)
		abort();
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Foreign bytes as a sample log, three times: as a container, and as the payload of a well-formed container of each version
 * (otherwise the checksum would stop nearly every mutation). What decodes must encode and merge.
 */

#include "profiles/samples/sample_log.h"

#include "base/container.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void decode(const uint8_t *data, size_t size)
{
	_clean_(sample_log_freep) struct sample_log *log = NULL, *sum = sample_log_new();
	_clean_(buffer_donep) struct buffer again = { 0 };
	struct fault fault;

	if (!sum || sample_log_decode(data, size, &log, &fault) != 0)
		return;
	if (sample_log_encode(log, &again) != 0)
		abort();
	sample_log_check(log, &fault);
	sample_log_normalize(log);
	sample_log_merge(sum, log);
	sample_log_merge(sum, log);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	decode(data, size);
	for (unsigned version = 1; version <= SAMPLE_LOG_VERSION; version++) {
		_clean_(buffer_donep) struct buffer framed = { 0 };

		if (container_pack(CONTAINER_SAMPLE_LOG, version, data, size, 0, &framed) == 0)
			decode(framed.data, framed.size);
	}
	return 0;
}

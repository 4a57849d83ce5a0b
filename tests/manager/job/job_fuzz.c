/* SPDX-License-Identifier: Apache-2.0 */

/* The order of a job, as morph-worker reads it. */

#include "manager/job/job_message.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct job_order order;

	if (job_order_decode(data, size, &order) < 0)
		return 0;
	for (size_t i = 0; order.words[i]; i++)
		if (strlen(order.words[i]) > size)
			__builtin_trap();
	for (size_t i = 0; i < order.header.n_inputs + order.header.n_outputs; i++)
		if (strchr(order.names[i], '/') || order.names[i][0] == '.')
			__builtin_trap();
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <string.h>

#include "profiles/samples/sample_log.h"

/** samples_in() - of all modules whose path contains @part_of_path */
static inline uint64_t samples_in(const struct sample_log *log, const char *part_of_path)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < log->n_modules; i++)
		if (strstr(log->modules[i].path, part_of_path))
			sum += log->modules[i].total;
	return sum;
}

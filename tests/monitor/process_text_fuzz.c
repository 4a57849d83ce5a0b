/* SPDX-License-Identifier: Apache-2.0 */

/* Lines of /proc, in which file names and names of processes are their owners', and an ELF image's notes. */

#include <stdlib.h>
#include <string.h>

#include "monitor/clock/budget.h"
#include "monitor/clock/pace.h"
#include "monitor/identify/identity.h"
#include "monitor/machine/cpu_list.h"
#include "monitor/perf/process_maps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void text_read(char *text)
{
	struct process_mapping mapping;
	struct cpu_list cpus;
	uint64_t busy, all;
	struct fault fault;
	double share;
	unsigned cpu;

	if (budget_parse(text, &share, &fault) == 0 && !(share > 0 && share <= 0.1))
		abort();
	cpu_list_parse(text, &cpus);
	if (pace_stat_parse(text, &cpu, &busy, &all) && busy > all)
		abort();
	if (process_maps_parse(text, &mapping) && !mapping.name)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct build_id id = identity_of_bytes(data, size);
	char *text = malloc(size + 1);

	if (id.size > BUILD_ID_MAX_BYTES)
		abort();
	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	text_read(text);
	free(text);
	return 0;
}

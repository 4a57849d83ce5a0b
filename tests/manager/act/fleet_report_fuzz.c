/* SPDX-License-Identifier: Apache-2.0 */

/* What morph-fleet says: of any bytes, lines are short, printable, and lead on to the end. */

#include "manager/act/fleet_report.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
	if (!condition)
		abort();
}

static void check(const char *text)
{
	for (; *text; text++)
		must(*text >= ' ' && *text <= '~');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t at = 0, before = 0;
	struct fleet_line line;

	while (fleet_report_next((const char *)data, size, &at, &line)) {
		must(at > before && at <= size);
		must(line.key[0] && line.outcome[0] && !strchr(line.key, ' ') && !strchr(line.outcome, ' '));
		check(line.key);
		check(line.outcome);
		check(line.why);
		before = at;
	}
	must(at <= size && !fleet_report_next((const char *)data, size, &at, &line));
	return 0;
}

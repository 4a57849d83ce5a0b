/* SPDX-License-Identifier: Apache-2.0 */

#include "monitor/machine/deny.h"

#include <stddef.h>
#include <stdio.h>
#include <sys/utsname.h>

#include "base/macro.h"

#define VERSION(a, b, c) ((a) << 16 | (b) << 8 | (c))
#define LAST_PATCH 255

/* One line a bug: first and last release that has it, what it forbids, and the sentence. */
static const struct {
	unsigned first, last;
	enum deny_what what;
	const char *reason;
} denied[] = {
	{ VERSION(6, 16, 0), VERSION(6, 17, 8), DENY_CPU_CLOCK,
	  "on Linux 6.16 to 6.17.8 perf's cpu-clock can freeze the machine when an event is stopped from "
	  "its own handler" },
	{ VERSION(0, 0, 0), VERSION(6, 0, LAST_PATCH), DENY_BPF_WALK,
	  "before Linux 6.1 mappings are not kept in a maple tree" },
};

static unsigned version_parse(const char *release)
{
	unsigned a = 0, b = 0, c = 0;

	if (sscanf(release, "%u.%u.%u", &a, &b, &c) < 2)
		return 0;
	return VERSION(MIN(a, 255u), MIN(b, 255u), MIN(c, (unsigned)LAST_PATCH));
}

const char *deny_reason(enum deny_what what, const char *release)
{
	struct utsname name;
	unsigned version;

	if (!release && uname(&name) == 0)
		release = name.release;
	version = release ? version_parse(release) : 0;
	for (size_t i = 0; i < ARRAY_SIZE(denied); i++)
		if (denied[i].what == what && version >= denied[i].first && version <= denied[i].last)
			return denied[i].reason;
	return NULL;
}

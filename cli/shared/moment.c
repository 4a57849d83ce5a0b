/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "cli/shared/moment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/macro.h"

#define NS 1000000000ull

static const struct {
	const char *name;
	double seconds;
} units[] = { { "s", 1 }, { "min", 60 }, { "h", 3600 }, { "d", 86400 }, { "w", 604800 } };

/* Midnight, @days before the day of @now_ns: a day need not have 24 hours. */
static bool midnight(uint64_t now_ns, int days, uint64_t *ret)
{
	time_t now = (time_t)(now_ns / NS);
	struct tm tm;

	if (!localtime_r(&now, &tm))
		return false;
	tm.tm_mday -= days;
	tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
	tm.tm_isdst = -1;
	now = mktime(&tm);
	*ret = (uint64_t)now * NS;
	return now >= 0;
}

static bool ago(const char *text, uint64_t now_ns, uint64_t *ret)
{
	char *end;
	double number = strtod(text, &end), seconds = -1;

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (end != text && strcmp(end, units[i].name) == 0)
			seconds = number * units[i].seconds;
	if (!(seconds >= 0) || !(seconds * NS <= (double)now_ns))
		return false;
	*ret = now_ns - (uint64_t)(seconds * NS);
	return true;
}

static bool seconds_since_1970(const char *text, uint64_t *ret)
{
	char *end;
	double seconds = strtod(text, &end);

	if (end == text || *end || !(seconds >= 0 && seconds < 9e9))
		return false;
	*ret = (uint64_t)(seconds * NS);
	return true;
}

static bool date(const char *text, uint64_t *ret)
{
	static const char *const formats[] = { "%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S",
					       "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S" };

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		struct tm tm = { .tm_isdst = -1 };
		const char *end = strptime(text, formats[i], &tm);
		time_t seconds;

		if (!end || *end)
			continue;
		tm.tm_isdst = -1;
		seconds = mktime(&tm);
		*ret = (uint64_t)seconds * NS;
		return seconds >= 0;
	}
	return false;
}

bool moment_parse(const char *text, uint64_t now_ns, uint64_t *ret)
{
	uint64_t moment;
	bool is_known;

	if (strcmp(text, "now") == 0) {
		moment = now_ns;
		is_known = true;
	} else if (strcmp(text, "today") == 0 || strcmp(text, "yesterday") == 0) {
		is_known = midnight(now_ns, text[0] == 'y', &moment);
	} else if (text[0] == '@') {
		is_known = seconds_since_1970(text + 1, &moment);
	} else {
		is_known = ago(text, now_ns, &moment) || date(text, &moment);
	}
	if (is_known)
		*ret = moment;
	return is_known;
}

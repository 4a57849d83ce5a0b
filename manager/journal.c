/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/journal.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

int64_t journal_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int journal_event(struct state *state, int64_t module, const char *path, const char *kind,
		  struct fault *reterr, const char *fmt, ...)
{
	char text[1024];
	va_list ap;
	int r;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	r = state_do(state, reterr,
		     "INSERT INTO event(time_ns, module, path, kind, text) "
		     "VALUES(?, nullif(?, 0), ?, ?, ?)",
		     "iittt", journal_now_ns(), module, path, kind, text);
	if (r == 0)
		r = state_do(state, reterr, "DELETE FROM event WHERE id <= ?", "i",
			     state_last_id(state) - JOURNAL_EVENTS_MAX);
	return r;
}

int journal_total(struct state *state, const char *key, uint64_t amount, struct fault *reterr)
{
	int64_t bounded = amount > INT64_MAX / 2 ? INT64_MAX / 2 : (int64_t)amount;

	if (!amount)
		return 0;
	return state_do(state, reterr,
			"INSERT INTO total(key, value) VALUES(?1, ?2) ON CONFLICT(key) DO "
			"UPDATE SET value = min(value, 9223372036854775807 / 2) + excluded.value",
			"ti", key, bounded);
}

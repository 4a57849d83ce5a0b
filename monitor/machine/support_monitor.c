/* SPDX-License-Identifier: Apache-2.0 */

/* A file of its own, so that the monitor, which asks support.h for its clocks, does not link what reads JSON. */

#define _GNU_SOURCE
#include "monitor/machine/support.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>

#include "base/json_reader.h"
#include "base/macro.h"
#include "base/text.h"
#include "profiles/samples/sample_log.h"

#define STATUS_FILE "/run/morph/monitor/status.json"

static const struct {
	const char *query;
	size_t offset; /* of a double in struct support */
} numbers[] = {
	{ "$.budget.budget_percent", offsetof(struct support, budget_percent) },
	{ "$.budget.total_percent", offsetof(struct support, total_percent) },
	{ "$.budget.tick_percent", offsetof(struct support, tick_percent) },
	{ "$.budget.reference_percent", offsetof(struct support, reference_percent) },
	{ "$.budget.monitor_percent", offsetof(struct support, monitor_percent) },
	{ "$.budget.interrupt_ns", offsetof(struct support, interrupt_ns) },
	{ "$.budget.tick_program_ns", offsetof(struct support, tick_program_ns) },
	{ "$.budget.clock_program_ns", offsetof(struct support, clock_program_ns) },
	{ "$.clock_hz", offsetof(struct support, main_hz) },
	{ "$.reference_hz", offsetof(struct support, reference_hz) },
	{ "$.bursts", offsetof(struct support, bursts) },
	{ "$.tick_synchronous_modules", offsetof(struct support, synchronous) },
	{ "$.samples.user", offsetof(struct support, user) },
	{ "$.rss_bytes", offsetof(struct support, rss_bytes) },
	{ "$.drains", offsetof(struct support, drains) },
	{ "$.drains_that_broke_the_law", offsetof(struct support, lawless_drains) },
};

static double number_of(struct json_reader *status, const char *query)
{
	double ret = 0;

	json_reader_number(status, query, &ret);
	return ret;
}

static void text_of(struct json_reader *status, const char *query, char *ret, size_t size)
{
	_clean_(freep) char *text = json_reader_text(status, query);

	text_show(text ? text : "", ret, size);
}

/* A process of that number lives, and may be another's. */
static bool is_running(double pid)
{
	return pid >= 1 && pid <= INT_MAX && (kill((pid_t)pid, 0) == 0 || errno == EPERM);
}

void support_monitor_read(const char *status_file, struct support *ret)
{
	_clean_(json_reader_freep) struct json_reader *status =
		json_reader_open(status_file ? status_file : STATUS_FILE);

	ret->monitor_runs = is_running(number_of(status, "$.pid"));
	if (!ret->monitor_runs)
		return;
	text_of(status, "$.source", ret->monitor_source, sizeof(ret->monitor_source));
	text_of(status, "$.source_reason", ret->monitor_reason, sizeof(ret->monitor_reason));
	text_of(status, "$.reference_reason", ret->reference_reason, sizeof(ret->reference_reason));
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		*(double *)(void *)((char *)ret + numbers[i].offset) = number_of(status, numbers[i].query);
	if (strcmp(ret->monitor_source, "tick") == 0)
		ret->main_hz = number_of(status, "$.tick_hz") / MAX(number_of(status, "$.tick_divisor"), 1.0);
	ret->fired = number_of(status, "$.samples.fired") + number_of(status, "$.samples.fired_reference");
	ret->lost = 0;
	for (unsigned i = 0; i < SAMPLE_LOSS_END; i++) {
		char query[64];

		snprintf(query, sizeof(query), "$.samples.lost.%s", sample_loss_name(i));
		ret->lost += number_of(status, query);
	}
}

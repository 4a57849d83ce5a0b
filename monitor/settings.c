/* SPDX-License-Identifier: Apache-2.0 */

#include "monitor/settings.h"

#include <errno.h>
#include <string.h>

#include "base/config_file.h"
#include "base/macro.h"
#include "monitor/budget.h"

static const struct config_key keys[] = {
	{ "overhead_budget", CONFIG_TEXT, offsetof(struct monitor_settings, overhead_budget), 0, 0 },
	{ "source", CONFIG_TEXT, offsetof(struct monitor_settings, source_name), 0, 0 },
	{ "rate", CONFIG_REAL, offsetof(struct monitor_settings, rate_hz), 0, 100000 },
	{ "interval", CONFIG_DURATION, offsetof(struct monitor_settings, interval_s), 1, 3600 },
	{ "spool", CONFIG_PATH, offsetof(struct monitor_settings, spool), 0, 0 },
	{ "spool_limit", CONFIG_BYTES, offsetof(struct monitor_settings, spool_limit_bytes), 65536, 1e15 },
	{ "run_directory", CONFIG_PATH, offsetof(struct monitor_settings, run_directory), 0, 0 },
	{ "reference", CONFIG_BOOL, offsetof(struct monitor_settings, reference), 0, 0 },
	{ "lifecycle", CONFIG_BOOL, offsetof(struct monitor_settings, lifecycle), 0, 0 },
	{ "use_denied_clocks", CONFIG_BOOL, offsetof(struct monitor_settings, is_denied_allowed), 0, 0 },
	{ NULL, 0, 0, 0, 0 },
};

static const char *const source_names[] = {
	[MONITOR_AUTO] = "auto",     [MONITOR_TICK] = "tick", [MONITOR_CPU_CLOCK] = "cpu-clock",
	[MONITOR_CYCLES] = "cycles", [MONITOR_PERF] = "perf", [MONITOR_USER] = "user",
};

const char *monitor_source_name(enum monitor_source source)
{
	return source_names[source];
}

int monitor_settings_init(struct monitor_settings *settings)
{
	*settings = (struct monitor_settings){
		.spool = strdup(MONITOR_SPOOL),
		.run_directory = strdup(MONITOR_RUN_DIRECTORY),
		.overhead_budget = strdup("0.1 %"),
		.source_name = strdup("auto"),
		.interval_s = 15,
		.spool_limit_bytes = 64u << 20,
		.reference = true,
		.lifecycle = true,
	};
	if (settings->spool && settings->run_directory && settings->overhead_budget &&
	    settings->source_name)
		return 0;
	monitor_settings_done(settings);
	return -ENOMEM;
}

void monitor_settings_done(struct monitor_settings *settings)
{
	free(settings->spool);
	free(settings->run_directory);
	free(settings->status_file);
	free(settings->output);
	free(settings->overhead_budget);
	free(settings->source_name);
	*settings = (struct monitor_settings){ 0 };
}

int monitor_settings_read(const char *path, bool may_miss, struct monitor_settings *settings,
			  struct fault *reterr)
{
	int r = config_file_read(path, keys, settings, reterr);

	return r == -ENOENT && may_miss ? 0 : r;
}

int monitor_settings_set(struct monitor_settings *settings, const char *key, const char *value,
			 struct fault *reterr)
{
	return config_set(keys, key, value, settings, reterr);
}

int monitor_settings_finish(struct monitor_settings *settings, struct fault *reterr)
{
	int r = budget_parse(settings->overhead_budget, &settings->budget, reterr);

	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(source_names); i++)
		if (strcmp(settings->source_name, source_names[i]) == 0) {
			settings->source = (enum monitor_source)i;
			return 0;
		}
	return fault_set(reterr, -EINVAL, "source = %s: choose auto, tick, cpu-clock, cycles, perf or user",
			 settings->source_name);
}

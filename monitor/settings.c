/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "monitor/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/user_place.h"
#include "monitor/clock/budget.h"

const struct config_key monitor_settings_keys[] = {
	{ "overhead_budget", CONFIG_TEXT, offsetof(struct monitor_settings, overhead_budget), 0, 0,
	  "The share of CPU time that sampling may cost." },
	{ "source", CONFIG_TEXT, offsetof(struct monitor_settings, source_name), 0, 0,
	  "The clock to sample by: auto (the first that works), tick, cpu-clock, cycles, perf or user." },
	{ "rate", CONFIG_REAL, offsetof(struct monitor_settings, rate_hz), 0, 100000,
	  "Samples a second of CPU time, of a source that is not the tick; 0: as much as the budget allows, "
	  "at most 99." },
	{ "interval", CONFIG_DURATION, offsetof(struct monitor_settings, interval_s), 1, 3600,
	  "The longest time between two sample logs." },
	{ "spool", CONFIG_PATH, offsetof(struct monitor_settings, spool), 0, 0,
	  "Where sample logs and events go." },
	{ "spool_limit", CONFIG_BYTES, offsetof(struct monitor_settings, spool_limit_bytes), 65536, 1e15,
	  "When the spool holds more, the oldest logs are deleted." },
	{ "run_directory", CONFIG_PATH, offsetof(struct monitor_settings, run_directory), 0, 0,
	  "Status, and requests of morphd." },
	{ "reference", CONFIG_BOOL, offsetof(struct monitor_settings, reference), 0, 0,
	  "Whether a second, slow clock samples beside the tick, to notice programs that work in step with "
	  "it." },
	{ "lifecycle", CONFIG_BOOL, offsetof(struct monitor_settings, lifecycle), 0, 0,
	  "Whether starts and ends of watched programs are reported." },
	{ "owners", CONFIG_BOOL, offsetof(struct monitor_settings, owners), 0, 0,
	  "Whether samples are counted by name of the process and by unit, too." },
	{ "stacks", CONFIG_BOOL, offsetof(struct monitor_settings, stacks), 0, 0,
	  "Whether samples tell which calls led to them, as far as programs keep frame pointers." },
	{ "use_denied_clocks", CONFIG_BOOL, offsetof(struct monitor_settings, is_denied_allowed), 0, 0,
	  "Whether to use clocks that are known not to work well on this kind of machine." },
	{ NULL },
};

enum whose { ALL, OWN };

#define ROW(SOURCE, file, name, whose, title) [MONITOR_##SOURCE] = { { name, title }, whose },

static const struct {
	struct named named;
	enum whose whose;
} sources[] = { [MONITOR_AUTO] = { { "auto", "the best one that kernel and privileges allow" }, ALL },
		MONITOR_SOURCES(ROW) };

struct named monitor_source_at(size_t i)
{
	return i < ARRAY_SIZE(sources) ? sources[i].named : (struct named){ NULL, NULL };
}

bool monitor_source_is_personal(enum monitor_source source)
{
	return sources[source].whose == OWN;
}

const char *monitor_source_name(enum monitor_source source)
{
	return monitor_source_at(source).name;
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
		.owners = true,
	};
	if (settings->spool && settings->run_directory && settings->overhead_budget && settings->source_name)
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
	int r = config_tree_read(path, monitor_settings_keys, settings, NULL, reterr);

	return r == -ENOENT && may_miss ? 0 : r;
}

int monitor_settings_set(struct monitor_settings *settings, const char *key, const char *value,
			 struct fault *reterr)
{
	return config_set(monitor_settings_keys, key, value, settings, reterr);
}

/* In place of a default that only root can use. */
static int user_path(char **path, const char *standard, enum user_place place, const char *name)
{
	char text[PATH_MAX], *copy;

	if (strcmp(*path, standard) != 0 || user_place(place, name, text, NULL) < 0)
		return 0;
	copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	free(*path);
	*path = copy;
	return 0;
}

static int user_paths(struct monitor_settings *settings)
{
	int r = user_path(&settings->spool, MONITOR_SPOOL, USER_STATE, MONITOR_USER_SPOOL);

	return r < 0 ? r :
		       user_path(&settings->run_directory, MONITOR_RUN_DIRECTORY, USER_RUNTIME,
				 MONITOR_USER_RUN_DIRECTORY);
}

int monitor_settings_finish(struct monitor_settings *settings, struct fault *reterr)
{
	int r = budget_parse(settings->overhead_budget, &settings->budget, reterr);

	if (r < 0)
		return r;
	for (size_t i = 0; monitor_source_at(i).name; i++)
		if (strcmp(settings->source_name, monitor_source_at(i).name) == 0) {
			settings->source = (enum monitor_source)i;
			if (monitor_source_is_personal(i) && geteuid() != 0 && user_paths(settings) < 0)
				return fault_errno(reterr, -ENOMEM, "settings");
			return 0;
		}
	return names_refuse("source", settings->source_name, monitor_source_at, reterr);
}

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morph history [PATH] [--json]: the generations of one program and all that happened to it; without
 * a path, what happened lately to all.
 */

#define _GNU_SOURCE
#include "cli/daemon.h"

static int history_print(const struct records *generations, const struct records *events, bool one)
{
	int r = 0;

	if (one) {
		r = daemon_generations_print(generations, -1);
		putchar('\n');
	}
	if (r < 0)
		return r;
	if (!events->n_rows)
		puts("Nothing has happened yet.");
	return events->n_rows ? daemon_events_print(events, !one) : 0;
}

static void history_json(const struct records *generations, const struct records *events)
{
	struct json json = json_to(stdout);

	json_object_begin(&json, NULL);
	records_json(&json, "generations", generations);
	records_json(&json, "events", events);
	json_object_end(&json);
}

int history_run(int argc, char **argv)
{
	_clean_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	_clean_(records_done) struct records generations = { 0 }, events = { 0 };
	_clean_(freep) char *path = NULL;
	struct daemon_options options = { 0 };
	struct fault fault = { "" };
	int r = daemon_only_options(&options, argc, argv, "history");

	if (r >= 0)
		return r;
	if (argc - optind > 1)
		return verb_usage("history");
	if (optind < argc && !(path = daemon_path(argv[optind], &fault)))
		return verb_fail("history", &fault);
	if (daemon_read(&options, "History", &reply, &fault, path ? path : "") < 0)
		return verb_fail("history", &fault);
	r = records_read(reply, &generations);
	if (r == 0)
		r = records_read(reply, &events);
	if (r < 0) {
		fault_errno(&fault, r, "morphd's answer cannot be read");
		return verb_fail("history", &fault);
	}
	if (options.json)
		history_json(&generations, &events);
	else if (history_print(&generations, &events, path) < 0)
		return VERB_FAILED;
	return VERB_DONE;
}

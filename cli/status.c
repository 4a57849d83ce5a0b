/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morph status [-a] [--json]: the programs that morphd watches over, how much of the machine's time
 * each takes, which generation of each runs, and what morphd waits for; how all of it is sampled.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/table.h"
#include "base/text.h"
#include "cli/daemon.h"
#include "monitor/machine/support.h"

struct status {
	struct record daemon;
	struct records modules, others;
	struct support support; /* the monitor's side */
};

static void status_done(struct status *status)
{
	record_done(&status->daemon);
	records_done(&status->modules);
	records_done(&status->others);
}

static void status_json(const struct status *status)
{
	struct json json = json_to(stdout);

	json_object_begin(&json, NULL);
	record_json(&json, "daemon", &status->daemon);
	support_monitor_json(&status->support, &json);
	records_json(&json, "modules", &status->modules);
	records_json(&json, "others", &status->others);
	json_object_end(&json);
}

static void daemon_print(const struct record *daemon)
{
	const char *busy = record_text(daemon, "busy"), *editing = record_text(daemon, "editing");

	printf("morphd %s (process %lld), %s%s\n", record_text(daemon, "version") ?: "?",
	       (long long)record_integer(daemon, "pid"), busy ? SHOWN(busy) : "the machine is idle",
	       record_integer(daemon, "automatic") ? "" : "; edits only on request");
	if (record_has(daemon, "bus_lack"))
		printf("not on the system bus (%s); `morph` reaches it on its socket\n",
		       SHOWN(record_text(daemon, "bus_lack")));
	if (editing)
		printf("editing %s\n", SHOWN(editing));
	if (record_has(daemon, "edit_frozen"))
		printf("the edit has been frozen for %lld s: %s\n",
		       (long long)record_integer(daemon, "edit_frozen_s"),
		       SHOWN(record_text(daemon, "edit_frozen")));
	if (record_has(daemon, "prediction_factor") &&
	    fabs(record_real(daemon, "prediction_factor") - 1) >= 0.005)
		printf("predicted gains, times %.2f, are what was measured here\n",
		       record_real(daemon, "prediction_factor"));
	printf("%lld samples in %lld logs: %lld idle, %lld kernel, %lld user\n",
	       (long long)record_integer(daemon, "total_fired"),
	       (long long)record_integer(daemon, "total_logs"),
	       (long long)record_integer(daemon, "total_idle"),
	       (long long)record_integer(daemon, "total_kernel"),
	       (long long)record_integer(daemon, "total_user"));
	if (record_integer(daemon, "total_damaged_files"))
		printf("%lld damaged spool files were set aside; `morph history` says why\n",
		       (long long)record_integer(daemon, "total_damaged_files"));
}

/* In a few words: what holds this program back, or who does. */
static const char *standing(const struct record *row)
{
	const char *pinned = record_text(row, "pinned"), *verdict = record_text(row, "verdict");

	if (!record_has(row, "path"))
		return "not installed any more";
	if (pinned)
		return "pinned";
	if (record_integer(row, "watch_left_s"))
		return "active, being watched";
	if (record_has(row, "condemned"))
		return "taken back";
	return verdict ? verdict : "-";
}

static int modules_print(const struct records *modules)
{
	_clean_(table_freep) struct table *table = table_new(
		"program|>samples|>share|>new|>carried|>generation|>predicted gain|>measured|state");
	char share[16], gain[16], measured[DAEMON_MEASURED_TEXT];

	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < modules->n_rows; i++) {
		const struct record *row = &modules->rows[i];

		table_cell(table, "%s", record_text(row, "path") ?: record_text(row, "sampled_path") ?: "?");
		table_cell(table, "%lld", (long long)record_integer(row, "samples"));
		table_cell(table, "%s", daemon_percent(record_real(row, "share"), share));
		table_cell(table, "%lld", (long long)record_integer(row, "new_samples"));
		if (record_has(row, "carried_samples"))
			table_cell(table, "%.0f", record_real(row, "carried_samples"));
		else
			table_cell(table, "-");
		table_cell(table, "%lld of %lld", (long long)record_integer(row, "generation"),
			   (long long)record_integer(row, "generations"));
		table_cell(table, "%s", daemon_percent(record_real(row, "predicted_gain"), gain));
		table_cell(table, "%s", daemon_measured(row, measured));
		table_cell(table, "%s", standing(row));
	}
	return table_print(table, stdout);
}

static int others_print(const struct records *others)
{
	_clean_(table_freep) struct table *table = table_new("other programs|>samples|>share|why not");
	char share[16];

	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < others->n_rows; i++) {
		const struct record *row = &others->rows[i];

		table_cell(table, "%s", record_text(row, "path") ?: "?");
		table_cell(table, "%lld", (long long)record_integer(row, "samples"));
		table_cell(table, "%s", daemon_percent(record_real(row, "share"), share));
		table_cell(table, "%s", record_text(row, "note") ?: "-");
	}
	return table_print(table, stdout);
}

static int status_print(const struct status *status, bool all)
{
	int r = 0;

	daemon_print(&status->daemon);
	putchar('\n');
	support_monitor_print(&status->support, stdout);
	putchar('\n');
	if (status->modules.n_rows)
		r = modules_print(&status->modules);
	else
		puts("No program with Morph data has been seen yet; `morph-cc` builds such programs.");
	if (r == 0 && all) {
		putchar('\n');
		r = others_print(&status->others);
	}
	return r;
}

static int status_read(const struct daemon_options *options, struct status *ret, struct fault *fault)
{
	_clean_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	int r = daemon_read(options, "Status", &reply, fault, NULL);

	if (r < 0)
		return r;
	r = record_read(reply, &ret->daemon);
	if (r == 0)
		r = records_read(reply, &ret->modules);
	if (r == 0)
		r = records_read(reply, &ret->others);
	return r < 0 ? fault_errno(fault, r, "morphd's answer cannot be read") : 0;
}

int status_run(int argc, char **argv)
{
	static const struct option table[] = { { "all", no_argument, NULL, 'a' }, DAEMON_READER_OPTIONS };
	_clean_(status_done) struct status status = { 0 };
	struct daemon_options options = { 0 };
	struct fault fault = { "" };
	bool all = false;
	int option, code;

	while ((option = getopt_long(argc, argv, "ah", table, NULL)) != -1) {
		if (option == 'a') {
			all = true;
			continue;
		}
		code = daemon_option(&options, option, "status");
		if (code >= 0)
			return code;
	}
	if (optind != argc)
		return verb_usage("status");
	if (status_read(&options, &status, &fault) < 0)
		return verb_fail("status", &fault);
	support_probe("", &status.support);
	support_monitor_read(NULL, &status.support);
	if (options.json)
		status_json(&status);
	else if (status_print(&status, all) < 0)
		return VERB_FAILED;
	return VERB_DONE;
}

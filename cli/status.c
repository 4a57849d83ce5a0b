/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morph status [-a] [--json]: the programs that morphd watches over, how much of the machine's time
 * each takes, which generation of each runs, and what morphd waits for; how all of it is sampled.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/table.h"
#include "base/text.h"
#include "cli/daemon.h"
#include "cli/shared/old_code.h"
#include "cli/shared/whose.h"
#include "monitor/machine/support.h"

struct status {
	struct record daemon;
	struct records modules, others, owners;
	struct support support; /* the monitor's side */
	struct old_code old;	/* of processes that we may look into */
};

static void status_done(struct status *status)
{
	record_done(&status->daemon);
	records_done(&status->modules);
	records_done(&status->others);
	records_done(&status->owners);
	old_code_done(&status->old);
}

static void status_json(const struct status *status)
{
	struct json json = json_to(stdout);

	json_object_begin(&json, NULL);
	record_json(&json, "daemon", &status->daemon);
	support_monitor_json(&status->support, &json);
	records_json(&json, "modules", &status->modules);
	records_json(&json, "others", &status->others);
	records_json(&json, "owners", &status->owners);
	json_object_end(&json);
}

/* What the editor predicts is multiplied by it; 1: nothing was measured here yet, or an older morphd. */
static double prediction_factor(const struct record *daemon)
{
	return record_has(daemon, "prediction_factor") ? record_real(daemon, "prediction_factor") : 1;
}

/* How long the entry of PATH is that begins at @at, and where the next one begins: NULL, nowhere. */
static const char *path_next(const char *at, size_t *retlength)
{
	*retlength = strcspn(at, ":");
	return at[*retlength] ? at + *retlength + 1 : NULL;
}

static bool path_has(const char *path, const char *entry, size_t length)
{
	size_t n;

	for (const char *at = path, *next; at; at = next) {
		next = path_next(at, &n);
		if (n == length && memcmp(at, entry, n) == 0)
			return true;
	}
	return false;
}

/* Does the caller's PATH begin with generations, and does morphd know what stands behind them? */
static void shadow_print(const struct record *daemon)
{
	const char *directory = record_text(daemon, "shadow_directory");
	const char *known = record_text(daemon, "shadow_path"), *path = getenv("PATH") ?: "";
	size_t length = directory ? strlen(directory) : 0, n;

	if (!directory || !known)
		return;
	path_next(path, &n);
	if (n != length || strncmp(path, directory, n) != 0)
		printf("put %s first in PATH: generations are there (morphd-user(8))\n", SHOWN(directory));
	for (const char *at = path, *next; at; at = next) {
		char entry[PATH_MAX];

		next = path_next(at, &n);
		snprintf(entry, sizeof(entry), "%.*s", (int)MIN(n, sizeof(entry) - 1), at);
		if (entry[0] == '/' && access(entry, F_OK) == 0 && strcmp(entry, directory) != 0 &&
		    !path_has(known, at, n))
			printf("PATH has %s, which shadow_path in morphd.conf lacks: add it, or its programs "
			       "may be hidden\n",
			       SHOWN(entry));
	}
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
	if (fabs(prediction_factor(daemon) - 1) >= 0.005)
		printf("predicted gains are the editor's times %.2f, as what was measured here says\n",
		       prediction_factor(daemon));
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

/* "12" or "12 of 50"; @limit 0: none */
static const char *of_limit(int64_t value, int64_t limit, char ret[48])
{
	if (limit)
		snprintf(ret, 48, "%lld of %lld", (long long)value, (long long)limit);
	else
		snprintf(ret, 48, "%lld", (long long)value);
	return ret;
}

static int64_t mib(const struct record *row, const char *key)
{
	return (record_integer(row, key) + (1 << 20) - 1) >> 20;
}

static void limits_print(const struct record *daemon)
{
	char edits[48], store[48];

	printf("%s edits in the last 24 hours; the store has %s MiB\n",
	       of_limit(record_integer(daemon, "edits_today"), record_integer(daemon, "edits_per_day"),
			edits),
	       of_limit(mib(daemon, "store_bytes"), mib(daemon, "store_size"), store));
}

/* What each owner's programs take, and may take; root's have no bound of their own. */
static int owners_print(const struct record *daemon, const struct records *owners)
{
	_clean_(table_freep) struct table *table =
		table_new("owner|>programs|>MiB in the store|>events|>edits in 24 hours");
	char text[48];

	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < owners->n_rows; i++) {
		const struct record *row = &owners->rows[i];
		const bool root = record_integer(row, "user") == 0;

		table_cell(table, root ? "root" : "user %lld", (long long)record_integer(row, "user"));
		table_cell(table, "%s",
			   of_limit(record_integer(row, "programs"),
				    root ? 0 : record_integer(daemon, "programs_per_user"), text));
		table_cell(table, "%s",
			   of_limit(mib(row, "store_bytes"), root ? 0 : mib(daemon, "store_per_user"), text));
		table_cell(table, "%s",
			   of_limit(record_integer(row, "events"),
				    root ? 0 : record_integer(daemon, "history_per_user"), text));
		table_cell(table, "%s",
			   of_limit(record_integer(row, "edits_today"),
				    root ? 0 : record_integer(daemon, "edits_per_user"), text));
	}
	return table_print(table, stdout);
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

static int modules_print(const struct record *daemon, const struct records *modules)
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
		table_cell(
			table, "%s",
			daemon_percent(prediction_factor(daemon) * record_real(row, "predicted_gain"), gain));
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

/* Who runs a program as it was before, and containers that run one, whatever theirs is. */
static void old_code_print(const struct old_code *old)
{
	const char *last = NULL;
	size_t n = 0;

	for (size_t i = 0; i < old->n; i++) {
		const struct old_process *p = &old->list[i];

		n += old_code_runs(p) && (!i || !p->unit[0] || strcmp(p->unit, old->list[i - 1].unit) != 0 ||
					  !old_code_runs(&old->list[i - 1]));
	}
	if (n)
		printf("\n%zu services or sessions run code from before; `morph restart --suggest` names "
		       "them\n",
		       n);
	for (size_t i = 0; i < old->n; i++) {
		const char *name = old->list[i].container;

		if (!name[0] || (last && strcmp(last, name) == 0))
			continue;
		printf("%sthe container %s runs programs of these names, its own or this system's; Morph "
		       "changes "
		       "nothing in it\n",
		       last || n ? "" : "\n", SHOWN(name));
		last = name;
	}
}

static int status_print(const struct status *status, bool all)
{
	int r = 0;

	daemon_print(&status->daemon);
	shadow_print(&status->daemon);
	limits_print(&status->daemon);
	putchar('\n');
	support_monitor_print(&status->support, stdout);
	putchar('\n');
	if (status->modules.n_rows)
		r = modules_print(&status->daemon, &status->modules);
	else
		puts("No program with Morph data has been seen yet; `morph-cc` builds such programs.");
	if (r == 0)
		old_code_print(&status->old);
	if (r == 0 && all) {
		putchar('\n');
		r = others_print(&status->others);
	}
	if (r == 0 && all && status->owners.n_rows) {
		putchar('\n');
		r = owners_print(&status->daemon, &status->owners);
	}
	return r;
}

static int status_read(const struct daemon_options *options, struct status *ret, struct fault *fault)
{
	_clean_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	int r = daemon_status(options, &reply, &ret->daemon, &ret->modules, fault);

	if (r < 0)
		return r;
	r = records_read(reply, &ret->others);
	if (r == 0)
		r = records_read(reply, &ret->owners);
	return r < 0 ? fault_errno(fault, r, "morphd's answer cannot be read") : 0;
}

int status_run(int argc, char **argv)
{
	static const struct option table[] = { { "all", no_argument, NULL, 'a' }, DAEMON_READER_OPTIONS };
	_clean_(status_done) struct status status = { 0 };
	struct daemon_options options = { 0 };
	struct fault fault = { "" };
	char monitor[PATH_MAX];
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
	support_monitor_read(whose_monitor_status(monitor), &status.support);
	if (old_code_find(&status.modules, &status.old, &fault) < 0)
		return verb_fail("status", &fault);
	if (options.json)
		status_json(&status);
	else if (status_print(&status, all) < 0)
		return VERB_FAILED;
	return VERB_DONE;
}

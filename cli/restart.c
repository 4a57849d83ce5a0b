/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morph restart: which services and sessions still run a program as it was before Morph's last change; at a time that the
 * administrator has set, those that he named are started again, by systemd. Nothing is ever patched in a running process.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fnmatch.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/prefix.h"
#include "base/table.h"
#include "base/text.h"
#include "cli/daemon.h"
#include "cli/shared/old_code.h"
#include "manager/keep/settings.h"

int restart_run(int argc, char **argv);

/* Whatever a pattern says: without these nobody gets in, or everybody is thrown out. */
static const char *const never[] = {
	"dbus*",	  "systemd-*",	"user@*",   "user-*",	      "getty@*",
	"serial-getty@*", "init.scope", "*.scope",  "*.slice",	      "display-manager.service",
	"gdm*",		  "sddm*",	"lightdm*", "morphd.service", "morph-*"
};

struct restart {
	struct daemon_options daemon;
	bool suggests, in_window, dry_run;
	const char *config;
	struct record status;
	struct records modules;
	struct old_code old;
	struct settings settings;
};

static void restart_done(struct restart *s)
{
	record_done(&s->status);
	records_done(&s->modules);
	old_code_done(&s->old);
	settings_done(&s->settings);
}

static int modules_read(struct restart *s, struct fault *reterr)
{
	_clean_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	int r = daemon_status(&s->daemon, &reply, &s->status, &s->modules, reterr);

	return r < 0 ? r : old_code_find(&s->modules, &s->old, reterr);
}

/* ---- the suggestion ---- */

static const char *where_of(const struct old_process *p, char ret[OLD_CODE_NAME + 80])
{
	if (p->session[0])
		snprintf(ret, OLD_CODE_NAME + 80, "session %s of user %u", p->session, p->uid);
	else if (p->is_user_unit)
		snprintf(ret, OLD_CODE_NAME + 80, "%s of user %u", p->unit, p->uid);
	else
		snprintf(ret, OLD_CODE_NAME + 80, "%s", p->unit[0] ? p->unit : "(no unit)");
	return ret;
}

static int suggestion_print(const struct restart *s)
{
	_clean_(table_freep) struct table *table =
		table_new("unit or session|>process|program|since|>gain of a restart");
	char where[OLD_CODE_NAME + 80], time[DAEMON_TIME_TEXT], gain[16];
	size_t n = 0;

	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < s->old.n; i++) {
		const struct old_process *p = &s->old.list[i];

		if (!old_code_runs(p))
			continue;
		n++;
		table_cell(table, "%s", where_of(p, where));
		table_cell(table, "%d", (int)p->pid);
		table_cell(table, "%s", record_text(p->module, "path"));
		table_cell(table, "%s", daemon_time(p->since_ns, time));
		table_cell(table, "%s",
			   record_integer(p->module, "generation") ?
				   daemon_percent(record_real(p->module, "predicted_gain"), gain) :
				   "was taken back");
	}
	if (s->old.n_hidden)
		fprintf(stderr, "morph restart: %zu process%s not ours to look into%s\n", s->old.n_hidden,
			s->old.n_hidden == 1 ? " is" : "es are", geteuid() == 0 ? "" : "; root sees all");
	if (!n)
		puts("Nothing runs the code from before.");
	return n ? table_print(table, stdout) : 0;
}

static void suggestion_json(const struct restart *s)
{
	struct json json = json_to(stdout);

	json_object_begin(&json, NULL);
	json_array_begin(&json, "processes");
	for (size_t i = 0; i < s->old.n; i++) {
		const struct old_process *p = &s->old.list[i];

		json_object_begin(&json, NULL);
		json_i64(&json, "pid", p->pid);
		json_u64(&json, "uid", p->uid);
		json_string(&json, "path", record_text(p->module, "path"));
		json_string(&json, "unit", p->unit[0] ? p->unit : NULL);
		json_bool(&json, "user_unit", p->is_user_unit);
		json_string(&json, "session", p->session[0] ? p->session : NULL);
		json_string(&json, "container", p->container[0] ? p->container : NULL);
		json_i64(&json, "since_ns", p->since_ns);
		json_bool(&json, "old", p->is_old);
		json_bool(&json, "by_morph", p->is_swap);
		json_double(&json, "predicted_gain",
			    record_integer(p->module, "generation") ?
				    record_real(p->module, "predicted_gain") :
				    0);
		json_bool(&json, "was_taken_back", !record_integer(p->module, "generation"));
		json_object_end(&json);
	}
	json_array_end(&json);
	json_u64(&json, "not_seen", s->old.n_hidden);
	json_object_end(&json);
}

/* ---- needrestart(1) ---- */

static bool is_same_file(const struct old_process *a, const struct old_process *b)
{
	return a->module == b->module && strcmp(a->swapped, b->swapped) == 0;
}

/*
 * Old files that processes have only because Morph changed the program. needrestart leaves processes out by their program's
 * file, so no process that has it may have anything else that was replaced.
 */
static void unchanged_print(const struct restart *s)
{
	for (size_t i = 0; i < s->old.n; i++) {
		const struct old_process *p = &s->old.list[i];
		const char *path = record_text(p->module, "path");
		bool is_first = true, is_mixed = false;

		for (size_t j = 0; j < s->old.n; j++) {
			is_first = is_first && (j >= i || !is_same_file(&s->old.list[j], p));
			is_mixed |= is_same_file(&s->old.list[j], p) && s->old.list[j].is_mixed;
		}
		if (p->swapped[0] && is_first && !is_mixed && !strchr(path, '\n'))
			printf("%.*s/%s\n", (int)(strrchr(path, '/') - path), path, p->swapped);
	}
}

/* ---- the maintenance window ---- */

static int settings_load(struct restart *s, struct fault *reterr)
{
	char config[PATH_MAX];
	int r = settings_init(&s->settings);

	prefix_config(SETTINGS_NAME, config);
	if (r == 0)
		r = config_tree_read(s->config ? s->config : config, settings_keys, &s->settings, NULL,
				     reterr);
	if (r == -ENOENT && !s->config)
		r = 0;
	return r == 0 ? settings_check(&s->settings, reterr) : r;
}

static bool matches(const char *patterns, const char *unit)
{
	char pattern[256];
	int n = 0;

	if (strcmp(patterns, "none") == 0)
		return false;
	for (const char *at = patterns; sscanf(at, "%255s%n", pattern, &n) == 1; at += n)
		if (fnmatch(pattern, unit, 0) == 0)
			return true;
	return false;
}

static bool may_restart(const struct restart *s, const struct old_process *p)
{
	if (!old_code_runs(p) || p->is_user_unit || p->session[0] || !p->unit[0] ||
	    !matches(s->settings.restart_units, p->unit))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(never); i++)
		if (fnmatch(never[i], p->unit, 0) == 0)
			return false;
	return true;
}

/* It became active long enough ago; what systemd cannot tell is left alone. */
static bool is_due(const struct restart *s, const char *unit)
{
	_clean_(buffer_donep) struct buffer out = { 0 };
	struct child_options options = { .retout = &out };
	struct fault ignored;
	unsigned long long us = 0;
	uint64_t now_us = clock_ns(CLOCK_MONOTONIC) / 1000;

	if (child_check((char *[]){ (char *)"systemctl", (char *)"show",
				    (char *)"--property=ActiveEnterTimestampMonotonic", (char *)"--value",
				    (char *)"--", (char *)unit, NULL },
			&options, &ignored) < 0 ||
	    sscanf((char *)out.data, "%llu", &us) != 1 || !us)
		return false;
	return now_us > us && (now_us - us) / 1000000 >= s->settings.restart_interval_s;
}

static int unit_restart(const struct restart *s, const char *unit)
{
	char *words[] = { (char *)"systemctl", (char *)"try-restart", (char *)"--", (char *)unit, NULL };
	struct fault fault;

	if (s->dry_run) {
		printf("would restart %s\n", SHOWN(unit));
		return 0;
	}
	if (child_check(words, NULL, &fault) < 0)
		return verb_fail("restart", &fault);
	printf("restarted %s\n", SHOWN(unit));
	return 0;
}

static int window_run(struct restart *s)
{
	int code = VERB_DONE;
	time_t now = time(NULL);
	struct tm tm;

	if (!localtime_r(&now, &tm) ||
	    !settings_restarts_at(&s->settings, (unsigned)(60 * tm.tm_hour + tm.tm_min))) {
		printf("not now: restart_window = %s\n", SHOWN(s->settings.restart_window));
		return VERB_DONE;
	}
	for (size_t i = 0; i < s->old.n; i++) {
		const struct old_process *p = &s->old.list[i];

		if (i && strcmp(p->unit, s->old.list[i - 1].unit) == 0 && may_restart(s, &s->old.list[i - 1]))
			continue; /* one of several processes of that unit */
		if (!may_restart(s, p))
			continue;
		if (!is_due(s, p->unit))
			printf("%s became active less than restart_interval ago; left alone\n",
			       SHOWN(p->unit));
		else if (unit_restart(s, p->unit) != 0)
			code = VERB_FAILED;
	}
	return code;
}

enum { SUGGEST = 500, WINDOW, DRY_RUN, NEEDRESTART, CONFIG };

int restart_run(int argc, char **argv)
{
	static const struct option table[] = { { "suggest", no_argument, NULL, SUGGEST },
					       { "window", no_argument, NULL, WINDOW },
					       { "dry-run", no_argument, NULL, DRY_RUN },
					       { "unchanged", no_argument, NULL, NEEDRESTART },
					       { "config", required_argument, NULL, CONFIG },
					       DAEMON_OPTIONS };
	_clean_(restart_done) struct restart s = { 0 };
	struct fault fault = { "" };
	bool unchanged = false;
	int option, code = -1;

	while (code < 0 && (option = getopt_long(argc, argv, "h", table, NULL)) != -1)
		switch (option) {
		case SUGGEST: s.suggests = true; break;
		case WINDOW: s.in_window = true; break;
		case DRY_RUN: s.dry_run = true; break;
		case NEEDRESTART: unchanged = true; break;
		case CONFIG: s.config = optarg; break;
		default: code = daemon_option(&s.daemon, option, "restart");
		}
	if (code >= 0)
		return code;
	if (optind != argc || s.suggests + s.in_window + unchanged != 1 || (s.dry_run && !s.in_window))
		return verb_usage("restart");
	if (s.in_window && settings_load(&s, &fault) < 0)
		return verb_fail("restart", &fault);
	if (s.in_window && strcmp(s.settings.restart_units, "none") == 0)
		return VERB_DONE;
	if (modules_read(&s, &fault) < 0)
		return verb_fail("restart", &fault);
	if (unchanged)
		unchanged_print(&s);
	else if (s.in_window)
		return window_run(&s);
	else if (s.daemon.json)
		suggestion_json(&s);
	else if (suggestion_print(&s) < 0)
		return VERB_FAILED;
	return VERB_DONE;
}

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morph notify --mail=ADDRESS | --desktop | --print: tells, once, what an owner may want to hear of: programs that were taken
 * back, programs that are left alone because of it, and once a month what is gained. For a timer, which is off.
 *
 *	1. what was told already?		2. what has morphd to say since then?
 *	3. deliver it				4. note that it was told
 *
 * When 3 fails, it is told the next time.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/config_file.h"
#include "base/file.h"
#include "base/text.h"
#include "base/user_place.h"
#include "cli/daemon.h"
#include "cli/notify/deliver.h"

#define STATE_OF_ROOT "/var/lib/morph-notify/told"
#define FIRST_TIME_NS (24 * 3600 * INT64_C(1000000000))
#define LINES_MAX 20u /* of one message; the rest is counted */

int notify_run(int argc, char **argv);

static const char *const kinds[] = { "rolled-back", "condemned" };

struct told {
	uint64_t last_ns; /* CLOCK_REALTIME of the newest event that was told */
	char *month;	  /* "2026-11", whose gains were told; NULL: never */
};

static const struct config_key told_keys[] = {
	{ "last_ns", CONFIG_UINT, offsetof(struct told, last_ns), 0, 0, NULL },
	{ "month", CONFIG_TEXT, offsetof(struct told, month), 0, 0, NULL },
	{ NULL },
};

struct notify {
	struct daemon_options daemon;
	const char *mail, *state_option;
	bool desktop, print;
	char state[PATH_MAX];
	struct told told;
	struct records events;
	int64_t newest_ns;
	size_t n_lines;
	char month[16];
	struct buffer text; /* lines */
};

static void notify_done(struct notify *n)
{
	config_done(told_keys, &n->told);
	records_done(&n->events);
	buffer_done(&n->text);
}

/* ---- 1 and 4: what was told ---- */

static int state_read(struct notify *n, struct fault *reterr)
{
	struct timespec now;
	struct tm tm;
	int r = 0;

	if (n->state_option)
		snprintf(n->state, sizeof(n->state), "%s", n->state_option);
	else if (geteuid() == 0)
		snprintf(n->state, sizeof(n->state), "%s", STATE_OF_ROOT);
	else
		r = user_place(USER_STATE, "morph/told", n->state, reterr);
	clock_gettime(CLOCK_REALTIME, &now);
	localtime_r(&now.tv_sec, &tm);
	strftime(n->month, sizeof(n->month), "%Y-%m", &tm);
	n->told.last_ns = (uint64_t)(now.tv_sec * INT64_C(1000000000) - FIRST_TIME_NS);
	if (r == 0)
		r = config_file_read(n->state, told_keys, &n->told, reterr);
	return r == -ENOENT ? 0 : r;
}

static int state_write(struct notify *n, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer text = { 0 };
	char directory[PATH_MAX], *slash;
	int r = 0;

	snprintf(directory, sizeof(directory), "%s", n->state);
	slash = strrchr(directory, '/');
	if (slash && slash != directory) {
		*slash = '\0';
		r = file_mkdirs(directory, 0755, reterr);
	}
	buffer_printf(&text, "last_ns = %lld\nmonth = %s\n",
		      (long long)MAX(n->newest_ns, (int64_t)n->told.last_ns), n->month);
	if (text.bad)
		return fault_errno(reterr, -ENOMEM, "%s", n->state);
	return r < 0 ? r : file_write(n->state, text.data, text.size, 0600, reterr);
}

/* ---- 2: what there is to tell ---- */

static bool is_told_of(const struct record *event)
{
	const char *kind = record_text(event, "kind");

	for (size_t i = 0; kind && i < ARRAY_SIZE(kinds); i++)
		if (strcmp(kind, kinds[i]) == 0)
			return true;
	return false;
}

static void events_add(struct notify *n)
{
	size_t more = 0;

	for (size_t i = 0; i < n->events.n_rows; i++) {
		const struct record *event = &n->events.rows[i];
		int64_t time = record_integer(event, "time_ns");
		char when[DAEMON_TIME_TEXT];

		if (!is_told_of(event) || time <= (int64_t)n->told.last_ns)
			continue;
		n->newest_ns = MAX(n->newest_ns, time);
		if (n->n_lines == LINES_MAX) {
			more++;
			continue;
		}
		n->n_lines++;
		buffer_printf(&n->text, "%s %s: ", daemon_time(time, when), record_text(event, "kind"));
		buffer_printf(&n->text, "%s: ", SHOWN(record_text(event, "path") ?: "?"));
		buffer_printf(&n->text, "%s\n", SHOWN(record_text(event, "text") ?: ""));
	}
	if (more)
		buffer_printf(&n->text, "and %zu more: `morph history`\n", more);
}

static int events_read(struct notify *n, struct fault *reterr)
{
	_clean_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	_clean_(records_done) struct records generations = { 0 };
	int r = daemon_read(&n->daemon, "History", &reply, reterr, "");

	if (r < 0)
		return r;
	r = records_read(reply, &generations);
	if (r == 0)
		r = records_read(reply, &n->events);
	return r < 0 ? fault_errno(reterr, r, "morphd's answer cannot be read") : 0;
}

/* Measured where it was, else predicted. */
static void gains_add(struct notify *n, const struct record *daemon, const struct records *modules)
{
	double factor =
		record_has(daemon, "prediction_factor") ? record_real(daemon, "prediction_factor") : 1;
	char text[DAEMON_MEASURED_TEXT];
	size_t n_programs = 0;

	for (size_t i = 0; i < modules->n_rows; i++) {
		const struct record *row = &modules->rows[i];
		bool measured = record_has(row, "measured_gain");

		if (record_integer(row, "generation") <= 0 || !record_has(row, "path") ||
		    n_programs++ >= LINES_MAX)
			continue;
		if (n_programs == 1)
			buffer_printf(&n->text, "Gains, of each program's own time:\n");
		buffer_printf(&n->text, "%s: ", SHOWN(record_text(row, "path")));
		if (measured)
			daemon_measured(row, text);
		else
			daemon_percent(factor * record_real(row, "predicted_gain"), text);
		buffer_printf(&n->text, "%s, %s\n", text, measured ? "measured" : "predicted");
		n->n_lines++;
	}
	if (n_programs > LINES_MAX)
		buffer_printf(&n->text, "and %zu more: `morph status`\n", n_programs - LINES_MAX);
}

/* Of the month that has ended; the first time, only the month is noted. */
static int gains_read(struct notify *n, struct fault *reterr)
{
	_clean_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	_clean_(record_done) struct record daemon = { 0 };
	_clean_(records_done) struct records modules = { 0 };
	int r;

	if (!n->told.month || strcmp(n->told.month, n->month) == 0)
		return 0;
	r = daemon_status(&n->daemon, &reply, &daemon, &modules, reterr);
	if (r == 0)
		gains_add(n, &daemon, &modules);
	return r;
}

/* ---- 3: deliver ---- */

static int deliver(const struct notify *n, struct fault *reterr)
{
	int r = 0;

	if (n->daemon.json) {
		struct json json = json_to(stdout);

		json_object_begin(&json, NULL);
		json_u64(&json, "lines", n->n_lines);
		json_string(&json, "text", (const char *)n->text.data);
		json_object_end(&json);
	} else if (n->print) {
		fputs((const char *)n->text.data, stdout);
	}
	if (n->n_lines && n->mail)
		r = deliver_mail(n->mail, n->n_lines, (const char *)n->text.data, reterr);
	if (r == 0 && n->n_lines && n->desktop)
		r = deliver_desktop((const char *)n->text.data, reterr);
	return r;
}

static int notify(struct notify *n, struct fault *reterr)
{
	int r = state_read(n, reterr);

	if (r == 0)
		r = events_read(n, reterr);
	if (r < 0)
		return r;
	events_add(n);
	r = gains_read(n, reterr);
	buffer_u8(&n->text, '\0');
	if (r == 0 && n->text.bad)
		r = fault_errno(reterr, -ENOMEM, "notify");
	if (r == 0)
		r = deliver(n, reterr);
	return r < 0 ? r : state_write(n, reterr);
}

int notify_run(int argc, char **argv)
{
	static const struct option table[] = { { "mail", required_argument, NULL, 'm' },
					       { "desktop", no_argument, NULL, 'd' },
					       { "print", no_argument, NULL, 'p' },
					       { "state-file", required_argument, NULL, 's' },
					       DAEMON_READER_OPTIONS };
	_clean_(notify_done) struct notify n = { 0 };
	struct fault fault = { "" };
	int option, code;

	while ((option = getopt_long(argc, argv, "h", table, NULL)) != -1)
		switch (option) {
		case 'm': n.mail = optarg; break;
		case 'd': n.desktop = true; break;
		case 'p': n.print = true; break;
		case 's': n.state_option = optarg; break;
		default:
			code = daemon_option(&n.daemon, option, "notify");
			if (code >= 0)
				return code;
		}
	if (optind != argc || (!n.mail && !n.desktop && !n.print && !n.daemon.json))
		return verb_usage("notify");
	if (n.mail && !deliver_is_address(n.mail)) {
		fault_set(&fault, -EINVAL, "--mail=%s: no address", n.mail);
		return verb_refuse("notify", &fault);
	}
	return notify(&n, &fault) < 0 ? verb_fail("notify", &fault) : VERB_DONE;
}

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morph pin [PATH...]: never touch these programs, or only some of their functions; --unpin takes that back; without a
 * path: the list.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <string.h>

#include "base/table.h"
#include "base/text.h"
#include "cli/daemon.h"
#include "cli/shared/passes.h"

#define PARTS_MAX 64u
/* With a path, what morphd reads as one message (manager/talk/framing.h). */
#define REASON_BYTES_MAX 8192u
#define NAME_BYTES_MAX 16384u

struct pin_options {
	struct daemon_options daemon;
	const char *reason;
	bool unpin;
	struct daemon_part parts[PARTS_MAX]; /* of the program; none: all of it */
	size_t n_parts;
};

/* A pass that there is not would make every edit fail. Without an editor nobody knows; -1: it is well, else the exit code */
static int passes_check(const struct pin_options *o)
{
	_clean_(passes_donep) struct passes passes = { 0 };

	for (size_t i = 0; i < o->n_parts; i++) {
		const struct daemon_part *part = &o->parts[i];

		if (strcmp(part->kind, "pass") != 0 || (!passes.n && passes_read(&passes, NULL) < 0) ||
		    passes_have(&passes, part->name))
			continue;
		fprintf(stderr,
			"morph pin: no optimization \"%s\" that can be left out; `morph optimize --passes` "
			"lists them\n",
			SHOWN(part->name));
		return VERB_FAILED;
	}
	return -1;
}

static int pins_print(const struct records *pins)
{
	_clean_(table_freep) struct table *table = table_new("pinned program|what of it|since|why");
	char time[DAEMON_TIME_TEXT];

	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < pins->n_rows; i++) {
		const struct record *row = &pins->rows[i];

		table_cell(table, "%s", record_text(row, "path") ?: "?");
		table_cell(table, "%s %s", record_text(row, "part") ?: "all", record_text(row, "name") ?: "");
		table_cell(table, "%s", daemon_time(record_integer(row, "time_ns"), time));
		table_cell(table, "%s%s%s", record_text(row, "reason") ?: "",
			   record_has(row, "lapsed") ? "; does not hold: " : "",
			   record_text(row, "lapsed") ?: "");
	}
	if (!pins->n_rows)
		puts("No program is pinned.");
	return pins->n_rows ? table_print(table, stdout) : 0;
}

static int pins_list(const struct daemon_options *options, struct fault *fault)
{
	_clean_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	_clean_(records_done) struct records pins = { 0 };
	struct json json = json_to(stdout);
	int r = daemon_read(options, "Pins", &reply, fault, NULL);

	if (r == 0)
		r = records_read(reply, &pins);
	if (r < 0)
		return fault->text[0] ? r : fault_errno(fault, r, "morphd's answer cannot be read");
	if (!options->json)
		return pins_print(&pins);
	json_object_begin(&json, NULL);
	records_json(&json, "pins", &pins);
	json_object_end(&json);
	return 0;
}

static int pin_one(const struct pin_options *o, const char *argument, struct fault *fault)
{
	_clean_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	_clean_(freep) char *path = daemon_path(argument, fault);

	if (!path)
		return -ENOMEM;
	for (size_t i = 0; i < o->n_parts; i++) {
		struct daemon_part part = o->parts[i];
		int r;

		part.path = path;
		r = daemon_pin_part(&o->daemon, &part, o->unpin ? NULL : o->reason, fault);
		if (r < 0 || i + 1 == o->n_parts)
			return r;
	}
	if (o->unpin)
		return daemon_call(&o->daemon, "Unpin", &reply, fault, "s", path, NULL, 0);
	return daemon_call(&o->daemon, "Pin", &reply, fault, "ss", path, o->reason, 0);
}

static bool fits(const char *option, const char *text, size_t most)
{
	if (strlen(text) <= most)
		return true;
	fprintf(stderr, "morph pin: %s: a text of %zu bytes; give at most %zu\n", option, strlen(text), most);
	return false;
}

/* -1: it is well; else the exit code */
static int texts_check(const struct pin_options *o)
{
	bool good = fits("--reason", o->reason, REASON_BYTES_MAX);

	for (size_t i = 0; good && i < o->n_parts; i++)
		good = fits(strcmp(o->parts[i].kind, "pass") == 0 ? "--without" : "--function",
			    o->parts[i].name, NAME_BYTES_MAX);
	return good ? -1 : VERB_USAGE;
}

int pin_run(int argc, char **argv)
{
	static const struct option table[] = { { "unpin", no_argument, NULL, 'u' },
					       { "reason", required_argument, NULL, 'r' },
					       { "function", required_argument, NULL, 'F' },
					       { "without", required_argument, NULL, 'W' },
					       DAEMON_READER_OPTIONS };
	struct pin_options o = { .reason = "by request" };
	struct fault fault = { "" };
	int option, code = -1;

	while (code < 0 && (option = getopt_long(argc, argv, "h", table, NULL)) != -1) {
		if (option == 'u')
			o.unpin = true;
		else if (option == 'r')
			o.reason = optarg;
		else if ((option == 'F' || option == 'W') && o.n_parts < PARTS_MAX)
			o.parts[o.n_parts++] =
				(struct daemon_part){ .kind = option == 'F' ? "function" : "pass",
						      .name = optarg };
		else
			code = daemon_option(&o.daemon, option, "pin");
	}
	if (code < 0)
		code = texts_check(&o);
	if (code < 0 && !o.unpin)
		code = passes_check(&o);
	if (code >= 0)
		return code;
	if (optind == argc && (o.unpin || o.n_parts))
		return verb_usage("pin");
	if (optind == argc)
		return pins_list(&o.daemon, &fault) < 0 ? verb_fail("pin", &fault) : VERB_DONE;
	code = VERB_DONE;
	for (int i = optind; i < argc; i++)
		if (pin_one(&o, argv[i], &fault) < 0)
			code = verb_fail("pin", &fault);
	return code;
}

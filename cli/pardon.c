/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morph pardon [PATH...]: what crashed, or was taken back, may be tried again; without a path: what is held against whom.
 */

#define _GNU_SOURCE
#include <errno.h>

#include "base/table.h"
#include "cli/daemon.h"

static int condemned_print(const struct records *modules)
{
	_clean_(table_freep) struct table *table = table_new("condemned program|since|why");
	char time[DAEMON_TIME_TEXT];
	unsigned n = 0;

	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < modules->n_rows; i++) {
		const struct record *row = &modules->rows[i];

		if (!record_has(row, "condemned"))
			continue;
		n++;
		table_cell(table, "%s", record_text(row, "path") ?: record_text(row, "sampled_path") ?: "?");
		table_cell(table, "%s",
			   record_has(row, "condemned_ns") ?
				   daemon_time(record_integer(row, "condemned_ns"), time) :
				   "by request");
		table_cell(table, "%s", record_text(row, "condemned"));
	}
	if (!n)
		puts("Nothing is held against any program.");
	return n ? table_print(table, stdout) : 0;
}

static void condemned_json(const struct records *modules)
{
	struct json json = json_to(stdout);

	json_object_begin(&json, NULL);
	json_array_begin(&json, "condemned");
	for (size_t i = 0; i < modules->n_rows; i++)
		if (record_has(&modules->rows[i], "condemned"))
			record_json(&json, NULL, &modules->rows[i]);
	json_array_end(&json);
	json_object_end(&json);
}

static int condemned_list(const struct daemon_options *options, struct fault *fault)
{
	_clean_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	_clean_(records_done) struct records modules = { 0 };
	_clean_(record_done) struct record daemon = { 0 };
	int r = daemon_status(options, &reply, &daemon, &modules, fault);

	if (r < 0)
		return r;
	if (!options->json)
		return condemned_print(&modules);
	condemned_json(&modules);
	return 0;
}

static int pardon_one(const struct daemon_options *options, const char *argument, struct fault *fault)
{
	_clean_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	_clean_(freep) char *path = daemon_path(argument, fault);

	return path ? daemon_call(options, "Pardon", &reply, fault, "s", path, NULL, 0) : -ENOMEM;
}

int pardon_run(int argc, char **argv)
{
	static const struct option table[] = { DAEMON_READER_OPTIONS };
	struct daemon_options options = { 0 };
	struct fault fault = { "" };
	int option, code = -1;

	while (code < 0 && (option = getopt_long(argc, argv, "h", table, NULL)) != -1)
		code = daemon_option(&options, option, "pardon");
	if (code >= 0)
		return code;
	if (optind == argc)
		return condemned_list(&options, &fault) < 0 ? verb_fail("pardon", &fault) : VERB_DONE;
	code = VERB_DONE;
	for (int i = optind; i < argc; i++)
		if (pardon_one(&options, argv[i], &fault) < 0)
			code = verb_fail("pardon", &fault);
	return code;
}

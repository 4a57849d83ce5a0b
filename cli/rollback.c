/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morph rollback PATH... | --all: put shipped files back, byte for byte.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/daemon.h"

struct rollback_options {
	struct daemon_options daemon;
	int64_t generation;
	bool all;
};

static void result_json(struct json *json, const char *path, const char *text, bool done)
{
	json_object_begin(json, NULL);
	json_string(json, "path", path);
	json_bool(json, "done", done);
	json_string(json, "text", text);
	json_object_end(json);
}

static int rollback_one(const struct rollback_options *o, const char *argument, struct json *json,
			struct fault *fault)
{
	_clean_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	_clean_(freep) char *path = daemon_path(argument, fault);
	const char *text = "";
	int r = path ? daemon_call(&o->daemon, "Rollback", &reply, fault, "sx", path, NULL, o->generation) :
		       -ENOMEM;

	if (r == 0 && sd_bus_message_read(reply, "s", &text) >= 0 && !o->daemon.json)
		puts(SHOWN(text));
	if (o->daemon.json)
		result_json(json, argument, r < 0 ? fault->text : text, r == 0);
	return r;
}

static int rollback_all(const struct rollback_options *o, struct fault *fault)
{
	_clean_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	uint32_t n = 0;
	int r = daemon_call(&o->daemon, "RollbackAll", &reply, fault, "", NULL, NULL, 0);

	if (r < 0 || sd_bus_message_read(reply, "u", &n) < 0)
		return r;
	if (o->daemon.json) {
		struct json json = json_to(stdout);

		json_object_begin(&json, NULL);
		json_u64(&json, "rolled_back", n);
		json_object_end(&json);
	} else {
		printf("%u programs are as shipped again\n", n);
	}
	return 0;
}

/* -1: go on; else the exit code. */
static int options_parse(struct rollback_options *o, int argc, char **argv)
{
	static const struct option table[] = { { "all", no_argument, NULL, 'a' },
					       { "to", required_argument, NULL, 't' },
					       DAEMON_OPTIONS };
	int option, code = -1;
	char *end;

	while (code < 0 && (option = getopt_long(argc, argv, "ah", table, NULL)) != -1) {
		if (option == 'a') {
			o->all = true;
		} else if (option == 't') {
			o->generation = strtoll(optarg, &end, 10);
			if (*end || end == optarg || o->generation < 0)
				code = verb_usage("rollback");
		} else {
			code = daemon_option(&o->daemon, option, "rollback");
		}
	}
	if (code < 0 && o->all != (optind == argc))
		code = verb_usage("rollback");
	return code;
}

int rollback_run(int argc, char **argv)
{
	struct rollback_options o = { 0 };
	struct json json = json_to(stdout);
	struct fault fault = { "" };
	int code = options_parse(&o, argc, argv);

	if (code >= 0)
		return code;
	if (o.all)
		return rollback_all(&o, &fault) < 0 ? verb_fail("rollback", &fault) : VERB_DONE;
	code = VERB_DONE;
	if (o.daemon.json)
		json_array_begin(&json, NULL);
	for (int i = optind; i < argc; i++)
		if (rollback_one(&o, argv[i], &json, &fault) < 0)
			code = o.daemon.json ? VERB_FAILED : verb_fail("rollback", &fault);
	if (o.daemon.json)
		json_array_end(&json);
	return code;
}

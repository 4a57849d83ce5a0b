/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morph reoptimize PATH...: have programs edited now, with the samples there are, and wait for it.
 */

#define _GNU_SOURCE
#include "base/progress.h"
#include "base/text.h"
#include "cli/daemon.h"

/* One line of JSON objects would lie about failures, so each program is an object of one array. */
static void result_show(struct json *json, bool as_json, const char *path, const char *text, bool good)
{
	if (!as_json) {
		if (good)
			puts(SHOWN(text));
		else
			fprintf(stderr, "morph reoptimize: %s\n", SHOWN(text));
		return;
	}
	json_object_begin(json, NULL);
	json_string(json, "path", path);
	json_bool(json, "done", good);
	json_string(json, "text", text);
	json_object_end(json);
}

static bool reoptimize_one(const struct daemon_options *options, const char *argument, struct json *json)
{
	_clean_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	struct fault fault = { "" };
	_clean_(freep) char *path = daemon_path(argument, &fault);
	struct progress progress;
	const char *text = "";
	int r = path ? 0 : -1;

	progress_begin(&progress, STDERR_FILENO);
	progress_step(&progress, argument, 0, 0);
	if (r == 0)
		r = daemon_call(options, "Reoptimize", &reply, &fault, "s", path, NULL, 0);
	progress_end(&progress);
	if (r == 0 && sd_bus_message_read(reply, "s", &text) < 0)
		r = fault_set(&fault, -1, "morphd's answer cannot be read");
	result_show(json, options->json, argument, r < 0 ? fault.text : text, r == 0);
	return r == 0;
}

int reoptimize_run(int argc, char **argv)
{
	struct daemon_options options = { 0 };
	struct json json = json_to(stdout);
	bool all_good = true;
	int r = daemon_only_options(&options, argc, argv, "reoptimize");

	if (r >= 0)
		return r;
	if (optind == argc)
		return verb_usage("reoptimize");
	if (options.json)
		json_array_begin(&json, NULL);
	for (int i = optind; i < argc; i++)
		all_good = reoptimize_one(&options, argv[i], &json) && all_good;
	if (options.json)
		json_array_end(&json);
	return all_good ? VERB_DONE : VERB_FAILED;
}

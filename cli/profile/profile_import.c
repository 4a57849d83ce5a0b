/* SPDX-License-Identifier: Apache-2.0 */

/* morph profile import: what another tool recorded becomes a sample log (profiles/samples/import.h). */

#include "cli/profile/profile.h"

#include <getopt.h>
#include <inttypes.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/verb.h"
#include "profiles/samples/import.h"

static void summary_print(const struct import_summary *summary, const struct sample_log *log,
			  const char *output)
{
	printf("%s: %" PRIu64 " samples of %s: %" PRIu64 " in %zu modules, %" PRIu64 " kernel, %" PRIu64
	       " idle, %" PRIu64 " lost or unmapped\n",
	       SHOWN(output), summary->samples, SHOWN(summary->event), log->attributed, log->n_modules,
	       log->kernel, log->idle, log->user - log->attributed - log->anonymous);
	if (summary->branches || summary->branches_dropped)
		printf("%" PRIu64 " branches, %" PRIu64 " more left the file they were in\n",
		       summary->branches, summary->branches_dropped);
	if (summary->others)
		printf("%" PRIu64 " samples of other events were left out\n", summary->others);
	if (summary->without_build_id)
		printf("%" PRIu64 " samples are in files without a build ID and cannot be used\n",
		       summary->without_build_id);
}

static void summary_print_json(const struct import_summary *summary, const struct sample_log *log,
			       const char *output)
{
	struct json json = json_to(stdout);

	json_object_begin(&json, NULL);
	json_string(&json, "log", output);
	json_string(&json, "event", summary->event);
	json_u64(&json, "samples", summary->samples);
	json_u64(&json, "attributed", log->attributed);
	json_u64(&json, "kernel", log->kernel);
	json_u64(&json, "idle", log->idle);
	json_u64(&json, "anonymous", log->anonymous);
	json_u64(&json, "lost", log->user - log->attributed - log->anonymous);
	json_u64(&json, "modules", log->n_modules);
	json_u64(&json, "branches", summary->branches);
	json_u64(&json, "branches_dropped", summary->branches_dropped);
	json_u64(&json, "other_samples", summary->others);
	json_u64(&json, "without_build_id", summary->without_build_id);
	json_object_end(&json);
}

static int help(void)
{
	profile_help("import");
	puts("\nFormats:");
	names_print(stdout, importer_at);
	return VERB_DONE;
}

int profile_import_run(int argc, char **argv)
{
	static const struct option options[] = {
		{ "output", required_argument, NULL, 'o' },
		{ "event", required_argument, NULL, 'e' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	_clean_(sample_log_freep) struct sample_log *log = NULL;
	const char *output = NULL, *event = NULL;
	struct import_summary summary;
	bool as_json = false;
	struct fault fault;
	int c, r;

	while ((c = getopt_long(argc, argv, "o:e:h", options, NULL)) != -1)
		if (c == 'o')
			output = optarg;
		else if (c == 'e')
			event = optarg;
		else if (c == 'j')
			as_json = true;
		else if (c == 'h')
			return help();
		else
			return profile_usage("import");
	if (argc - optind != 1 || !output)
		return profile_usage("import");
	r = import_read(argv[optind], event, &log, &summary, &fault);
	if (r == 0)
		r = sample_log_write(log, output, &fault);
	if (r < 0)
		return profile_failed("import", &fault);
	if (as_json)
		summary_print_json(&summary, log, output);
	else
		summary_print(&summary, log, output);
	return VERB_DONE;
}

/* SPDX-License-Identifier: Apache-2.0 */

/* morph profile carry: the profile of an earlier build, for a new one. */

#include "cli/profile/profile.h"

#include <getopt.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/verb.h"
#include "profiles/store/carry.h"

static double share(double part, double rest)
{
	return part + rest > 0 ? part / (part + rest) : 0;
}

static void report_print(const struct carry_report *report, const char *output, bool as_json)
{
	struct json json = json_to(stdout);

	if (!as_json) {
		printf("%s: %zu functions carried over with %.1f %% of the samples; %zu changed "
		       "and start "
		       "fresh, %zu are gone\n",
		       SHOWN(output), report->n_carried,
		       100 * share(report->samples_carried, report->samples_dropped),
		       report->n_changed + report->n_unknown, report->n_gone);
		return;
	}
	json_object_begin(&json, NULL);
	json_string(&json, "profile", output);
	json_u64(&json, "functions_carried", report->n_carried);
	json_u64(&json, "functions_changed", report->n_changed);
	json_u64(&json, "functions_gone", report->n_gone);
	json_u64(&json, "functions_unknown", report->n_unknown);
	json_double(&json, "samples_carried", report->samples_carried);
	json_double(&json, "samples_dropped", report->samples_dropped);
	json_double(&json, "carried_share", share(report->samples_carried, report->samples_dropped));
	json_object_end(&json);
}

static int carry(const char *old_path, const char *program_path, const char *sidecar_dir, const char *output,
		 struct carry_report *ret, struct fault *reterr)
{
	_clean_(profile_freep) struct profile *old = NULL, *now = NULL;
	_clean_(program_done) struct program program = { 0 };
	int r = profile_read(old_path, &old, reterr);

	if (r == 0)
		r = program_open(program_path, sidecar_dir, &program, reterr);
	if (r == 0)
		r = carry_profile(old, program.data->map, program_shipped_id(&program), &now, ret, reterr);
	return r < 0 ? r : profile_write(now, output, reterr);
}

int profile_carry_run(int argc, char **argv)
{
	static const struct option options[] = {
		{ "output", required_argument, NULL, 'o' },
		{ "sidecar-dir", required_argument, NULL, 's' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	const char *output = NULL, *sidecar_dir = NULL;
	struct carry_report report;
	bool as_json = false;
	struct fault fault;
	int c;

	while ((c = getopt_long(argc, argv, "o:h", options, NULL)) != -1)
		if (c == 'o')
			output = optarg;
		else if (c == 's')
			sidecar_dir = optarg;
		else if (c == 'j')
			as_json = true;
		else if (c == 'h')
			return profile_help("carry");
		else
			return profile_usage("carry");
	if (argc - optind != 2 || !output)
		return profile_usage("carry");
	if (carry(argv[optind], argv[optind + 1], sidecar_dir, output, &report, &fault) < 0)
		return profile_failed("carry", &fault);
	report_print(&report, output, as_json);
	return VERB_DONE;
}

/* SPDX-License-Identifier: Apache-2.0 */

/* morph profile carry: the profile of an earlier build, for a new one; morph profile prior: of others, for a program. */

#include "cli/profile/profile.h"

#include <getopt.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/verb.h"
#include "profiles/infer/estimate.h"
#include "profiles/store/carry.h"
#include "profiles/store/prior.h"
#include "profiles/store/seen.h"

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
		r = seen_none(old, old_path, reterr);
	if (r == 0)
		r = carry_profile(old, program.data->map, program_shipped_id(&program), &now, ret, reterr);
	return r < 0 ? r : profile_write(now, output, reterr);
}

/* The same for what others counted, in this build or in another one. */
static int fit(const char *others_path, const char *program_path, const char *sidecar_dir, const char *output,
	       struct prior_report *ret, struct fault *reterr)
{
	_clean_(profile_freep) struct profile *others = NULL, *now = NULL;
	_clean_(program_done) struct program program = { 0 };
	int r = profile_read(others_path, &others, reterr);

	if (r == 0)
		r = program_open(program_path, sidecar_dir, &program, reterr);
	if (r == 0)
		r = estimate_seen(program.data->map, program.image, others, reterr);
	if (r == 0)
		r = prior_fit(others, program.data->map, program_shipped_id(&program), &now, ret, reterr);
	return r < 0 ? r : profile_write(now, output, reterr);
}

static void fit_print(const struct prior_report *report, const char *output, bool as_json)
{
	struct json json = json_to(stdout);

	if (!as_json) {
		printf("%s: %zu functions with %.0f samples fit, %.1f %% of what others counted; %zu do "
		       "not\n",
		       SHOWN(output), report->n_functions, report->fitting,
		       100 * share(report->fitting, report->dropped), report->n_functions_dropped);
		return;
	}
	json_object_begin(&json, NULL);
	json_string(&json, "profile", output);
	json_double(&json, "samples", report->fitting);
	json_double(&json, "samples_dropped", report->dropped);
	json_u64(&json, "functions", report->n_functions);
	json_u64(&json, "functions_dropped", report->n_functions_dropped);
	json_object_end(&json);
}

struct command {
	const char *profile, *program, *sidecar_dir, *output;
	bool as_json;
};

/* -1: go on; else the exit code. */
static int command_parse(const char *name, int argc, char **argv, struct command *ret)
{
	static const struct option options[] = {
		{ "output", required_argument, NULL, 'o' },
		{ "sidecar-dir", required_argument, NULL, 's' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c;

	*ret = (struct command){ 0 };
	while ((c = getopt_long(argc, argv, "o:h", options, NULL)) != -1)
		if (c == 'o')
			ret->output = optarg;
		else if (c == 's')
			ret->sidecar_dir = optarg;
		else if (c == 'j')
			ret->as_json = true;
		else if (c == 'h')
			return profile_help(name);
		else
			return profile_usage(name);
	if (argc - optind != 2 || !ret->output)
		return profile_usage(name);
	ret->profile = argv[optind];
	ret->program = argv[optind + 1];
	return -1;
}

int profile_carry_run(int argc, char **argv)
{
	struct carry_report report;
	struct command command;
	struct fault fault;
	int r = command_parse("carry", argc, argv, &command);

	if (r >= 0)
		return r;
	if (carry(command.profile, command.program, command.sidecar_dir, command.output, &report, &fault) < 0)
		return profile_failed("carry", &fault);
	report_print(&report, command.output, command.as_json);
	return VERB_DONE;
}

int profile_prior_run(int argc, char **argv)
{
	struct prior_report report;
	struct command command;
	struct fault fault;
	int r = command_parse("prior", argc, argv, &command);

	if (r >= 0)
		return r;
	if (fit(command.profile, command.program, command.sidecar_dir, command.output, &report, &fault) < 0)
		return profile_failed("prior", &fault);
	fit_print(&report, command.output, command.as_json);
	return VERB_DONE;
}

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morph profile: from sample logs to a profile; and, by its first argument, show, diff, merge,
 * carry, prior, export and import.
 *
 *  1. open the program and its generations; all must stem from one shipped file
 *  2. add up the logs
 *  3. estimate the block counts of each file that has samples, and add them
 *  4. with --from, age the old profile by the new activity and add the new counts to it
 *     with --seen, samples of the shipped file are kept as they are, for a fleet that adds them up
 *  5. with --prior, add what others counted, as far as the counts here do not contradict; then there may be no log
 */

#define _GNU_SOURCE
#include "cli/profile/profile.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/config_file.h"
#include "base/json.h"
#include "base/progress.h"
#include "base/text.h"
#include "cli/verb.h"
#include "profiles/infer/estimate.h"
#include "profiles/samples/sample_log.h"
#include "profiles/store/prior.h"
#include "profiles/store/seen.h"

#define MAX_PROGRAMS 64u
#define MAX_PRIORS 4u

struct subcommand {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *synopsis, *summary;
};

static const struct subcommand subcommands[] = {
	{ "show", profile_show_run, "PROFILE [--top N] [--function NAME] [--json]",
	  "what a profile says, and whether it can be trusted" },
	{ "diff", profile_diff_run, "PROFILE PROFILE [--top N] [--json]", "how far two profiles agree" },
	{ "merge", profile_merge_run, "PROFILE... -o OUT [--half-life TIME] [--json]",
	  "add profiles of one build" },
	{ "carry", profile_carry_run, "OLD.prof NEWPROGRAM -o OUT [--sidecar-dir DIR] [--json]",
	  "take over what a new build left unchanged" },
	{ "prior", profile_prior_run, "OTHERS.prof PROGRAM -o OUT [--sidecar-dir DIR] [--json]",
	  "what of others' counts fits to a program" },
	{ "export", profile_export_run, "--format FORMAT (PROFILE | PROGRAM SAMPLES...) [-o OUT]",
	  "write it in another tool's form" },
	{ "import", profile_import_run, "PERF.DATA -o OUT.samples [--event NAME] [--json]",
	  "make a sample log of what perf recorded" },
};

struct request {
	const char *program, *output, *from, *sidecar_dir;
	const char *priors[MAX_PRIORS]; /* the nearest first */
	unsigned n_priors;
	const char *generations[MAX_PROGRAMS - 1];
	unsigned n_generations;
	char **logs;
	unsigned n_logs;
	const struct estimator *estimator;
	uint64_t half_life_ns;
	bool has_half_life; /* was given */
	bool json, keeps_seen;
};

/* What was read, and what comes out. */
struct work {
	struct program programs[MAX_PROGRAMS];
	unsigned n_programs;
	struct sample_log *sum;	 /* owned */
	struct profile *profile; /* owned */
	double new_samples;	 /* mapped, of the logs alone */
	struct prior_report priors[MAX_PRIORS];
};

static const struct subcommand *subcommand_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(subcommands); i++)
		if (strcmp(subcommands[i].name, name) == 0)
			return &subcommands[i];
	return NULL;
}

int profile_usage(const char *name)
{
	fprintf(stderr, "usage: morph profile %s %s\n", name, subcommand_find(name)->synopsis);
	return VERB_USAGE;
}

int profile_help(const char *name)
{
	const struct subcommand *s = subcommand_find(name);

	printf("usage: morph profile %s %s\n\n%s\n\nSee morph-profile(1).\n", name, s->synopsis, s->summary);
	return VERB_DONE;
}

const char *profile_synopsis(const char *name)
{
	const struct subcommand *s = subcommand_find(name);

	return s ? s->synopsis : NULL;
}

void profile_subcommands_print(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(subcommands); i++)
		printf("%s\t%s\n", subcommands[i].name, subcommands[i].summary);
}

int profile_failed(const char *name, const struct fault *fault)
{
	fprintf(stderr, "morph profile %s: %s\n", name, fault->text);
	return VERB_FAILED;
}

bool half_life_parse(const char *text, uint64_t *ret_ns)
{
	static const struct config_key keys[] = { { "half-life", CONFIG_DURATION, 0, 0, 3650.0 * 86400 },
						  { NULL } };
	uint64_t seconds = 0;

	if (config_set(keys, "half-life", text, &seconds, NULL) < 0)
		return false;
	*ret_ns = seconds * 1000000000u;
	return true;
}

/* The same file twice must not count twice. */
static bool program_is_repeated(const struct work *work, const struct program *program)
{
	for (unsigned i = 0; i < work->n_programs; i++)
		if (build_id_is_equal(image_build_id(work->programs[i].image),
				      image_build_id(program->image)))
			return true;
	return false;
}

/* Step 1. */
static int programs_open(const struct request *request, struct work *work, struct fault *reterr)
{
	const struct build_id *shipped = NULL;

	for (unsigned i = 0; i <= request->n_generations; i++) {
		const char *path = i ? request->generations[i - 1] : request->program;
		struct program *program = &work->programs[work->n_programs];
		int r = program_open(path, request->sidecar_dir, program, reterr);

		if (r < 0)
			return r;
		if (program_is_repeated(work, program)) {
			program_done(program);
			continue;
		}
		work->n_programs++;
		if (!shipped)
			shipped = program_shipped_id(program);
		if (!build_id_is_equal(shipped, program_shipped_id(program)))
			return fault_set(reterr, -EXDEV, "%s was not made from the same shipped file as %s",
					 path, request->program);
	}
	return 0;
}

static bool has_samples_of(const struct sample_log *log, const struct work *work)
{
	for (unsigned i = 0; i < work->n_programs; i++)
		if (sample_log_find(log, image_build_id(work->programs[i].image)))
			return true;
	return false;
}

/* Only time in which the module ran counts as its activity. */
static void times_add(const struct sample_log *log, struct profile *profile)
{
	uint64_t end = log->start_ns + log->duration_ns;

	profile->activity_ns += log->duration_ns;
	if (!profile->first_ns || log->start_ns < profile->first_ns)
		profile->first_ns = log->start_ns;
	profile->last_ns = MAX(profile->last_ns, end);
}

static int modules_list(const struct sample_log *log, const struct request *request, struct fault *reterr)
{
	struct fault list = { "" };

	for (size_t i = 0, n = 0; i < log->n_modules && n < 4; i++) {
		size_t at = strlen(list.text);

		if (log->modules[i].kind != SAMPLE_MODULE_FILE)
			continue;
		snprintf(list.text + at, sizeof(list.text) - at, "%s%.100s", n ? ", " : "",
			 log->modules[i].path);
		n++;
	}
	return fault_set(reterr, -ENODATA,
			 "no samples of this build of %.150s; the logs hold samples of %.300s",
			 request->program, *list.text ? list.text : "no file at all");
}

/* Step 2. */
static int logs_add(const struct request *request, struct work *work, struct fault *reterr)
{
	struct progress progress;
	bool found = false;
	int r = 0;

	work->sum = sample_log_new();
	if (!work->sum)
		return fault_errno(reterr, -ENOMEM, "sample logs");
	progress_begin(&progress, STDERR_FILENO);
	for (unsigned i = 0; i < request->n_logs && r == 0; i++) {
		_clean_(sample_log_freep) struct sample_log *log = NULL;

		progress_step(&progress, "reading sample logs", i, request->n_logs);
		r = sample_log_read(request->logs[i], &log, reterr);
		if (r < 0)
			break;
		if (log->source == SAMPLE_SOURCE_FAULTS) {
			r = fault_set(reterr, -EINVAL, "%s: holds page faults, not samples",
				      request->logs[i]);
			break;
		}
		if (i && (log->source == SAMPLE_SOURCE_EXACT) != (work->sum->source == SAMPLE_SOURCE_EXACT)) {
			r = fault_set(reterr, -EXDEV, "%s: exact counts and samples cannot be added up",
				      request->logs[i]);
			break;
		}
		if (has_samples_of(log, work)) {
			times_add(log, work->profile);
			found = true;
		}
		if (sample_log_merge(work->sum, log) < 0)
			r = fault_errno(reterr, -ENOMEM, "%s", request->logs[i]);
	}
	progress_end(&progress);
	if (r == 0 && sample_log_unite(work->sum) < 0)
		r = fault_errno(reterr, -ENOMEM, "sample logs");
	if (r < 0 || found || (request->n_priors && !work->sum->n_modules))
		return r;
	return modules_list(work->sum, request, reterr);
}

static const struct estimator *estimator_for(const struct request *request, const struct sample_log *log)
{
	if (request->estimator)
		return request->estimator;
	return log->source == SAMPLE_SOURCE_EXACT ? &estimator_exact : &estimator_best;
}

/* Step 3. */
static int counts_estimate(const struct request *request, struct work *work, struct fault *reterr)
{
	const struct estimator *estimator = estimator_for(request, work->sum);

	if (request->keeps_seen && work->sum->source == SAMPLE_SOURCE_EXACT)
		return fault_set(reterr, -EINVAL, "%s: holds execution counts, not samples; leave out --seen",
				 request->logs[0]);
	if (estimator_takes_counts(estimator) && work->sum->source != SAMPLE_SOURCE_EXACT)
		return fault_set(reterr, -EINVAL,
				 "%s: holds samples, not execution counts; leave out --estimator %s",
				 request->logs[0], estimator_name(estimator));
	work->profile->build_id = *program_shipped_id(&work->programs[0]);
	work->profile->path = realpath(request->program, NULL);
	work->profile->estimator = strdup(estimator_name(estimator));
	if (!work->profile->path || !work->profile->estimator)
		return fault_errno(reterr, -ENOMEM, "profile");
	for (unsigned i = 0; i < work->n_programs; i++) {
		_clean_(estimate_done) struct estimate estimate = { 0 };
		const struct program *program = &work->programs[i];
		const struct sample_module *module =
			sample_log_find(work->sum, image_build_id(program->image));
		int r;

		if (!module)
			continue;
		if (request->keeps_seen && !program->data->origin.size) {
			r = seen_add(work->profile, module);
			if (r < 0)
				return fault_errno(reterr, r, "%s", image_path(program->image));
			continue;
		}
		r = estimate_blocks(program->data->map, program->image, module, estimator, &estimate, reterr);
		if (r == 0)
			r = estimate_profile(program->data->map, &estimate, work->profile, reterr);
		if (r < 0)
			return fault_prefix(reterr, r, "%s", image_path(program->image));
	}
	work->new_samples = work->profile->samples;
	return 0;
}

/* Step 4. */
static int old_add(const struct request *request, struct work *work, struct fault *reterr)
{
	_clean_(profile_freep) struct profile *old = NULL;
	double weight = profile_weight(work->profile->activity_ns, request->half_life_ns);
	int r;

	if (!request->from)
		return 0;
	r = profile_read(request->from, &old, reterr);
	if (r == 0)
		r = profile_merge(old, weight, work->profile, reterr);
	if (r < 0)
		return fault_prefix(reterr, r, "--from");
	profile_free(work->profile);
	work->profile = TAKE(old);
	return 0;
}

/*
 * Step 5. Where the program is a generation, its map has the shipped functions' graphs, too. Each one is a prior for what is
 * there with those before it.
 */
static int others_add(const struct request *request, struct work *work, struct fault *reterr)
{
	int r = 0;

	for (unsigned i = 0; r == 0 && i < request->n_priors; i++) {
		_clean_(profile_freep) struct profile *prior = NULL;

		r = profile_read(request->priors[i], &prior, reterr);
		if (r == 0)
			r = estimate_seen(work->programs[0].data->map, work->programs[0].image, prior,
					  reterr);
		if (r == 0)
			r = prior_add(work->profile, prior, work->programs[0].data->map, &work->priors[i],
				      reterr);
	}
	return r < 0 ? fault_prefix(reterr, r, "--prior") : 0;
}

static double priors_strength(const struct request *request, const struct work *work)
{
	double ret = 0;

	for (unsigned i = 0; i < request->n_priors; i++)
		ret += work->priors[i].strength;
	return ret;
}

static void priors_json(const struct request *request, const struct work *work, struct json *json)
{
	json_double(json, "prior_samples", priors_strength(request, work));
	json_array_begin(json, "priors");
	for (unsigned i = 0; i < request->n_priors; i++) {
		const struct prior_report *report = &work->priors[i];

		json_object_begin(json, NULL);
		json_string(json, "prior", request->priors[i]);
		json_double(json, "samples", report->strength);
		json_double(json, "at_most", report->most);
		json_double(json, "overlap", report->overlap);
		json_u64(json, "functions", report->n_functions);
		json_u64(json, "functions_dropped", report->n_functions_dropped);
		json_object_end(json);
	}
	json_array_end(json);
}

static void result_print(const struct request *request, const struct work *work)
{
	const struct profile *profile = work->profile;
	double all = profile->samples + profile->unmapped;
	struct verdict verdict;

	verdict_of(profile, &verdict);
	if (request->json) {
		struct json json = json_to(stdout);

		json_object_begin(&json, NULL);
		json_string(&json, "profile", request->output);
		json_double(&json, "new_samples", work->new_samples);
		json_double(&json, "samples", profile->samples);
		if (request->keeps_seen)
			json_double(&json, "seen_samples", seen_samples(profile));
		if (request->n_priors)
			priors_json(request, work, &json);
		json_double(&json, "coverage", all > 0 ? profile->samples / all : 0);
		json_u64(&json, "functions", profile->n_functions);
		json_string(&json, "estimator", profile->estimator);
		json_string(&json, "verdict", verdict_name(verdict.level));
		json_double(&json, "noise", verdict.noise);
		json_double(&json, "missing_samples", verdict.missing);
		json_object_end(&json);
		return;
	}
	if (request->keeps_seen)
		printf("%s: %.0f samples of the shipped file kept as they were seen\n",
		       SHOWN(request->output), seen_samples(profile));
	if (request->keeps_seen && profile->n_seen && verdict.level == VERDICT_EMPTY) {
		puts(verdict.sentence);
		return;
	}
	printf("%s: %.0f samples", SHOWN(request->output), profile->samples);
	if (request->from)
		printf(" (%.0f new)", work->new_samples);
	if (request->n_priors)
		printf(" (%.0f of them for what others counted, %.1f %%)", priors_strength(request, work),
		       profile->samples > 0 ? 100 * priors_strength(request, work) / profile->samples : 0);
	printf(", %.1f %% of those in the module, %zu functions, estimator %s\n%s\n",
	       all > 0 ? 100 * profile->samples / all : 0, profile->n_functions, profile->estimator,
	       verdict.sentence);
}

static void work_done(struct work *work)
{
	for (unsigned i = 0; i < work->n_programs; i++)
		program_done(&work->programs[i]);
	sample_log_free(work->sum);
	profile_free(work->profile);
}

static int profile_make(const struct request *request)
{
	_clean_(work_done) struct work work = { .profile = profile_new() };
	struct fault fault;
	int r = work.profile ? 0 : fault_errno(&fault, -ENOMEM, "profile");

	if (r == 0)
		r = programs_open(request, &work, &fault);
	if (r == 0)
		r = logs_add(request, &work, &fault);
	if (r == 0)
		r = counts_estimate(request, &work, &fault);
	if (r == 0)
		r = old_add(request, &work, &fault);
	if (r == 0)
		r = others_add(request, &work, &fault);
	if (r == 0)
		r = profile_write(work.profile, request->output, &fault);
	if (r < 0)
		return verb_fail("profile", &fault);
	result_print(request, &work);
	return VERB_DONE;
}

static int bad_value(const char *option, const char *value)
{
	fprintf(stderr, "morph profile: %s: \"%s\" is not usable; see morph-profile(1)\n", option, value);
	return VERB_USAGE;
}

static void help(void)
{
	verb_help("profile");
	puts("\nEstimators:");
	names_print(stdout, estimator_at);
}

/* What was sampled is there once. */
static int inputs_check(const struct request *request)
{
	bool is_input = file_is_same(request->output, request->program);

	if (request->has_half_life && !request->from) {
		fprintf(stderr, "morph profile: --half-life: only what --from names is aged; give both\n");
		return VERB_USAGE;
	}
	for (unsigned i = 0; i < request->n_logs && !is_input; i++)
		is_input = file_is_same(request->output, request->logs[i]);
	if (!is_input)
		return VERB_DONE;
	fprintf(stderr, "morph profile: %s: would be overwritten; name another file with -o\n",
		SHOWN(request->output));
	return VERB_USAGE;
}

static int request_parse(int argc, char **argv, struct request *request)
{
	static const struct option options[] = {
		{ "output", required_argument, NULL, 'o' },
		{ "estimator", required_argument, NULL, 'e' },
		{ "from", required_argument, NULL, 'f' },
		{ "prior", required_argument, NULL, 'p' },
		{ "half-life", required_argument, NULL, 'H' },
		{ "generation", required_argument, NULL, 'g' },
		{ "sidecar-dir", required_argument, NULL, 's' },
		{ "seen", no_argument, NULL, 'S' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct fault fault;
	int c;

	while ((c = getopt_long(argc, argv, "o:h", options, NULL)) != -1)
		switch (c) {
		case 'o': request->output = optarg; break;
		case 'e':
			request->estimator = estimator_find(optarg, &fault);
			if (!request->estimator)
				return verb_refuse("profile", &fault);
			break;
		case 'f': request->from = optarg; break;
		case 'p':
			if (request->n_priors == MAX_PRIORS)
				return bad_value("--prior", optarg);
			request->priors[request->n_priors++] = optarg;
			break;
		case 'H':
			if (!half_life_parse(optarg, &request->half_life_ns))
				return bad_value("--half-life", optarg);
			request->has_half_life = true;
			break;
		case 'g':
			if (request->n_generations == ARRAY_SIZE(request->generations))
				return bad_value("--generation", optarg);
			request->generations[request->n_generations++] = optarg;
			break;
		case 's': request->sidecar_dir = optarg; break;
		case 'S': request->keeps_seen = true; break;
		case 'j': request->json = true; break;
		case 'h': help(); return -1;
		default: return verb_usage("profile");
		}
	/* Without samples a program is what others counted. */
	if (argc - optind < (request->n_priors ? 1 : 2) || !request->output)
		return verb_usage("profile");
	request->program = argv[optind];
	request->logs = argv + optind + 1;
	request->n_logs = (unsigned)(argc - optind - 1);
	return inputs_check(request);
}

int profile_run(int argc, char **argv)
{
	const struct subcommand *s = argc > 1 ? subcommand_find(argv[1]) : NULL;
	struct request request = { .half_life_ns = PROFILE_HALF_LIFE_NS };
	int r;

	if (s)
		return s->run(argc - 1, argv + 1);
	r = request_parse(argc, argv, &request);
	if (r != VERB_DONE)
		return r < 0 ? VERB_DONE : r;
	return profile_make(&request);
}

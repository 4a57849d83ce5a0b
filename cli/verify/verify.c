/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morph verify [PATH... | --all] [--rebuild] [--json]: what differs from the packages, and is that Morph's doing? Reads
 * state.db and the store where it may (root; morphd need not run), and asks morphd otherwise. Changes nothing.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <string.h>

#include "cli/daemon.h"
#include "cli/shared/whose.h"
#include "cli/verify/verify.h"
#include "manager/keep/path.h"

int verify_run(int argc, char **argv);

enum { OPTION_ALL = 500, OPTION_REBUILD, OPTION_CONFIG, OPTION_ROOT };

struct verify {
	struct daemon_options options;
	const char *config, *root;
	bool all, rebuild;
	struct settings settings;
	char state[PATH_MAX], store[PATH_MAX]; /* store: "" when it cannot be read */
	struct program_records records;
	struct verdict *verdicts; /* owned, with their paths */
	size_t n_verdicts;
	char **differences; /* owned: between store and database */
	size_t n_differences;
};

static void verify_done(struct verify *v)
{
	program_records_done(&v->records);
	for (size_t i = 0; i < v->n_differences; i++)
		free(v->differences[i]);
	free(v->differences);
	for (size_t i = 0; i < v->n_verdicts; i++)
		free(v->verdicts[i].path);
	free(v->verdicts);
	settings_done(&v->settings);
}

static int settings_load(struct verify *v, struct fault *reterr)
{
	char config[PATH_MAX];
	int r = whose_settings_init(&v->settings, reterr);

	whose_config(SETTINGS_NAME, config);
	if (r == 0 && v->root)
		r = config_set(settings_keys, "root", v->root, &v->settings, reterr);
	if (r == 0)
		r = config_tree_read(v->config ? v->config : config, settings_keys, &v->settings, NULL,
				     reterr);
	if ((r == -ENOENT || r == -EACCES) && !v->config)
		r = 0;
	if (r == 0 && (!settings_path(&v->settings, v->settings.state_directory, v->state) ||
		       !path_join(v->state, "store", v->store)[0]))
		r = fault_errno(reterr, -ENAMETOOLONG, "%s", v->settings.root);
	return r;
}

/* Symbolic links resolved, as morphd does; below another root they are that root's business. NULL: as it is. */
static char *resolve(const struct verify *v, const char *path)
{
	char *real = v->settings.root[0] ? NULL : realpath(path, NULL);

	return real || v->settings.root[0] ? real : daemon_path(path, NULL);
}

/* ---- what morphd says, where its files cannot be read ---- */

static int explain(struct verify *v, const char *path, struct fault *reterr)
{
	_clean_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	_clean_(record_done) struct record target = { 0 };
	_clean_(records_done) struct records generations = { 0 };
	struct record_program *program;
	int r = daemon_call(&v->options, "Explain", &reply, reterr, "s", path, NULL, 0);

	if (r < 0)
		return r;
	if (record_read(reply, &target) < 0 || records_read(reply, &generations) < 0)
		return fault_set(reterr, -EBADMSG,
				 "morphd's answer cannot be read; restart it after an upgrade");
	program = program_records_add(&v->records, record_text(&target, "path") ?: path,
				      record_text(&target, "build_id") ?: "",
				      record_integer(&target, "generation"));
	r = program ? 0 : -ENOMEM;
	for (size_t i = 0; r == 0 && i < generations.n_rows; i++) {
		const struct record *g = &generations.rows[i];

		r = record_program_add(program, record_integer(g, "generation"),
				       record_text(g, "build_id") ?: "", record_text(g, "sha256") ?: "",
				       record_text(g, "state") ?: "");
	}
	return r < 0 ? fault_errno(reterr, r, "%s", path) : 0;
}

static int ask_for_all(struct verify *v, struct fault *reterr)
{
	_clean_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	_clean_(record_done) struct record daemon = { 0 };
	_clean_(records_done) struct records modules = { 0 };
	int r = daemon_call(&v->options, "Status", &reply, reterr, "", NULL, NULL, 0);

	if (r < 0)
		return r;
	if (record_read(reply, &daemon) < 0 || records_read(reply, &modules) < 0)
		return fault_set(reterr, -EBADMSG,
				 "morphd's answer cannot be read; restart it after an upgrade");
	for (size_t i = 0; r == 0 && i < modules.n_rows; i++) {
		const char *path = record_text(&modules.rows[i], "path");

		if (path)
			r = explain(v, path, reterr);
	}
	return r;
}

static int records_find(struct verify *v, char **paths, struct fault *reterr)
{
	struct fault fault = { "" };
	int r = program_records_load(v->state, &v->records, &fault);

	if (r == 0 && access(v->store, R_OK | X_OK) == 0)
		return 0;
	v->store[0] = '\0';
	if (r != -EACCES && r != -ENOENT)
		return r < 0 ? fault_set(reterr, r, "%s", fault.text) : 0;
	if (v->all)
		return ask_for_all(v, reterr);
	for (; *paths; paths++) {
		_clean_(freep) char *real = resolve(v, *paths);

		r = explain(v, real ? real : *paths, &fault);
		if (r == -ECONNREFUSED) /* others: not a program of Morph's */
			return fault_set(reterr, r, "%s", fault.text);
	}
	return 0;
}

/* ---- the checks ---- */

static int verdict_add(struct verify *v, const char *path)
{
	struct verdict *more = reallocarray(v->verdicts, v->n_verdicts + 1, sizeof(*more));
	const struct record_program *program = program_records_find(&v->records, path);
	struct verdict *verdict;
	char *copy = strdup(path);

	if (!more || !copy) {
		free(copy);
		v->verdicts = more ?: v->verdicts;
		return -ENOMEM;
	}
	v->verdicts = more;
	verdict = &more[v->n_verdicts++];
	verify_check(&v->settings, copy, program, v->store, verdict);
	if (v->rebuild && program && MAX(verdict->generation, verdict->recorded) > 0 &&
	    verify_rebuild(&v->settings, program,
			   verdict->generation > 0 ? verdict->generation : verdict->recorded, v->store,
			   verdict) != 1)
		verdict->explained = false;
	return 0;
}

static void difference_add(void *userdata, const char *sentence)
{
	struct verify *v = userdata;
	char **more = reallocarray(v->differences, v->n_differences + 1, sizeof(*more));

	if (!more)
		return;
	v->differences = more;
	more[v->n_differences] = strdup(sentence);
	v->n_differences += more[v->n_differences] != NULL;
}

static int check_all(struct verify *v, char **paths, struct fault *reterr)
{
	int r = 0;

	for (size_t i = 0; r == 0 && v->all && i < v->records.n_programs; i++)
		r = verdict_add(v, v->records.programs[i].path);
	for (; r == 0 && !v->all && *paths; paths++) {
		_clean_(freep) char *real = resolve(v, *paths);
		const struct record_program *program =
			program_records_find(&v->records, real ? real : *paths);

		r = verdict_add(v, program ? program->path : real ? real : *paths);
	}
	if (r < 0)
		return fault_errno(reterr, r, "verify");
	if (v->all && v->store[0])
		r = program_records_differences(v->state, &v->records, difference_add, v, reterr);
	return r < 0 ? r : 0;
}

/* ---- the answer ---- */

static void verdict_json(struct json *json, const struct verdict *v)
{
	json_object_begin(json, NULL);
	json_string(json, "path", v->path);
	json_bool(json, "explained", v->explained);
	json_string(json, "text", v->text);
	if (v->generation >= 0)
		json_i64(json, "generation", v->generation);
	if (v->recorded >= 0)
		json_i64(json, "recorded_generation", v->recorded);
	json_bool(json, "mounted", v->mounted);
	json_string(json, "expected_sha256", v->expected[0] ? v->expected : NULL);
	json_string(json, "actual_sha256", v->actual[0] ? v->actual : NULL);
	if (v->below[0])
		json_string(json, "below_sha256", v->below);
	json_string(json, "package", v->package.package[0] ? v->package.package : NULL);
	json_bool(json, "package_complains", v->package_complains);
	if (v->rebuilt[0])
		json_string(json, "rebuilt", v->rebuilt);
	json_object_end(json);
}

static void answer_json(const struct verify *v, bool explained)
{
	struct json json = json_to(stdout);

	json_object_begin(&json, NULL);
	json_bool(&json, "explained", explained);
	json_array_begin(&json, "programs");
	for (size_t i = 0; i < v->n_verdicts; i++)
		verdict_json(&json, &v->verdicts[i]);
	json_array_end(&json);
	json_array_begin(&json, "differences");
	for (size_t i = 0; i < v->n_differences; i++)
		json_string(&json, NULL, v->differences[i]);
	json_array_end(&json);
	json_object_end(&json);
}

static void answer_print(const struct verify *v)
{
	for (size_t i = 0; i < v->n_verdicts; i++) {
		const struct verdict *verdict = &v->verdicts[i];

		printf("%-8s %s: %s\n", verdict->explained ? "ok" : "DIFFERS", verdict->path, verdict->text);
		if (!verdict->explained && verdict->actual[0])
			printf("         expected %s\n         actual   %s\n",
			       verdict->expected[0] ? verdict->expected : "-", verdict->actual);
		if (verdict->rebuilt[0])
			printf("         %s\n", verdict->rebuilt);
	}
	for (size_t i = 0; i < v->n_differences; i++)
		printf("DIFFERS  %s\n", v->differences[i]);
}

static int run(struct verify *v, char **paths)
{
	struct fault fault = { "" };
	bool explained = true;
	int r = settings_load(v, &fault);

	if (r == 0)
		r = records_find(v, paths, &fault);
	if (r == 0)
		r = check_all(v, paths, &fault);
	if (r < 0)
		return verb_fail("verify", &fault);
	for (size_t i = 0; i < v->n_verdicts; i++)
		explained = explained && v->verdicts[i].explained;
	explained = explained && !v->n_differences;
	if (v->options.json)
		answer_json(v, explained);
	else
		answer_print(v);
	return explained ? VERB_DONE : VERB_FAILED;
}

int verify_run(int argc, char **argv)
{
	static const struct option options[] = { { "all", no_argument, NULL, OPTION_ALL },
						 { "rebuild", no_argument, NULL, OPTION_REBUILD },
						 { "config", required_argument, NULL, OPTION_CONFIG },
						 { "root", required_argument, NULL, OPTION_ROOT },
						 DAEMON_OPTIONS };
	_clean_(verify_done) struct verify v = { 0 };
	int option;

	while ((option = getopt_long(argc, argv, "jh", options, NULL)) != -1) {
		switch (option) {
		case OPTION_ALL: v.all = true; break;
		case OPTION_REBUILD: v.rebuild = true; break;
		case OPTION_CONFIG: v.config = optarg; break;
		case OPTION_ROOT: v.root = optarg; break;
		default: {
			int code = daemon_option(&v.options, option, "verify");

			if (code >= 0)
				return code;
		}
		}
	}
	if (v.all == (optind < argc))
		return verb_usage("verify");
	return run(&v, argv + optind);
}

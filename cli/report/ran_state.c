/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What morphd keeps. The samples of a file are those that it ever had; where in it they were is told by weights, aged
 * and added up, which share them out.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <string.h>

#include "cli/daemon.h"
#include "cli/report/ran.h"
#include "cli/shared/shipped.h"
#include "manager/keep/path.h"
#include "manager/keep/store.h"
#include "manager/verify/sample_records.h"

struct place {
	uint64_t offset;
	double weight;
};

struct gathering {
	struct ran *ran;
	const char *state_directory;
	struct ran_module *module; /* whose places come next; NULL: none */
	uint64_t module_samples;
	struct place *places; /* owned */
	size_t n, capacity;
	uint64_t kernel, anonymous, lost;     /* in all */
	uint64_t seen_kernel, seen_anonymous; /* in files */
};

/* Shares add up to all of the samples: what rounding takes from one goes to the next. */
static int places_share(struct gathering *g)
{
	double all = 0, sum = 0;
	uint64_t given = 0;
	int r = 0;

	for (size_t i = 0; i < g->n; i++)
		all += g->places[i].weight;
	if (!g->module)
		return 0;
	if (!(all > 0) || !isfinite(all)) {
		ran_count_total(g->ran, g->module, g->module_samples, (double)g->module_samples);
		g->n = 0;
	}
	for (size_t i = 0; r == 0 && i < g->n; i++) {
		uint64_t until;

		sum += g->places[i].weight;
		until = i + 1 == g->n ? g->module_samples : (uint64_t)(sum / all * (double)g->module_samples);
		until = MAX(MIN(until, g->module_samples), given);
		r = ran_count_add(g->ran, g->module, g->places[i].offset, until - given,
				  g->places[i].weight / all * (double)g->module_samples);
		given = until;
	}
	g->module = NULL;
	g->n = 0;
	return r;
}

static int on_total(void *userdata, const char *key, int64_t value)
{
	struct gathering *g = userdata;
	uint64_t n = value > 0 ? (uint64_t)value : 0;
	const struct {
		const char *key;
		uint64_t *sum;
	} sums[] = {
		{ "fired", &g->ran->fired },   { "idle", &g->ran->idle }, { "user", &g->ran->user },
		{ "kernel", &g->ran->kernel }, { "kernel", &g->kernel },  { "anonymous", &g->anonymous }
	};

	for (size_t i = 0; i < ARRAY_SIZE(sums); i++)
		if (strcmp(sums[i].key, key) == 0)
			*sums[i].sum = n;
	if (strncmp(key, "lost_", 5) == 0)
		g->lost = samples_add(g->lost, n);
	return 0;
}

static bool is_wanted(const struct gathering *g, const struct sample_record *record)
{
	return (uint64_t)MAX(record->last_ns, 0) >= g->ran->options.since_ns &&
	       (!g->ran->options.until_ns || (uint64_t)MAX(record->first_ns, 0) <= g->ran->options.until_ns);
}

/* Where the store has this very file, for names of a generation that stands nowhere any more. */
static int copy_set(const struct gathering *g, const struct sample_record *record, struct ran_module *module)
{
	char store[PATH_MAX], path[PATH_MAX];

	if (module->copy || !module->identity.build_id.size || !strcmp(record->module_key, "") ||
	    !path_join(g->state_directory, "store", store)[0])
		return 0;
	if (record->number)
		store_generation_path(store, record->module_key, record->number, "binary", path);
	else
		store_path(store, record->module_key, "original", path);
	module->copy = strdup(path);
	return module->copy ? 0 : -ENOMEM;
}

static int on_file(void *userdata, const struct sample_record *record)
{
	struct gathering *g = userdata;
	struct sample_module like = { .kind = (enum sample_module_kind)record->kind,
				      .path = (char *)record->path,
				      .user = SAMPLE_USER_UNKNOWN };
	uint64_t first = (uint64_t)MAX(record->first_ns, 0), last = (uint64_t)MAX(record->last_ns, 0);
	int r = places_share(g);

	if (like.kind == SAMPLE_MODULE_KERNEL)
		g->seen_kernel = samples_add(g->seen_kernel, (uint64_t)record->samples);
	if (like.kind == SAMPLE_MODULE_ANONYMOUS)
		g->seen_anonymous = samples_add(g->seen_anonymous, (uint64_t)record->samples);
	if (r < 0 || !is_wanted(g, record))
		return r;
	if (build_id_parse(record->build_id, &like.build_id) < 0)
		like.build_id.size = 0;
	g->module = ran_module(g->ran, &like, 0, 0);
	if (!g->module)
		return -ENOMEM;
	g->module_samples = (uint64_t)record->samples;
	g->ran->first_ns = g->ran->first_ns ? MIN(g->ran->first_ns, first) : first;
	g->ran->last_ns = MAX(g->ran->last_ns, last);
	return copy_set(g, record, g->module);
}

static int on_place(void *userdata, int64_t offset, double weight)
{
	struct gathering *g = userdata;

	if (!g->module || offset < 0 || !(weight > 0))
		return 0;
	if (g->n == g->capacity) {
		size_t capacity = g->capacity ? g->capacity * 2 : 256;
		void *places = reallocarray(g->places, capacity, sizeof(*g->places));

		if (!places)
			return -ENOMEM;
		g->places = places;
		g->capacity = capacity;
	}
	g->places[g->n++] = (struct place){ (uint64_t)offset, weight };
	return 0;
}

/* When only some files are wanted, what belongs to none is not: nobody knows when it ran. */
static int rests_add(struct gathering *g)
{
	struct ran *ran = g->ran;
	int r;

	if (ran->options.since_ns || ran->options.until_ns)
		return 0;
	r = ran_add_rest(ran, SAMPLE_MODULE_KERNEL, "[kernel]", g->kernel - MIN(g->seen_kernel, g->kernel), 1,
			 0);
	if (r == 0)
		r = ran_add_rest(ran, SAMPLE_MODULE_ANONYMOUS, "[anonymous]",
				 g->anonymous - MIN(g->seen_anonymous, g->anonymous), 1, 0);
	return r < 0 ? r : ran_add_rest(ran, RAN_LOST, "[unknown]", g->lost, 1, 0);
}

static int database_read(struct ran *ran, const char *directory, struct fault *reterr)
{
	struct gathering g = { .ran = ran, .state_directory = directory };
	struct sample_records_reader reader = { &g, on_total, on_file,
						ran->options.places ? on_place : NULL };
	int r = sample_records_read(directory, &reader, reterr);

	if (r == 0 && (places_share(&g) < 0 || rests_add(&g) < 0))
		r = fault_errno(reterr, -ENOMEM, "%s", directory);
	free(g.places);
	return r;
}

/* --- whose time it was ---------------------------------------------------------------------------- */

static int on_usage(void *userdata, const struct usage_record *record)
{
	struct ran *ran = userdata;
	uint32_t user =
		record->user < 0 || record->user > UINT32_MAX ? SAMPLE_USER_UNKNOWN : (uint32_t)record->user;
	uint64_t first = (uint64_t)MAX(record->first_ns, 0), last = (uint64_t)MAX(record->last_ns, 0);

	if (record->samples <= 0 || record->cpu_us < 0)
		return 0;
	ran->first_ns = ran->first_ns ? MIN(ran->first_ns, first) : first;
	ran->last_ns = MAX(ran->last_ns, last);
	return ran_owner_add(ran, record->process, record->unit, user, (uint64_t)record->samples,
			     (double)record->cpu_us / 1e6, 0);
}

static int usage_read(struct ran *ran, const char *directory, struct fault *reterr)
{
	struct sample_records_reader reader = { .userdata = ran,
						.usage = on_usage,
						.since_ns = ran->options.since_ns,
						.until_ns = ran->options.until_ns };
	int r = sample_records_read(directory, &reader, reterr);

	ran->is_clocked = ran->is_by_hour = true;
	if (r == -EACCES)
		return fault_set(reterr, r, "only root may read whose time it was");
	if (r == 0 && !ran->samples)
		return fault_set(reterr, -ENODATA,
				 "morphd has kept nobody's time from then; what it keeps, and for how long, "
				 "usage_days of "
				 "morphd.conf says");
	return r;
}

/* --- from morphd itself --------------------------------------------------------------------------- */

static int answer_add(struct ran *ran, const struct records *files)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < files->n_rows; i++) {
		const struct record *row = &files->rows[i];
		const char *path = record_text(row, "path") ?: record_text(row, "sampled_path");
		struct sample_module like = { .kind = SAMPLE_MODULE_FILE,
					      .path = (char *)(path ?: "?"),
					      .user = SAMPLE_USER_UNKNOWN };
		int64_t samples = record_integer(row, "samples"), last = record_integer(row, "last_seen_ns");
		struct ran_module *module;

		if (samples <= 0 || (uint64_t)MAX(last, 0) < ran->options.since_ns)
			continue;
		module = ran_module(ran, &like, 0, 0);
		r = module ? 0 : -ENOMEM;
		if (r == 0)
			ran_count_total(ran, module, (uint64_t)samples, (double)samples);
	}
	return r;
}

static int morphd_ask(struct ran *ran, struct fault *reterr)
{
	_clean_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	struct daemon_options options = { 0 };
	struct record head = { 0 };
	struct records files[2] = { { 0 } };
	int r = daemon_read(&options, "Status", &reply, reterr, NULL);

	if (r < 0)
		return r;
	r = record_read(reply, &head);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(files); i++) {
		r = records_read(reply, &files[i]);
		if (r == 0)
			r = answer_add(ran, &files[i]);
		records_done(&files[i]);
	}
	record_done(&head);
	return r < 0 ? fault_errno(reterr, r, "morphd's answer cannot be read") : 0;
}

int ran_add_state(struct ran *ran, const char *state_directory, struct fault *reterr)
{
	char configured[PATH_MAX];
	int r = state_directory ? 0 : state_find(configured, reterr);

	if (r == 0 && ran->options.processes)
		return usage_read(ran, state_directory ? state_directory : configured, reterr);
	ran->is_kept = true;
	if (r == 0)
		r = database_read(ran, state_directory ? state_directory : configured, reterr);
	if ((r != -EACCES && r != -ENOENT) || state_directory)
		return r;
	if (ran->options.places)
		return r == -ENOENT ? r :
				      fault_set(reterr, r,
						"only root may read which procedures ran; --by image tells "
						"the files");
	return morphd_ask(ran, NULL) < 0 ? r : 0;
}

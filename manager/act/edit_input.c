/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/act/edit_input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "manager/count/news.h"
#include "manager/count/tally.h"
#include "manager/keep/path.h"
#include "manager/keep/store.h"
#include "manager/program/carryover.h"
#include "profiles/store/profile.h"

#define CARRIED_HALF_LIFE_MAX_S (3650ull * 86400) /* the most that morph profile takes */

void edit_input_done(struct edit_input *in)
{
	paths_free(in->generations);
	for (size_t i = 0; i < in->n_files; i++)
		free((char *)in->files[i].path);
	free(in->files);
	free(in->carried[0]);
	free(in->carried[1]);
	for (size_t i = 0; in->priors[i]; i++)
		free(in->priors[i]);
	*in = (struct edit_input){ 0 };
}

/* A file of ours for the first command. */
static int give(struct edit_input *in, const char *path, const char *name, struct fault *reterr)
{
	struct job_file *more = reallocarray(in->files, in->n_files + 1, sizeof(*more));
	struct job_file file = { .path = strdup(path) };

	snprintf(file.name, sizeof(file.name), "%s", name);
	if (more)
		in->files = more;
	if (!more || !file.path) {
		free((char *)file.path);
		return fault_errno(reterr, -ENOMEM, "%s", path);
	}
	in->files[in->n_files++] = file;
	return access(path, R_OK) < 0 ? fault_errno(reterr, -errno, "%s", path) : 0;
}

static int generations_add(struct edit_input *in, const char *path)
{
	char **more = reallocarray(in->generations, in->n_generations + 2, sizeof(*more));

	if (!more)
		return -ENOMEM;
	in->generations = more;
	if (asprintf(&more[in->n_generations], "--generation=%s", path) < 0)
		more[in->n_generations] = NULL;
	more[in->n_generations + 1] = NULL;
	return more[in->n_generations++] ? 0 : -ENOMEM;
}

/* tally_log() or news_log() */
typedef int log_of(struct state *state, const struct module_row *module, const struct generation_row *row,
		   uint64_t half_life_s, struct sample_log **ret, struct fault *reterr);

/* Binary and samples of one generation; -ENODATA: it has none. */
static int give_generation(struct manager *m, const struct module_row *module, int64_t number, log_of *of,
			   struct sample_log *samples, struct edit_input *in, struct fault *reterr)
{
	_clean_(sample_log_freep) struct sample_log *log = NULL;
	struct generation_row row = { 0 };
	char from[PATH_MAX], name[64];
	int r = generation_get(m->state, module->id, number, &row, reterr);

	if (r == 0 && strcmp(row.state, "dropped") == 0)
		r = -ENODATA;
	if (r == 0)
		r = of(m->state, module, &row, m->settings.half_life_s, &log, reterr);
	generation_row_done(&row);
	if (r < 0)
		return r;
	in->samples += (double)log->modules[0].total;
	if (sample_log_merge(samples, log) < 0)
		return fault_errno(reterr, -ENOMEM, "samples of %s", module->path);
	if (number == 0)
		return 0;
	snprintf(name, sizeof(name), "generation-%lld", (long long)number);
	r = give(in, store_generation_path(m->store, module->key, number, "binary", from), name, reterr);
	if (r == 0 && generations_add(in, name) < 0)
		r = fault_errno(reterr, -ENOMEM, "%s", name);
	return r;
}

static int give_samples(struct manager *m, const struct module_row *module, const char *place, log_of *of,
			struct edit_input *in, struct fault *reterr)
{
	_clean_(sample_log_freep) struct sample_log *samples = sample_log_new();
	char path[PATH_MAX];
	int64_t next;
	int r = generation_next_number(m->state, module->id, &next, reterr);

	if (r == 0 && !samples)
		r = fault_errno(reterr, -ENOMEM, "samples of %s", module->path);
	for (int64_t i = 0; r == 0 && i < next; i++) {
		r = give_generation(m, module, i, of, samples, in, reterr);
		if (r == -ENODATA || r == -ENOENT)
			r = 0;
	}
	if (r < 0)
		return r;
	in->has_samples = samples->n_modules > 0;
	if (!in->has_samples) { /* a log of nothing, but of a source that there is */
		samples->source = SAMPLE_SOURCE_TICK;
		samples->rate_hz = samples->n_cpus = 1;
	}
	samples->start_ns = (uint64_t)module->first_ns;
	samples->duration_ns = (uint64_t)module->activity_ns;
	r = sample_log_write(samples, path_join(place, "samples", path), reterr);
	return r < 0 ? r : give(in, path, "samples", reterr);
}

/* What the build before knew, aged by the activity of this one. */
static int give_carried(struct manager *m, const struct module_row *module, struct edit_input *in,
			struct fault *reterr)
{
	const uint64_t half_life_s = MIN(m->settings.half_life_s, CARRIED_HALF_LIFE_MAX_S);
	char from[PATH_MAX];
	double samples;
	int r = carryover_path(m, module->key, from, &samples);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	r = give(in, from, "carried", reterr);
	if (r == 0 && (asprintf(&in->carried[0], "--from=carried") < 0 ||
		       asprintf(&in->carried[1], "--half-life=%llus", (unsigned long long)half_life_s) < 0))
		r = fault_errno(reterr, -ENOMEM, "%s", from);
	in->samples += samples * profile_weight((uint64_t)module->activity_ns, half_life_s * 1000000000);
	return r;
}

static int give_priors(struct manager *m, const struct module_row *module, struct edit_input *in,
		       struct fault *reterr)
{
	double samples[PRIOR_SOURCES];
	int r = priors_get(m->state, module->id, samples, reterr);

	for (enum prior_source s = 0; r == 0 && s < PRIOR_SOURCES; s++) {
		char from[PATH_MAX], name[32];

		if (!(samples[s] > 0) || access(prior_path(m->store, module->key, s, from), R_OK) < 0)
			continue;
		snprintf(name, sizeof(name), "prior-%s", prior_source_name(s));
		r = give(in, from, name, reterr);
		if (r == 0 && asprintf(&in->priors[in->n_priors], "--prior=%s", name) < 0) {
			in->priors[in->n_priors] = NULL;
			r = fault_errno(reterr, -ENOMEM, "%s", name);
		}
		if (r == 0)
			in->sources[in->n_priors++] = s;
	}
	return r;
}

static int samples_missing(const struct module_row *module, struct fault *reterr)
{
	return fault_set(reterr, -ENODATA, "%s: there are no samples of it", module->path);
}

/* An empty directory with what all have: the shipped file. */
static int make_bare(struct manager *m, const struct module_row *module, const char *place,
		     struct edit_input *ret, struct fault *reterr)
{
	char from[PATH_MAX];
	int r = file_remove_tree(place, reterr);

	/* Others may pass through it to the directory of a job, and see nothing on the way. */
	if (r == 0)
		r = manager_mkdir(place, 0711, reterr);
	if (r == 0)
		r = give(ret, store_path(m->store, module->key, "original", from), "original", reterr);
	return r;
}

static int make(struct manager *m, const struct module_row *module, const char *place, log_of *of,
		struct edit_input *ret, struct fault *reterr)
{
	int r = make_bare(m, module, place, ret, reterr);

	return r < 0 ? r : give_samples(m, module, place, of, ret, reterr);
}

int edit_input_made(struct manager *m, const struct module_row *module, const char *made,
		    struct edit_input *ret, struct fault *reterr)
{
	static const char *const names[] = { "output", "report.json", "profile" };
	char from[PATH_MAX], to[PATH_MAX];
	int r;

	*ret = (struct edit_input){ 0 };
	r = make_bare(m, module, m->work, ret, reterr);
	for (size_t i = 0; i < ARRAY_SIZE(names) && r == 0; i++)
		r = file_copy(path_join(made, names[i], from), path_join(m->work, names[i], to), reterr);
	return r;
}

int edit_input_make(struct manager *m, const struct module_row *module, struct edit_input *ret,
		    struct fault *reterr)
{
	int r;

	*ret = (struct edit_input){ 0 };
	r = make(m, module, m->work, tally_log, ret, reterr);
	if (r == 0)
		r = give_carried(m, module, ret, reterr);
	if (r == 0 && settings_has_priors(&m->settings))
		r = give_priors(m, module, ret, reterr);
	/* What others counted is enough to begin with. */
	if (r == 0 && !ret->has_samples && !ret->priors[0])
		r = samples_missing(module, reterr);
	return r;
}

int edit_input_news(struct manager *m, const struct module_row *module, const char *place,
		    struct edit_input *ret, struct fault *reterr)
{
	int r;

	*ret = (struct edit_input){ 0 };
	r = make(m, module, place, news_log, ret, reterr);
	return r == 0 && !ret->has_samples ? samples_missing(module, reterr) : r;
}

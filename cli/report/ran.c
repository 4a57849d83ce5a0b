/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Modules are found by a balanced tree of their identity: whoever made the logs chose build IDs and paths, and no
 * choice makes that slow. Counts are appended; whenever their array is full they are sorted and united, so that a
 * module never takes more than twice the room of its places.
 */

#define _GNU_SOURCE
#include "cli/report/ran.h"

#include <dirent.h>
#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "module/array.h"
#include "monitor/record/recorder.h"
#include "monitor/record/spool.h"

#define LEAST_RATE_HZ 1e-6 /* below it is no clock */

void ran_init(const struct ran_options *options, struct ran *ret)
{
	*ret = (struct ran){ .options = *options };
}

static void keep(_unused_ void *module)
{
}

void ran_done(struct ran *ran)
{
	tdestroy(ran->index, keep);
	for (size_t i = 0; i < ran->n_modules; i++) {
		free(ran->modules[i]->identity.path);
		free(ran->modules[i]->copy);
		free(ran->modules[i]->counts);
		free(ran->modules[i]);
	}
	for (size_t i = 0; i < ran->n_logs; i++)
		free(ran->logs[i]);
	for (size_t i = 0; i < ran->n_processes; i++) {
		free(ran->processes[i].name);
		free(ran->processes[i].unit);
	}
	free(ran->processes);
	interned_done(&ran->processes_index);
	sample_log_free(ran->sum);
	stacks_done(&ran->stacks);
	free(ran->modules);
	free(ran->logs);
	*ran = (struct ran){ 0 };
}

/* --- modules -------------------------------------------------------------------------------------- */

/* Builds first: what is asked of one file is asked once. */
static int compare(const void *pa, const void *pb)
{
	const struct ran_module *x = pa, *y = pb;
	const struct sample_module *a = &x->identity, *b = &y->identity;
	int order = (a->kind > b->kind) - (a->kind < b->kind);

	order = order ? order : strcmp(a->path, b->path);
	order = order ? order : memcmp(&a->build_id, &b->build_id, sizeof(a->build_id));
	if (!order && !a->build_id.size) {
		order = (a->file_size > b->file_size) - (a->file_size < b->file_size);
		order = order ? order : (a->mtime_ns > b->mtime_ns) - (a->mtime_ns < b->mtime_ns);
	}
	order = order ? order : (a->space > b->space) - (a->space < b->space);
	order = order ? order : (a->user > b->user) - (a->user < b->user);
	order = order ? order : (x->process > y->process) - (x->process < y->process);
	return order ? order : (x->log > y->log) - (x->log < y->log);
}

static int compare_pointers(const void *pa, const void *pb)
{
	return compare(*(const void *const *)pa, *(const void *const *)pb);
}

static struct ran_module *module_new(struct ran *ran, const struct ran_module *key)
{
	struct ran_module *module = malloc(sizeof(*module));

	if (ran->n_modules == ran->capacity) {
		size_t capacity = ran->capacity ? ran->capacity * 2 : 64;
		void *modules = reallocarray(ran->modules, capacity, sizeof(*ran->modules));

		if (!modules) {
			free(module);
			return NULL;
		}
		ran->modules = modules;
		ran->capacity = capacity;
	}
	if (!module)
		return NULL;
	*module = *key;
	module->identity.path = strdup(key->identity.path);
	if (!module->identity.path || !tsearch(module, &ran->index, compare)) {
		free(module->identity.path);
		free(module);
		return NULL;
	}
	return ran->modules[ran->n_modules++] = module;
}

struct ran_module *ran_module(struct ran *ran, const struct sample_module *like, uint32_t log,
			      uint32_t process)
{
	struct ran_module key = { .log = ran->options.logs ? log : 0,
				  .process = process,
				  .identity = { .kind = like->kind,
						.build_id = like->build_id,
						.path = like->path ? like->path : (char *)"",
						.file_size = like->file_size,
						.mtime_ns = like->mtime_ns,
						.space = like->space,
						.user = like->user } };
	struct ran_module **found;

	if (!ran->options.users)
		key.identity.user = SAMPLE_USER_UNKNOWN;
	found = tfind(&key, &ran->index, compare);
	return found ? *found : module_new(ran, &key);
}

/* --- counts --------------------------------------------------------------------------------------- */

/* The end of the run that begins at @i: strictly ascending, so no place is in it twice. */
static size_t run_end(const struct ran_count *counts, size_t n, size_t i)
{
	for (i++; i < n && counts[i - 1].offset < counts[i].offset; i++)
		;
	return i;
}

/* Two runs into one, a place that is in both once; how long it is. */
static size_t runs_merge(const struct ran_count *a, const struct ran_count *end_a,
			 const struct ran_count *end_b, struct ran_count *to)
{
	const struct ran_count *b = end_a;
	struct ran_count *first = to;

	while (a < end_a && b < end_b) {
		if (a->offset < b->offset) {
			*to++ = *a++;
		} else if (b->offset < a->offset) {
			*to++ = *b++;
		} else {
			*to = *a++;
			to->samples = samples_add(to->samples, b->samples);
			to++->weight += b++->weight;
		}
	}
	memcpy(to, a, (size_t)(end_a - a) * sizeof(*a));
	to += end_a - a;
	memcpy(to, b, (size_t)(end_b - b) * sizeof(*b));
	return (size_t)(to - first) + (size_t)(end_b - b);
}

/* Each log gave a run that ascends: merge sort from there on (natural merge sort; Knuth, TAOCP 3, 5.2.4). */
static int counts_unite(struct ran_module *module)
{
	_clean_(freep) struct ran_count *other = NULL;

	while (run_end(module->counts, module->n_counts, 0) < module->n_counts) {
		struct ran_count *counts = module->counts;
		size_t n = 0;

		if (!other)
			other = malloc(module->capacity * sizeof(*other));
		if (!other)
			return -ENOMEM;
		for (size_t i = 0, middle, end; i < module->n_counts; i = end) {
			middle = run_end(counts, module->n_counts, i);
			end = middle < module->n_counts ? run_end(counts, module->n_counts, middle) : middle;
			n += runs_merge(counts + i, counts + middle, counts + end, other + n);
		}
		module->counts = other;
		module->n_counts = n;
		other = counts;
	}
	return 0;
}

static int counts_grow(struct ran_module *module)
{
	size_t capacity = module->capacity ? module->capacity * 2 : 16;
	void *counts;

	if (counts_unite(module) < 0)
		return -ENOMEM;
	if (module->n_counts < module->capacity / 2)
		return 0;
	counts = reallocarray(module->counts, capacity, sizeof(*module->counts));
	if (!counts)
		return -ENOMEM;
	module->counts = counts;
	module->capacity = capacity;
	return 0;
}

static void total_add(struct ran *ran, struct ran_module *module, uint64_t samples, double weight)
{
	ran->samples = samples_add(ran->samples, samples);
	ran->weight += weight;
	module->samples = samples_add(module->samples, samples);
	module->weight += weight;
}

int ran_count_add(struct ran *ran, struct ran_module *module, uint64_t offset, uint64_t samples,
		  double weight)
{
	total_add(ran, module, samples, weight);
	if (!ran->options.places)
		return 0;
	if (module->n_counts == module->capacity && counts_grow(module) < 0)
		return -ENOMEM;
	module->counts[module->n_counts++] = (struct ran_count){ offset, samples, weight };
	return 0;
}

void ran_count_total(struct ran *ran, struct ran_module *module, uint64_t samples, double weight)
{
	total_add(ran, module, samples, weight);
	module->samples_nowhere = samples_add(module->samples_nowhere, samples);
	module->weight_nowhere += weight;
}

/* --- processes ------------------------------------------------------------------------------------ */

static int process_append(struct ran *ran, const char *name, const char *unit)
{
	struct ran_process *process;

	if (!array_reserve(ran->processes, ran->n_processes, &ran->capacity_processes))
		return -ENOMEM;
	process = &ran->processes[ran->n_processes++];
	*process = (struct ran_process){ strdup(name), strdup(unit) };
	return process->name && process->unit ? 0 : -ENOMEM;
}

static int process_add(struct ran *ran, const char *name, const char *unit, uint32_t *ret)
{
	struct interned *index = &ran->processes_index;
	uint64_t hash = interned_numbers_hash(index, interned_hash(index, name, strlen(name)),
					      interned_hash(index, unit, strlen(unit))),
		 at = hash;
	uint32_t number;
	int r;

	if (!ran->n_processes) {
		r = process_append(ran, "?", "?"); /* nobody */
		if (r < 0)
			return r;
	}
	while ((number = interned_next(index, hash, &at)) != INTERNED_NONE)
		if (strcmp(ran->processes[number].name, name) == 0 &&
		    strcmp(ran->processes[number].unit, unit) == 0) {
			*ret = number;
			return 0;
		}
	*ret = (uint32_t)ran->n_processes;
	r = process_append(ran, name, unit);
	return r < 0 ? r : interned_put(index, hash, *ret);
}

int ran_owner_add(struct ran *ran, const char *process, const char *unit, uint32_t user, uint64_t samples,
		  double weight, uint32_t log)
{
	struct sample_module like = { .kind = (enum sample_module_kind)RAN_LOST,
				      .path = (char *)"[unknown]",
				      .user = user };
	struct ran_module *module;
	uint32_t number;

	if (!samples)
		return 0;
	if (process_add(ran, process[0] ? process : "?", unit[0] ? unit : "?", &number) < 0)
		return -ENOMEM;
	module = ran_module(ran, &like, log, number);
	return module ? ran_count_add(ran, module, 0, samples, weight) : -ENOMEM;
}

/* --- logs ----------------------------------------------------------------------------------------- */

int ran_add_rest(struct ran *ran, int kind, const char *path, uint64_t samples, double sample, uint32_t log)
{
	struct sample_module like = { .kind = (enum sample_module_kind)kind,
				      .path = (char *)path,
				      .user = SAMPLE_USER_UNKNOWN };
	struct ran_module *module = samples ? ran_module(ran, &like, log, 0) : NULL;

	if (!samples)
		return 0;
	return module ? ran_count_add(ran, module, 0, samples, (double)samples * sample) : -ENOMEM;
}

/* What the totals count and no module has. */
static int rests_add(struct ran *ran, const struct sample_log *log, double sample, uint32_t number)
{
	uint64_t kernel = 0, anonymous = 0, lost = 0;
	int r;

	for (size_t i = 0; i < log->n_modules; i++) {
		kernel = samples_add(
			kernel, log->modules[i].kind == SAMPLE_MODULE_KERNEL ? log->modules[i].total : 0);
		anonymous = samples_add(anonymous, log->modules[i].kind == SAMPLE_MODULE_ANONYMOUS ?
							   log->modules[i].total :
							   0);
	}
	for (size_t i = 0; i < SAMPLE_LOSS_END; i++)
		lost = samples_add(lost, log->lost[i]);
	r = ran_add_rest(ran, SAMPLE_MODULE_KERNEL, "[kernel]", log->kernel - MIN(kernel, log->kernel),
			 sample, number);
	if (r == 0)
		r = ran_add_rest(ran, SAMPLE_MODULE_ANONYMOUS, "[anonymous]",
				 log->anonymous - MIN(anonymous, log->anonymous), sample, number);
	return r < 0 ? r : ran_add_rest(ran, RAN_LOST, "[unknown]", lost, sample, number);
}

static int modules_add(struct ran *ran, const struct sample_log *log, double sample, uint32_t number)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < log->n_modules; i++) {
		const struct sample_module *from = &log->modules[i];
		struct ran_module *module = ran_module(ran, from, number, 0);

		if (!module)
			return -ENOMEM;
		if (!ran->options.places) {
			r = ran_count_add(ran, module, 0, from->total, (double)from->total * sample);
			continue;
		}
		for (size_t k = 0; r == 0 && k < from->n_counts; k++)
			r = ran_count_add(ran, module, from->counts[k].offset, from->counts[k].count,
					  (double)from->counts[k].count * sample);
	}
	return r < 0 ? r : rests_add(ran, log, sample, number);
}

/* --- heads ---------------------------------------------------------------------------------------- */

static int name_add(struct ran *ran, const char *name)
{
	char **logs = reallocarray(ran->logs, ran->n_logs + 1, sizeof(*logs));

	if (!logs)
		return -ENOMEM;
	ran->logs = logs;
	logs[ran->n_logs] = strdup(name);
	return logs[ran->n_logs] ? (ran->n_logs++, 0) : -ENOMEM;
}

/* Is any of the log within the time asked for? Logs do not say when in their time a sample was. */
static bool is_inside(struct ran *ran, const struct sample_log *log)
{
	uint64_t start = log->start_ns, end = samples_add(start, log->duration_ns);

	if (end < ran->options.since_ns ||
	    (ran->options.until_ns && (!start || start > ran->options.until_ns))) {
		ran->n_outside++;
		return false;
	}
	ran->n_beyond +=
		start < ran->options.since_ns || (ran->options.until_ns && end > ran->options.until_ns);
	if (!start)
		return true;
	ran->first_ns = ran->first_ns ? MIN(ran->first_ns, start) : start;
	ran->last_ns = MAX(ran->last_ns, end);
	return true;
}

static int sum_add(struct ran *ran, const struct sample_log *log)
{
	if (!ran->options.sum)
		return 0;
	if (!ran->sum)
		ran->sum = sample_log_new();
	return ran->sum ? sample_log_merge(ran->sum, log) : -ENOMEM;
}

/* All but the modules. Return: 1: the log is not of the time asked for. */
static int head_add(struct ran *ran, const struct sample_log *log, const char *name, struct fault *reterr)
{
	bool is_clocked = log->source != SAMPLE_SOURCE_EXACT && log->rate_hz >= LEAST_RATE_HZ;

	if (!is_inside(ran, log))
		return 1;
	if (ran->n_logs && ran->is_clocked != is_clocked)
		return fault_set(reterr, -EINVAL,
				 "%s: holds %s, and the logs before it %s: these cannot be added up", name,
				 is_clocked ? "samples of a clock" : "counts",
				 is_clocked ? "hold counts" : "samples of a clock");
	ran->is_clocked = is_clocked;
	ran->fired = samples_add(ran->fired, log->fired);
	ran->idle = samples_add(ran->idle, log->idle);
	ran->user = samples_add(ran->user, log->user);
	ran->kernel = samples_add(ran->kernel, log->kernel);
	return sum_add(ran, log) < 0 || name_add(ran, name) < 0 ? fault_errno(reterr, -ENOMEM, "%s", name) :
								  0;
}

/* Not every sample has a stack (those of a second clock have none): the others stand for it. */
static int stacks_add_log(struct ran *ran, const struct sample_log *log)
{
	uint64_t busy = samples_add(log->user, log->kernel);
	double weight = (double)busy * (ran->is_clocked ? 1 / log->rate_hz : 1);

	if (log->stacks.n_samples)
		return stacks_merge(&ran->stacks, &log->stacks, weight / (double)log->stacks.n_samples);
	ran->samples_stackless = samples_add(ran->samples_stackless, busy);
	ran->weight_stackless += weight;
	return 0;
}

/* What no owner has is nobody's: logs of before, and of sources that do not tell. */
static int log_owners_add(struct ran *ran, const struct sample_log *log, double sample, uint32_t number)
{
	uint64_t busy = samples_add(log->user, log->kernel), owned = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < log->owners.n; i++) {
		const struct owner *owner = &log->owners.list[i];

		owned = samples_add(owned, owner->count);
		r = ran_owner_add(ran, owner->process, owner->unit, owner->user, owner->count,
				  (double)owner->count * sample, number);
	}
	if (r < 0 || busy <= owned)
		return r;
	return ran_owner_add(ran, "", "", SAMPLE_USER_UNKNOWN, busy - owned, (double)(busy - owned) * sample,
			     number);
}

int ran_add_log(struct ran *ran, const struct sample_log *log, const char *name, struct fault *reterr)
{
	int r = head_add(ran, log, name, reterr);
	double sample;

	if (r)
		return MIN(r, 0);
	sample = ran->is_clocked ? 1 / log->rate_hz : 1;
	r = ran->options.processes ? log_owners_add(ran, log, sample, (uint32_t)ran->n_logs - 1) :
				     modules_add(ran, log, sample, (uint32_t)ran->n_logs - 1);
	if (r == 0 && ran->options.stacks)
		r = stacks_add_log(ran, log);
	return r < 0 ? fault_errno(reterr, r, "%s", name) : 0;
}

struct addition {
	struct ran *ran;
	double sample; /* what one weighs */
};

static int on_place(void *closure, const struct recorder_place *place)
{
	const struct addition *addition = closure;
	struct ran *ran = addition->ran;
	struct sample_module nowhere = { .kind = place->is_kernel ? SAMPLE_MODULE_KERNEL :
								    (enum sample_module_kind)RAN_LOST,
					 .path = place->is_kernel ? "[kernel]" : "[unknown]",
					 .user = SAMPLE_USER_UNKNOWN };
	struct ran_module *module;
	uint32_t process;

	if (process_add(ran, place->process, place->unit, &process) < 0)
		return -ENOMEM;
	module = ran_module(ran, place->module ? place->module : &nowhere, 0, process);
	return module ? ran_count_add(ran, module, place->module ? place->offset : 0, place->count,
				      (double)place->count * addition->sample) :
			-ENOMEM;
}

int ran_add_recorder(struct ran *ran, struct recorder *recorder, double rate_hz, const char *name,
		     struct fault *reterr)
{
	_clean_(sample_log_freep) struct sample_log *log = NULL;
	struct addition addition = { ran, 1 / rate_hz };
	int r = ran->options.processes ? recorder_each(recorder, on_place, &addition) : 0;

	if (r < 0)
		return fault_errno(reterr, r, "%s", name);
	r = recorder_log(recorder, &log, reterr);
	if (r < 0 || !ran->options.processes)
		return r < 0 ? r : ran_add_log(ran, log, name, reterr);
	return MIN(head_add(ran, log, name, reterr), 0);
}

/* --- files ---------------------------------------------------------------------------------------- */

static int file_add(struct ran *ran, const char *path, struct fault *reterr)
{
	_clean_(sample_log_freep) struct sample_log *log = NULL;
	int r = sample_log_read(path, &log, reterr);

	return r < 0 ? r : ran_add_log(ran, log, path, reterr);
}

static int is_log(const struct dirent *entry)
{
	size_t n = strlen(entry->d_name), suffix = strlen(SPOOL_SUFFIX);

	return entry->d_name[0] != '.' && n > suffix && strcmp(entry->d_name + n - suffix, SPOOL_SUFFIX) == 0;
}

/* Whoever owns a spool takes files away while we read; one that is damaged does not hide the others. */
static int directory_file_add(struct ran *ran, const char *path, struct fault *reterr)
{
	struct fault fault;
	int r = file_add(ran, path, &fault);

	if (r == -ENOENT || r == 0)
		return 0;
	if (r == -EBADMSG || r == -EPROTONOSUPPORT || r == -EFBIG) {
		if (!ran->n_damaged++)
			ran->damage = fault;
		return 0;
	}
	*reterr = fault;
	return r;
}

static int directory_add(struct ran *ran, const char *path, struct fault *reterr)
{
	struct dirent **entries = NULL;
	int n = scandir(path, &entries, is_log, alphasort), r = 0;

	if (n < 0)
		return fault_errno(reterr, -errno, "%s", path);
	for (int i = 0; i < n; i++) {
		_clean_(freep) char *file = NULL;

		if (r == 0 && asprintf(&file, "%s/%s", path, entries[i]->d_name) < 0) {
			file = NULL;
			r = fault_errno(reterr, -ENOMEM, "%s", path);
		}
		if (r == 0)
			r = directory_file_add(ran, file, reterr);
		free(entries[i]);
	}
	free(entries);
	return r;
}

int ran_add_path(struct ran *ran, const char *path, struct fault *reterr)
{
	struct stat st;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return directory_add(ran, path, reterr);
	return file_add(ran, path, reterr);
}

int ran_finish(struct ran *ran)
{
	for (size_t i = 0; i < ran->n_modules; i++)
		if (counts_unite(ran->modules[i]) < 0)
			return -ENOMEM;
	tdestroy(ran->index, keep); /* the array is put in order: the tree has done its work */
	ran->index = NULL;
	if (ran->n_modules)
		qsort(ran->modules, ran->n_modules, sizeof(*ran->modules), compare_pointers);
	return ran->sum ? sample_log_unite(ran->sum) : 0;
}

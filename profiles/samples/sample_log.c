/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Modules are kept in one growing array, each with its own growing array of counts. Writers append
 * in any order; sample_log_normalize() sorts and unites. Every sum saturates, so that no input can
 * make a large count small.
 */

#include "profiles/samples/sample_log.h"

#include <errno.h>
#include <string.h>

#include "base/search.h"

static const char *const source_names[] = {
	[SAMPLE_SOURCE_TICK] = "tick",	   [SAMPLE_SOURCE_CPU_CLOCK] = "cpu-clock",
	[SAMPLE_SOURCE_CYCLES] = "cycles", [SAMPLE_SOURCE_IMPORT] = "import",
	[SAMPLE_SOURCE_EXACT] = "exact",   [SAMPLE_SOURCE_FAULTS] = "page-faults"
};

static const char *const kind_names[] = {
	[SAMPLE_MODULE_FILE] = "file",
	[SAMPLE_MODULE_KERNEL] = "kernel",
	[SAMPLE_MODULE_VDSO] = "vdso",
	[SAMPLE_MODULE_ANONYMOUS] = "anonymous",
};

static const struct {
	const char *name, *sentence;
} losses[SAMPLE_LOSS_END] = {
	[SAMPLE_LOSS_NO_MAPPING] = { "no_mapping", "no mapping was found at the address" },
	[SAMPLE_LOSS_RACE] = { "race", "the address space changed while it was read" },
	[SAMPLE_LOSS_MAP_FULL] = { "map_full", "the kernel-side table was full" },
	[SAMPLE_LOSS_UNRESOLVED] = { "unresolved", "the module was gone before it could be identified" },
	[SAMPLE_LOSS_RING_FULL] = { "ring_full", "the ring buffer overflowed" },
};

const char *sample_source_name(enum sample_source source)
{
	return source < ARRAY_SIZE(source_names) && source_names[source] ? source_names[source] : "?";
}

const char *sample_module_kind_name(enum sample_module_kind kind)
{
	return kind < ARRAY_SIZE(kind_names) && kind_names[kind] ? kind_names[kind] : "?";
}

const char *sample_loss_name(enum sample_loss loss)
{
	return loss < SAMPLE_LOSS_END ? losses[loss].name : "?";
}

const char *sample_loss_sentence(enum sample_loss loss)
{
	return loss < SAMPLE_LOSS_END ? losses[loss].sentence : "?";
}

static uint64_t add(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static void module_done(struct sample_module *module)
{
	free(module->path);
	free(module->counts);
	free(module->branches);
	*module = (struct sample_module){ 0 };
}

struct sample_log *sample_log_new(void)
{
	return calloc(1, sizeof(struct sample_log));
}

void sample_log_free(struct sample_log *log)
{
	if (!log)
		return;
	for (size_t i = 0; i < log->n_modules; i++)
		module_done(&log->modules[i]);
	free(log->modules);
	stacks_done(&log->stacks);
	owners_done(&log->owners);
	free(log);
}

static bool module_is(const struct sample_module *module, const struct sample_module *like)
{
	if (module->kind != like->kind || module->user != like->user || module->space != like->space ||
	    !file_identity_is_equal(&module->file, &like->file) ||
	    !build_id_is_equal(&module->build_id, &like->build_id))
		return false;
	if (like->build_id.size)
		return true;
	return module->file_size == like->file_size && module->mtime_ns == like->mtime_ns &&
	       strcmp(module->path, like->path) == 0;
}

/* Room for one more element in an array whose capacity is the power of two at or above its length. */
static int array_grow(void **array, size_t n, size_t size)
{
	void *grown;

	if (n & (n - 1) && n)
		return 0;
	grown = reallocarray(*array, n ? n * 2 : 1, size);
	if (!grown)
		return -ENOMEM;
	*array = grown;
	return 0;
}

struct sample_module *sample_log_module_like(struct sample_log *log, const struct sample_module *like)
{
	struct sample_module *module;

	for (size_t i = 0; i < log->n_modules; i++)
		if (module_is(&log->modules[i], like))
			return &log->modules[i];
	if (log->n_modules == log->capacity) {
		size_t capacity = log->capacity ? log->capacity * 2 : 16;
		void *modules = reallocarray(log->modules, capacity, sizeof(*log->modules));

		if (!modules)
			return NULL;
		log->modules = modules;
		log->capacity = capacity;
	}
	module = &log->modules[log->n_modules];
	*module = (struct sample_module){ .kind = like->kind,
					  .build_id = like->build_id,
					  .path = strdup(like->path),
					  .file_size = like->file_size,
					  .mtime_ns = like->mtime_ns,
					  .file = like->file,
					  .space = like->space,
					  .user = like->user };
	if (!module->path)
		return NULL;
	log->n_modules++;
	return module;
}

struct sample_module *sample_log_module(struct sample_log *log, enum sample_module_kind kind,
					const struct build_id *build_id, const char *path, uint64_t file_size,
					uint64_t mtime_ns)
{
	static const struct build_id none;
	struct sample_module like = { .kind = kind,
				      .build_id = build_id ? *build_id : none,
				      .path = (char *)(path ? path : ""),
				      .file_size = file_size,
				      .mtime_ns = mtime_ns,
				      .user = SAMPLE_USER_UNKNOWN };

	return sample_log_module_like(log, &like);
}

int sample_module_add(struct sample_module *module, uint64_t offset, uint64_t count)
{
	int r = array_grow((void **)&module->counts, module->n_counts, sizeof(*module->counts));

	if (r < 0)
		return r;
	module->counts[module->n_counts++] = (struct sample_count){ offset, count };
	module->total = add(module->total, count);
	return 0;
}

int sample_module_add_branch(struct sample_module *module, uint64_t from, uint64_t to, uint64_t count)
{
	int r = array_grow((void **)&module->branches, module->n_branches, sizeof(*module->branches));

	if (r < 0)
		return r;
	module->branches[module->n_branches++] = (struct sample_branch){ from, to, count };
	return 0;
}

static int count_compare(const void *pa, const void *pb)
{
	const struct sample_count *a = pa, *b = pb;

	return (a->offset > b->offset) - (a->offset < b->offset);
}

static int branch_compare(const void *pa, const void *pb)
{
	const struct sample_branch *a = pa, *b = pb;

	if (a->from != b->from)
		return a->from > b->from ? 1 : -1;
	return (a->to > b->to) - (a->to < b->to);
}

/* Arrays keep a power-of-two capacity (array_grow()), so where n changes at once they must be reallocated to match. */
static void *array_fit(void *array, size_t n, size_t size)
{
	size_t capacity = 1;
	void *fitting;

	while (capacity < n)
		capacity *= 2;
	fitting = reallocarray(array, capacity, size);
	return fitting ? fitting : array;
}

static void counts_normalize(struct sample_module *module)
{
	struct sample_count *counts = module->counts;
	size_t n = 0;

	module->total = 0;
	if (!module->n_counts)
		return;
	qsort(counts, module->n_counts, sizeof(*counts), count_compare);
	for (size_t i = 0; i < module->n_counts; i++) {
		module->total = add(module->total, counts[i].count);
		if (!counts[i].count)
			continue;
		if (n && counts[n - 1].offset == counts[i].offset)
			counts[n - 1].count = add(counts[n - 1].count, counts[i].count);
		else
			counts[n++] = counts[i];
	}
	module->n_counts = n;
	module->counts = array_fit(counts, n, sizeof(*counts));
}

static void branches_normalize(struct sample_module *module)
{
	struct sample_branch *branches = module->branches;
	size_t n = 0;

	if (!module->n_branches)
		return;
	qsort(branches, module->n_branches, sizeof(*branches), branch_compare);
	for (size_t i = 0; i < module->n_branches; i++) {
		if (!branches[i].count)
			continue;
		if (n && branch_compare(&branches[n - 1], &branches[i]) == 0)
			branches[n - 1].count = add(branches[n - 1].count, branches[i].count);
		else
			branches[n++] = branches[i];
	}
	module->n_branches = n;
	module->branches = array_fit(branches, n, sizeof(*branches));
}

static int module_compare(const void *pa, const void *pb)
{
	const struct sample_module *a = pa, *b = pb;
	int order = (a->kind > b->kind) - (a->kind < b->kind);

	order = order ? order : strcmp(a->path, b->path);
	order = order ? order : memcmp(&a->build_id, &b->build_id, sizeof(a->build_id));
	order = order ? order : (a->file_size > b->file_size) - (a->file_size < b->file_size);
	order = order ? order : (a->mtime_ns > b->mtime_ns) - (a->mtime_ns < b->mtime_ns);
	order = order ? order : file_identity_compare(&a->file, &b->file);
	order = order ? order : (a->space > b->space) - (a->space < b->space);
	return order ? order : (a->user > b->user) - (a->user < b->user);
}

/* Modules with nothing in them go, the others get their order. */
static void modules_sort(struct sample_log *log)
{
	size_t n = 0;

	for (size_t i = 0; i < log->n_modules; i++) {
		struct sample_module module = log->modules[i];

		if (module.n_counts || module.n_branches)
			log->modules[n++] = module;
		else
			module_done(&module);
	}
	log->n_modules = n;
	if (n)
		qsort(log->modules, n, sizeof(*log->modules), module_compare);
}

void sample_log_normalize(struct sample_log *log)
{
	for (size_t i = 0; i < log->n_modules; i++) {
		counts_normalize(&log->modules[i]);
		branches_normalize(&log->modules[i]);
	}
	modules_sort(log);
}

/* Both rise, and so does their sum. */
static int counts_merge(struct sample_module *into, const struct sample_module *from)
{
	const struct sample_count *a = into->counts, *end_a = a + into->n_counts;
	const struct sample_count *b = from->counts, *end_b = b + from->n_counts;
	struct sample_count *sum;
	size_t n = 0;

	if (!from->n_counts)
		return 0;
	sum = array_fit(NULL, into->n_counts + from->n_counts, sizeof(*sum));
	if (!sum)
		return -ENOMEM;
	while (a < end_a || b < end_b) {
		if (b == end_b || (a < end_a && a->offset < b->offset)) {
			sum[n++] = *a++;
		} else if (a == end_a || b->offset < a->offset) {
			sum[n++] = *b++;
		} else {
			sum[n] = *a++;
			sum[n].count = add(sum[n].count, b++->count);
			n++;
		}
	}
	free(into->counts);
	into->counts = array_fit(sum, n, sizeof(*sum));
	into->n_counts = n;
	into->total = add(into->total, from->total);
	return 0;
}

/*
 * Of the first @n_sorted modules, which are in order, the one with all that @like has, path included; NULL: look at every
 * one, for of builds the path does not count.
 */
static struct sample_module *sorted_find(struct sample_log *log, size_t n_sorted,
					 const struct sample_module *like)
{
	size_t i = LOWER_BOUND(0, n_sorted, middle, module_compare(&log->modules[middle], like) < 0);

	return i < n_sorted && module_compare(&log->modules[i], like) == 0 ? &log->modules[i] : NULL;
}

static int module_merge(struct sample_log *into, size_t n_sorted, const struct sample_module *from)
{
	struct sample_module *module = sorted_find(into, n_sorted, from);
	int r;

	if (!module)
		module = sample_log_module_like(into, from);
	if (!module)
		return -ENOMEM;
	module->tick_synchronous |= from->tick_synchronous;
	if (!module->file_size) {
		module->file_size = from->file_size;
		module->mtime_ns = from->mtime_ns;
	}
	r = counts_merge(module, from);
	if (!module->n_branches)
		module->branches_one_way = from->branches_one_way;
	for (size_t i = 0;
	     r == 0 && i < from->n_branches && module->branches_one_way == from->branches_one_way; i++)
		r = sample_module_add_branch(module, from->branches[i].from, from->branches[i].to,
					     from->branches[i].count);
	branches_normalize(module);
	return r;
}

static void head_merge(struct sample_log *into, const struct sample_log *from)
{
	double a = (double)into->duration_ns, b = (double)from->duration_ns;

	if (!into->source)
		into->source = from->source;
	if (a + b > 0)
		into->rate_hz = (into->rate_hz * a + from->rate_hz * b) / (a + b);
	if (!into->start_ns || (from->start_ns && from->start_ns < into->start_ns))
		into->start_ns = from->start_ns;
	into->duration_ns = add(into->duration_ns, from->duration_ns);
	into->n_cpus = MAX(into->n_cpus, from->n_cpus);
	into->fired = add(into->fired, from->fired);
	into->idle = add(into->idle, from->idle);
	into->kernel = add(into->kernel, from->kernel);
	into->user = add(into->user, from->user);
	into->attributed = add(into->attributed, from->attributed);
	into->anonymous = add(into->anonymous, from->anonymous);
	into->set_aside = add(into->set_aside, from->set_aside);
	into->scaled_in = add(into->scaled_in, from->scaled_in);
	for (unsigned i = 0; i < SAMPLE_LOSS_END; i++)
		into->lost[i] = add(into->lost[i], from->lost[i]);
}

int sample_log_merge(struct sample_log *into, const struct sample_log *from)
{
	size_t n_sorted = into->n_modules;

	for (size_t i = 0; i < from->n_modules; i++) {
		int r = module_merge(into, n_sorted, &from->modules[i]);

		if (r < 0)
			return r;
	}
	head_merge(into, from);
	modules_sort(into);
	if (stacks_merge(&into->stacks, &from->stacks, 0) < 0)
		return -ENOMEM;
	return owners_merge(&into->owners, &from->owners);
}

int sample_log_unite(struct sample_log *log)
{
	struct sample_log united = { .source = log->source };
	int r = 0;

	for (size_t i = 0; r == 0 && i < log->n_modules; i++) {
		struct sample_module *module = &log->modules[i];

		module->file = (struct file_identity){ 0 };
		module->space = 0;
		module->user = SAMPLE_USER_UNKNOWN;
		r = module_merge(&united, 0, module);
	}
	for (size_t i = 0; i < log->n_modules; i++)
		module_done(&log->modules[i]);
	free(log->modules);
	log->modules = united.modules;
	log->n_modules = united.n_modules;
	log->capacity = united.capacity;
	modules_sort(log);
	return r;
}

bool sample_log_sees_both_ways(const struct sample_log *log)
{
	return log->source == SAMPLE_SOURCE_TICK || log->source == SAMPLE_SOURCE_CPU_CLOCK;
}

const struct sample_module *sample_log_find(const struct sample_log *log, const struct build_id *id)
{
	for (size_t i = 0; id->size && i < log->n_modules; i++)
		if (log->modules[i].build_id.size == id->size &&
		    memcmp(log->modules[i].build_id.bytes, id->bytes, id->size) == 0)
			return &log->modules[i];
	return NULL;
}

static uint64_t sum_of_kind(const struct sample_log *log, enum sample_module_kind kind)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < log->n_modules; i++)
		if (log->modules[i].kind == kind)
			sum = add(sum, log->modules[i].total);
	return sum;
}

static uint64_t sum_of_losses(const struct sample_log *log)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < SAMPLE_LOSS_END; i++)
		sum = add(sum, log->lost[i]);
	return sum;
}

uint64_t sample_log_drained(const struct sample_log *log)
{
	return add(sum_of_kind(log, SAMPLE_MODULE_FILE), sum_of_kind(log, SAMPLE_MODULE_VDSO));
}

void sample_log_balance(struct sample_log *log)
{
	log->attributed = sample_log_drained(log);
	log->set_aside = log->scaled_in = 0;
	log->kernel = sum_of_kind(log, SAMPLE_MODULE_KERNEL);
	log->anonymous = sum_of_kind(log, SAMPLE_MODULE_ANONYMOUS);
	log->user = add(add(log->attributed, log->anonymous), sum_of_losses(log));
	log->fired = add(add(log->idle, log->kernel), log->user);
}

static int law(const char *equation, uint64_t left, uint64_t right, struct fault *reterr)
{
	if (left == right)
		return 0;
	return fault_set(reterr, -ERANGE, "sample counts do not add up: %s, but %llu is not %llu", equation,
			 (unsigned long long)left, (unsigned long long)right);
}

int sample_log_check(const struct sample_log *log, struct fault *reterr)
{
	uint64_t kernel = sum_of_kind(log, SAMPLE_MODULE_KERNEL);
	uint64_t anonymous = sum_of_kind(log, SAMPLE_MODULE_ANONYMOUS);
	uint64_t owned = owners_total(&log->owners), busy = add(log->kernel, log->user);
	int r;

	r = law("fired = idle + kernel + user", log->fired, add(add(log->idle, log->kernel), log->user),
		reterr);
	if (r == 0)
		r = law("user = attributed + anonymous + losses", log->user,
			add(add(log->attributed, log->anonymous), sum_of_losses(log)), reterr);
	if (r == 0)
		r = law("attributed + scaled in = counts of user modules + set aside",
			add(log->attributed, log->scaled_in), add(sample_log_drained(log), log->set_aside),
			reterr);
	if (r == 0)
		r = law("counts of kernel modules are at most kernel", MAX(kernel, log->kernel), log->kernel,
			reterr);
	if (r == 0)
		r = law("counts of anonymous memory are at most anonymous", MAX(anonymous, log->anonymous),
			log->anonymous, reterr);
	if (r == 0)
		r = law("samples that have an owner are at most kernel + user", MAX(owned, busy), busy,
			reterr);
	return r;
}

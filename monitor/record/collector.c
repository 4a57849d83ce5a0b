/* SPDX-License-Identifier: Apache-2.0 */

#include "monitor/record/collector.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "monitor/clock/agreement.h"
#include "monitor/identify/kernel_map.h"
#include "monitor/identify/mapped_file.h"
#include "monitor/identify/resolver.h"
#include "monitor/identify/unopened.h"
#include "monitor/observe/observer.h"
#include "monitor/record/callers.h"
#include "monitor/record/units.h"

#define BOTH_TABLES (1u << SAMPLER_MAIN | 1u << SAMPLER_REFERENCE)

/* One clock's samples since the last log. */
struct part {
	struct histogram histogram;
	struct sampler_counters counters;
	uint64_t unresolved;   /* attributed by the kernel side, but to a module nobody could open */
	uint64_t reclassified; /* ... to memory that has an inode, yet is no file (memfd) */
	struct owners owners;
};

struct collector {
	struct catalog *catalog;   /* owned */
	struct resolver *resolver; /* owned */
	struct kernel_map *kernel; /* owned */
	struct part parts[SAMPLER_TABLES];
	struct histogram branches;
	struct stacks stacks;
	struct units *units;	   /* owned */
	struct unopened *unopened; /* owned */
	struct agreement agreement;
	struct finder *finder; /* borrowed */
	size_t n_synchronous;
	bool forgotten;
};

static int modules_init(struct collector *collector)
{
	collector->catalog = catalog_new();
	if (!collector->catalog)
		return -ENOMEM;
	collector->resolver = resolver_new(collector->finder, collector->catalog);
	collector->kernel = kernel_map_new("", collector->catalog);
	collector->units = units_new();
	collector->unopened = unopened_new();
	return collector->resolver && collector->kernel && collector->units && collector->unopened ? 0 :
												     -ENOMEM;
}

static void modules_done(struct collector *collector)
{
	resolver_free(TAKE(collector->resolver));
	kernel_map_free(TAKE(collector->kernel));
	units_free(TAKE(collector->units));
	unopened_free(TAKE(collector->unopened));
	catalog_free(TAKE(collector->catalog));
	agreement_done(&collector->agreement);
}

struct collector *collector_new(struct finder *finder)
{
	_clean_(collector_freep) struct collector *collector = calloc(1, sizeof(*collector));

	if (!collector)
		return NULL;
	collector->finder = finder;
	if (modules_init(collector) < 0)
		return NULL;
	return TAKE(collector);
}

void collector_free(struct collector *collector)
{
	if (!collector)
		return;
	modules_done(collector);
	for (unsigned i = 0; i < SAMPLER_TABLES; i++) {
		histogram_done(&collector->parts[i].histogram);
		owners_done(&collector->parts[i].owners);
	}
	histogram_done(&collector->branches);
	stacks_done(&collector->stacks);
	free(collector);
}

bool collector_event(struct collector *collector, const struct sampler_event *event, size_t size,
		     struct sampler_file *retforget)
{
	const struct sampler_module_event *module = (const struct sampler_module_event *)event;
	const struct sampler_file *file = &event->module;

	if (event->type == SAMPLER_EVENT_GROUP)
		units_announce(collector->units, module, size);
	/* All are announced again when the catalog was made anew. */
	if (event->type != SAMPLER_EVENT_MODULE || unopened_waits(collector->unopened, file, event->time_ns))
		return true;
	if (resolver_announce(collector->resolver, module, size) == CATALOG_NONE)
		return !unopened_failed(collector->unopened, file, event->time_ns, retforget);
	unopened_found(collector->unopened, file);
	return true;
}

bool collector_due(struct collector *collector, uint64_t now_ns, struct sampler_file *ret)
{
	return unopened_due(collector->unopened, now_ns, ret);
}

/* --- step 2 --------------------------------------------------------------------------------------- */

static int kernel_row(struct collector *collector, struct part *part, const struct sampler_row *row)
{
	uint64_t offset;
	uint32_t module;

	if (!row->key.offset || !kernel_map_find(collector->kernel, row->key.offset, &module, &offset))
		return 0;
	return histogram_add(&part->histogram, module, offset, 0, row->count);
}

/* A program may call itself what it likes, so a full catalog is no fault: then the total alone tells of it. */
static int anonymous_row(struct collector *collector, struct part *part, const struct sampler_row *row)
{
	char comm[SAMPLER_COMM_BYTES + 1] = "";
	uint32_t module;

	memcpy(comm, &row->key, SAMPLER_COMM_BYTES);
	module = catalog_anonymous(collector->catalog, comm);
	return module == CATALOG_NONE ? 0 : histogram_add(&part->histogram, module, 0, 0, row->count);
}

static int file_row(struct collector *collector, struct part *part, const struct sampler_row *row)
{
	uint32_t module = resolver_find(collector->resolver, row->key.module, row->key.user);

	if (module == CATALOG_NONE) {
		part->unresolved += row->count;
		return 0;
	}
	catalog_seen(collector->catalog, module);
	if (catalog_at(collector->catalog, module)->kind == SAMPLE_MODULE_ANONYMOUS) {
		part->reclassified += row->count;
		return histogram_add(&part->histogram, module, 0, 0, row->count);
	}
	return histogram_add(&part->histogram, module, row->key.offset, 0, row->count);
}

/* "kworker/3:1-events" and "ksoftirqd/3" are what they do, on whichever CPU. */
static int owner_row(struct collector *collector, struct part *part, const struct sampler_row *row)
{
	char comm[SAMPLER_COMM_BYTES + 1] = "";
	struct unit_of_group group = units_find(collector->units, row->key.user);

	memcpy(comm, &row->key, SAMPLER_COMM_BYTES);
	if (row->key.module == SAMPLER_KERNEL_OWNER)
		comm[strcspn(comm, "/")] = '\0';
	return owners_add(&part->owners, comm, group.unit, group.user, row->count);
}

static int row_add(struct collector *collector, struct part *part, const struct sampler_row *row)
{
	uint32_t vdso;

	if (row->key.module >= SAMPLER_FIRST_FILE)
		return file_row(collector, part, row);
	switch (row->key.module) {
	case SAMPLER_KERNEL: return kernel_row(collector, part, row);
	case SAMPLER_OWNER:
	case SAMPLER_KERNEL_OWNER: return owner_row(collector, part, row);
	case SAMPLER_UNTOLD: part->unresolved += row->count; return 0;
	case SAMPLER_VDSO:
		vdso = catalog_vdso(collector->catalog);
		if (vdso == CATALOG_NONE) {
			part->unresolved += row->count;
			return 0;
		}
		catalog_seen(collector->catalog, vdso);
		return histogram_add(&part->histogram, vdso, row->key.offset, 0, row->count);
	default: return anonymous_row(collector, part, row);
	}
}

/* Files are open as long as this takes: a descriptor kept would be in the way of whoever wants to unmount. */
static int snapshots_look(struct collector *collector, const struct sampler_drained *drained)
{
	_clean_(observer_freep) struct observer *observer = observer_new(collector->catalog);
	int r = observer ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < drained->n_snapshots; i++) {
		const struct sampler_snapshot *from = &drained->snapshots[i];
		struct interrupted registers = { .ip = from->ip, .flags = from->flags };
		uint32_t module = resolver_find(collector->resolver, from->key.module, from->key.user);

		if (module == CATALOG_NONE)
			continue;
		static_assert(sizeof(registers.general) <= sizeof(from->general),
			      "the sampler takes no more");
		memcpy(registers.general, from->general, sizeof(registers.general));
		r = observer_look(observer, module, from->key.offset, &registers, &collector->branches);
	}
	return r;
}

int collector_add(struct collector *collector, enum sampler_table table,
		  const struct sampler_drained *drained, struct fault *reterr)
{
	struct part *part = &collector->parts[table];
	int r = sampler_check(drained, reterr);

	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < drained->n_rows; i++)
		r = row_add(collector, part, &drained->rows[i]);
	if (r == 0 && drained->n_snapshots)
		r = snapshots_look(collector, drained);
	if (r == 0 && drained->n_stacks) {
		struct callers callers = { collector->catalog, collector->resolver, collector->kernel };

		r = callers_add(&callers, drained, &collector->stacks);
	}
	if (r < 0)
		return fault_errno(reterr, r, "samples");
	for (unsigned i = 0; i < SAMPLER_COUNTERS; i++)
		part->counters.n[i] += drained->counters.n[i];
	return 0;
}

/* --- step 3 --------------------------------------------------------------------------------------- */

static bool is_comparable(struct collector *collector, uint32_t module)
{
	return catalog_at(collector->catalog, module)->kind != SAMPLE_MODULE_KERNEL;
}

static int compare(struct collector *collector, const struct collector_head *head)
{
	for (unsigned table = 0; table < SAMPLER_TABLES; table++) {
		const struct histogram *histogram = &collector->parts[table].histogram;
		bool is_main = table == SAMPLER_MAIN;

		for (size_t i = 0; i < histogram->capacity; i++) {
			const struct histogram_entry *entry = &histogram->entries[i];

			if (!entry->count || !is_comparable(collector, entry->module))
				continue;
			if (agreement_add(&collector->agreement, entry->module, is_main ? entry->count : 0,
					  is_main ? 0 : entry->count) < 0)
				return -ENOMEM;
		}
	}
	collector->n_synchronous =
		agreement_round(&collector->agreement, &head->clocks, (double)head->duration_ns / 1e9);
	for (uint32_t i = 0; i < catalog_size(collector->catalog); i++)
		catalog_at(collector->catalog, i)->tick_synchronous =
			agreement_is_synchronous(&collector->agreement, i);
	return 0;
}

/* --- step 4 --------------------------------------------------------------------------------------- */

/* What must be exact: files and the vdso; anonymous memory and the kernel have no layout to learn. */
static bool is_replaced(struct collector *collector, uint32_t module)
{
	const struct catalog_module *m = catalog_at(collector->catalog, module);

	return m->tick_synchronous && (m->kind == SAMPLE_MODULE_FILE || m->kind == SAMPLE_MODULE_VDSO);
}

static uint64_t user_samples(const struct part *part)
{
	return part->counters.n[SAMPLER_USER_MODE];
}

/*
 * Reference counts of a replaced module stand for all samples of its share: each is worth
 * (tick + reference) / reference, the tick's nothing. The remainder is carried on, so that the sum stays
 * right.
 */
static int part_merge(struct collector *collector, const struct part *part, double worth,
		      struct histogram *sum, struct sample_log *log)
{
	double carried = 0;

	for (size_t i = 0; i < part->histogram.capacity; i++) {
		const struct histogram_entry *entry = &part->histogram.entries[i];
		uint64_t count = entry->count;

		if (!count)
			continue;
		if (worth != 1 && is_replaced(collector, entry->module)) {
			double exact = (double)count * worth + carried;

			log->set_aside += count;
			count = (uint64_t)exact;
			carried = exact - (double)count;
			log->scaled_in += count;
		}
		if (histogram_add(sum, entry->module, entry->a, 0, count) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void part_account(const struct part *part, struct sample_log *log)
{
	const __u64 *n = part->counters.n;

	log->fired += n[SAMPLER_FIRED];
	log->idle += n[SAMPLER_IDLE];
	log->kernel += n[SAMPLER_KERNEL_MODE];
	log->user += n[SAMPLER_USER_MODE];
	log->attributed += n[SAMPLER_ATTRIBUTED] - part->unresolved - part->reclassified;
	log->anonymous += n[SAMPLER_ANONYMOUS_CODE] + part->reclassified;
	log->lost[SAMPLE_LOSS_NO_MAPPING] += n[SAMPLER_NO_MAPPING];
	log->lost[SAMPLE_LOSS_RACE] += n[SAMPLER_RACE];
	log->lost[SAMPLE_LOSS_MAP_FULL] += n[SAMPLER_USER_FULL];
	log->lost[SAMPLE_LOSS_UNRESOLVED] += part->unresolved;
}

static int log_fill(struct collector *collector, const struct collector_head *head, struct sample_log *log)
{
	_clean_(histogram_donep) struct histogram sum = { 0 };
	uint64_t n_main = user_samples(&collector->parts[SAMPLER_MAIN]);
	uint64_t n_reference = user_samples(&collector->parts[SAMPLER_REFERENCE]);
	int r = 0;

	for (unsigned i = 0; r == 0 && i < SAMPLER_TABLES; i++) {
		double worth = 1;

		if (!(head->tables >> i & 1))
			continue;
		if (head->tables == BOTH_TABLES && n_reference)
			worth = i == SAMPLER_MAIN ? 0 : (double)(n_main + n_reference) / (double)n_reference;
		r = part_merge(collector, &collector->parts[i], worth, &sum, log);
		if (r == 0)
			r = owners_merge(&log->owners, &collector->parts[i].owners);
		part_account(&collector->parts[i], log);
	}
	if (r == 0 && head->tables >> SAMPLER_MAIN & 1)
		r = stacks_merge(&log->stacks, &collector->stacks, 0);
	if (r == 0)
		r = catalog_log(collector->catalog, &sum,
				head->tables >> SAMPLER_MAIN & 1 ? &collector->branches : NULL, log);
	if (r < 0)
		return r;
	log->source = head->source;
	log->rate_hz = head->rate_hz;
	log->start_ns = head->start_ns;
	log->duration_ns = head->duration_ns;
	log->n_cpus = head->n_cpus;
	return 0;
}

static void parts_reset(struct collector *collector, unsigned tables)
{
	for (unsigned i = 0; i < SAMPLER_TABLES; i++) {
		struct part *part = &collector->parts[i];
		struct histogram histogram = part->histogram;

		if (!(tables >> i & 1))
			continue;
		histogram_clear(&histogram);
		owners_done(&part->owners);
		*part = (struct part){ .histogram = histogram };
	}
	if (tables >> SAMPLER_MAIN & 1) {
		histogram_clear(&collector->branches);
		stacks_done(&collector->stacks);
	}
}

/* No sample refers to a module any more: what nobody runs can be forgotten. */
static int round_end(struct collector *collector)
{
	_clean_(freep) uint32_t *map = NULL;
	int64_t n;

	for (unsigned i = 0; i < SAMPLER_TABLES; i++)
		if (collector->parts[i].histogram.n || collector->branches.n)
			return 0;
	n = catalog_round(collector->catalog, &map);
	if (n < 0 || !map)
		return (int)MIN(n, 0);
	kernel_map_renumber(collector->kernel, map, (size_t)n);
	collector->forgotten = true;
	return agreement_renumber(&collector->agreement, map, (size_t)n);
}

int collector_log(struct collector *collector, const struct collector_head *head, struct sample_log **ret,
		  struct fault *reterr)
{
	_clean_(sample_log_freep) struct sample_log *log = sample_log_new();
	int r = log ? 0 : -ENOMEM;

	if (r == 0 && head->clocks.reference_hz > 0)
		r = compare(collector, head);
	if (r == 0)
		r = log_fill(collector, head, log);
	parts_reset(collector, head->tables);
	if (r == 0)
		r = round_end(collector);
	if (r < 0)
		return fault_errno(reterr, r, "sample log");
	r = sample_log_check(log, reterr);
	if (r < 0)
		return r;
	*ret = TAKE(log);
	return 0;
}

bool collector_program(struct collector *collector, const struct sampler_event *event, size_t size,
		       struct finder_answer *ret)
{
	return resolver_program(collector->resolver, (const struct sampler_module_event *)event, size, ret);
}

const struct catalog_module *collector_module(struct collector *collector, const struct sampler_file *file)
{
	struct catalog_module like = { .kind = SAMPLE_MODULE_FILE,
				       .file = finder_identity(file),
				       .space = file->space,
				       .user = SAMPLE_USER_UNKNOWN };

	return file->device ? catalog_find_like(collector->catalog, &like) : NULL;
}

bool collector_is_broken(const struct collector *collector)
{
	return resolver_is_broken(collector->resolver);
}

size_t collector_n_modules(const struct collector *collector)
{
	return catalog_size(collector->catalog);
}

size_t collector_n_synchronous(const struct collector *collector)
{
	return collector->n_synchronous;
}

bool collector_forgotten(struct collector *collector)
{
	bool forgotten = collector->forgotten;

	collector->forgotten = false;
	return forgotten;
}

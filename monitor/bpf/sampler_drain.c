/* SPDX-License-Identifier: Apache-2.0 */

/* What both sides share is in our address space: draining copies nothing and calls nothing but the fence. */

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "monitor/bpf/sampler_state.h"

static struct sampler_counters *counters_of(struct sampler *sampler, uint32_t set, int cpu)
{
	struct sampler_state *state = &sampler->states[(uint32_t)cpu * SAMPLER_TABLES + set / SAMPLER_EPOCHS];

	return &state->counters[set % SAMPLER_EPOCHS];
}

static void counters_read(struct sampler *sampler, uint32_t set, struct sampler_counters *ret)
{
	*ret = (struct sampler_counters){ 0 };
	for (int cpu = 0; cpu < sampler->n_possible; cpu++) {
		sampler->per_cpu[cpu] = *counters_of(sampler, set, cpu);
		for (unsigned i = 0; i < SAMPLER_COUNTERS; i++)
			ret->n[i] += sampler->per_cpu[cpu].n[i];
	}
}

static int rows_reserve(struct sampler *sampler, size_t n)
{
	void *rows;

	if (n <= sampler->capacity)
		return 0;
	rows = reallocarray(sampler->rows, n, sizeof(*sampler->rows));
	if (!rows)
		return -ENOMEM;
	sampler->rows = rows;
	sampler->capacity = n;
	return 0;
}

static size_t buckets_count(const struct sampler_bucket *buckets, size_t n)
{
	size_t used = 0;

	for (size_t i = 0; i < n; i++)
		for (unsigned way = 0; way < SAMPLER_WAYS; way++)
			used += buckets[i].counts[way] != 0;
	return used;
}

static void row_put(struct sampler *sampler, const struct sampler_key *key, uint32_t count)
{
	sampler->rows[sampler->n_rows++] = (struct sampler_row){ *key, count };
}

/* No program uses this set any more, so it is ours. What it holds of @cpu is taken and cleared. */
static int cpu_take(struct sampler *sampler, uint32_t table, uint32_t set, uint32_t cpu)
{
	uint32_t n_buckets = sampler->bpf->bss->control.n_buckets[table];
	uint32_t n_moved = sampler->bpf->bss->control.n_moved[table];
	struct sampler_bucket *buckets =
		sampler->buckets + sampler->bpf->bss->control.bucket_base[set] + (size_t)cpu * n_buckets;
	const struct sampler_moved *moved =
		sampler->moved + sampler->bpf->bss->control.moved_base[set] + (size_t)cpu * n_moved;
	size_t used = MIN(sampler->per_cpu[cpu].n[SAMPLER_MOVED], (uint64_t)n_moved);
	int r = rows_reserve(sampler, sampler->n_rows + used + buckets_count(buckets, n_buckets));

	if (r < 0)
		return r;
	for (size_t i = 0; i < used; i++)
		row_put(sampler, &moved[i].key, moved[i].count);
	for (size_t i = 0; i < n_buckets; i++)
		for (unsigned way = 0; way < SAMPLER_WAYS; way++)
			if (buckets[i].counts[way]) {
				row_put(sampler, &buckets[i].keys[way], buckets[i].counts[way]);
				buckets[i].counts[way] = 0;
			}
	return 0;
}

static int rows_take(struct sampler *sampler, uint32_t table, uint32_t set, double *retfill)
{
	int r = 0;

	sampler->n_rows = 0;
	*retfill = 0;
	for (int cpu = 0; r == 0 && cpu < sampler->n_possible; cpu++) {
		const __u64 *n = sampler->per_cpu[cpu].n;

		/* The list only gets longer, and is what fills. */
		*retfill =
			MAX(*retfill, (double)n[SAMPLER_MOVED] / sampler->bpf->bss->control.n_moved[table]);
		if (n[SAMPLER_FIRED])
			r = cpu_take(sampler, table, set, (uint32_t)cpu);
	}
	return r;
}

/* All CPUs' one after the other; the kernel side's are forgotten, for they are somebody's secrets. */
static size_t snapshots_take(struct sampler *sampler, uint32_t epoch)
{
	size_t per_cpu = sampler->options.n_snapshots, n = 0;

	for (size_t cpu = 0; cpu < (size_t)sampler->n_possible; cpu++) {
		uint64_t *n_here =
			(uint64_t *)&sampler->states[cpu * SAMPLER_TABLES + SAMPLER_MAIN].n_snapshots[epoch];
		struct sampler_snapshot *from =
			sampler->snapshots + (epoch * (size_t)sampler->n_possible + cpu) * per_cpu;
		size_t used = MIN((size_t)*n_here, per_cpu);

		memcpy(sampler->taken + n, from, used * sizeof(*from));
		memset(from, 0, used * sizeof(*from));
		*n_here = 0;
		n += used;
	}
	return n;
}

/* The same of stacks. */
static size_t stacks_take(struct sampler *sampler, uint32_t epoch)
{
	size_t per_cpu = sampler->options.n_stacks, n = 0;

	for (size_t cpu = 0; cpu < (size_t)sampler->n_possible; cpu++) {
		uint64_t *n_here =
			(uint64_t *)&sampler->states[cpu * SAMPLER_TABLES + SAMPLER_MAIN].n_stacks[epoch];
		struct sampler_stack *from =
			sampler->stacks + (epoch * (size_t)sampler->n_possible + cpu) * per_cpu;
		size_t used = MIN((size_t)*n_here, per_cpu);

		memcpy(sampler->stacks_taken + n, from, used * sizeof(*from));
		memset(from, 0, used * sizeof(*from));
		*n_here = 0;
		n += used;
	}
	return n;
}

static void counters_zero(struct sampler *sampler, uint32_t set)
{
	for (int cpu = 0; cpu < sampler->n_possible; cpu++)
		*counters_of(sampler, set, cpu) = (struct sampler_counters){ 0 };
}

/*
 * Change the epoch, then update a map of maps (with what is there already): for such maps the kernel
 * waits for a grace period before it returns, after which all programs see the new epoch.
 */
static int epoch_change(struct sampler *sampler, enum sampler_table table, uint32_t *retset)
{
	volatile uint32_t *epoch = &sampler->bpf->bss->control.epoch[table];
	uint32_t old = *epoch, zero = 0;
	int fd = bpf_map__fd(sampler->bpf->maps.fence_inner);

	*epoch = !old;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	*retset = table * SAMPLER_EPOCHS + old;
	return bpf_map_update_elem(bpf_map__fd(sampler->bpf->maps.fence), &zero, &fd, BPF_ANY) < 0 ? -errno :
												     0;
}

int sampler_drain(struct sampler *sampler, enum sampler_table table, struct sampler_drained *ret,
		  struct fault *reterr)
{
	struct sampler_drained drained = { 0 };
	uint32_t set;
	int r = epoch_change(sampler, table, &set);

	if (r == 0) {
		counters_read(sampler, set, &drained.counters);
		r = rows_take(sampler, table, set, &drained.fill);
	}
	if (r < 0)
		return fault_errno(reterr, r, "cannot drain the sampler's tables");
	counters_zero(sampler, set);
	drained.rows = sampler->rows;
	drained.n_rows = sampler->n_rows;
	drained.per_cpu = sampler->per_cpu;
	if (table == SAMPLER_MAIN) {
		drained.snapshots = sampler->taken;
		drained.n_snapshots = snapshots_take(sampler, set % SAMPLER_EPOCHS);
		drained.stacks = sampler->stacks_taken;
		drained.stack_every = MAX(sampler->options.stack_every, 1u);
		drained.n_stacks = stacks_take(sampler, set % SAMPLER_EPOCHS);
	}
	*ret = drained;
	return 0;
}

static int law(const char *equation, uint64_t left, uint64_t right, struct fault *reterr)
{
	if (left == right)
		return 0;
	return fault_set(reterr, -ERANGE,
			 "the sampler's counters do not add up: %s, but %" PRIu64 " is not %" PRIu64,
			 equation, left, right);
}

int sampler_check(const struct sampler_drained *drained, struct fault *reterr)
{
	const __u64 *n = drained->counters.n;
	uint64_t files = 0, anonymous = 0, kernel = 0, owned = 0;
	int r;

	for (size_t i = 0; i < drained->n_rows; i++) {
		const struct sampler_row *row = &drained->rows[i];

		if (row->key.module == SAMPLER_VDSO || row->key.module == SAMPLER_UNTOLD ||
		    row->key.module >= SAMPLER_FIRST_FILE)
			files += row->count;
		else if (row->key.module == SAMPLER_KERNEL)
			kernel += row->count;
		else if (row->key.module == SAMPLER_OWNER || row->key.module == SAMPLER_KERNEL_OWNER)
			owned += row->count;
		else
			anonymous += row->count;
	}
	r = law("fired = idle + kernel + user", n[SAMPLER_FIRED],
		n[SAMPLER_IDLE] + n[SAMPLER_KERNEL_MODE] + n[SAMPLER_USER_MODE], reterr);
	if (r == 0)
		r = law("user = attributed + anonymous + losses", n[SAMPLER_USER_MODE],
			n[SAMPLER_ATTRIBUTED] + n[SAMPLER_ANONYMOUS_CODE] + n[SAMPLER_NO_MAPPING] +
				n[SAMPLER_RACE] + n[SAMPLER_USER_FULL],
			reterr);
	if (r == 0)
		r = law("attributed = drained", n[SAMPLER_ATTRIBUTED], files, reterr);
	if (r == 0)
		r = law("anonymous = drained", n[SAMPLER_ANONYMOUS_CODE], anonymous, reterr);
	if (r == 0)
		r = law("kernel stored = drained", n[SAMPLER_KERNEL_STORED], kernel, reterr);
	if (r == 0)
		r = law("kernel = stored + table full", n[SAMPLER_KERNEL_MODE],
			n[SAMPLER_KERNEL_STORED] + n[SAMPLER_KERNEL_FULL], reterr);
	if (r == 0 && (owned || n[SAMPLER_OWNER_FULL]))
		r = law("user + kernel = owned + table full", n[SAMPLER_USER_MODE] + n[SAMPLER_KERNEL_MODE],
			owned + n[SAMPLER_OWNER_FULL], reterr);
	return r;
}

uint64_t sampler_fired(struct sampler *sampler)
{
	struct sampler_counters counters;

	counters_read(sampler, SAMPLER_MAIN * SAMPLER_EPOCHS + sampler->bpf->bss->control.epoch[SAMPLER_MAIN],
		      &counters);
	return counters.n[SAMPLER_FIRED];
}

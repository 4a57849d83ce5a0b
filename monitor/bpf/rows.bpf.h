/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

/*
 * rows.bpf.h - step 3: one more for a row of the table; some samples leave their registers
 */

#include "monitor/bpf/module.bpf.h"

static __always_inline bool is_key(const struct sampler_key *a, const struct sampler_key *b)
{
	return a->offset == b->offset && a->module == b->module && a->user == b->user && a->rest == b->rest;
}

/* Move what stands in one way of the bucket to the list; false: the list is full. */
static __always_inline bool way_clear(struct run *run, u32 cpu, struct sampler_bucket *bucket, u32 way)
{
	u64 n = run->counts->n[SAMPLER_MOVED];
	u32 at = run->moved_base + cpu * run->n_moved + (u32)n;
	struct sampler_moved *to;

	if (n >= run->n_moved)
		return false;
	to = bpf_map_lookup_elem(&moved, &at);
	if (!to)
		return false;
	to->key = bucket->keys[way];
	to->count = bucket->counts[way];
	run->counts->n[SAMPLER_MOVED] = n + 1;
	bucket->counts[way] = 0;
	return true;
}

static __always_inline bool way_try(struct sampler_bucket *bucket, u32 way, const struct sampler_key *key)
{
	if (!bucket->counts[way])
		bucket->keys[way] = *key;
	else if (!is_key(&bucket->keys[way], key))
		return false;
	bucket->counts[way]++;
	return true;
}

/* Fibonacci hashing (Knuth, volume 3, section 6.4). */
static __always_inline struct sampler_bucket *bucket_find(const struct run *run, u64 what)
{
	u32 n = run->n_buckets, hash = (what * 0x9e3779b97f4a7c15u) >> 32;
	u32 at = run->bucket_base + bpf_get_smp_processor_id() * n + (hash & (n - 1));

	return bpf_map_lookup_elem(&buckets, &at);
}

/*
 * Which bucket an address falls into depends on no more of it than is the same in all processes, wherever
 * their code is mapped. So it is known at once, and its cache line comes while the mapping is still looked for.
 */
static __always_inline struct sampler_bucket *bucket_of_address(const struct run *run, u64 ip)
{
	u64 page = (1ull << control.page_shift) - 1;
	struct sampler_bucket *bucket = bucket_find(run, ip & (page | (run->n_buckets - 1)));

	if (bucket)
		*(volatile u32 *)&bucket->counts[0];
	return bucket;
}

static __always_inline bool row_add(struct run *run, struct sampler_bucket *bucket,
				    const struct sampler_key *key)
{
	u32 cpu = bpf_get_smp_processor_id();

	if (!bucket)
		return false;
	if (way_try(bucket, 0, key) || way_try(bucket, 1, key))
		return true;
	if (bucket->counts[1] <= bucket->counts[0])
		return way_clear(run, cpu, bucket, 1) && way_try(bucket, 1, key);
	return way_clear(run, cpu, bucket, 0) && way_try(bucket, 0, key);
}

#if defined(__TARGET_ARCH_x86)
/* Some samples leave their registers: written front to back, as what is moved. */
static __always_inline void snapshot_take(struct run *run, const struct sampler_key *key)
{
	u32 epoch = run->epoch & (SAMPLER_EPOCHS - 1), at;
	u64 n = run->state->n_snapshots[epoch], regs = run->registers;
	struct sampler_snapshot *to;

	if (!regs || n >= control.n_snapshots || run->counts->n[SAMPLER_USER_MODE] & control.snapshot_mask)
		return;
	at = control.snapshot_base[epoch] + bpf_get_smp_processor_id() * control.n_snapshots + (u32)n;
	to = bpf_map_lookup_elem(&snapshots, &at);
	if (!to)
		return;
	to->key = *key;
#define SNAPSHOT(place, field) to->place = KERNEL_READ(regs, struct pt_regs___kernel, field)
	SNAPSHOT(ip, ip);
	SNAPSHOT(flags, flags);
	SNAPSHOT(general[0], ax);
	SNAPSHOT(general[1], cx);
	SNAPSHOT(general[2], dx);
	SNAPSHOT(general[3], bx);
	SNAPSHOT(general[4], sp);
	SNAPSHOT(general[5], bp);
	SNAPSHOT(general[6], si);
	SNAPSHOT(general[7], di);
	SNAPSHOT(general[8], r8);
	SNAPSHOT(general[9], r9);
	SNAPSHOT(general[10], r10);
	SNAPSHOT(general[11], r11);
	SNAPSHOT(general[12], r12);
	SNAPSHOT(general[13], r13);
	SNAPSHOT(general[14], r14);
	SNAPSHOT(general[15], r15);
#undef SNAPSHOT
	run->state->n_snapshots[epoch] = n + 1;
}
#else
static __always_inline void snapshot_take(struct run *run, const struct sampler_key *key)
{
}
#endif

static __always_inline void user_sample(struct run *run, u64 ip)
{
	struct sampler_bucket *bucket = bucket_of_address(run, ip);
	struct sampler_key key = { 0 };
	u32 cause = module_find(run, ip, &key);
	bool is_anonymous = key.module == SAMPLER_ANONYMOUS;

	if (cause == SAMPLER_NO_MAPPING) {
		run->counts->n[SAMPLER_NO_MAPPING]++;
		return;
	}
	if (cause == SAMPLER_RACE) {
		run->counts->n[SAMPLER_RACE]++;
		return;
	}
	if (is_anonymous) {
		/* One row for the whole process, not one for each address. */
		bpf_get_current_comm(&key, SAMPLER_COMM_BYTES);
		key.user = 0;
		bucket = bucket_find(run, key.rest ^ key.offset);
	}
	if (key.module == SAMPLER_UNTOLD || key.module == SAMPLER_VDSO) {
		key.offset = key.module == SAMPLER_UNTOLD ? 0 : key.offset;
		key.user = 0;
	}
	if (!row_add(run, bucket, &key))
		run->counts->n[SAMPLER_USER_FULL]++;
	else if (is_anonymous)
		run->counts->n[SAMPLER_ANONYMOUS_CODE]++;
	else
		run->counts->n[SAMPLER_ATTRIBUTED]++;
	if (key.module >= SAMPLER_FIRST_FILE)
		snapshot_take(run, &key);
}

/* @ip 0: nobody knows where */
static __always_inline void kernel_sample(struct run *run, u64 ip)
{
	struct sampler_key key = { .module = SAMPLER_KERNEL, .offset = ip };

	if (row_add(run, bucket_find(run, ip), &key))
		run->counts->n[SAMPLER_KERNEL_STORED]++;
	else
		run->counts->n[SAMPLER_KERNEL_FULL]++;
}

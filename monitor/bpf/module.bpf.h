/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

/*
 * module.bpf.h - steps 2a and 2c: files announced once, and the ranges that each CPU remembers
 */

#include "monitor/bpf/identity.bpf.h"

/* The names from the file up to the root of its mount namespace, for a module that is new. */
static __always_inline void path_read(struct file *file, struct sampler_module_event *event)
{
	struct dentry *dentry = BPF_CORE_READ(file, f_path.dentry);
	struct vfsmount *mount = BPF_CORE_READ(file, f_path.mnt);
	u32 at = 0;

	if (is_backing(file, BPF_CORE_READ(file, f_inode))) {
		dentry = BPF_CORE_READ((struct backing_file *)file, user_path.dentry);
		mount = BPF_CORE_READ((struct backing_file *)file, user_path.mnt);
	}
	event->path_bytes = 0;
	for (int i = 0; i < SAMPLER_PATH_DEPTH; i++) {
		struct dentry *parent = BPF_CORE_READ(dentry, d_parent);
		long n;

		if (dentry == BPF_CORE_READ(mount, mnt_root)) {
			struct mount *this = (void *)mount - bpf_core_field_offset(struct mount, mnt);
			struct mount *above = BPF_CORE_READ(this, mnt_parent);

			if (above == this) {
				event->path_bytes = at; /* the root: this is the whole path */
				return;
			}
			dentry = BPF_CORE_READ(this, mnt_mountpoint);
			mount = (void *)above + bpf_core_field_offset(struct mount, mnt);
			continue;
		}
		if (dentry == parent || at >= SAMPLER_PATH_BYTES - SAMPLER_NAME_BYTES)
			return;
		n = bpf_probe_read_kernel_str(event->path + at, SAMPLER_NAME_BYTES,
					      BPF_CORE_READ(dentry, d_name.name));
		if (n <= 0)
			return;
		at += n & (2 * SAMPLER_NAME_BYTES - 1);
		dentry = parent;
	}
}

static __always_inline void event_fill(struct sampler_event *event, u32 type, u32 tgid, u32 user)
{
	__builtin_memset(event, 0, sizeof(*event));
	event->type = type;
	event->tgid = tgid;
	event->user = user;
	event->time_ns = bpf_ktime_get_ns();
	bpf_get_current_comm(event->comm, sizeof(event->comm));
}

/* The user's share of this window; NULL: there is no room for one more user. */
static __always_inline struct sampler_share *share_of(u32 user)
{
	struct sampler_share *share = bpf_map_lookup_elem(&shares, &user), fresh = { 0 };
	u64 now = bpf_ktime_get_ns();

	if (!share) {
		fresh.start_ns = now;
		bpf_map_update_elem(&shares, &user, &fresh, BPF_NOEXIST);
		share = bpf_map_lookup_elem(&shares, &user);
	}
	if (share && now - share->start_ns > SAMPLER_WINDOW_NS) {
		share->start_ns = now;
		share->files = share->deaths = share->starts = 0;
	}
	return share;
}

/* Is there room in the share? CPUs may meet here, and then a few more are let through, or counted once too little. */
#define SHARE_TAKE(share, what, limit)                                    \
	({                                                                \
		bool has_ = (share) && (share)->what < (limit);           \
		if (has_)                                                 \
			__sync_fetch_and_add(&(share)->what, 1);          \
		else if (share)                                           \
			__sync_fetch_and_add(&(share)->what##_untold, 1); \
		has_;                                                     \
	})

/*
 * The number of a file; the loader is told of it once. The wake-up is one self-interrupt per module, not per
 * sample. Not static, as mapping_find().
 */
__noinline u32 module_number(struct place *place, struct sampler_counters *counts, u32 tgid)
{
	struct sampler_module_event *event;
	struct sampler_share *share;
	u32 *known, number;

	if (!place || !counts)
		return SAMPLER_UNTOLD;
	known = bpf_map_lookup_elem(&announced, &place->id);
	if (known)
		return *known;
	share = share_of(place->user);
	event = SHARE_TAKE(share, files, SAMPLER_WINDOW_FILES) ?
			bpf_ringbuf_reserve(&events, sizeof(*event), 0) :
			NULL;
	if (!event) {
		counts->n[SAMPLER_EVENTS_LOST]++;
		return SAMPLER_UNTOLD;
	}
	number = __sync_fetch_and_add(&last_number, 1);
	if (bpf_map_update_elem(&announced, &place->id, &number, BPF_NOEXIST)) {
		/* Another CPU was faster, or there is no room. */
		known = bpf_map_lookup_elem(&announced, &place->id);
		bpf_ringbuf_discard(event, 0);
		return known ? *known : SAMPLER_UNTOLD;
	}
	event_fill(&event->event, SAMPLER_EVENT_MODULE, tgid, place->user);
	event->event.module = place->id;
	event->event.module.size = size_of(place->file);
	event->event.number = number;
	event->event.start = place->start;
	event->event.end = place->end;
	path_read(place->file, event);
	bpf_ringbuf_submit(event, 0);
	return number;
}

/* Step 2a, the second way: somebody wrote to this address space, but not to this mapping. */
static __always_inline bool is_untouched(struct mm_struct *mm, const struct sampler_cached *cached)
{
	return has_lock_sequence() && lock_sequence_of(cached->mapping) == cached->lock_sequence &&
	       KERNEL_READ(cached->mapping, struct vm_area_struct, vm_mm) == mm &&
	       KERNEL_READ(cached->mapping, struct vm_area_struct, vm_start) == cached->start &&
	       KERNEL_READ(cached->mapping, struct vm_area_struct, vm_end) ==
		       cached->start + ((u64)cached->n_pages << control.page_shift);
}

static __always_inline bool is_cached(struct mm_struct *mm, struct sampler_cached *cached, u64 process,
				      u64 ip)
{
	u32 sequence;

	if (!has_sequence() || control.no_cache || cached->process != process ||
	    cached->flushes != control.cache_flushes ||
	    ip - cached->start >= (u64)cached->n_pages << control.page_shift)
		return false;
	sequence = sequence_of(mm);
	if (is_being_written(mm, sequence))
		return is_untouched(mm, cached);
	if (cached->sequence != sequence && !is_untouched(mm, cached))
		return false;
	cached->sequence = sequence;
	return true;
}

static __always_inline void cached_fill(struct sampler_cached *cached, u64 process, const struct place *place,
					u32 module)
{
	cached->start = place->start;
	cached->mapping = place->mapping;
	cached->process = process;
	cached->n_pages = (place->end - place->start) >> control.page_shift;
	cached->lock_sequence = place->lock_sequence;
	cached->sequence = place->sequence;
	cached->flushes = control.cache_flushes;
	cached->module = module;
	cached->user = place->user;
	cached->base = place->base;
	cached->is_code = place->is_code;
}

/* Steps 2a to 2c. Return: SAMPLER_ATTRIBUTED with @key filled, or the cause. */
static __always_inline u32 module_find(struct run *run, u64 ip, struct sampler_key *key)
{
	struct task_struct *task = run->task;
	struct mm_struct *mm = task->mm;
	struct place place = { 0 };
	/* Read as a number, which the verifier lets us shift. */
	u64 space = kernel_read_u64((u64)task + bpf_core_field_offset(struct task_struct, mm));
	u64 process = ((u64)task->tgid << 32 | (u32)task->self_exec_id) ^ space << 12;
	u32 hash = (u32)(ip >> CACHED_BITS) * 2654435761u ^ (u32)task->tgid * 40503u, cause;
	struct sampler_cached *cached = &run->state->cache[(hash ^ hash >> 16) & (SAMPLER_CACHED - 2)];

	if (!mm)
		return SAMPLER_NO_MAPPING;
	for (u32 way = 0; way < 2; way++)
		if (is_cached(mm, &cached[way], process, ip)) {
			run->counts->n[SAMPLER_CACHE_HITS]++;
			key->module = cached[way].module;
			key->user = cached[way].user;
			key->offset = ip - cached[way].base;
			run->is_code = cached[way].is_code;
			return SAMPLER_ATTRIBUTED;
		}
	/* First, so that the CPU need not wait for these lines of memory and for the mapping's one after the other. */
	place.user = user_of(task);
	cause = place_find(task, mm, ip, &place);
	if (cause != SAMPLER_ATTRIBUTED)
		return cause;
	key->module = place.kind ? place.kind : module_number(&place, run->counts, task->tgid);
	key->user = place.user;
	key->offset = ip - place.base;
	run->is_code = place.is_code;
	/* A file that nobody could be told of is tried again. */
	if (key->module != SAMPLER_UNTOLD)
		cached_fill(&cached[run->state->n_cached++ & 1], process, &place, key->module);
	return SAMPLER_ATTRIBUTED;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

/*
 * owners.bpf.h - whose time it was: one more for the process' name in its cgroup
 */

#include "monitor/bpf/rows.bpf.h"

#define GROUP_DEPTH 24 /* directories of a cgroup's path */

static __always_inline struct kernfs_node *kernfs_parent(struct kernfs_node *node)
{
	if (bpf_core_field_exists(struct kernfs_node___6_15, __parent))
		return BPF_CORE_READ((struct kernfs_node___6_15 *)node, __parent);
	return BPF_CORE_READ((struct kernfs_node___old *)node, parent);
}

/* The names from the cgroup up to the root, which has none. */
static __always_inline void group_path_read(struct task_struct *task, struct sampler_module_event *event)
{
	struct kernfs_node *node = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn);
	u32 at = 0;

	event->path_bytes = 0;
	for (int i = 0; i < GROUP_DEPTH; i++) {
		struct kernfs_node *parent = kernfs_parent(node);
		long n;

		if (!parent) {
			event->path_bytes = at;
			return;
		}
		if (at >= SAMPLER_PATH_BYTES - SAMPLER_NAME_BYTES)
			return;
		n = bpf_probe_read_kernel_str(event->path + at, SAMPLER_NAME_BYTES,
					      BPF_CORE_READ(node, name));
		if (n <= 0)
			return;
		at += n & (2 * SAMPLER_NAME_BYTES - 1);
		node = parent;
	}
}

/* The number of a group; the loader is told of it once, as of files. Not static, as mapping_find(). */
__noinline u32 group_number(struct sampler_counters *counts)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	struct sampler_group group = { .cgroup = bpf_get_current_cgroup_id(), .user = user_of(task) };
	struct sampler_module_event *event;
	struct sampler_share *share;
	u32 *known = bpf_map_lookup_elem(&groups, &group), number;

	if (known)
		return *known;
	if (!counts)
		return 0;
	share = share_of(group.user);
	event = SHARE_TAKE(share, files, SAMPLER_WINDOW_FILES) ?
			bpf_ringbuf_reserve(&events, sizeof(*event), 0) :
			NULL;
	if (!event) {
		counts->n[SAMPLER_EVENTS_LOST]++;
		return 0;
	}
	number = __sync_fetch_and_add(&last_group, 1) + 1;
	if (bpf_map_update_elem(&groups, &group, &number, BPF_NOEXIST)) {
		known = bpf_map_lookup_elem(&groups, &group);
		bpf_ringbuf_discard(event, 0);
		return known ? *known : 0;
	}
	event_fill(&event->event, SAMPLER_EVENT_GROUP, task->tgid, group.user);
	event->event.number = number;
	group_path_read(task, event);
	bpf_ringbuf_submit(event, 0);
	return number;
}

/* Who has the same credentials and cgroups as before is in the same group; all is looked at again after a drain. */
static __always_inline u32 group_find(struct run *run)
{
	u64 task = (u64)run->task;
	u64 process = (u64)run->task->tgid << 32 | (u32)run->task->self_exec_id;
	u64 credentials = kernel_read_u64(task + bpf_core_field_offset(struct task_struct, cred));
	u64 cgroups = kernel_read_u64(task + bpf_core_field_offset(struct task_struct, cgroups));
	u32 at = (u32)run->task->tgid * 2654435761u >> 16 & (SAMPLER_OWNERS_CACHED - 1);
	struct sampler_owner_cached *cached = &run->state->owners[at];

	if (cached->group && cached->process == process && cached->credentials == credentials &&
	    cached->cgroups == cgroups && cached->flushes == control.cache_flushes)
		return cached->group;
	cached->group = group_number(run->counts);
	cached->process = process;
	cached->credentials = credentials;
	cached->cgroups = cgroups;
	cached->flushes = control.cache_flushes;
	return cached->group;
}

static __always_inline void owner_sample(struct run *run)
{
	struct sampler_key key = { 0 };

	bpf_get_current_comm(&key, SAMPLER_COMM_BYTES);
	key.module = run->task->mm ? SAMPLER_OWNER : SAMPLER_KERNEL_OWNER;
	key.user = group_find(run);
	if (!row_add(run, bucket_find(run, key.rest ^ key.offset ^ (u64)key.user << 32), &key))
		run->counts->n[SAMPLER_OWNER_FULL]++;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

/*
 * lifecycle.bpf.h - starts and ends of programs that are watched
 *
 * Hooked only once there is a program to watch: on a machine that starts a thousand programs per second they would
 * cost as much as the tick.
 */

#include "monitor/bpf/identity.bpf.h"
#include "monitor/bpf/module.bpf.h"

static __always_inline bool is_watched(const struct sampler_file *file)
{
	/* Without the device: the loader knows st_dev only, which may differ. Which file it really was is in the event. */
	struct sampler_inode key = { .inode = file->inode, .generation = file->generation };

	if (bpf_map_lookup_elem(&watched, &key))
		return true;
	key.generation = 0; /* many file systems do not tell it */
	return bpf_map_lookup_elem(&watched, &key) != NULL;
}

/* Persons' programs get half of the ring at most. */
static __always_inline bool has_room(u32 user)
{
	return user < FIRST_PERSON || bpf_ringbuf_query(&life_events, BPF_RB_AVAIL_DATA) < LIFE_RESERVE_BYTES;
}

/* Nobody waits for what is only counted: it is read at the next drain, or before the ring gets full. */
static __always_inline u64 wake_flag(void)
{
	return bpf_ringbuf_query(&life_events, BPF_RB_AVAIL_DATA) < LIFE_WAKE_BYTES ? BPF_RB_NO_WAKEUP :
										      BPF_RB_FORCE_WAKEUP;
}

static __always_inline void lifecycle_submit(const struct sampler_event *filled)
{
	struct sampler_share *share = share_of(filled->user);
	struct sampler_event *event;

	if (!SHARE_TAKE(share, starts, SAMPLER_WINDOW_STARTS))
		return;
	event = has_room(filled->user) ? bpf_ringbuf_reserve(&life_events, sizeof(*event), 0) : NULL;
	if (!event) {
		__sync_fetch_and_add(&share->starts_untold, 1);
		return;
	}
	*event = *filled;
	bpf_ringbuf_submit(event, wake_flag());
}

SEC("tp_btf/sched_process_exec")
int on_exec(u64 *context)
{
	struct task_struct *task = (void *)context[0];
	struct linux_binprm *program = (void *)context[2];
	struct started started = { 0 };
	struct sampler_event event;
	u32 tgid = task->tgid;

	file_read(program->file, task, &started.file);
	started.file.size = size_of(program->file);
	if (!is_watched(&started.file)) {
		bpf_map_delete_elem(&running, &tgid); /* what it was before */
		return 0;
	}
	started.user = user_of(task);
	bpf_map_update_elem(&running, &tgid, &started, BPF_ANY);
	event_fill(&event, SAMPLER_EVENT_EXEC, tgid, started.user);
	event.module = started.file;
	lifecycle_submit(&event);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int on_exit(u64 *context)
{
	struct task_struct *task = (void *)context[0];
	u32 tgid = task->tgid;
	struct started *started;
	struct sampler_event event;

	if (task->pid != (int)tgid)
		return 0;
	started = bpf_map_lookup_elem(&running, &tgid);
	if (!started)
		return 0;
	event_fill(&event, SAMPLER_EVENT_EXIT, tgid, started->user);
	event.module = started->file;
	event.exit_code = task->exit_code;
	lifecycle_submit(&event);
	bpf_map_delete_elem(&running, &tgid);
	return 0;
}

/* ILL, TRAP, ABRT, BUS, FPE, SEGV, SYS: a program that dies of these did not mean to. */
#define SIGNAL_ABORT 6
#define CRASH_SIGNALS (1u << 4 | 1u << 5 | 1u << SIGNAL_ABORT | 1u << 7 | 1u << 8 | 1u << 11 | 1u << 31)
#define CODE_TKILL (-6) /* SI_TKILL */

/* The process' number in its own PID namespace, which is what the sender of a signal is called by. */
static __always_inline int own_number(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, group_leader, thread_pid);
	u32 level = BPF_CORE_READ(pid, level);
	u64 at = (u64)pid + bpf_core_field_offset(struct pid, numbers) +
		 (u64)level * bpf_core_type_size(struct upid);
	int number = 0;

	bpf_probe_read_kernel(&number, sizeof(number), (void *)(at + bpf_core_field_offset(struct upid, nr)));
	return number;
}

/* Did the kernel raise it for what an instruction did, or the program itself by abort(3)? Nobody's kill(2) counts. */
static __always_inline bool is_own_fault(struct task_struct *task, u32 signal, struct kernel_siginfo *info,
					 s32 *retcode)
{
	s32 code = BPF_CORE_READ(info, si_code);

	*retcode = code;
	if (code > 0)
		return true;
	return signal == SIGNAL_ABORT && code == CODE_TKILL &&
	       BPF_CORE_READ(info, _sifields._kill._pid) == own_number(task);
}

/* Who started it: a service that gave up root is still root's, and so are the processes that it forked. */
static __always_inline u32 starter_of(struct task_struct *task, const struct sampler_file *file)
{
	struct task_struct *at = task;

	for (int i = 0; i < MAX_ANCESTORS; i++) {
		u32 tgid = BPF_CORE_READ(at, tgid);
		struct started *started = bpf_map_lookup_elem(&running, &tgid);

		if (started && started->file.inode == file->inode && started->file.device == file->device)
			return started->user;
		at = BPF_CORE_READ(at, real_parent);
	}
	return user_of(task);
}

/* Steps: whose is it, is there room, where was it. */
static __always_inline void death_submit(struct task_struct *task, struct mm_struct *mm, u32 signal, s32 code)
{
	struct pt_regs *regs = (void *)bpf_task_pt_regs(task);
	struct sampler_module_event *event;
	struct sampler_file program = { 0 };
	struct sampler_share *share;
	struct place place = { 0 };
	u32 user;
	u64 ip;

	file_read(mm->exe_file, task, &program);
	program.size = size_of(mm->exe_file);
	user = starter_of(task, &program);
	share = share_of(user);
	if (!SHARE_TAKE(share, deaths, SAMPLER_WINDOW_DEATHS))
		return;
	event = has_room(user) ? bpf_ringbuf_reserve(&life_events, sizeof(*event), 0) : NULL;
	if (!event) {
		__sync_fetch_and_add(&share->deaths_untold, 1);
		return;
	}
	event_fill(&event->event, SAMPLER_EVENT_SIGNAL, task->tgid, user);
	event->event.module = program;
	event->event.signal = signal;
	event->event.code = code;
	path_read(mm->exe_file, event);
	ip = KERNEL_READ(regs, struct pt_regs___kernel, REGS_IP);
	if (place_find(task, mm, ip, &place) == SAMPLER_ATTRIBUTED && !place.kind) {
		event->event.fault = place.id;
		event->event.fault.size = size_of(place.file);
		event->event.fault_offset = ip - place.base;
	}
	/* The ring itself wakes only who has read all that was there before. */
	bpf_ringbuf_submit(event, BPF_RB_FORCE_WAKEUP);
}

SEC("raw_tp/signal_deliver")
int on_signal(struct bpf_raw_tracepoint_args *context)
{
	u32 signal = (u32)context->args[0];
	struct kernel_siginfo *info = (void *)context->args[1];
	struct k_sigaction *action = (void *)context->args[2];
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	struct mm_struct *mm = task->mm;
	s32 code = 0;

	if (signal > 31 || !(CRASH_SIGNALS >> signal & 1) || !mm || BPF_CORE_READ(action, sa.sa_handler))
		return 0;
	if (is_own_fault(task, signal, info, &code))
		death_submit(task, mm, signal, code);
	return 0;
}

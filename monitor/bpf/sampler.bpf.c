// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0

/*
 * The sampler's kernel side. For each clock event:
 *
 *	1. classify: idle, kernel, user; count it
 *	2. user: find the mapping at the instruction pointer without any lock:
 *	   a. per-CPU cache of ranges, valid while the address space's sequence number stands still, or
 *	      while the mapping itself was not written to (its own lock sequence stands still)
 *	   b. else walk the maple tree of mappings under RCU, and read the mapping and its file
 *	   c. believe it only if nobody is writing to this mapping, before and after; this is what the
 *	      kernel's page fault handler does before it takes a mapping's own lock
 *	3. add one to the table row (device, inode, generation, offset); some samples leave their registers
 *	4. where asked for: add one to the row of whose time it was; leave the calls that led here
 *
 * A tick finds every cache cold, so what counts is how many lines and pages are touched: tables are per
 * CPU and flat, kernel structures are read in place.
 *
 * No helper used here takes a lock that can wait or sends an interrupt; none but step 4's, for calls, reads user memory.
 * Every way out counts exactly one cause, so that the law in sampler.h holds at any moment between two events.
 *
 * Tables and counters exist twice; `epoch` says which of the two an event uses, from its beginning to its
 * end. To drain, the loader changes the epoch and then updates a map of maps, which makes it wait for an
 * RCU grace period: no program can still be using the old ones, so a drain loses nothing, and the
 * counters that belong to exactly these rows must agree with them.
 */

#include "monitor/bpf/lifecycle.bpf.h"
#include "monitor/bpf/owners.bpf.h"
#include "monitor/bpf/stacks.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Some runs time themselves, from their first instruction on. */
static __always_inline u64 timed_start(void)
{
	return (u32)bpf_jiffies64() % TIMED_EVERY ? 0 : bpf_ktime_get_ns();
}

static __always_inline bool run_begin(u32 table, struct run *run)
{
	u32 kind = table & (SAMPLER_TABLES - 1), epoch = control.epoch[kind] & (SAMPLER_EPOCHS - 1);
	u32 set = kind * SAMPLER_EPOCHS + epoch, at = bpf_get_smp_processor_id() * SAMPLER_TABLES + kind;

	run->epoch = epoch;
	run->n_buckets = control.n_buckets[kind];
	run->n_moved = control.n_moved[kind];
	run->bucket_base = control.bucket_base[set];
	run->moved_base = control.moved_base[set];
	run->state = bpf_map_lookup_elem(&states, &at);
	if (!run->state)
		return false;
	run->counts = &run->state->counters[epoch];
	return true;
}

/* Step 4. */
static __always_inline void sample_further(struct run *run, void *context, bool is_main, bool is_user, u64 ip)
{
	if (takes_owners)
		owner_sample(run);
	if (takes_stacks && is_main)
		stack_take(run, context, is_user, ip);
}

/* Steps 1 to 4. */
static __always_inline int sample(struct run *run, void *context, bool is_main, bool is_user, u64 ip)
{
	run->counts->n[SAMPLER_FIRED]++;
	if (is_user) {
		run->counts->n[SAMPLER_USER_MODE]++;
		user_sample(run, ip);
	} else if (run->task->pid == 0) {
		if (!control.initial_namespaces)
			control.initial_namespaces = kernel_read_u64(
				(u64)run->task + bpf_core_field_offset(struct task_struct, nsproxy));
		run->counts->n[SAMPLER_IDLE]++;
	} else {
		run->counts->n[SAMPLER_KERNEL_MODE]++;
		kernel_sample(run, ip);
	}
	if (is_user || run->task->pid)
		sample_further(run, context, is_main, is_user, ip);
	if (run->start_ns) {
		run->counts->n[SAMPLER_TIMED]++;
		run->counts->n[SAMPLER_TIMED_NS] += bpf_ktime_get_ns() - run->start_ns;
	}
	return 0;
}

/* --- clocks --------------------------------------------------------------------------------------- */

/* A perf event: the reference, a burst, or the main clock where there is no tick to hook. */
SEC("perf_event")
int on_clock(struct bpf_perf_event_data *context)
{
	struct run run = { .start_ns = timed_start(), .task = (void *)bpf_get_current_task_btf() };

	if (!run_begin(control.clock_table, &run))
		return 0;
	return sample(&run, context, control.clock_table == SAMPLER_MAIN,
		      REGS_MODE_IS_USER(CONTEXT_MODE(&context->regs)), CONTEXT_IP(&context->regs));
}

/*
 * The registers that the timer interrupt found, from the per-CPU pointer __irq_regs. Its address is
 * not exported; it lies at a fixed distance from hrtimer_bases, which the timer itself points to.
 */
static __always_inline bool irq_regs_read(struct hrtimer *timer, u64 *retregs, u64 *retip, bool *retuser)
{
	/*
	 * Read as a number: the verifier would not let an unknown distance be added to a pointer. Both loads are
	 * of what the timer's own code has just used.
	 */
	u64 regs =
		kernel_read_u64(kernel_read_u64((u64)timer->base +
						bpf_core_field_offset(struct hrtimer_clock_base, cpu_base)) +
				control.irq_regs_distance);

	if (!regs)
		return false;
	*retregs = regs;
	*retip = KERNEL_READ(regs, struct pt_regs___kernel, REGS_IP);
	*retuser = REGS_MODE_IS_USER(KERNEL_READ(regs, struct pt_regs___kernel, REGS_MODE));
	return true;
}

/*
 * Without __irq_regs: the task's saved user registers. They are the interrupted ones when the
 * interrupt came in user mode; in a system call they are those of the call, which has a number >= 0.
 */
static __always_inline void task_regs_read(struct task_struct *task, u64 *retregs, u64 *retip, bool *retuser)
{
	u64 regs = (u64)bpf_task_pt_regs(task);

	*retip = 0;
	*retuser = false;
	if (!task->mm || !regs)
		return;
#if defined(__TARGET_ARCH_x86)
	if ((long)KERNEL_READ(regs, struct pt_regs___kernel, orig_ax) >= 0)
		return;
#endif
	*retregs = regs;
	*retip = KERNEL_READ(regs, struct pt_regs___kernel, REGS_IP);
	*retuser = true;
}

/* The scheduler's tick is an hrtimer like others: told apart by its handler. */
SEC("tp_btf/hrtimer_expire_entry")
int on_tick(u64 *context)
{
	struct hrtimer *timer = (void *)context[0];
	u32 divisor = control.tick_divisor;
	bool is_user = false;
	struct run run = { 0 };
	u64 ip = 0;

	if ((u64)timer->function != control.tick_function)
		return 0;
	run.start_ns = timed_start();
	if (!run_begin(SAMPLER_MAIN, &run))
		return 0;
	if (divisor > 1 && ++run.state->ticks % divisor)
		return 0;
	run.task = (void *)bpf_get_current_task_btf();
	if (!control.irq_regs_distance || !irq_regs_read(timer, &run.registers, &ip, &is_user))
		task_regs_read(run.task, &run.registers, &ip, &is_user);
	return sample(&run, context, true, is_user, ip);
}

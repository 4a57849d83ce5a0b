// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0

/*
 * The sampler's kernel side. For each clock event:
 *
 *	1. classify: idle, kernel, user; count it
 *	2. user: find the mapping at the instruction pointer without any lock:
 *	   a. per-CPU cache of ranges, valid while the address space's sequence number stands still
 *	   b. else walk the maple tree of mappings under RCU, and read the mapping's file
 *	   c. believe it only if the sequence number is even and did not move meanwhile
 *	3. add one to the table row (device, inode, generation, offset)
 *
 * No helper used here takes a lock that can wait, sends an interrupt, or reads user memory. Every way
 * out counts exactly one cause, so that the law in sampler.h holds at any moment between two events.
 *
 * Rows and counters exist twice; `epoch` says which of the two an event uses, from its beginning to its
 * end. To drain, the loader changes the epoch and then updates the map of maps, which makes it wait for
 * an RCU grace period: no program can still be using the old ones, so a drain loses nothing, and the
 * counters that belong to exactly these rows must agree with them.
 */

#include "monitor/kernel.bpf.h"
#include "monitor/sampler.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define N_CACHED 256u
#define NODE_WORDS 32
#define MAX_LEVELS 6
#define TIMED_MASK 63
#define MAX_MODULES 65536
#define MAX_WATCHED 4096
#define EVENT_RING_BYTES (256 * 1024)

/* include/linux/maple_tree.h: type in bits 3..6 of a node pointer, nodes aligned to 256 bytes */
#define NODE_MASK (~255ull)
#define NODE_TYPE(entry) ((entry) >> 3 & 15)
#define NODE_LEAF_64 1
#define NODE_RANGE_64 2
#define NODE_ARANGE_64 3
#define ROOT_TAG 2
#define LOWEST_POINTER 4096

/* Set by the loader before loading. */
const volatile __u64 tick_function = 0;	  /* address of the tick's hrtimer handler */
const volatile __s32 irq_regs_distance = 0; /* __irq_regs - hrtimer_bases in the per-CPU area; 0: unknown */
const volatile __u32 clock_table = SAMPLER_REFERENCE; /* which table the clock event fills */
const volatile __u32 page_shift = 12;
const volatile bool use_cache = true;

/* Set by the loader at any time. */
volatile __u32 tick_divisor = 1; /* take every n-th tick */
volatile __u32 cache_flushes = 0; /* entries of the cache from before the last one are not used */
volatile __u32 epoch[SAMPLER_TABLES] = { 0 };

struct inner_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384); /* the loader decides */
	__type(key, struct sampler_key);
	__type(value, u64);
};

/* Two for each table: one is filled, one is drained. Preallocated: no allocation in an interrupt. */
struct inner_map main_0 SEC(".maps"), main_1 SEC(".maps");
struct inner_map reference_0 SEC(".maps"), reference_1 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, SAMPLER_TABLES * SAMPLER_EPOCHS);
	__type(key, u32);
	__array(values, struct inner_map);
} tables SEC(".maps") = { .values = { &main_0, &main_1, &reference_0, &reference_1 } };

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SAMPLER_TABLES * SAMPLER_EPOCHS);
	__type(key, u32);
	__type(value, struct sampler_counters);
} counters SEC(".maps");

/* A mapping as it was when the address space had this sequence number. */
struct cached {
	u64 start, end;
	u64 exec_id; /* the PID may run another program since */
	u32 tgid, sequence;
	u64 inode;
	u32 device, generation;
	u64 base; /* address of the file's byte 0 */
	u32 flushes, unused;
};

struct scratch {
	u64 node[NODE_WORDS];
	u64 ticks;
	struct cached cache[N_CACHED];
};

/* About 16 KB per possible CPU and table. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SAMPLER_TABLES);
	__type(key, u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

/* Modules that the loader was told of. LRU: a forgotten one is only announced again. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_MODULES);
	__type(key, struct sampler_inode);
	__type(value, u32);
} announced SEC(".maps");

/* Inodes whose programs the loader wants to hear of; the device is 0 in these keys. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_WATCHED);
	__type(key, struct sampler_inode);
	__type(value, u32);
} watched SEC(".maps");

/* Running watched programs. LRU: a forgotten one ends unreported. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_MODULES);
	__type(key, u32);
	__type(value, struct sampler_inode);
} running SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, EVENT_RING_BYTES);
} events SEC(".maps");

/* What one event works with. */
struct run {
	struct task_struct *task;
	struct scratch *scratch;
	struct sampler_counters *counts;
	u32 set; /* index into tables and counters */
};

/* What step 2 finds out. */
struct place {
	u64 start, end;
	struct sampler_inode inode;
	u64 base;
	struct file *file;
};

/* --- step 2: which mapping? ----------------------------------------------------------------------- */

/*
 * How can we know that nothing changed meanwhile? Since Linux 6.14 mm_lock_seq is a sequence count, odd
 * while someone writes. Since 6.4 it is an int that counts finished writers; the lock word tells of
 * running ones. In 6.1 to 6.3 it does not exist: then no cache, and lock word and range must do.
 */
static __always_inline bool has_sequence(void)
{
	return bpf_core_field_exists(struct mm_struct___6_14, mm_lock_seq) ||
	       bpf_core_field_exists(struct mm_struct___6_4, mm_lock_seq);
}

static __always_inline u32 sequence_of(struct mm_struct *mm)
{
	if (bpf_core_field_exists(struct mm_struct___6_14, mm_lock_seq))
		return *(volatile u32 *)&((struct mm_struct___6_14 *)mm)->mm_lock_seq.sequence;
	if (bpf_core_field_exists(struct mm_struct___6_4, mm_lock_seq))
		return *(volatile u32 *)&((struct mm_struct___6_4 *)mm)->mm_lock_seq;
	return 0;
}

/* Is someone changing this address space right now? */
static __always_inline bool is_being_written(struct mm_struct *mm, u32 sequence)
{
	if (bpf_core_field_exists(struct mm_struct___6_14, mm_lock_seq))
		return sequence & 1;
	return *(volatile long *)&mm->mmap_lock.count.counter & 1; /* RWSEM_WRITER_LOCKED */
}

/* Slot of the child or mapping for @ip in the node that was read into @node. */
static __always_inline u64 slot_find(const u64 *node, u32 type, u64 ip)
{
	int i;

	/* word 0 is the parent; then the pivots, the largest index of each slot; 0 ends them early */
	if (type == NODE_ARANGE_64) {
#pragma unroll
		for (i = 0; i < 9; i++)
			if (node[1 + i] >= ip || (i && !node[1 + i]))
				break;
		return node[10 + (i & 15)];
	}
#pragma unroll
	for (i = 0; i < 15; i++)
		if (node[1 + i] >= ip || (i && !node[1 + i]))
			break;
	return node[16 + (i & 15)];
}

static __always_inline struct vm_area_struct *mapping_find(struct mm_struct *mm, u64 ip, u64 *node)
{
	u64 entry = 0;

	bpf_probe_read_kernel(&entry, sizeof(entry),
			      (void *)mm + bpf_core_field_offset(struct mm_struct, mm_mt.ma_root));
	if ((entry & 3) != ROOT_TAG)
		return NULL;
	for (int level = 0; level < MAX_LEVELS; level++) {
		u32 type = NODE_TYPE(entry);

		if (entry <= LOWEST_POINTER || type < NODE_LEAF_64 || type > NODE_ARANGE_64)
			return NULL;
		if (bpf_probe_read_kernel(node, NODE_WORDS * sizeof(u64), (void *)(entry & NODE_MASK)))
			return NULL;
		entry = slot_find(node, type, ip);
		if (type == NODE_LEAF_64)
			return (struct vm_area_struct *)entry;
	}
	return NULL;
}

static __always_inline void inode_read(struct file *file, struct sampler_inode *ret)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);

	ret->inode = BPF_CORE_READ(inode, i_ino);
	ret->generation = BPF_CORE_READ(inode, i_generation);
	ret->device = BPF_CORE_READ(inode, i_sb, s_dev);
}

/* Step 2b. Return: SAMPLER_ATTRIBUTED when @ret is filled, else the counter of what went wrong. */
static __always_inline u32 place_find(struct mm_struct *mm, u64 ip, u64 *node, struct place *ret)
{
	struct vm_area_struct *mapping = mapping_find(mm, ip, node);
	void *vdso = mm->context.vdso;

	if (!mapping)
		return SAMPLER_NO_MAPPING;
	ret->start = BPF_CORE_READ(mapping, vm_start);
	ret->end = BPF_CORE_READ(mapping, vm_end);
	ret->base = ret->start - (BPF_CORE_READ(mapping, vm_pgoff) << page_shift);
	ret->file = BPF_CORE_READ(mapping, vm_file);
	if (ip < ret->start || ip >= ret->end)
		return SAMPLER_NO_MAPPING;
	if (ret->file) {
		inode_read(ret->file, &ret->inode);
	} else if (ret->start == (u64)vdso) {
		ret->inode = (struct sampler_inode){ .generation = SAMPLER_VDSO };
		ret->base = ret->start;
	} else {
		ret->inode = (struct sampler_inode){ .generation = SAMPLER_ANONYMOUS };
	}
	return SAMPLER_ATTRIBUTED;
}

/* The names from the file up to the root of its mount namespace, for a module that is new. */
static __always_inline void path_read(struct file *file, struct sampler_module_event *event)
{
	struct dentry *dentry = BPF_CORE_READ(file, f_path.dentry);
	struct vfsmount *mount = BPF_CORE_READ(file, f_path.mnt);
	u32 at = 0;

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
		if (dentry == parent || at > SAMPLER_PATH_BYTES - SAMPLER_NAME_BYTES)
			return;
		n = bpf_probe_read_kernel_str(event->path + at, SAMPLER_NAME_BYTES,
					      BPF_CORE_READ(dentry, d_name.name));
		if (n <= 0)
			return;
		at += n & (2 * SAMPLER_NAME_BYTES - 1);
		dentry = parent;
	}
}

static __always_inline void event_fill(struct sampler_event *event, u32 type, u32 tgid)
{
	__builtin_memset(event, 0, sizeof(*event));
	event->type = type;
	event->tgid = tgid;
	event->time_ns = bpf_ktime_get_ns();
	bpf_get_current_comm(event->comm, sizeof(event->comm));
}

/* Tell the loader of a module, once. The wake-up is one self-interrupt per module, not per sample. */
static __noinline int module_announce(struct place *place, struct sampler_counters *counts, u32 tgid)
{
	struct sampler_module_event *event;
	u32 one = 1;

	if (!place || !counts || bpf_map_lookup_elem(&announced, &place->inode))
		return 0;
	event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
	if (!event) {
		counts->n[SAMPLER_EVENTS_LOST]++;
		return 0;
	}
	bpf_map_update_elem(&announced, &place->inode, &one, BPF_ANY);
	event_fill(&event->event, SAMPLER_EVENT_MODULE, tgid);
	event->event.module = place->inode;
	event->event.start = place->start;
	event->event.end = place->end;
	path_read(place->file, event);
	bpf_ringbuf_submit(event, 0);
	return 0;
}

static __always_inline void key_fill(const struct sampler_inode *inode, u64 offset,
				     struct sampler_key *key)
{
	key->inode = inode->inode;
	key->device = inode->device;
	key->generation = inode->generation;
	key->offset = offset;
}

/* Steps 2a to 2c. Return: SAMPLER_ATTRIBUTED with @key filled, or the cause. */
static __always_inline u32 module_find(struct run *run, u64 ip, struct sampler_key *key)
{
	struct task_struct *task = run->task;
	struct mm_struct *mm = task->mm;
	struct place place = { 0 };
	u32 tgid = task->tgid, sequence, cause, slot;
	struct cached *cached;

	if (!mm)
		return SAMPLER_NO_MAPPING;
	sequence = sequence_of(mm);
	slot = (u32)(ip >> 20) * 2654435761u ^ tgid * 40503u;
	cached = &run->scratch->cache[(slot ^ slot >> 16) & (N_CACHED - 1)];
	if (has_sequence() && use_cache && cached->tgid == tgid &&
	    cached->sequence == sequence && cached->exec_id == task->self_exec_id &&
	    cached->flushes == cache_flushes && ip >= cached->start && ip < cached->end &&
	    !is_being_written(mm, sequence)) {
		run->counts->n[SAMPLER_CACHE_HITS]++;
		key->inode = cached->inode;
		key->device = cached->device;
		key->generation = cached->generation;
		key->offset = ip - cached->base;
		return SAMPLER_ATTRIBUTED;
	}
	if (is_being_written(mm, sequence))
		return SAMPLER_RACE;
	cause = place_find(mm, ip, run->scratch->node, &place);
	if (sequence_of(mm) != sequence || is_being_written(mm, sequence))
		return SAMPLER_RACE;
	if (cause != SAMPLER_ATTRIBUTED)
		return cause;
	cached->start = place.start;
	cached->end = place.end;
	cached->exec_id = task->self_exec_id;
	cached->tgid = tgid;
	cached->sequence = sequence;
	cached->inode = place.inode.inode;
	cached->device = place.inode.device;
	cached->generation = place.inode.generation;
	cached->base = place.base;
	cached->flushes = cache_flushes;
	if (place.inode.device)
		module_announce(&place, run->counts, tgid);
	key_fill(&place.inode, ip - place.base, key);
	return SAMPLER_ATTRIBUTED;
}

/* --- step 3 --------------------------------------------------------------------------------------- */

static __always_inline bool row_add(u32 set, const struct sampler_key *key)
{
	void *rows = bpf_map_lookup_elem(&tables, &set);
	u64 one = 1, *count;

	if (!rows)
		return false;
	count = bpf_map_lookup_elem(rows, key);
	if (!count && bpf_map_update_elem(rows, key, &one, BPF_NOEXIST) == 0)
		return true;
	if (!count)
		count = bpf_map_lookup_elem(rows, key); /* another CPU was faster */
	if (!count)
		return false;
	__sync_fetch_and_add(count, 1);
	return true;
}

static __always_inline void user_sample(struct run *run, u64 ip)
{
	struct sampler_key key = { 0 };
	u32 cause = module_find(run, ip, &key);
	bool is_anonymous = !key.device && key.generation == SAMPLER_ANONYMOUS;

	if (cause == SAMPLER_NO_MAPPING) {
		run->counts->n[SAMPLER_NO_MAPPING]++;
		return;
	}
	if (cause == SAMPLER_RACE) {
		run->counts->n[SAMPLER_RACE]++;
		return;
	}
	if (is_anonymous)
		bpf_get_current_comm(&key, SAMPLER_COMM_BYTES);
	if (!row_add(run->set, &key))
		run->counts->n[SAMPLER_USER_FULL]++;
	else if (is_anonymous)
		run->counts->n[SAMPLER_ANONYMOUS_CODE]++;
	else
		run->counts->n[SAMPLER_ATTRIBUTED]++;
}

/* @ip 0: nobody knows where */
static __always_inline void kernel_sample(struct run *run, u64 ip)
{
	struct sampler_key key = { .generation = SAMPLER_KERNEL, .offset = ip };

	if (row_add(run->set, &key))
		run->counts->n[SAMPLER_KERNEL_STORED]++;
	else
		run->counts->n[SAMPLER_KERNEL_FULL]++;
}

static __always_inline bool run_begin(u32 table, struct run *run)
{
	u32 at = table & (SAMPLER_TABLES - 1);

	run->set = at * SAMPLER_EPOCHS + (epoch[at] & (SAMPLER_EPOCHS - 1));
	run->scratch = bpf_map_lookup_elem(&scratches, &at);
	run->counts = bpf_map_lookup_elem(&counters, &run->set);
	return run->scratch && run->counts;
}

/* Steps 1 to 3. */
static __always_inline int sample(struct run *run, bool is_user, u64 ip)
{
	bool is_timed = (run->counts->n[SAMPLER_FIRED] & TIMED_MASK) == 0;
	u64 start = is_timed ? bpf_ktime_get_ns() : 0;

	run->counts->n[SAMPLER_FIRED]++;
	if (is_user) {
		run->counts->n[SAMPLER_USER_MODE]++;
		user_sample(run, ip);
	} else if (run->task->pid == 0) {
		run->counts->n[SAMPLER_IDLE]++;
	} else {
		run->counts->n[SAMPLER_KERNEL_MODE]++;
		kernel_sample(run, ip);
	}
	if (is_timed) {
		run->counts->n[SAMPLER_TIMED]++;
		run->counts->n[SAMPLER_TIMED_NS] += bpf_ktime_get_ns() - start;
	}
	return 0;
}

/* --- clocks --------------------------------------------------------------------------------------- */

/* A perf event: the reference, a burst, or the main clock where there is no tick to hook. */
SEC("perf_event")
int on_clock(struct bpf_perf_event_data *context)
{
	struct run run = { .task = (void *)bpf_get_current_task_btf() };

	if (!run_begin(clock_table, &run))
		return 0;
	return sample(&run, REGS_MODE_IS_USER(CONTEXT_MODE(&context->regs)), CONTEXT_IP(&context->regs));
}

/*
 * The registers that the timer interrupt found, from the per-CPU pointer __irq_regs. Its address is
 * not exported; it lies at a fixed distance from hrtimer_bases, which the timer itself points to.
 */
static __always_inline bool irq_regs_read(struct hrtimer *timer, u64 *retip, bool *retuser)
{
	u64 base = (u64)BPF_CORE_READ(timer, base, cpu_base), regs = 0, mode = 0;

	if (bpf_probe_read_kernel(&regs, sizeof(regs), (void *)(base + irq_regs_distance)) || !regs)
		return false;
	if (bpf_probe_read_kernel(retip, sizeof(*retip),
				  (void *)regs + bpf_core_field_offset(struct pt_regs___kernel, REGS_IP)) ||
	    bpf_probe_read_kernel(&mode, sizeof(mode),
				  (void *)regs + bpf_core_field_offset(struct pt_regs___kernel, REGS_MODE)))
		return false;
	*retuser = REGS_MODE_IS_USER(mode);
	return true;
}

/*
 * Without __irq_regs: the task's saved user registers. They are the interrupted ones when the
 * interrupt came in user mode; in a system call they are those of the call, which has a number >= 0.
 */
static __always_inline void task_regs_read(struct task_struct *task, u64 *retip, bool *retuser)
{
	struct pt_regs *regs = (void *)bpf_task_pt_regs(task);

	*retip = 0;
	*retuser = false;
	if (!task->mm || !regs)
		return;
#if defined(__TARGET_ARCH_x86)
	long call = -1;

	bpf_probe_read_kernel(&call, sizeof(call),
			      (void *)regs + bpf_core_field_offset(struct pt_regs___kernel, orig_ax));
	if (call >= 0)
		return;
#endif
	bpf_probe_read_kernel(retip, sizeof(*retip),
			      (void *)regs + bpf_core_field_offset(struct pt_regs___kernel, REGS_IP));
	*retuser = true;
}

/* The scheduler's tick is an hrtimer like others: told apart by its handler. */
SEC("raw_tp/hrtimer_expire_entry")
int on_tick(struct bpf_raw_tracepoint_args *context)
{
	struct hrtimer *timer = (void *)context->args[0];
	u32 divisor = tick_divisor;
	bool is_user = false;
	struct run run;
	u64 ip = 0;

	if ((u64)BPF_CORE_READ(timer, function) != tick_function || !run_begin(SAMPLER_MAIN, &run))
		return 0;
	run.task = (void *)bpf_get_current_task_btf();
	if (divisor > 1 && ++run.scratch->ticks % divisor)
		return 0;
	if (!irq_regs_distance || !irq_regs_read(timer, &ip, &is_user))
		task_regs_read(run.task, &ip, &is_user);
	return sample(&run, is_user, ip);
}

/* --- lifecycle ------------------------------------------------------------------------------------ */

static __always_inline bool is_watched(const struct sampler_inode *inode)
{
	struct sampler_inode key = *inode;

	key.device = 0; /* the loader knows st_dev only, which may differ */
	return bpf_map_lookup_elem(&watched, &key) != NULL;
}

static __always_inline void lifecycle_submit(const struct sampler_event *filled)
{
	struct sampler_event *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);

	if (!event)
		return;
	*event = *filled;
	bpf_ringbuf_submit(event, 0);
}

SEC("raw_tp/sched_process_exec")
int on_exec(struct bpf_raw_tracepoint_args *context)
{
	struct task_struct *task = (void *)context->args[0];
	struct linux_binprm *program = (void *)context->args[2];
	struct sampler_inode inode = { 0 };
	struct sampler_event event;
	u32 tgid;

	inode_read(BPF_CORE_READ(program, file), &inode);
	if (!is_watched(&inode))
		return 0;
	tgid = BPF_CORE_READ(task, tgid);
	bpf_map_update_elem(&running, &tgid, &inode, BPF_ANY);
	event_fill(&event, SAMPLER_EVENT_EXEC, tgid);
	event.module = inode;
	lifecycle_submit(&event);
	return 0;
}

SEC("raw_tp/sched_process_exit")
int on_exit(struct bpf_raw_tracepoint_args *context)
{
	struct task_struct *task = (void *)context->args[0];
	u32 tgid = BPF_CORE_READ(task, tgid);
	struct sampler_inode *inode;
	struct sampler_event event;

	if (BPF_CORE_READ(task, pid) != (int)tgid)
		return 0;
	inode = bpf_map_lookup_elem(&running, &tgid);
	if (!inode)
		return 0;
	event_fill(&event, SAMPLER_EVENT_EXIT, tgid);
	event.module = *inode;
	event.exit_code = BPF_CORE_READ(task, exit_code);
	lifecycle_submit(&event);
	bpf_map_delete_elem(&running, &tgid);
	return 0;
}

/* ILL, TRAP, ABRT, BUS, FPE, SEGV, SYS: a program that dies of these did not mean to. */
#define CRASH_SIGNALS (1u << 4 | 1u << 5 | 1u << 6 | 1u << 7 | 1u << 8 | 1u << 11 | 1u << 31)

SEC("raw_tp/signal_deliver")
int on_signal(struct bpf_raw_tracepoint_args *context)
{
	u32 signal = (u32)context->args[0];
	struct k_sigaction *action = (void *)context->args[2];
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	struct pt_regs *regs = (void *)bpf_task_pt_regs(task);
	struct sampler_module_event *event;
	struct place place = { 0 };
	u64 node[NODE_WORDS], ip = 0;
	struct mm_struct *mm = task->mm;
	struct file *program;

	if (signal > 31 || !(CRASH_SIGNALS >> signal & 1) || !mm || BPF_CORE_READ(action, sa.sa_handler))
		return 0;
	event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
	if (!event)
		return 0;
	program = mm->exe_file;
	event_fill(&event->event, SAMPLER_EVENT_SIGNAL, task->tgid);
	event->event.signal = signal;
	inode_read(program, &event->event.module);
	path_read(program, event);
	bpf_probe_read_kernel(&ip, sizeof(ip),
			      (void *)regs + bpf_core_field_offset(struct pt_regs___kernel, REGS_IP));
	if (place_find(mm, ip, node, &place) == SAMPLER_ATTRIBUTED) {
		event->event.fault = place.inode;
		event->event.fault_offset = ip - place.base;
	}
	bpf_ringbuf_submit(event, 0);
	return 0;
}

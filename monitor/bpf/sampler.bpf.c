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
 *
 * A tick finds every cache cold, so what counts is how many lines and pages are touched: tables are per
 * CPU and flat, kernel structures are read in place.
 *
 * No helper used here takes a lock that can wait, sends an interrupt, or reads user memory. Every way
 * out counts exactly one cause, so that the law in sampler.h holds at any moment between two events.
 *
 * Tables and counters exist twice; `epoch` says which of the two an event uses, from its beginning to its
 * end. To drain, the loader changes the epoch and then updates a map of maps, which makes it wait for an
 * RCU grace period: no program can still be using the old ones, so a drain loses nothing, and the
 * counters that belong to exactly these rows must agree with them.
 */

#include "monitor/bpf/kernel.bpf.h"
#include "monitor/bpf/sampler.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define CACHED_BITS 23 /* of an address: mappings in the same 8 MB share a set */
#define MAX_LEVELS 6
#define MAX_ATTEMPTS 3
#define TIMED_EVERY 61 /* ticks; in step with no divisor of the tick */
#define MAX_MODULES 65536
#define MAX_WATCHED 4096
#define EVENT_RING_BYTES (256 * 1024)
#define LIFE_RING_BYTES (256 * 1024)
#define LIFE_RESERVE_BYTES (LIFE_RING_BYTES / 2) /* for root's and system accounts' programs alone */
#define MAX_SPACES 32	     /* user namespaces inside each other, as in the kernel */
#define MAX_ANCESTORS 4	     /* in which the start of a program is looked for */
#define FIRST_PERSON 1000u   /* accounts below are the system's */
#define MODE_BACKING (3u << 24) /* FMODE_BACKING of file.f_mode: bit 25, lately 24; the other means other things */
#define NAMESPACE_INTERNAL (-22l) /* MNT_NS_INTERNAL: a mount that is in nobody's tree */
#define SUPER_KERNEL (1ul << 22)  /* SB_KERNMOUNT: memfd and the like */
#define CHANGED_NS_MASK 0x3fffffffu /* the kernel keeps a flag above */

/* include/linux/maple_tree.h: type in bits 3..6 of a node pointer, nodes aligned to 256 bytes */
#define NODE_MASK (~255ull)
#define NODE_TYPE(entry) ((entry) >> 3 & 15)
#define NODE_LEAF_64 1
#define NODE_RANGE_64 2
#define NODE_ARANGE_64 3
#define ROOT_TAG 2
#define LOWEST_POINTER 4096

volatile struct sampler_control control = { 0 };

/*
 * Buckets and lists of all sets and CPUs, one after the other, mapped by the loader. A set is a table in
 * one epoch; it begins at its base and gives every possible CPU the same number of places.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* the loader decides */
	__type(key, u32);
	__type(value, struct sampler_bucket);
} buckets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* the loader decides */
	__type(key, u32);
	__type(value, struct sampler_moved);
} moved SEC(".maps");

/* The main table's, of both epochs and all CPUs, mapped by the loader. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* the loader decides */
	__type(key, u32);
	__type(value, struct sampler_snapshot);
} snapshots SEC(".maps");

/* Holds nothing; updating it is how the loader waits until no program uses the old epoch. */
struct fence_inner {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} fence_inner SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, u32);
	__array(values, struct fence_inner);
} fence SEC(".maps") = { .values = { &fence_inner } };

/*
 * Struct sampler_state of each possible CPU and table, 8 KB. A plain array of its own for each CPU's index,
 * and not a per-CPU map: it is found without a look at a table of addresses, and the loader can map it.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* the loader decides */
	__type(key, u32);
	__type(value, struct sampler_state);
} states SEC(".maps");

/* Files that the loader was told of, and their numbers. LRU: a forgotten one gets a new number. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_MODULES);
	__type(key, struct sampler_file_key);
	__type(value, u32);
} announced SEC(".maps");

/* The last number of a file that was given to one. */
__u32 last_number = SAMPLER_FIRST_FILE;

/* What each user has caused. A full one tells of no more users until the loader empties it. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, SAMPLER_MAX_USERS);
	__type(key, u32);
	__type(value, struct sampler_share);
} shares SEC(".maps");

/* Inodes whose programs the loader wants to hear of; the device is 0 in these keys. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_WATCHED);
	__type(key, struct sampler_inode);
	__type(value, u32);
} watched SEC(".maps");

/* Running watched programs, and who started them. LRU: a forgotten one ends unreported. */
struct started {
	struct sampler_file file;
	u32 user, unused;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_MODULES);
	__type(key, u32);
	__type(value, struct started);
} running SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, EVENT_RING_BYTES);
} events SEC(".maps");

/* What became of programs has a ring of its own: whoever maps many files cannot hide that something dies. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, LIFE_RING_BYTES);
} life_events SEC(".maps");

/* What one event works with. */
struct run {
	struct task_struct *task;
	struct sampler_state *state;
	struct sampler_counters *counts;
	u64 start_ns; /* 0: this run is not timed */
	u64 registers; /* address of the interrupted ones; 0: not known */
	u32 epoch;
	u32 n_buckets, n_moved, bucket_base, moved_base; /* of this set */
};

/* What step 2 finds out. */
struct place {
	u64 start, end, mapping;
	struct sampler_file id;
	u32 kind, user; /* 0: a file; whoever was asked for */
	u64 base;
	struct file *file;
	u32 lock_sequence, sequence; /* of the mapping; of the address space, before we looked */
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

/*
 * Slot of the child or mapping for @ip. A node is: the parent, the pivots (the largest index of each slot;
 * a zero ends them early), the slots.
 */
static __always_inline u64 slot_find(u64 node, u32 type, u64 ip)
{
	u32 n_pivots = type == NODE_ARANGE_64 ? 9 : 15, i;

	for (i = 0; i < 15 && i < n_pivots; i++) {
		u64 pivot = kernel_read_u64(node + 8 + 8 * i);

		if (pivot >= ip || (i && !pivot))
			break;
	}
	/* A zero that the verifier cannot know: it need not follow each way out of the loop by itself. */
	i += control.zero;
	return kernel_read_u64(node + 8 + 8 * n_pivots + 8 * i);
}

/*
 * The address of the mapping that should hold @ip, or 0; @entry is the tree's root. Not static, so that the
 * verifier looks at it once and not at every place where it is called.
 */
__noinline u64 mapping_find(u64 entry, u64 ip)
{
	if ((entry & 3) != ROOT_TAG)
		return 0;
	for (int level = 0; level < MAX_LEVELS; level++) {
		u32 type = NODE_TYPE(entry);

		if (entry <= LOWEST_POINTER || type < NODE_LEAF_64 || type > NODE_ARANGE_64)
			return 0;
		entry = slot_find(entry & NODE_MASK, type, ip);
		if (type == NODE_LEAF_64)
			return entry;
	}
	return 0;
}

static __always_inline void changed_read(struct inode *inode, struct sampler_file *ret)
{
	if (bpf_core_field_exists(struct inode___6_11, i_ctime_sec)) {
		ret->changed_s = BPF_CORE_READ((struct inode___6_11 *)inode, i_ctime_sec);
		ret->changed_ns = BPF_CORE_READ((struct inode___6_11 *)inode, i_ctime_nsec);
	} else if (bpf_core_field_exists(struct inode___6_6, __i_ctime)) {
		struct inode_time time = BPF_CORE_READ((struct inode___6_6 *)inode, __i_ctime);

		ret->changed_s = time.tv_sec;
		ret->changed_ns = time.tv_nsec;
	} else {
		struct inode_time time = BPF_CORE_READ((struct inode___old *)inode, i_ctime);

		ret->changed_s = time.tv_sec;
		ret->changed_ns = time.tv_nsec;
	}
	ret->changed_ns &= CHANGED_NS_MASK;
}

/*
 * Is it overlayfs' own file, embedded in a struct backing_file? The flag that says so has changed places, so what must
 * hold, too, is that it was opened by a mount that only the kernel has, of a file system that users mount.
 */
static __always_inline bool is_backing(struct file *file, struct inode *inode)
{
	struct mount *mount;

	if (!bpf_core_field_exists(struct backing_file, user_path) ||
	    !(KERNEL_READ(file, struct file, f_mode) & MODE_BACKING))
		return false;
	mount = (void *)BPF_CORE_READ(file, f_path.mnt) - bpf_core_field_offset(struct mount, mnt);
	return (long)BPF_CORE_READ(mount, mnt_ns) == NAMESPACE_INTERNAL &&
	       !(BPF_CORE_READ(inode, i_sb, s_flags) & SUPER_KERNEL);
}

/* Where the mapping's file has another below it (overlayfs): the one whose name the process used. */
static __always_inline struct inode *user_inode(struct file *file, struct inode *inode)
{
	if (!is_backing(file, inode))
		return inode;
	return BPF_CORE_READ((struct backing_file *)file, user_path.dentry, d_inode);
}

/* Most processes have the namespaces that the kernel's own threads have. */
static __always_inline u32 space_of(struct task_struct *task)
{
	u64 namespaces = kernel_read_u64((u64)task + bpf_core_field_offset(struct task_struct, nsproxy));
	u32 space;

	if (namespaces && namespaces == control.host_namespaces)
		return 0;
	space = BPF_CORE_READ(task, nsproxy, mnt_ns, ns.inum);
	if (space != control.host_space)
		return space;
	if (namespaces && namespaces == control.initial_namespaces)
		control.host_namespaces = namespaces;
	return 0;
}

static __always_inline u64 size_of(struct file *file)
{
	struct inode *inode = KERNEL_READ(file, struct file, f_inode);

	return KERNEL_READ(inode, struct inode, i_size);
}

/* All but the size. */
static __always_inline void file_read(struct file *file, struct task_struct *task, struct sampler_file *ret)
{
	struct inode *inode = KERNEL_READ(file, struct file, f_inode), *shown = user_inode(file, inode);
	struct super_block *super = KERNEL_READ(shown, struct inode, i_sb);

	ret->inode = KERNEL_READ(shown, struct inode, i_ino);
	ret->device = KERNEL_READ(super, struct super_block, s_dev);
	ret->generation = KERNEL_READ(inode, struct inode, i_generation);
	changed_read(inode, ret);
	ret->space = space_of(task);
}

/*
 * Whose process? Who may make user namespaces has many IDs in them, so what counts is who made the outermost;
 * when that was root (a container of the administrator's) the process' own.
 */
__noinline u32 user_find(u64 credentials)
{
	struct cred *cred = (void *)credentials;
	struct user_namespace *space = BPF_CORE_READ(cred, user_ns);
	u32 owner = 0;

	if (space && (u64)space == control.initial_user_space)
		return BPF_CORE_READ(cred, uid.val);
	for (int i = 0; i < MAX_SPACES; i++) {
		struct user_namespace *parent = BPF_CORE_READ(space, parent);

		if (!parent) {
			control.initial_user_space = (u64)space;
			break;
		}
		owner = BPF_CORE_READ(space, owner.val);
		space = parent;
	}
	return owner ? owner : BPF_CORE_READ(cred, uid.val);
}

static __always_inline u32 user_of(struct task_struct *task)
{
	/* As a number, which a function that is verified by itself can take. */
	return user_find(kernel_read_u64((u64)task + bpf_core_field_offset(struct task_struct, cred)));
}

static __always_inline bool has_lock_sequence(void)
{
	return has_sequence() && bpf_core_field_exists(struct vm_area_struct, vm_lock_seq);
}

static __always_inline u32 lock_sequence_of(u64 mapping)
{
	return has_lock_sequence() ? KERNEL_READ(mapping, struct vm_area_struct, vm_lock_seq) : 0;
}

/* The parts of @ret that the mapping itself tells; false: it is not the one for @ip, or no more. */
static __always_inline bool mapping_read(struct mm_struct *mm, u64 ip, u64 mapping, struct place *ret)
{
	/* First: a writer changes it before anything else. */
	ret->lock_sequence = lock_sequence_of(mapping);
	ret->mapping = mapping;
	ret->start = KERNEL_READ(mapping, struct vm_area_struct, vm_start);
	ret->end = KERNEL_READ(mapping, struct vm_area_struct, vm_end);
	ret->base = ret->start - (KERNEL_READ(mapping, struct vm_area_struct, vm_pgoff) << control.page_shift);
	ret->file = KERNEL_READ(mapping, struct vm_area_struct, vm_file);
	return ip >= ret->start && ip < ret->end &&
	       KERNEL_READ(mapping, struct vm_area_struct, vm_mm) == mm;
}

/*
 * Step 2c. A writer first puts the address space's (odd) sequence number into the mapping, then changes
 * it. So a mapping that does not hold the current number, and holds the same as when we began, was whole.
 */
static __always_inline bool is_stable(struct mm_struct *mm, const struct place *place, u32 sequence)
{
	u32 now = sequence_of(mm);

	if (has_lock_sequence())
		return place->lock_sequence != now && lock_sequence_of(place->mapping) == place->lock_sequence;
	return now == sequence && !is_being_written(mm, now);
}

static __always_inline void place_classify(struct task_struct *task, struct mm_struct *mm, struct place *ret)
{
	void *vdso = mm->context.vdso;

	ret->kind = 0;
	if (ret->file) {
		file_read(ret->file, task, &ret->id);
	} else if (ret->start == (u64)vdso) {
		ret->kind = SAMPLER_VDSO;
		ret->base = ret->start;
	} else {
		ret->kind = SAMPLER_ANONYMOUS;
	}
}

/*
 * Steps 2b and 2c. Return: SAMPLER_ATTRIBUTED when @ret is filled, else the counter of what went wrong:
 * without a mapping while nobody writes there is none; while somebody writes it is a race.
 */
static __always_inline u32 place_find(struct task_struct *task, struct mm_struct *mm, u64 ip, struct place *ret)
{
	u32 cause = SAMPLER_RACE;

	for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
		u32 sequence = sequence_of(mm);
		u64 root = kernel_read_u64((u64)mm + bpf_core_field_offset(struct mm_struct, mm_mt.ma_root));
		u64 mapping = mapping_find(root, ip);

		if (mapping && mapping_read(mm, ip, mapping, ret)) {
			ret->sequence = sequence;
			place_classify(task, mm, ret);
			if (is_stable(mm, ret, sequence))
				return SAMPLER_ATTRIBUTED;
		} else if (sequence_of(mm) == sequence && !is_being_written(mm, sequence)) {
			cause = SAMPLER_NO_MAPPING;
			break;
		}
	}
	return cause;
}

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
#define SHARE_TAKE(share, what, limit)                                            \
	({                                                                        \
		bool has_ = (share) && (share)->what < (limit);                   \
		if (has_)                                                         \
			__sync_fetch_and_add(&(share)->what, 1);                  \
		else if (share)                                                   \
			__sync_fetch_and_add(&(share)->what##_untold, 1);         \
		has_;                                                             \
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
	event = SHARE_TAKE(share, files, SAMPLER_WINDOW_FILES) ? bpf_ringbuf_reserve(&events, sizeof(*event), 0) : NULL;
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

static __always_inline bool is_cached(struct mm_struct *mm, struct sampler_cached *cached, u64 process, u64 ip)
{
	u32 sequence;

	if (!has_sequence() || control.no_cache || cached->process != process ||
	    cached->flushes != control.cache_flushes || ip - cached->start >= (u64)cached->n_pages << control.page_shift)
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
	/* A file that nobody could be told of is tried again. */
	if (key->module != SAMPLER_UNTOLD)
		cached_fill(&cached[run->state->n_cached++ & 1], process, &place, key->module);
	return SAMPLER_ATTRIBUTED;
}

/* --- step 3 --------------------------------------------------------------------------------------- */

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

/* Steps 1 to 3. */
static __always_inline int sample(struct run *run, bool is_user, u64 ip)
{
	run->counts->n[SAMPLER_FIRED]++;
	if (is_user) {
		run->counts->n[SAMPLER_USER_MODE]++;
		user_sample(run, ip);
	} else if (run->task->pid == 0) {
		if (!control.initial_namespaces)
			control.initial_namespaces = kernel_read_u64((u64)run->task + bpf_core_field_offset(struct task_struct, nsproxy));
		run->counts->n[SAMPLER_IDLE]++;
	} else {
		run->counts->n[SAMPLER_KERNEL_MODE]++;
		kernel_sample(run, ip);
	}
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
	return sample(&run, REGS_MODE_IS_USER(CONTEXT_MODE(&context->regs)), CONTEXT_IP(&context->regs));
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
	u64 regs = kernel_read_u64(kernel_read_u64((u64)timer->base +
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
	return sample(&run, is_user, ip);
}

/*
 * --- lifecycle ------------------------------------------------------------------------------------
 *
 * Starts and ends are hooked only once there is a program to watch: on a machine that starts a thousand
 * programs per second they would cost as much as the tick.
 */

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
	bpf_ringbuf_submit(event, 0);
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
	u64 at = (u64)pid + bpf_core_field_offset(struct pid, numbers) + (u64)level * bpf_core_type_size(struct upid);
	int number = 0;

	bpf_probe_read_kernel(&number, sizeof(number), (void *)(at + bpf_core_field_offset(struct upid, nr)));
	return number;
}

/* Did the kernel raise it for what an instruction did, or the program itself by abort(3)? Nobody's kill(2) counts. */
static __always_inline bool is_own_fault(struct task_struct *task, u32 signal, struct kernel_siginfo *info, s32 *retcode)
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
	bpf_ringbuf_submit(event, 0);
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

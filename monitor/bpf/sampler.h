/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * sampler.h - records of fixed width that the BPF programs and their loader share
 *
 * Included by both sides; the BPF side has no libc, so this file includes nothing but types.
 */

#include <linux/types.h>

/* Each clock has its own tables, counters and scratch memory, so that they never meet in one place. */
enum sampler_table {
	SAMPLER_MAIN,	   /* the scheduler tick, or the clock that stands in for it */
	SAMPLER_REFERENCE, /* slow, jittered, unbiased */
	SAMPLER_TABLES	   /* a power of two */
};

#define SAMPLER_EPOCHS 2u

/* What the module of a key is, when it is no file's number. Files are numbered from SAMPLER_FIRST_FILE. */
enum sampler_kind {
	SAMPLER_KERNEL = 1,    /* offset: the address */
	SAMPLER_VDSO = 2,      /* offset: from the start of the vdso */
	SAMPLER_ANONYMOUS = 3, /* offset and rest: the 16 bytes of the process' name */
	SAMPLER_UNTOLD = 4,    /* a file that there was no room to tell the loader of; offset 0 */
	SAMPLER_OWNER =
		5, /* whose time it was: offset and rest are the process' name, user the number of a group */
	SAMPLER_KERNEL_OWNER = 6, /* the same of a thread of the kernel's own */
	SAMPLER_FIRST_FILE = 16,
};

/*
 * What a sample is about: one row of the table that aggregates in the kernel. The number of a file stands for struct
 * sampler_file, which the loader is told of once; so a key is the same for as long as the file is.
 */
struct sampler_key {
	__u64 offset; /* in the file */
	__u64 rest;   /* 0 for files */
	__u32 module; /* number of the file, or enum sampler_kind */
	__u32 user;   /* whose process it was */
};

/* What one user runs in one cgroup. The loader is told of it once, by a number; 0: there was no room to tell. */
struct sampler_group {
	__u64 cgroup; /* of the unified hierarchy */
	__u32 user, unused;
};
#define SAMPLER_MAX_GROUPS 4096u

/*
 * DCPI's hash table (Anderson et al. 1997, section 4.2.1): per CPU, so nothing is shared; a bucket is one
 * cache line, so a sample that is known costs one miss; what a full bucket has no room for moves, with
 * its count, to a list that is written front to back.
 */
#define SAMPLER_WAYS 2u

struct sampler_bucket {
	struct sampler_key keys[SAMPLER_WAYS];
	__u32 counts[SAMPLER_WAYS]; /* 0: free */
	__u64 unused;
};

struct sampler_moved {
	struct sampler_key key;
	__u32 count, unused;
};

/*
 * The user's registers at some of the samples of files that the tick takes, general ones by their numbers in x86-64's
 * instructions. They tell about the branches ahead (arch/interpret.h), and are forgotten then.
 */
struct sampler_snapshot {
	struct sampler_key key;
	__u64 ip, flags, general[16];
};

/*
 * The calls that led to a sample of the main clock, innermost first: the kernel's, then those that the user's frame pointers
 * tell of. Of all but the interrupted instruction it is the last byte of the call. Anything may stand in a user's memory:
 * what lies in no code ends the stack.
 */
#define SAMPLER_FRAMES 62u

struct sampler_stack {
	char comm[16];
	__u32 user, n;
	__u32 cut; /* enum stack_cut (stacks.h); 0: whole */
	__u32 unused;
	__u64 offsets[SAMPLER_FRAMES]; /* as in a key; 0 in memory without a name */
	__u32 modules[SAMPLER_FRAMES]; /* as in a key */
};

/*
 * Per CPU, table and epoch; zeroed when drained.
 *	fired = idle + kernel + user
 *	user = attributed + anonymous + no_mapping + race + user_full
 *	attributed, anonymous, kernel_stored = sums of the counts of their keys
 *	kernel = kernel_stored + kernel_full
 *	user + kernel = sums of the counts of owners' keys + owner_full, where owners are told
 */
enum sampler_counter {
	/* Those that nearly every sample touches come first: one cache line. */
	SAMPLER_FIRED,
	SAMPLER_IDLE,
	SAMPLER_KERNEL_MODE,
	SAMPLER_USER_MODE,
	SAMPLER_ATTRIBUTED,
	SAMPLER_KERNEL_STORED,
	SAMPLER_CACHE_HITS,
	SAMPLER_MOVED, /* entries in the list */
	SAMPLER_ANONYMOUS_CODE,
	SAMPLER_NO_MAPPING,
	SAMPLER_RACE,
	SAMPLER_USER_FULL,
	SAMPLER_KERNEL_FULL,
	SAMPLER_EVENTS_LOST, /* ring buffer full, or the user's share of it */
	SAMPLER_TIMED,	     /* now and then a run times itself ... */
	SAMPLER_TIMED_NS,    /* ... into this sum */
	SAMPLER_OWNER_FULL,
	SAMPLER_STACKS_LOST, /* no room for it */
	SAMPLER_COUNTERS
};

struct sampler_counters {
	__u64 n[SAMPLER_COUNTERS];
};

/* A mapping as it was when the address space, and the mapping, had these sequence numbers: 64 bytes. */
struct sampler_cached {
	__u64 start;
	__u64 mapping; /* address of its vm_area_struct */
	__u64 process; /* of PID, exec count and address space: a PID may run another program since */
	__u32 n_pages, lock_sequence;
	__u32 sequence, flushes;
	__u32 module, user; /* as in the key */
	__u64 base;	    /* address of the file's byte 0 */
	__u32 is_code, unused;
};

#define SAMPLER_CACHED 128u /* in sets of two */

/* The group of a process that had these credentials and cgroups: one half of a cache line. */
struct sampler_owner_cached {
	__u64 process;		    /* as above */
	__u64 credentials, cgroups; /* addresses */
	__u32 group, flushes;
};

#define SAMPLER_OWNERS_CACHED 32u

/* What a CPU needs for one table, together, so that an event touches few pages. */
struct sampler_state {
	struct sampler_counters counters[SAMPLER_EPOCHS];
	__u64 ticks;
	__u64 n_cached; /* filled so far: chooses the way */
	__u64 n_snapshots[SAMPLER_EPOCHS], n_stacks[SAMPLER_EPOCHS];
	struct sampler_cached cache[SAMPLER_CACHED];
	struct sampler_owner_cached owners[SAMPLER_OWNERS_CACHED];
};

/*
 * Which file: what the kernel knows of it, and nothing that the file says of itself. Device and inode are those that
 * /proc/PID/maps shows (of overlayfs' own inode), times, size and generation the inode's that holds the bytes. A file
 * that is written to, or whose inode is used again, has another change time, so it is another file.
 */
struct sampler_file {
	__u64 inode;
	__u64 changed_s;
	__u32 changed_ns;
	__u32 device;	  /* the super block's own number, not always what stat(2) says */
	__u32 generation; /* of the inode */
	__u32 space;	  /* number of the mount namespace in which it was mapped; 0: the host's */
	__u64 size;	  /* follows from the change time, so it is read for the loader only */
};

/* What of it tells files apart: all that comes before the size. */
struct sampler_file_key {
	__u64 numbers[4];
};

/* A file that the loader wants to hear of, by what does not change when somebody makes a link to it. */
struct sampler_inode {
	__u64 inode;
	__u32 device, generation;
};

/*
 * What one user may cause. A user is whoever a process belongs to; for one inside a user namespace the owner of the
 * outermost one, unless that is root. Whose share of a window is used up is not told of until the next, only counted.
 */
#define SAMPLER_WINDOW_NS 10000000000ull
#define SAMPLER_WINDOW_FILES 512u   /* new files */
#define SAMPLER_WINDOW_DEATHS 32u   /* by signals */
#define SAMPLER_WINDOW_STARTS 1024u /* and ends of watched programs */
#define SAMPLER_MAX_USERS 4096u

struct sampler_share {
	__u64 start_ns; /* CLOCK_MONOTONIC; of the window */
	__u32 files, deaths, starts;
	__u32 files_untold, deaths_untold, starts_untold; /* since the loader last looked */
};

/*
 * What the loader tells the programs, in one place so that an event touches one page for all of it.
 * Everything up to the divisor is set before loading; the rest may change at any time.
 */
struct sampler_control {
	__u64 tick_function;	 /* address of the tick's hrtimer handler */
	__s32 irq_regs_distance; /* __irq_regs - hrtimer_bases in the per-CPU area; 0: unknown */
	__u32 clock_table;	 /* which table the clock event fills */
	__u32 page_shift;
	__u32 no_cache;
	__u32 zero;
	__u32 host_space; /* number of the mount namespace whose names count */
	/* Objects of the kernel that are never freed, once met: what most processes have need not be looked into again. */
	__u64 initial_namespaces, host_namespaces, initial_user_space;
	/* Places per CPU, a power of two for buckets; where each set (a table in one epoch) begins. */
	__u32 n_buckets[SAMPLER_TABLES], n_moved[SAMPLER_TABLES];
	__u32 bucket_base[SAMPLER_TABLES * SAMPLER_EPOCHS];
	__u32 moved_base[SAMPLER_TABLES * SAMPLER_EPOCHS];
	/* Snapshots per CPU and epoch of the main table (0: none), and which user samples leave one: number & mask == 0 */
	__u32 n_snapshots, snapshot_mask, snapshot_base[SAMPLER_EPOCHS];
	__u32 n_stacks, stack_mask,
		stack_base[SAMPLER_EPOCHS]; /* likewise, of samples in any mode but idle */
	__u32 tick_divisor;		    /* take every n-th tick; 0 and 1: all */
	__u32 cache_flushes;		    /* entries of the cache from before the last one are not used */
	__u32 epoch[SAMPLER_TABLES];
};

enum sampler_event_type {
	SAMPLER_EVENT_MODULE = 1, /* a module was sampled for the first time */
	SAMPLER_EVENT_EXEC,	  /* a watched program was started */
	SAMPLER_EVENT_EXIT,	  /* ... ended */
	SAMPLER_EVENT_SIGNAL,	  /* any program is about to die of a fault, or has given up (abort(3)) */
	SAMPLER_EVENT_GROUP,	  /* a cgroup in which a user's process was sampled for the first time */
};

#define SAMPLER_PATH_BYTES 1024u
#define SAMPLER_NAME_BYTES 256u
#define SAMPLER_PATH_DEPTH 40
#define SAMPLER_COMM_BYTES 16

struct sampler_event {
	__u32 type;
	__u32 tgid;
	__u64 time_ns;		    /* CLOCK_MONOTONIC */
	struct sampler_file module; /* the new one; the executable for the others */
	struct sampler_file fault;  /* SIGNAL: the module that the instruction pointer was in */
	__u64 fault_offset;
	__u64 start, end; /* MODULE: where it is mapped */
	__s32 signal;	  /* SIGNAL */
	__s32 code;	  /* SIGNAL: si_code */
	__u32 exit_code;  /* EXIT: as in waitpid(2) */
	__u32 user;	  /* who started the program, if that was seen; else whose process it is */
	__u32 number;	  /* MODULE, GROUP: what stands for it in keys */
	char comm[SAMPLER_COMM_BYTES];
	__u32 unused;
};

/* MODULE, SIGNAL and GROUP events carry the names of the file (the cgroup) and its directories, file first, NUL after each. */
struct sampler_module_event {
	struct sampler_event event;
	__u32 path_bytes; /* 0: could not be told, e.g. too long */
	char path[SAMPLER_PATH_BYTES];
};

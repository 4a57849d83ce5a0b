/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

/*
 * tables.bpf.h - what the sampler's programs keep: limits, maps, and what one event works with
 */

#include "monitor/bpf/kernel.bpf.h"
#include "monitor/bpf/sampler.h"

#define CACHED_BITS 23 /* of an address: mappings in the same 8 MB share a set */
#define MAX_LEVELS 6
#define MAX_ATTEMPTS 3
#define TIMED_EVERY 61 /* ticks; in step with no divisor of the tick */
#define MAX_MODULES 65536
#define MAX_WATCHED 4096
#define EVENT_RING_BYTES (256 * 1024)
#define LIFE_RING_BYTES (256 * 1024)
#define LIFE_RESERVE_BYTES (LIFE_RING_BYTES / 2) /* for root's and system accounts' programs alone */
#define LIFE_WAKE_BYTES (LIFE_RING_BYTES / 8)
#define MAX_SPACES 32	   /* user namespaces inside each other, as in the kernel */
#define MAX_ANCESTORS 4	   /* in which the start of a program is looked for */
#define FIRST_PERSON 1000u /* accounts below are the system's */
#define MODE_BACKING \
	(3u << 24) /* FMODE_BACKING of file.f_mode: bit 25, lately 24; the other means other things */
#define NAMESPACE_INTERNAL (-22l)   /* MNT_NS_INTERNAL: a mount that is in nobody's tree */
#define SUPER_KERNEL (1ul << 22)    /* SB_KERNMOUNT: memfd and the like */
#define MAPPING_EXEC 4ul	    /* VM_EXEC */
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

/* Of what nobody asked for there is no code left when the programs are loaded. */
const volatile bool takes_owners = false, takes_stacks = false;

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

/* Likewise. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* the loader decides */
	__type(key, u32);
	__type(value, struct sampler_stack);
} stacks SEC(".maps");

/* Addresses of one stack, before it is known where they are. The kernel's begin with how the clock itself came to us. */
#define RAW_USER (SAMPLER_FRAMES + 1)
#define RAW_KERNEL 96

struct raw_stack {
	u64 user[RAW_USER], kernel[RAW_KERNEL];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct raw_stack);
} raw_stacks SEC(".maps");

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

/* Groups that the loader was told of, and their numbers. LRU: a forgotten one gets a new number. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, SAMPLER_MAX_GROUPS);
	__type(key, struct sampler_group);
	__type(value, u32);
} groups SEC(".maps");

__u32 last_group = 0;

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
	u64 start_ns;  /* 0: this run is not timed */
	u64 registers; /* address of the interrupted ones; 0: not known */
	u32 epoch;
	u32 is_code; /* may the mapping that was found last be executed? */
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
	u32 is_code;
};

/* --- step 2: which mapping? ----------------------------------------------------------------------- */

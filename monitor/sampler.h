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
	SAMPLER_TABLES /* a power of two */
};

#define SAMPLER_EPOCHS 2u

/* What a key with device 0 means. Real files never have device 0. */
enum sampler_kind {
	SAMPLER_KERNEL = 1,    /* offset: the address */
	SAMPLER_VDSO = 2,      /* offset: from the start of the vdso */
	SAMPLER_ANONYMOUS = 3, /* inode and offset: the 16 bytes of the process' name */
};

/* One row of the table that aggregates in the kernel; the value is a __u64 count. */
struct sampler_key {
	__u64 inode;
	__u64 offset;	  /* in the file */
	__u32 device;	  /* the super block's own number, not always what stat(2) says */
	__u32 generation; /* of the inode; enum sampler_kind when the device is 0 */
};

/*
 * Per CPU, table and epoch; zeroed when drained.
 *	fired = idle + kernel + user
 *	user = attributed + anonymous + no_mapping + race + user_full
 *	attributed, anonymous, kernel_stored = sums of the counts of their keys
 *	kernel = kernel_stored + kernel_full
 */
enum sampler_counter {
	SAMPLER_FIRED,
	SAMPLER_IDLE,
	SAMPLER_KERNEL_MODE,
	SAMPLER_USER_MODE,
	SAMPLER_ATTRIBUTED,
	SAMPLER_ANONYMOUS_CODE,
	SAMPLER_NO_MAPPING,
	SAMPLER_RACE,
	SAMPLER_USER_FULL,
	SAMPLER_KERNEL_STORED,
	SAMPLER_KERNEL_FULL,
	SAMPLER_CACHE_HITS,
	SAMPLER_EVENTS_LOST, /* ring buffer full */
	SAMPLER_TIMED,	     /* every 64th run times itself ... */
	SAMPLER_TIMED_NS,    /* ... into this sum */
	SAMPLER_COUNTERS
};

struct sampler_counters {
	__u64 n[SAMPLER_COUNTERS];
};

/* Which module an inode is, however often it is mapped. */
struct sampler_inode {
	__u64 inode;
	__u32 device, generation;
};

enum sampler_event_type {
	SAMPLER_EVENT_MODULE = 1, /* a module was sampled for the first time */
	SAMPLER_EVENT_EXEC,	  /* a watched program was started */
	SAMPLER_EVENT_EXIT,	  /* ... ended */
	SAMPLER_EVENT_SIGNAL,	  /* any program is about to die of a signal that dumps core */
};

#define SAMPLER_PATH_BYTES 1024u
#define SAMPLER_NAME_BYTES 256u
#define SAMPLER_PATH_DEPTH 40
#define SAMPLER_COMM_BYTES 16

struct sampler_event {
	__u32 type;
	__u32 tgid;
	__u64 time_ns; /* CLOCK_MONOTONIC */
	struct sampler_inode module; /* the new one; the executable for the others */
	struct sampler_inode fault;  /* SIGNAL: the module that the instruction pointer was in */
	__u64 fault_offset;
	__u64 start, end; /* MODULE: where it is mapped */
	__s32 signal;	  /* SIGNAL */
	__u32 exit_code;  /* EXIT: as in waitpid(2) */
	char comm[SAMPLER_COMM_BYTES];
};

/* MODULE and SIGNAL events carry the names of the file and its directories, file first, NUL after each. */
struct sampler_module_event {
	struct sampler_event event;
	__u32 path_bytes; /* 0: could not be told, e.g. too long */
	char path[SAMPLER_PATH_BYTES];
};

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * sample_log.h - what a sampler saw: per module, how often each file offset was found executing
 *
 * First stage of the pipeline. Written by morph-monitor (whole machine) and `morph record` (one
 * program), read by `morph profile` and morphd, summed with sample_log_merge(). Container kind
 * CONTAINER_SAMPLE_LOG; docs/format-sample-log.md describes the bytes.
 *
 * Conservation law, kept by every writer and tested by every reader of a whole-machine log:
 *	fired = idle + kernel + user
 *	user  = attributed + anonymous + sum of user losses
 *	attributed - set_aside + scaled_in = sum of all user modules' counts (drained)
 *	sum of all kernel modules' counts <= kernel; of all anonymous ones <= anonymous
 *
 * set_aside and scaled_in are zero unless a module is tick-synchronous. The scheduler tick sees such a
 * module wrongly, so its tick samples are set aside and the counts of the unbiased reference clock,
 * multiplied to the same total rate, are put in their place (scaled_in).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/fault.h"
#include "base/macro.h"
#include "module/build_id.h"
#include "module/file_identity.h"
#include "profiles/samples/owners.h"
#include "profiles/samples/stacks.h"

/* 1 and 2 are read, too; 1 does not know which file, and whose, the samples are, neither knows call stacks and owners. */
#define SAMPLE_LOG_VERSION 3u
#define SAMPLE_USER_UNKNOWN UINT32_MAX

enum sample_source {
	SAMPLE_SOURCE_TICK = 1,	     /* the kernel's scheduler tick */
	SAMPLE_SOURCE_CPU_CLOCK = 2, /* perf software clock */
	SAMPLE_SOURCE_CYCLES = 3,    /* PMU */
	SAMPLE_SOURCE_IMPORT = 4,    /* perf.data */
	SAMPLE_SOURCE_EXACT = 5,     /* execution counts per instruction address, not samples */
	SAMPLE_SOURCE_FAULTS = 6,    /* page faults per instruction address, each one: neither */
	SAMPLE_SOURCE_LAST = SAMPLE_SOURCE_FAULTS,
};

enum sample_module_kind {
	SAMPLE_MODULE_FILE = 1,	  /* an executable or shared library */
	SAMPLE_MODULE_KERNEL = 2, /* vmlinux or a kernel module; offset = ip - its text base */
	SAMPLE_MODULE_VDSO = 3,
	SAMPLE_MODULE_ANONYMOUS = 4, /* JIT and other unnamed memory: a total only */
};

/* Why a user-mode sample could not be attributed. One table, in sample_log.c, gives each its sentence. */
enum sample_loss {
	SAMPLE_LOSS_NO_MAPPING, /* no mapping at the address */
	SAMPLE_LOSS_RACE,	/* the address space changed while it was read */
	SAMPLE_LOSS_MAP_FULL,	/* the kernel-side table was full */
	SAMPLE_LOSS_UNRESOLVED, /* the module was gone before it could be identified */
	SAMPLE_LOSS_RING_FULL,	/* perf ring overflow, PERF_RECORD_LOST */
	SAMPLE_LOSS_END
};

struct sample_count {
	uint64_t offset; /* byte in the file (user modules), or as the module kind says */
	uint64_t count;
};

/*
 * A jump that was seen, from its instruction to where it went. Of clocks (sample_log_sees_both_ways()): what the registers
 * of samples told about jumps ahead of them (arch/interpret.h), a conditional one that was not taken going to the next
 * instruction. Of branch stacks, where hardware has one: taken jumps and calls only.
 */
struct sample_branch {
	uint64_t from, to, count;
};

struct sample_module {
	enum sample_module_kind kind;
	struct build_id build_id;     /* size 0: the file has none */
	char *path;		      /* owned; as seen by the program, may hold any byte but NUL */
	uint64_t file_size, mtime_ns; /* identity when there is no build ID; 0: unknown */
	struct file_identity
		file;	/* which file the kernel had mapped; device 0: unknown, so anybody may have said so */
	uint32_t space; /* number of the mount namespace in which the path is its name; 0: the host's */
	uint32_t user;	/* whose processes; SAMPLE_USER_UNKNOWN: not told, or of several */
	bool tick_synchronous;	     /* its counts come from the reference clock alone */
	struct sample_count *counts; /* owned; sorted by offset, unique */
	size_t n_counts;
	struct sample_branch *branches; /* owned; sorted by (from, to), unique; usually none */
	size_t n_branches;
	bool branches_one_way; /* they come from a log that does not see both ways; not stored, but known by the log's source */
	uint64_t total; /* sum of counts[].count */
};

struct sample_log {
	enum sample_source source;
	double rate_hz;	   /* per busy CPU */
	uint64_t start_ns; /* CLOCK_REALTIME of the first sample */
	uint64_t duration_ns;
	uint32_t n_cpus;
	uint64_t fired, idle, kernel, user, attributed, anonymous;
	uint64_t set_aside, scaled_in; /* counts; see above */
	uint64_t lost[SAMPLE_LOSS_END];
	struct sample_module *modules; /* owned */
	size_t n_modules, capacity;
	struct stacks stacks; /* of some or all samples, where they were asked for */
	struct owners owners; /* whose samples of both modes these were, where that was asked for */
};

const char *sample_source_name(enum sample_source source); /* "tick", "cpu-clock", ... */
const char *sample_module_kind_name(enum sample_module_kind kind);
const char *sample_loss_name(enum sample_loss loss); /* "map_full": key in JSON */
const char *sample_loss_sentence(enum sample_loss loss);

struct sample_log *sample_log_new(void);
void sample_log_free(struct sample_log *log); /* accepts NULL */
DEFINE_CLEANUP(struct sample_log *, sample_log_free);

/**
 * sample_log_module() - the module with this identity, added when new
 * Identity: kind and build ID; without a build ID kind, path, size and mtime. No file is known, and no user. NULL: out of
 * memory. The pointer is valid until the next call.
 */
struct sample_module *sample_log_module(struct sample_log *log, enum sample_module_kind kind,
					const struct build_id *build_id, const char *path, uint64_t file_size,
					uint64_t mtime_ns);
/** sample_log_module_like() - the same with all of @like's identity, to which file, mount namespace and user belong */
struct sample_module *sample_log_module_like(struct sample_log *log, const struct sample_module *like);
/** sample_module_add() - append one (offset, count), unsorted; call sample_log_normalize() when done */
int sample_module_add(struct sample_module *module, uint64_t offset, uint64_t count);
int sample_module_add_branch(struct sample_module *module, uint64_t from, uint64_t to, uint64_t count);
/** sample_log_normalize() - sort, unite duplicates (saturating), recompute totals; drops empty modules */
void sample_log_normalize(struct sample_log *log);
/**
 * sample_log_balance() - set drained totals of a log that has no clock of its own
 * For importers and exact logs: attributed becomes the sum of the user modules, kernel and anonymous the
 * sums of theirs, user and fired what the law asks. Losses and idle stay as they are. @log is normalized.
 */
void sample_log_balance(struct sample_log *log);
/** sample_log_drained() - the sum of all user modules' counts */
uint64_t sample_log_drained(const struct sample_log *log);
/**
 * sample_log_merge() - add @from to @into (both normalized); rate becomes the duration-weighted mean
 * Branches of logs that see both ways and of such that do not cannot be added: a module's first ones stay.
 */
int sample_log_merge(struct sample_log *into, const struct sample_log *from);
/** sample_log_unite() - forget files, mount namespaces and users of modules: one for each build; 0 or -ENOMEM */
int sample_log_unite(struct sample_log *log);
/** sample_log_sees_both_ways() - do the branches of this log tell of conditional jumps that were not taken, too? */
bool sample_log_sees_both_ways(const struct sample_log *log);
/** sample_log_find() - by build ID, or NULL; the first one, so what comes from many users is united before */
const struct sample_module *sample_log_find(const struct sample_log *log, const struct build_id *id);
/** sample_log_check() - the conservation law; -ERANGE with @reterr naming the equation that fails */
int sample_log_check(const struct sample_log *log, struct fault *reterr);

int sample_log_encode(const struct sample_log *log, struct buffer *retcontainer);
int sample_log_decode(const void *container, size_t size, struct sample_log **ret, struct fault *reterr);
/** sample_log_read(), sample_log_write() - the same with files; writing is atomic */
int sample_log_read(const char *path, struct sample_log **ret, struct fault *reterr);
int sample_log_write(const struct sample_log *log, const char *path, struct fault *reterr);

void sample_log_dump(const struct sample_log *log, FILE *out);
void sample_log_dump_json(const struct sample_log *log, FILE *out);

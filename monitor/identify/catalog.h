/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * catalog.h - the modules a sampler has met, numbered
 *
 * A module is a file that the kernel knew when it mapped it, in one mount namespace, run by one user. Where the file
 * is not known (sampling without BPF, the kernel, unnamed memory) it is known by its build ID, or without one by path, size
 * and time. Its number is what tallies and address spaces store. Aliases remember which key (the number of a file in the
 * kernel's tables, say) led to which module, so that a file is opened once. Owns all strings. Lookups are O(1).
 *
 * Whoever runs ever new files must not fill the memory: what was not sampled for CATALOG_ROUNDS rounds is dropped by
 * catalog_round(), and between rounds there are CATALOG_MAX modules at most, of which one person's files are CATALOG_OF_PERSON
 * at most, and all persons' CATALOG_OF_PERSONS, so that there is always room for what root and the system's accounts run.
 */

#include <stddef.h>
#include <stdint.h>

#include "monitor/identify/histogram.h"
#include "profiles/samples/sample_log.h"

#define CATALOG_NONE UINT32_MAX
#define CATALOG_MAX 16384u /* modules */
#define CATALOG_OF_PERSON 2048u
#define CATALOG_OF_PERSONS (CATALOG_MAX / 4 * 3)
#define CATALOG_FIRST_PERSON 1000u /* accounts below are the system's */
#define CATALOG_ALIASES 65536u
#define CATALOG_ROUNDS 64u /* without a sample, after which a module is dropped */
#define CATALOG_FEW 1024u  /* so many are no burden: nothing is dropped */

struct catalog_module {
	enum sample_module_kind kind;
	struct build_id build_id;
	char *path; /* owned */
	uint64_t size, mtime_ns;
	struct file_identity file; /* device 0: not known */
	uint32_t space, user;	   /* as in struct sample_module */
	uint32_t charged;	   /* who takes up room with it: whoever first ran it */
	bool tick_synchronous;
	uint32_t last_round; /* in which it was sampled */
};

struct catalog;

struct catalog *catalog_new(void);
void catalog_free(struct catalog *catalog); /* accepts NULL */
DEFINE_CLEANUP(struct catalog *, catalog_free);

/** catalog_add() - the number of this module, new or known, of no known file or user; CATALOG_NONE: out of memory, or full */
uint32_t catalog_add(struct catalog *catalog, enum sample_module_kind kind, const struct build_id *build_id,
		     const char *path, uint64_t size, uint64_t mtime_ns);
/** catalog_add_like() - the same with all of @like's identity; its path is copied */
uint32_t catalog_add_like(struct catalog *catalog, const struct catalog_module *like);
/** catalog_find_like() - the module with this identity, or NULL; borrowed until the catalog is used again */
const struct catalog_module *catalog_find_like(const struct catalog *catalog,
					       const struct catalog_module *like);
struct catalog_module *catalog_at(struct catalog *catalog, uint32_t module);
size_t catalog_size(const struct catalog *catalog);

/** catalog_alias() - the module remembered for @key, or CATALOG_NONE */
uint32_t catalog_alias(const struct catalog *catalog, const void *key, size_t size);
/** catalog_set_alias() - remember it (replacing what was); 0 or -ENOMEM */
int catalog_set_alias(struct catalog *catalog, const void *key, size_t size, uint32_t module);

/** catalog_seen() - it was sampled in this round */
void catalog_seen(struct catalog *catalog, uint32_t module);
/**
 * catalog_round() - a round is over: drop what was not sampled for long; then all numbers change, and aliases are forgotten
 * @retmap: by old number the new one, or CATALOG_NONE; owned by the caller; NULL when nothing has changed
 * Return: how many modules there were before; -ENOMEM, and then nothing has changed.
 */
int64_t catalog_round(struct catalog *catalog, uint32_t **retmap);

/** catalog_anonymous() - unnamed memory of programs called @comm */
uint32_t catalog_anonymous(struct catalog *catalog, const char *comm);
/** catalog_vdso() - the vdso of this machine, with its build ID */
uint32_t catalog_vdso(struct catalog *catalog);

/** catalog_log() - put @samples and @branches (may be NULL) into @log, normalized; 0 or -ENOMEM */
int catalog_log(struct catalog *catalog, const struct histogram *samples, const struct histogram *branches,
		struct sample_log *log);

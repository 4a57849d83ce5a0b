/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * catalog.h - the modules a sampler has met, numbered
 *
 * A module is known by its build ID, or without one by path, size and time; its number is what tallies
 * and address spaces store. Aliases remember which key (a path with a device and inode, say) led to
 * which module, so that a file is opened once. Owns all strings. Lookups are O(1).
 */

#include <stddef.h>
#include <stdint.h>

#include "monitor/histogram.h"
#include "profiles/sample_log.h"

#define CATALOG_NONE UINT32_MAX

struct catalog_module {
	enum sample_module_kind kind;
	struct build_id build_id;
	char *path; /* owned */
	uint64_t size, mtime_ns;
	bool tick_synchronous;
};

struct catalog;

struct catalog *catalog_new(void);
void catalog_free(struct catalog *catalog); /* accepts NULL */
DEFINE_CLEANUP(struct catalog *, catalog_free);

/** catalog_add() - the number of this module, new or known; CATALOG_NONE: out of memory */
uint32_t catalog_add(struct catalog *catalog, enum sample_module_kind kind,
		     const struct build_id *build_id, const char *path, uint64_t size,
		     uint64_t mtime_ns);
struct catalog_module *catalog_at(struct catalog *catalog, uint32_t module);
size_t catalog_size(const struct catalog *catalog);

/** catalog_alias() - the module remembered for @key, or CATALOG_NONE */
uint32_t catalog_alias(const struct catalog *catalog, const void *key, size_t size);
/** catalog_set_alias() - remember it (replacing what was); 0 or -ENOMEM */
int catalog_set_alias(struct catalog *catalog, const void *key, size_t size, uint32_t module);

/** catalog_anonymous() - unnamed memory of programs called @comm */
uint32_t catalog_anonymous(struct catalog *catalog, const char *comm);
/** catalog_vdso() - the vdso of this machine, with its build ID */
uint32_t catalog_vdso(struct catalog *catalog);

/** catalog_log() - put @samples and @branches (may be NULL) into @log, normalized; 0 or -ENOMEM */
int catalog_log(struct catalog *catalog, const struct histogram *samples, const struct histogram *branches,
		struct sample_log *log);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * store.h - the artefacts that morphd keeps, in directories by build ID (docs/format-store.md)
 *
 *	STORE/version				of what is below
 *	STORE/ab/cdef.../original		the shipped file
 *	STORE/ab/cdef.../module			its description, key = value
 *	STORE/ab/cdef.../targets/HASH		one installed path: where, and whose the file was
 *	STORE/ab/cdef.../generations/N/binary	what the editor made
 *	                              /generation, profile, report.json
 *
 * Files and generations appear whole or not at all (temporary name, fsync, rename). The descriptions
 * repeat what state.db knows, so that a lost database can be built again from the store alone.
 */

#include <limits.h>
#include <stdint.h>

#include "base/config_file.h"
#include "base/fault.h"
#include "manager/keep/digest.h"

struct store_module {
	char *build_id; /* hexadecimal */
	char *digest;	/* of original */
	char *llvm_version;
	uint64_t size;
	uint64_t first_ns;
};

struct store_generation {
	uint64_t number;
	char *build_id, *digest, *cpu, *llvm_version, *state, *reason;
	char *verity; /* fs-verity's digest of the file (seal.h); NULL: not computed */
	uint64_t size, created_ns;
	double gain, cost_s, profile_samples;
};

struct store_target {
	char *path; /* any bytes; kept percent-encoded in the file */
	uint64_t uid, gid, mode;
	uint64_t mtime_ns; /* two's complement: may be before 1970 */
	uint64_t names;	   /* of the shipped file, when it was replaced; 0: not told, by an earlier Morph */
};

/** store_path() - STORE/ab/cdef.../@suffix into @ret, which is returned; "" for the directory itself */
const char *store_path(const char *store, const char *build_id, const char *suffix, char ret[PATH_MAX]);
/** store_generation_path() - .../generations/@number/@name */
const char *store_generation_path(const char *store, const char *build_id, int64_t number, const char *name,
				  char ret[PATH_MAX]);

/**
 * store_put_original() - keep a copy of the shipped file; nothing happens when it is there already
 * @fd: the file; its bytes must have @module->digest, and so must the copy
 * Return: 0; -EBADMSG when they have not; -ENOSPC, ...
 */
int store_put_original(const char *store, const struct store_module *module, int fd, struct fault *reterr);

/**
 * store_put_generation() - take what the editor made, all of it or nothing
 * @files: names to copy from directory @from into the generation; "binary" is one of them
 */
int store_put_generation(const char *store, const char *build_id, const struct store_generation *generation,
			 const char *from, const char *const *files, struct fault *reterr);
/** store_update_generation() - write the description again: its state changed */
int store_update_generation(const char *store, const char *build_id,
			    const struct store_generation *generation, struct fault *reterr);
/** store_drop_generation() - delete one generation's directory, all of it or nothing, whoever is killed meanwhile */
int store_drop_generation(const char *store, const char *build_id, int64_t number, struct fault *reterr);
/** store_drop_module() - delete everything about a module, likewise */
int store_drop_module(const char *store, const char *build_id, struct fault *reterr);

/** store_module_bytes() - what everything about a module takes on the disk; 0: there is nothing. Cost: a stat() of each file */
uint64_t store_module_bytes(const char *store, const char *build_id);

int store_put_target(const char *store, const char *build_id, const struct store_target *target,
		     struct fault *reterr);
/** store_target_names() - how many names (hard links) the shipped file had that stood at @path; 1 if that is not known */
uint64_t store_target_names(const char *store, const char *build_id, const char *path);
int store_drop_target(const char *store, const char *build_id, const char *path, struct fault *reterr);

/** store_check_file() - does @path hold bytes with @digest? -EBADMSG if not */
int store_check_file(const char *path, const char *digest, struct fault *reterr);

/* For building the database again. A callback's negative return ends the walk and is passed on. */
struct store_visitor {
	int (*module)(void *userdata, const struct store_module *module);
	int (*generation)(void *userdata, const char *build_id, const struct store_generation *generation);
	int (*target)(void *userdata, const char *build_id, const struct store_target *target);
	void (*damaged)(void *userdata, const char *path, const struct fault *why);
	void *userdata;
};

/** store_walk() - each module, then its generations and targets; what cannot be read is reported */
int store_walk(const char *store, const struct store_visitor *visitor, struct fault *reterr);

/**
 * store_renew() - descriptions of a Morph before version 3 of state.db get SHA-256 for XXH3
 * Each only after the file it describes was found to have the old digest; the others stay, and count as damaged.
 * @damaged: as in struct store_visitor, or NULL
 */
int store_renew(const char *store, void (*damaged)(void *userdata, const char *path, const struct fault *why),
		void *userdata, struct fault *reterr);

/** store_clean() - delete what an interrupted put or drop left behind */
int store_clean(const char *store, struct fault *reterr);

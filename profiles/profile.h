/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * profile.h - how often each basic block of a module's shipped IR ran
 *
 * The one currency between sampling and optimizing: counts are executions (not time), keyed by
 * (function GUID, probe index) of the shipped IR, so counts from every generation of a module add up.
 * Container kind CONTAINER_PROFILE; docs/format-profile.md describes the bytes.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/fault.h"
#include "base/macro.h"
#include "module/build_id.h"

#define PROFILE_VERSION 1u

/* What is known about one IR block. */
struct profile_count {
	uint64_t executions; /* estimate */
	uint8_t confidence;  /* 0: never observed or inferred ... 255: exact */
};

struct profile_function {
	uint64_t guid;
	uint64_t cfg_hash; /* of the shipped IR's function, from the probe descriptor; 0: unknown */
	char *name;	   /* owned; may be NULL */
	double samples;	   /* that fell into it, over all generations, aged */
	uint8_t confidence; /* of the function as a whole */
	uint32_t n_counts;	      /* probe indices 1..n_counts */
	struct profile_count *counts; /* owned; counts[i] is probe i + 1 */
};

struct profile {
	struct build_id build_id; /* of the shipped module */
	char *path;		  /* owned; where it was last seen */
	double samples;		  /* mapped to blocks */
	double unmapped;	  /* in the module, in no known block (plt, asm, padding) */
	uint64_t first_ns, last_ns; /* CLOCK_REALTIME span of the observations */
	double carried;		  /* share of the counts carried over from an earlier build, 0..1 */
	char *estimator;	  /* owned; "best", "length", "exact" ... */
	struct profile_function *functions; /* owned; sorted by GUID */
	size_t n_functions, capacity;
};

struct profile *profile_new(void);
void profile_free(struct profile *profile); /* accepts NULL */
DEFINE_CLEANUP(struct profile *, profile_free);

/** profile_function() - by GUID, added (empty, sorted in) when new; NULL: out of memory; valid until the next call */
struct profile_function *profile_function(struct profile *profile, uint64_t guid);
const struct profile_function *profile_find(const struct profile *profile, uint64_t guid); /* or NULL */
/** profile_function_resize() - make probes 1..@n_counts valid, new ones zero; never shrinks */
int profile_function_resize(struct profile_function *function, uint32_t n_counts);

/**
 * profile_merge() - @into = @into * @weight + @from, confidence combined
 * Return: 0; -EXDEV when the build IDs differ; -ENOMEM (then @into is unchanged).
 */
int profile_merge(struct profile *into, double weight, const struct profile *from,
		  struct fault *reterr);

int profile_encode(const struct profile *profile, struct buffer *retcontainer);
int profile_decode(const void *container, size_t size, struct profile **ret, struct fault *reterr);
int profile_read(const char *path, struct profile **ret, struct fault *reterr);
int profile_write(const struct profile *profile, const char *path, struct fault *reterr);

void profile_dump(const struct profile *profile, FILE *out);
void profile_dump_json(const struct profile *profile, FILE *out);

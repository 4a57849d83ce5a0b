/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * profile.h - how often each basic block of a module's shipped IR ran
 *
 * The one currency between sampling and optimizing: counts are executions (not time), keyed by
 * (function GUID, probe index) of the shipped IR, so counts from every generation of a module add
 * up. Container kind CONTAINER_PROFILE; docs/format-profile.md describes the bytes.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/fault.h"
#include "base/macro.h"
#include "module/build_id.h"

#define PROFILE_VERSION 2u
#define PROFILE_VERSION_SEEN 3u /* written where there is something that was seen, and not estimated from */
#define PROFILE_VERSION_COLUMNS 1u    /* only read */
#define PROFILE_MAX_COUNTS (1u << 22) /* IR blocks in one function */
#define PROFILE_MAX_EPOCHS 8u
#define PROFILE_MAX_SEEN (1u << 20) /* places */
#define PROFILE_MAX_SHARES 64u	    /* functions that an epoch remembers */
/* Default half-life of counts, in the module's own activity. */
#define PROFILE_HALF_LIFE_NS (7 * 24 * 3600 * 1000000000ull)

/*
 * What is known about one IR block. Confidence is 255 / (1 + relative standard error of the count)
 * (profile_confidence()); 0: nothing is known (a zero count with confidence is a block that is known
 * hardly to run), 255: exact.
 */
struct profile_count {
	uint64_t executions; /* estimate */
	uint8_t confidence;
};

struct profile_function {
	uint64_t guid;
	uint64_t cfg_hash;  /* of the shipped IR's function, from the probe descriptor; 0: unknown */
	char *name;	    /* owned; may be NULL */
	double samples;	    /* that fell into it, over all generations, aged */
	uint8_t confidence; /* of the function as a whole */
	uint32_t n_counts;  /* probe indices 1..n_counts */
	struct profile_count *counts; /* owned; counts[i] is probe i + 1 */
};

/* A function's part of an epoch's samples. */
struct profile_share {
	uint64_t guid;
	uint16_t share; /* numerator over 65535 */
};

/* A stretch of the history, to see a change of usage; history.h keeps and compares them. */
struct profile_epoch {
	uint64_t first_ns, last_ns;   /* CLOCK_REALTIME */
	double samples;		      /* aged like the counts */
	struct profile_share *shares; /* owned; sorted by GUID; the PROFILE_MAX_SHARES largest */
	size_t n_shares;
};

/*
 * What was seen in the shipped file, and is in none of the counts yet: samples of many machines add up before counts are
 * estimated from them, and estimates do not (docs/decisions/0135). seen.h makes it, infer/estimate.h estimates from it.
 */
struct profile_seen {
	uint64_t from; /* byte in the file */
	uint64_t
		to; /* of a jump that was seen to go there; PROFILE_SEEN_SAMPLE: samples that fell on @from */
	uint64_t count; /* > 0 */
};
#define PROFILE_SEEN_SAMPLE UINT64_MAX

struct profile {
	struct build_id build_id;	    /* of the shipped module */
	char *path;			    /* owned; where it was last seen */
	double samples;			    /* mapped to blocks */
	double unmapped;		    /* in the module, in no known block (plt, asm, padding) */
	uint64_t first_ns, last_ns;	    /* CLOCK_REALTIME span of the observations */
	uint64_t activity_ns;		    /* observed time in which it ran at all: the clock of ageing */
	double carried;			    /* share of samples that an earlier build had, 0..1 (carry.h) */
	double dropped;			    /* samples of an earlier build in functions that changed */
	double scale;			    /* counts are executions at today's worth times this, 1..2 */
	char *estimator;		    /* owned; "best", "length", "exact" ... */
	struct profile_function *functions; /* owned; sorted by GUID */
	size_t n_functions, capacity;
	struct profile_epoch epochs[PROFILE_MAX_EPOCHS]; /* oldest first; none: all is one */
	size_t n_epochs;
	struct profile_seen *seen; /* owned; sorted by (from, to), unique; mostly none */
	size_t n_seen;
};

struct profile *profile_new(void);
void profile_free(struct profile *profile); /* accepts NULL */
DEFINE_CLEANUP(struct profile *, profile_free);

/**
 * profile_function() - by GUID, added (empty, sorted in) when new
 * Return: valid until the next call; NULL: out of memory. Cost: O(log n), O(n) when added.
 */
struct profile_function *profile_function(struct profile *profile, uint64_t guid);
/** profile_reserve() - add all of @guids that are new at once, O((n + m) log m); 0 or -ENOMEM */
int profile_reserve(struct profile *profile, const uint64_t *guids, size_t n);
/** profile_find() - by GUID, or NULL */
const struct profile_function *profile_find(const struct profile *profile, uint64_t guid);
/**
 * profile_function_resize() - make probes 1..@n_counts valid, new ones zero; never shrinks
 * Return: 0; -E2BIG above PROFILE_MAX_COUNTS; -ENOMEM.
 */
int profile_function_resize(struct profile_function *function, uint32_t n_counts);

/** profile_confidence() - of a count with the relative standard error @error >= 0; at least 1 */
uint8_t profile_confidence(double error);
/** profile_error() - the inverse; infinite for 0 */
double profile_error(uint8_t confidence);

/**
 * profile_merge() - @into = @into * @weight + @from
 * @weight: 0..1, profile_weight() for ageing; 1 for a plain sum
 *
 * Counts saturate. Confidence is that of a sum of independent estimates. A profile without build
 * ID and functions takes over that of @from. Ageing never rounds counts step by step: the weight
 * goes into `scale` (forward decay: Cormode et al., ICDE 2009, section 3), so thousands of small
 * merges lose nothing.
 * Return: 0; -EXDEV when the build IDs differ, or one side is exact and the other sampled; -ENOMEM
 * (then @into is unchanged).
 */
int profile_merge(struct profile *into, double weight, const struct profile *from, struct fault *reterr);

/**
 * profile_weight() - what is left of old counts after @activity_ns more of activity: 2^-(activity
 * / half-life)
 */
double profile_weight(uint64_t activity_ns, uint64_t half_life_ns);

/**
 * profile_encode() - append the container; deterministic
 *
 * Counts are rounded to half a sample's worth, confidences to 32 levels, both without bias
 * (docs/decisions/0041); what was read is written without further loss.
 * Return: 0, -ENOMEM, -EFBIG. Cost: about 12 decisions of a range coder for each block that runs.
 */
int profile_encode(const struct profile *profile, struct buffer *retcontainer);
/**
 * profile_decode() - the inverse, for foreign bytes
 * Return: 0; -EBADMSG (damaged, truncated), -EPROTONOSUPPORT (not a profile of this version),
 * -ENOMEM.
 */
int profile_decode(const void *container, size_t size, struct profile **ret, struct fault *reterr);
/** profile_read(), profile_write() - the same with files; writing is atomic */
int profile_read(const char *path, struct profile **ret, struct fault *reterr);
int profile_write(const struct profile *profile, const char *path, struct fault *reterr);
/**
 * profile_is_damaged() - is @code of profile_read() the file's fault, so that it should be set
 * aside?
 */
bool profile_is_damaged(int code);
/**
 * profile_quarantine() - set a bad file aside: PATH becomes PATH.bad, its reason PATH.bad.reason
 * An earlier PATH.bad is replaced, so a file that keeps going bad never fills the disk.
 */
int profile_quarantine(const char *path, const struct fault *fault, struct fault *reterr);

/** profile_dump() - everything, as text for people and golden files */
void profile_dump(const struct profile *profile, FILE *out);
void profile_dump_json(const struct profile *profile, FILE *out);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * estimate.h - from biased clock samples of one generation to block counts of the shipped IR
 *
 *	samples (file offset -> count)  +  the generation's block map and code bytes
 *	  1. samples -> instructions -> machine blocks
 *	  2. samples -> executions per machine block, by the chosen estimator, with confidence
 *	  3. flow inference over the machine CFG (flow.h)
 *	  4. machine blocks -> IR blocks through the probes
 */

#include <stdbool.h>

#include "base/fault.h"
#include "base/names.h"
#include "module/block_map.h"
#include "module/image.h"
#include "profiles/samples/sample_log.h"
#include "profiles/store/profile.h"

/**
 * The estimators, simple ones first. A new one is estimator_NAME.c, which defines estimator_NAME (estimator.h), a line here, and
 * its name in morph-profile(1); docs/decisions say what was tried.
 */
// clang-format off: a table
#define ESTIMATORS(estimator) \
	estimator(length)	/* Zhang et al. 1997, section 3.3: samples / instructions in the block */ \
	estimator(flow)		/* length, then flow inference */ \
	estimator(latency)	/* samples / expected cycles, control equivalence (DCPI 1997, section 6) */ \
	estimator(best)		/* the default */ \
	estimator(exact)	/* the log holds execution counts of instructions, take them as they are */
// clang-format on

#define ESTIMATOR_DECLARE(name) extern const struct estimator estimator_##name;
ESTIMATORS(ESTIMATOR_DECLARE)

/** estimator_at() - the table, by row */
struct named estimator_at(size_t i);
/** estimator_find() - by name; NULL with @reterr, which lists them: there is none */
const struct estimator *estimator_find(const char *name, struct fault *reterr);
const char *estimator_name(const struct estimator *estimator);
/** estimator_takes_counts() - of executions, so it makes no sense of samples */
bool estimator_takes_counts(const struct estimator *estimator);

/* Machine-level result, for the ground-truth harness and for people. */
struct estimate {
	double *blocks;		 /* executions, one per map->blocks[] */
	double *edges;		 /* executions, one per map->edges[]; NULL unless flow ran */
	double *samples;	 /* samples found in each block */
	uint8_t *confidence;	 /* one per block, as in struct profile_count; 0: nothing is known */
	double mapped, unmapped; /* samples */
	bool is_exact;		 /* counts, not samples */
};

void estimate_done(struct estimate *estimate);

/** estimate_confidence() - of @samples counted, if the model is off by @error (relative) besides */
uint8_t estimate_confidence(double samples, double error);
/** estimate_function_confidence() - of all blocks of a function together, in which @samples fell */
uint8_t estimate_function_confidence(const struct estimate *estimate, double samples);

/**
 * estimate_blocks() - steps 1 to 3
 * @image: the generation's file, for its code bytes and to turn offsets into addresses
 * @module: its samples
 *
 * Counts are in units of their own, alike for all blocks: clock samples tell proportions only.
 * Return: 0; -ENOTSUP: instructions of that machine are not known; -EBADMSG: a map that does not fit
 * the file; -ENOMEM; @reterr says which. @ret is untouched unless 0 is returned; estimate_done() frees it.
 * Cost: near-linear in the code of the functions sampled.
 */
int estimate_blocks(const struct block_map *map, const struct image *image,
		    const struct sample_module *module, const struct estimator *estimator,
		    struct estimate *ret, struct fault *reterr);

/**
 * estimate_profile() - step 4: add what @estimate says to @profile (keyed by the shipped IR)
 * Times, path and estimator name of @profile stay the caller's business. 0; -ENOMEM, then it is unchanged.
 */
int estimate_profile(const struct block_map *map, const struct estimate *estimate, struct profile *profile,
		     struct fault *reterr);

/**
 * estimate_seen() - what @profile has only seen (seen.h) becomes counts, as if one machine had seen it all
 * @map, @image: of the shipped file. Counts that are there already, of generations, are added, brought to the same scale.
 * Return: 0, also where nothing was seen; -EXDEV: @image is of another build; else as estimate_blocks(). Unchanged unless 0.
 */
int estimate_seen(const struct block_map *map, const struct image *image, struct profile *profile,
		  struct fault *reterr);

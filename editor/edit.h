/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * edit.h - the whole way from a Morph executable and a profile to a new generation
 *
 *	1. trust	shipped text and data regenerate from the shipped IR, or the edit is refused (but see rebase)
 *	2. cut		functions that are hot (heat.h) leave their modules and are joined into one (partition.h)
 *	3. annotate	counts onto that module (annotate.h)
 *	4. optimize	the profile-guided middle end (pipeline.h); not in layout-only edits
 *	5. generate	code, and read its machine CFG with frequencies back
 *	6. lay out	blocks and functions (placement.h, layout/)
 *	7. generate	again, with the clusters, and link in the new order
 *	8. sign		build ID, note, block map of the generation (generation.h)
 *
 * Runs inside the sandbox; deterministic: same inputs, same bytes out.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "editor/count/annotate.h"
#include "editor/count/indirect.h"
#include "editor/count/inlining.h"
#include "editor/count/prediction.h"
#include "editor/selftest.h"
#include "editor/trust/trust.h"
#include "module/image.h"
#include "profiles/store/profile.h"

#define EDIT_STEPS 8

/** edit_step_title() - what step @step (from 0) does, in a few words */
const char *edit_step_title(size_t step);

struct edit_options {
	const char *directory;	 /* scratch; holds everything, is the caller's to remove */
	const char *sidecar_dir; /* NULL: the default */
	const char *cpu;	 /* code for this CPU; "native": the machine's (host.h); NULL: as shipped */
	const char *tune;	 /* scheduled for this one; NULL: for @cpu */
	bool layout_only;	 /* steps 5 to 8 on the IR as it is */
	bool trusts_facts;	 /* what IR claims without showing it in code is believed (facts.h) */
	bool rebase;		 /* where step 1 finds a difference, take the IR at its word, and say so */
	void (*on_step)(void *userdata, size_t step); /* a step begins; may be NULL */
	void *userdata;
	unsigned n_threads; /* 0: as many as CPUs */
};

struct edit_report {
	struct trust_report trust;
	struct fault difference; /* between IR and shipped file, accepted because of @rebase; "": none */
	struct annotate_stats counts;
	struct indirect_stats indirect;
	struct inlining_stats inlining;
	size_t n_loops;	  /* jumps back to the head of a hot loop, which starts a line */
	size_t n_imports; /* functions of other files that hot code calls without the procedure linkage table */
	size_t n_modules, n_hot_modules;
	size_t n_proven,
		n_unproven; /* hot functions whose code is the same without facts (facts.h); of others, which stay as shipped */
	size_t n_kept_objects; /* of hot modules: their cold code is step 1's, not generated once more */
	size_t n_laid_out;     /* functions with a new block order */
	size_t n_cold_blocks;  /* blocks moved out of line */
	double score_before, score_after; /* ext-TSP, of the functions laid out: compiler's order, ours */
	struct executed before, after;	  /* by the profile, of the functions compiled anew */
	uint64_t text_before, text_after; /* bytes */
	size_t n_blocks;		  /* in the shipped file */
	double cpu_s[EDIT_STEPS];	  /* user + system, per step */
	uint64_t peak_bytes;		  /* largest process */
	struct build_id build_id;	  /* of the generation */
	uint64_t profile_digest;
	char llvm[32], cpu[64], tune[64]; /* that made it; cpu "": as shipped */
	char selftest[SELFTEST_MAX];	  /* the packager's command; "": none. The caller runs it */
	bool selftest_ran;		  /* set by whoever runs it */
};

/**
 * edit_run() - @retpath: the new executable, in options->directory (PATH_MAX bytes)
 * Return: 0; EDIT_NOTHING when the profile names nothing that ran; EDIT_UNTRUSTED when the IR is not
 * the program and that is not accepted; -ENODATA when it carries none; other negative errno; @reterr says why.
 */
enum { EDIT_NOTHING = 1, EDIT_UNTRUSTED = 2 };
int edit_run(const struct image *program, const struct profile *profile, const struct edit_options *options,
	     char *retpath, struct edit_report *ret, struct fault *reterr);

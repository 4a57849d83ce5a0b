/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * edit_report.h - what one edit tells (report.h writes it as JSON)
 *
 * Numbers and text only: the worker hands it out of the sandbox in shared memory.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "editor/count/annotate.h"
#include "editor/count/indirect.h"
#include "editor/count/inlining.h"
#include "editor/count/prediction.h"
#include "editor/steps/edit_options.h"
#include "editor/trust/trust.h"
#include "module/build_id.h"

#define EDIT_STEPS 8
#define EDIT_PASSES_MAX 64u
#define EDIT_NAMED_MAX 32u /* functions that a report names, by so many bytes */
#define EDIT_NAME_BYTES 96u
#define EDIT_SELFTEST_MAX 4096u /* bytes of the packager's command, with its end */

/* What edit_run() returns besides errors. */
enum { EDIT_NOTHING = 1, EDIT_UNTRUSTED = 2 };

enum kept { KEPT_ABSENT, KEPT_CHANGED, KEPT };

/* What became of the wish to keep a function's code. */
struct edit_report_kept {
	uint64_t cfg_hash; /* that it has; 0: unknown */
	uint8_t state;	   /* enum kept */
};

struct edit_report {
	struct trust_report trust;
	struct fault difference; /* between IR and shipped file, accepted because of @rebase; "": none */
	struct annotate_stats counts;
	struct indirect_stats indirect;
	struct inlining_stats inlining;
	size_t n_loops;	  /* jumps back to the head of a hot loop, which starts a line */
	unsigned way;	  /* in which code is generated, predicted to be better: of counted.h */
	size_t n_imports; /* functions of other files that hot code calls without the procedure linkage table */
	size_t n_modules, n_hot_modules;
	size_t n_proven,
		n_unproven; /* hot functions whose code is the same without facts (facts.h); of others, which stay as shipped */
	char unproven[EDIT_NAMED_MAX][EDIT_NAME_BYTES]; /* the first of these; a long name is cut */
	bool recalls_code;				/* the shipped code was in the memo (recall.h) */
	size_t n_proofs_recalled;			/* modules whose proofs were */
	size_t n_halves_recalled;			/* modules whose cold half's code was */
	size_t n_as_shipped; /* functions that were asked to keep their shipped code */
	struct edit_report_kept kept[EDIT_KEPT_MAX]; /* as edit_options.as_shipped */
	size_t n_kept_objects; /* of hot modules: their cold code is step 1's, not generated once more */
	size_t n_laid_out;     /* functions with a new block order */
	size_t n_cold_blocks;  /* blocks moved out of line */
	double score_before, score_after; /* ext-TSP, of the functions laid out: compiler's order, ours */
	struct executed before, after;	  /* by the profile, of the functions compiled anew */
	uint64_t text_before, text_after; /* bytes */
	size_t n_blocks;		  /* in the shipped file */
	uint64_t passes_run;		  /* a bit for each of the edit's table */
	double cpu_s[EDIT_PASSES_MAX];	  /* user + system, of each pass; children included */
	uint64_t peak_bytes;		  /* largest process */
	struct build_id build_id;	  /* of the generation */
	uint64_t profile_digest;
	char llvm[32], cpu[64], tune[64]; /* that made it; cpu "": as shipped */
	char selftest[EDIT_SELFTEST_MAX]; /* the packager's command; "": none. The caller runs it */
	char without[256];		  /* names of the passes that were left out, with blanks */
	struct fault
		fallback; /* why it was only placed anew: the edit that was asked for failed; "": it did not. Set by the caller */
	bool selftest_ran; /* set by whoever runs it */
};

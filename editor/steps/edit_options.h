/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * edit_options.h - what one edit is asked for
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_cache;

#define EDIT_KEPT_MAX 8192u

/* Functions of one name that keep their shipped code, in every module (kept.h). */
struct edit_kept {
	const char *name;
	uint64_t cfg_hash; /* only those with this graph; 0: whatever it is */
	bool may_lack;	   /* no error when there is none */
};

struct edit_options {
	const char *directory;	 /* scratch; holds everything, is the caller's to remove */
	const char *sidecar_dir; /* NULL: the default */
	const char *cpu;	 /* code for this CPU; "native": the machine's (host.h); NULL: as shipped */
	const char *tune;	 /* scheduled for this one; NULL: for @cpu */
	bool layout_only;	 /* steps 5 to 8 on the IR as it is */
	bool limits_copies;	 /* room for copies of callees (room.h) is multiplied by @copies */
	double copies;		 /* >= 0 */
	bool no_unroll;		 /* loops are not unrolled but where the source asks for it */
	bool limits_vectors;	 /* vectors have at most @vector_bits */
	unsigned vector_bits;	 /* 0: code that is not vectorized stays so */
	bool trusts_facts;	 /* what IR claims without showing it in code is believed (facts.h) */
	bool rebase;		 /* where step 1 finds a difference, take the IR at its word, and say so */
	bool checks_only;	 /* step 1 and no more: edit_check() */
	const struct code_cache *
		code_cache; /* with checks_only: code of earlier checks (code_cache.h); borrowed; NULL: none is kept */
	const char *ir_of; /* no step at all: the IR of this function is wanted (show.h); NULL: an edit */
	const struct edit_kept *as_shipped; /* sorted by name; borrowed */
	size_t n_as_shipped;		    /* at most EDIT_KEPT_MAX */
	uint64_t
		passes_off; /* a bit for each pass of the table that is left out; only of those that can be (edit.h) */
	void (*on_step)(void *userdata, size_t step); /* a step begins; may be NULL */
	void *userdata;
	unsigned n_threads; /* 0: as many as CPUs */
	bool keeps_memo;    /* what does not depend on the profile is for the next edit, too (recall.h) */
	const void *memo;   /* of an edit before; borrowed */
	size_t memo_size;   /* 0: there is none */
};

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * edit_options.h - what one edit is asked for
 */

#include <stdbool.h>
#include <stddef.h>

struct edit_options {
	const char *directory;	 /* scratch; holds everything, is the caller's to remove */
	const char *sidecar_dir; /* NULL: the default */
	const char *cpu;	 /* code for this CPU; "native": the machine's (host.h); NULL: as shipped */
	const char *tune;	 /* scheduled for this one; NULL: for @cpu */
	bool layout_only;	 /* steps 5 to 8 on the IR as it is */
	bool trusts_facts;	 /* what IR claims without showing it in code is believed (facts.h) */
	bool rebase;		 /* where step 1 finds a difference, take the IR at its word, and say so */
	bool checks_only;	 /* step 1 and no more: edit_check() */
	void (*on_step)(void *userdata, size_t step); /* a step begins; may be NULL */
	void *userdata;
	unsigned n_threads; /* 0: as many as CPUs */
};

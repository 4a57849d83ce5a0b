/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * state.h - what one edit hands from pass to pass
 *
 * A pass is `int pass_NAME(struct edit *edit, struct fault *reterr)` in a file of this folder, and a line in the table of
 * editor/edit.c. Return: 0; EDIT_NOTHING, EDIT_UNTRUSTED, negative errno: the edit ends with that, @reterr says why.
 */

#include <limits.h>
#include <llvm-c/Types.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "base/fault.h"
#include "editor/count/heat.h"
#include "editor/count/slots.h"
#include "editor/ir/ir.h"
#include "editor/link/placement.h"
#include "editor/steps/edit_report.h"
#include "editor/steps/edit_options.h"
#include "editor/steps/memo.h"
#include "editor/trust/link_map.h"
#include "editor/trust/references.h"
#include "module/block_map.h"
#include "module/dynamic.h"
#include "module/image.h"
#include "module/morph_data.h"
#include "profiles/store/profile.h"

/* One module of the program on its way through the edit. */
struct unit {
	struct buffer restored; /* bitcode of the whole, where it had lost something; owned */
	bool is_restored;	/* it had lost something */
	bool differs;		/* it defines a function that did not regenerate */
	bool has_code;		/* the code as shipped was generated, or taken, of the bitcode as it is now */
	bool is_taken;		/* from the cache of code */
	bool is_doubted;	/* it is not taken from there any more */
	struct buffer cold; /* bitcode of the half that did not run, unless its base object is kept; owned */
	uint8_t half[MEMO_KEY_BYTES]; /* key of that half's code (recall.h) */
	struct name_set *moved;	      /* names that only the hot module defines now; owned */
	bool has_assembly;
	bool is_cut;
	bool keeps_base; /* its base object is linked again: all of it, or without what moved */
};

/* All is owned but what is given: the first three. */
struct edit {
	const struct image *program;
	const struct profile *profile; /* NULL: the file is only checked */
	const struct edit_options *options;
	struct edit_report *report;
	struct morph_data *data;
	struct unit *units;	  /* one per data->modules[] */
	struct heat *heat;	  /* which functions are compiled anew */
	LLVMModuleRef hot;	  /* all hot halves, linked; only from "unfold" to "fold" (hot.h) */
	LLVMModuleRef hot_part;	  /* the last of them, not yet joined with the others (hot.h) */
	unsigned n_hot_part;	  /* how many these are */
	struct name_set *visible; /* names that something outside the hot module needs */
	const struct name_set *
		unproven; /* of the module that is being cut: functions whose code hangs on facts; borrowed */
	struct name_set *as_shipped; /* likewise, or NULL: functions that keep their shipped code (kept.h) */
	struct slots *slots;	     /* where the program keeps pointers to functions */
	struct link_map *known;	     /* what is in the shipped file, of which object */
	struct references names;     /* of the shipped link */
	struct name_set *words;	     /* of the linker's options */
	struct name_set *wrapped;    /* names whose uses the linker leads elsewhere */
	const char *
		run_path; /* of the program as installed, for its generations; borrowed; NULL: it was not compared yet */
	struct dynamic dynamic; /* of the program */
	char origin[PATH_MAX];	/* its directory, where it is installed */
	struct buffer hot_bitcode;
	bool has_dispatch;	   /* the hot module has one (editor/code/dispatch.h) */
	struct buffer dispatch;	   /* bitcode of what has one; empty: not to be looked at alone; owned */
	struct block_map *counted; /* of step 5's link: the hot code with its probes and counts */
	struct placement placement;
	struct memo *memo;  /* NULL: none is kept (recall.h) */
	char out[PATH_MAX]; /* the new executable */
};

/**
 * edit_origin() - the directory that @program is installed in: its $ORIGIN; "": it is not known
 * @profile: where it was last seen; what is edited may be a copy in a store. NULL: there is none
 */
void edit_origin(const struct image *program, const struct profile *profile, char ret[PATH_MAX]);

/** edit_init() - load the program's Morph data and make room; @edit has what is given. What edit_run() says; edit_done() always */
int edit_init(struct edit *edit, struct fault *reterr);
void edit_done(struct edit *edit);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * names.h - what to call a place of one file so that another build of it calls the same thing the same
 *
 * In order of what is asked first:
 *	NAMES_SAME	one build: its functions
 *	NAMES_SHIPPED	generations of one shipped file, and itself: each instruction of a generation counts for the shipped
 *			function that has it (debug/match.h), wherever it was copied
 *	NAMES_PROBES	two builds that carry block maps: the IR function whose probes a block has, also where an edit copied it;
 *			a block with those of several is divided by their number. What the compiler inlined before has its
 *			caller's probes
 *	NAMES_SCOPES	two builds with debug information, if asked: the innermost inlined function
 *	NAMES_SYMBOLS	the symbol; clones and parts (".cold", ".constprop.0") count for their function
 *
 * A function whose name the other build has not is looked for under another name: by the IR's graph (the block map's CFG
 * hash), or by its machine code less addresses. Only if exactly one on each side is alike, and not too small, it is the same:
 * "OLD -> NEW".
 */

#include "cli/shared/sampled_file.h"
#include "cli/shared/tally.h"

enum names_by { NAMES_SAME, NAMES_SHIPPED, NAMES_PROBES, NAMES_SCOPES, NAMES_SYMBOLS };

struct names_options {
	const char *shipped, *store, *sidecar_dir; /* as morph-translate(1); NULL: the usual places */
	bool inlined;				   /* NAMES_SCOPES rather than symbols */
};

struct names;

/**
 * names_open() - for two builds; each may be a file that cannot be read
 * @files: borrowed, must outlive it. Return: 0; -ENODATA: options->inlined, and one has no debug information; -ENOMEM;
 * with @reterr
 */
int names_open(const struct sampled_file *files[2], const struct names_options *options, struct names **ret,
	       struct fault *reterr);
void names_free(struct names *names); /* accepts NULL */
DEFINE_CLEANUP(struct names *, names_free);

enum names_by names_how(const struct names *names);

/** names_note() - what could not be done better, and why; "" when there is nothing to say */
const char *names_note(const struct names *names);

/** names_renamed() - functions that are the same under another name */
size_t names_renamed(const struct names *names);

/** names_tally() - @samples at @offset of the file of side 0 or 1 count for their function; 0 or -ENOMEM */
int names_tally(struct names *names, unsigned side, uint64_t offset, double samples, struct tally *tally,
		const char *module, size_t column);

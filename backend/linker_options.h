/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * linker_options.h - reading the command line that clang gives its linker
 *
 * One table says for each option of ld.lld what it means for packing: whether its value is a word of
 * its own, and whether the link plan keeps it, keeps the file it names, or drops it because it names an
 * input, an output, or something about LTO that is over when the plan is used.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/fault.h"
#include "module/link_plan.h"
#include "module/morph_data.h"

struct linker_options {
	const char *output;	/* -o; borrowed from argv */
	bool relocatable;	/* -r */
	bool only_information;	/* --version and nothing to link */
	bool strip_all;		/* -s: done after packing */
	bool has_build_id;
	bool thin;		/* ThinLTO, by clang's -plugin-opt=thinlto */
	bool pic;		/* -pie or -shared */
	unsigned opt_level;	/* of LTO */
	const char *cpu;	/* -plugin-opt=mcpu=..., or NULL */
	const char **codegen;	/* owned; -mllvm options of the caller */
	size_t n_codegen;
};

/** linker_options_read() - @argv after response files were expanded; -ENOMEM */
int linker_options_read(int argc, char **argv, struct linker_options *ret, struct fault *reterr);
void linker_options_done(struct linker_options *options);

/**
 * linker_options_plan() - add what the plan keeps of @argv, files included
 * The bytes of files stay mapped as long as the process lives, which is as long as one link.
 */
int linker_options_plan(int argc, char **argv, struct link_plan *plan, struct fault *reterr);

/**
 * linker_options_expand() - @argv with every @FILE replaced by the words in it (GNU quoting)
 * @retargv: owned by the caller for the life of the process
 */
int linker_options_expand(int argc, char **argv, int *retargc, char ***retargv, struct fault *reterr);

/** linker_options_is_strip() - -s or --strip-all: must not reach ld.lld, packing needs the symbols */
bool linker_options_is_strip(const char *argument);

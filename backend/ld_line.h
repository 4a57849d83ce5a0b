/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * ld_line.h - a linker command line, as ld.lld understands it
 *
 * Every word belongs to one item. What an item is decides what becomes of it in the link plan: options
 * that shape the output are kept, inputs are replaced by their bytes, what only finds inputs, reports
 * or belongs to the code generator goes.
 */

#include <stdbool.h>
#include <stddef.h>

#include "backend/arguments.h"
#include "base/fault.h"

enum ld_item_kind {
	LD_KEEP = 1,  /* shapes the output */
	LD_DROP,      /* finds inputs, reports, tunes the linker */
	LD_GNU,	      /* reports or tunes, and ld.lld does not know it */
	LD_INPUT,     /* value: a file, an archive, a linker script */
	LD_LIBRARY,   /* value: what follows -l */
	LD_FILE,      /* option text "--version-script=", value: the file */
	LD_CODEGEN,   /* belongs to LTO */
	LD_STRIP_ALL, /* -s */
	LD_STATIC,    /* -static */
	LD_BUILD_ID,
	LD_EXCLUDE_LIBS,
	LD_OUTPUT,
	LD_OURS, /* from morph cc */
	LD_PASS, /* makes something else than a program or library: leave the whole link alone */
};

struct ld_item {
	enum ld_item_kind kind;
	const char *option; /* static: name as in the table, with dashes; NULL for inputs */
	const char *value;  /* borrowed from the arguments; NULL: has none */
	size_t first, n;    /* the words it takes */
};

struct ld_line {
	struct arguments words; /* owned; expanded, without argv[0] */
	struct ld_item *items;	/* owned */
	size_t n_items, capacity;

	const char *output;    /* "a.out" unless given */
	const char *selftest;  /* --morph-selftest=, or NULL */
	const char *benchmark; /* --morph-benchmark=, or NULL */
	const char *sysroot;
	const char *cpu;    /* -mcpu of the code generator, or NULL */
	unsigned lto_level; /* of the pipeline: 0..3; 2 unless given */
	unsigned codegen_level;
	bool is_shared, is_pie, is_static, is_thin, is_relocatable, is_aarch64;
	bool strips;			     /* -s */
	bool wants_trace;		     /* the caller said --trace */
	bool wants_lld;			     /* the caller of morph cc said -fuse-ld=lld */
	bool has_build_id, refuses_build_id; /* --build-id, --build-id=none */
	bool chooses_build_id;		     /* --build-id=0x..., =uuid: not made from the file's contents */
	bool verifies;			     /* --morph-verify: what is packed must regenerate */
	bool has_cache;			     /* --thinlto-cache-dir */
	bool has_pipeline;		     /* the caller chose the LTO passes */
	bool excludes_libs;		     /* --exclude-libs */
	bool judges_versions; /* --undefined-version or its opposite: the caller's word on scripts with names of nothing */
	bool collects; /* --gc-sections */
	bool judges_starts; /* -z start-stop-gc or its opposite: the caller's word on sections that only __start_X refers to */
	bool judges_stack; /* -z execstack or its opposite */
	bool passes;	   /* some item is LD_PASS */
};

/** ld_line_parse() - @argc words behind the program's name; 0, -ELOOP, -ENOMEM with @reterr */
int ld_line_parse(int argc, char *const argv[], struct ld_line *ret, struct fault *reterr);
void ld_line_done(struct ld_line *line);
static inline void ld_line_donep(struct ld_line *line)
{
	ld_line_done(line);
}

/** ld_line_keeps_started() - do sections that only __start_X refers to stay, as GNU ld has it unless it is told otherwise? */
static inline bool ld_line_keeps_started(const struct ld_line *line)
{
	return line->collects && !line->judges_starts;
}

/**
 * ld_line_library() - the file that -l@name means, searched as ld.lld does in the -L directories
 * @is_static: only archives
 * Return: an allocated path, or NULL when there is none.
 */
char *ld_line_library(const struct ld_line *line, const char *name, bool is_static);

/** ld_line_has_ir() - may any input carry IR? Unknown kinds of inputs may. */
bool ld_line_has_ir(const struct ld_line *line);

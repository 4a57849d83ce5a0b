/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * cc_line.h - what a compiler command line asks for, as far as `morph cc` must know
 */

#include <stdbool.h>

enum cc_mode {
	CC_PLAIN = 1, /* nothing of ours: preprocess, print, -r, another target, no input ... */
	CC_COMPILE,   /* -c */
	CC_LINK,      /* the default, perhaps with compiling before */
};

struct cc_line {
	enum cc_mode mode;
	bool has_lto;	/* some -flto... of the caller's stands */
	bool has_fat;	/* -ffat-lto-objects or -fno-fat-lto-objects */
	bool wants_lld; /* -fuse-ld=lld */
	bool is_probe; /* asks what the compiler can do, as configure, CMake and Meson do, and is linked by it */
	bool is_question; /* the same, whatever it makes */
	bool builds; /* CC_PLAIN: makes code, for which there is no IR; else nothing is made, or something is printed */
	bool has_input, has_source; /* an input; one that is compiled */
	bool reads_stdin;
	bool makes_header;     /* all inputs are headers: they are precompiled, with -c or without */
	const char *output;    /* -o, or NULL */
	const char *input;     /* the first one, or NULL */
	const char *linker;    /* another linker that the caller wants, or NULL */
	const char *selftest;  /* --morph-selftest=, or NULL */
	const char *benchmark; /* --morph-benchmark=, or NULL */
	bool verifies;	       /* --morph-verify */
};

/** cc_takes_next() - is the word behind @option its value? */
bool cc_takes_next(const char *option);
/** cc_line_read() - @argv[0] is skipped; @argv is expanded already */
struct cc_line cc_line_read(int argc, char *const argv[]);

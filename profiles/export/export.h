/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * export.h - profiles and samples in the forms that other tools read (docs/format-interchange.md)
 *
 * All are deterministic. Functions come in descending order of samples, equal ones by GUID.
 */

#include "base/bytes.h"
#include "base/fault.h"
#include "module/image.h"
#include "profiles/samples/sample_log.h"
#include "profiles/store/profile.h"

enum export_format {
	EXPORT_LLVM = 1,  /* LLVM sample profile, text, probe based: llvm-profdata, opt, clang */
	EXPORT_PPROF,	  /* profile.proto, gzip: pprof and what speaks it */
	EXPORT_COLLAPSED, /* "program;function samples": flame graph tools */
	EXPORT_BOLT,	  /* fdata without branch records: llvm-bolt -data */
};

/** export_parse() - "llvm", "pprof", "collapsed", "bolt"; 0: unknown */
enum export_format export_parse(const char *name);

/**
 * export_llvm() - append the text profile
 *
 * A block of which nothing is known is left out; one that is known not to run is an explicit 0 (to
 * LLVM these are different things). LLVM finds functions by name, so those without are left out.
 * @retn_nameless: how many; may be NULL. Return: 0 or -ENOMEM.
 */
int export_llvm(const struct profile *profile, struct buffer *ret, size_t *retn_nameless);

/**
 * export_pprof() - append a gzipped profile.proto with the values (samples, executions)
 * A function's samples stand at its line 0; the executions of IR block n at its "line" n.
 * Return: 0 or -ENOMEM.
 */
int export_pprof(const struct profile *profile, struct buffer *ret);

/** export_collapsed() - append one line for every function with samples; 0 or -ENOMEM */
int export_collapsed(const struct profile *profile, struct buffer *ret);

/**
 * export_bolt() - append fdata in the no-LBR form: symbol, offset in it, samples
 * @image: the file that was sampled, with its symbols
 * @module: its samples
 * @retmapped: samples that fell into a function symbol; may be NULL
 * Return: 0; -ENODATA: the file has no function symbols; -ENOMEM.
 */
int export_bolt(const struct image *image, const struct sample_module *module, struct buffer *ret,
		uint64_t *retmapped, struct fault *reterr);

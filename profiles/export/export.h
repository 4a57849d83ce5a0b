/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * export.h - profiles and samples in the forms that other tools read (docs/format-interchange.md)
 *
 * All are deterministic. Functions come in descending order of samples, equal ones by GUID.
 */

#include <stdbool.h>

#include "base/bytes.h"
#include "base/fault.h"
#include "base/names.h"
#include "module/image.h"
#include "profiles/samples/sample_log.h"
#include "profiles/store/profile.h"

#define EXPORT_LEFT_BYTES 128u

/* What is exported: a profile, or samples and the file that they are of. All borrowed. */
struct export_input {
	const struct profile *profile;
	const struct image *image;
	const struct sample_module *module;
};

/* A form that other tools read. */
struct exporter {
	const char *name, *title;
	bool of_samples; /* wants image and module, not a profile */
	bool is_binary;	 /* nothing for a terminal */

	/**
	 * run() - append to @ret
	 * @retleft: a sentence about what had to be left out (EXPORT_LEFT_BYTES); untouched when nothing had
	 * Return: 0; -ENODATA, -ENOMEM with @reterr
	 */
	int (*run)(const struct export_input *input, struct buffer *ret, char *retleft, struct fault *reterr);
};

/**
 * The exporters. A new one is export_NAME.c, which defines exporter_NAME, a line here, and its name in morph-profile(1) and
 * docs/format-interchange.md.
 */
// clang-format off: a table
#define EXPORTERS(exporter) \
	exporter(llvm)		/* LLVM sample profile, text, probe based: llvm-profdata, opt, clang */ \
	exporter(pprof)		/* profile.proto, gzip: pprof and what speaks it */ \
	exporter(otlp)		/* OpenTelemetry's ProfilesData: collectors */ \
	exporter(collapsed)	/* "program;function samples": flame graph tools */ \
	exporter(bolt)		/* fdata without branch records: llvm-bolt -data */
// clang-format on

#define EXPORTER_DECLARE(name) extern const struct exporter exporter_##name;
EXPORTERS(EXPORTER_DECLARE)

/** exporter_at() - the table, by row */
struct named exporter_at(size_t i);
/** exporter_find() - by name; NULL with @reterr, which lists them: there is none */
const struct exporter *exporter_find(const char *name, struct fault *reterr);

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

/** export_otlp() - append a ProfilesData message (otlp.h), values and lines as export_pprof(); 0 or -ENOMEM */
int export_otlp(const struct profile *profile, struct buffer *ret);

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

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * places.h - samples of many files in the forms that other tools read (docs/format-interchange.md)
 *
 * What export.h does for one program's profile, this does for all that ran: `morph report --format`. Names are foreign
 * bytes: each form gets them as text of its own kind, without control characters.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/fault.h"
#include "base/names.h"
#include "module/build_id.h"

/* A place that was sampled. All texts are borrowed; NULL: not known, or not told apart. */
struct export_place {
	const char *image; /* path, or what stands for one: [kernel]; never NULL */
	struct build_id build_id;
	const char *procedure, *file;
	const char *symbol; /* of the procedure, as the file has it; NULL: the same */
	uint32_t line;
	uint64_t address, procedure_offset; /* in the file before relocation; 0: not known */
	const char *user, *log;
	uint64_t samples;
	double seconds;	 /* of a CPU */
	bool is_process; /* of calls: what a stack begins with; image is its name */
};

#define EXPORT_OUTERMOST UINT32_MAX

/* A place in a tree of calls, callers first; samples and seconds are those that end here. */
struct export_call {
	uint32_t place;	 /* in export_places.list */
	uint32_t parent; /* its caller, in export_places.calls; EXPORT_OUTERMOST */
	uint64_t samples;
	double seconds;
};

struct export_places {
	const struct export_place *list;
	size_t n;
	const struct export_call
		*calls; /* NULL: no stacks; else samples and seconds are here, and not in the list */
	size_t n_calls;
	uint64_t start_ns, duration_ns; /* 0: not known */
	bool has_seconds;		/* false: no clock took the samples */
};

struct place_exporter {
	const char *name, *title;
	bool is_binary;	   /* nothing for a terminal */
	bool of_addresses; /* wants each instruction, not sums of procedures or lines */

	/** run() - append to @ret; 0 or -ENOMEM */
	int (*run)(const struct export_places *places, struct buffer *ret);
};

/**
 * A new one is places_NAME.c, which defines place_exporter_NAME, a line here, and its name in morph-report(1) and
 * docs/format-interchange.md.
 */
// clang-format off: a table
#define PLACE_EXPORTERS(exporter) \
	exporter(pprof)		/* profile.proto, gzip: pprof and what speaks it */ \
	exporter(otlp)		/* OpenTelemetry's ProfilesData: collectors */ \
	exporter(folded)	/* "user;image;procedure samples", or "process;caller;callee samples": flame graph tools */ \
	exporter(speedscope)	/* JSON: speedscope.app */ \
	exporter(script)	/* what `perf script` prints, a sample for each place */
// clang-format on

#define PLACE_EXPORTER_DECLARE(name) extern const struct place_exporter place_exporter_##name;
PLACE_EXPORTERS(PLACE_EXPORTER_DECLARE)

/** place_exporter_at() - the table, by row */
struct named place_exporter_at(size_t i);
/** place_exporter_find() - by name; NULL with @reterr, which lists them: there is none */
const struct place_exporter *place_exporter_find(const char *name, struct fault *reterr);

/** place_frame_put() - a name as one frame of a text form: `;`, blanks if @one_word, and control characters become `_` */
void place_frame_put(struct buffer *out, const char *name, bool one_word);
/** place_name() - of a frame: the procedure's, else the image's */
const char *place_name(const struct export_place *place);
/** place_base() - the last part of the image's path */
const char *place_base(const struct export_place *place);

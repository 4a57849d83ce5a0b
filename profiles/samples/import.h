/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * import.h - samples that other tools recorded, as a sample log (docs/format-interchange.md)
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "base/names.h"
#include "profiles/samples/sample_log.h"

#define IMPORT_HEAD_BYTES 16u

/* What was in the file, for one sentence to the user. */
struct import_summary {
	char event[64];		   /* taken */
	uint64_t samples;	   /* of it */
	uint64_t others;	   /* samples of events that were not taken */
	uint64_t without_build_id; /* user samples in files of which no build ID was recorded */
	uint64_t branches;	   /* entries of branch stacks taken over */
	uint64_t branches_dropped; /* between files, or in no file */
};

/* A form that other tools write. */
struct importer {
	const char *name, *title;
	/** knows() - is it one of these, by its first bytes? @n: up to IMPORT_HEAD_BYTES; 0: a directory */
	bool (*knows)(const uint8_t *head, size_t n);
	/** read() - @event: the one to take; NULL: that samples time. @retsummary: may be NULL. -errno with @reterr */
	int (*read)(const char *path, const char *event, struct sample_log **ret,
		    struct import_summary *retsummary, struct fault *reterr);
};

/**
 * The importers. A new one is a file here, which defines importer_NAME, a line below, its fuzz target, and its name in
 * morph-profile(1) and docs/format-interchange.md.
 */
// clang-format off: a table
#define IMPORTERS(importer) \
	importer(perf_data)	/* what `perf record` leaves */
// clang-format on

#define IMPORTER_DECLARE(name) extern const struct importer importer_##name;
IMPORTERS(IMPORTER_DECLARE)

/** importer_at() - the table, by row */
struct named importer_at(size_t i);

/** import_read() - by whichever knows it; errors: the importer's, -EBADMSG when none does, with @reterr */
int import_read(const char *path, const char *event, struct sample_log **ret,
		struct import_summary *retsummary, struct fault *reterr);

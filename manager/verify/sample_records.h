/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * sample_records.h - what ran, as morphd keeps it, read beside it: state.db, never changed
 *
 * morphd keeps how many samples each file has had since it was first seen, not when it had them; of programs that carry
 * Morph data also the places, aged (docs/format-store.md: table sample).
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"

struct sample_record {
	const char *path;	/* where it stands or was last seen */
	const char *module_key; /* of the shipped file: its build ID, or another key */
	const char *build_id;	/* of this very file, hexadecimal; "": not known */
	int64_t kind;		/* enum sample_module_kind */
	int64_t number;		/* of the generation; 0: shipped */
	int64_t samples, first_ns, last_ns;
};

/* Of programs that were edited at least once: what was made, and the shipped file. */
struct generation_record {
	const char *path, *state, *reason; /* where its program stands; docs/format-store.md; "": none */
	int64_t number;
	bool is_active;
	int64_t created_ns, samples, crashes;
	double gain;				      /* predicted; NAN: not known */
	double measured, measured_low, measured_high; /* gain and its interval; NAN: not measured */
};

/* Whose time it was, in all hours that were asked for. */
struct usage_record {
	const char *process, *unit; /* "": not known */
	int64_t user;		    /* -1: not known */
	int64_t samples, cpu_us;
	int64_t first_ns, last_ns; /* of the hours it is in: the first's begin, the last's end */
};

/* Those that are NULL are not told. Each may return a negative code, which ends the reading. All texts are borrowed. */
struct sample_records_reader {
	void *userdata;
	int (*total)(void *userdata, const char *key,
		     int64_t value); /* fired, idle, kernel, user, lost_... */
	int (*file)(void *userdata, const struct sample_record *record);
	int (*place)(void *userdata, int64_t offset, double weight);		   /* of that file */
	int (*generation)(void *userdata, const struct generation_record *record); /* by path, then number */
	int (*usage)(void *userdata, const struct usage_record *record);
	uint64_t since_ns, until_ns; /* of usage: hours that touch this time; 0: all before, all behind */
};

/** sample_records_read() - all of @state_directory/state.db; -ENOENT, -EACCES, -EUCLEAN, ... with @reterr */
int sample_records_read(const char *state_directory, const struct sample_records_reader *reader,
			struct fault *reterr);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * decide.h - shall this module be edited now? Numbers in, a verdict and a sentence out; no I/O
 *
 * The simplest rule that is safe: enough new samples since the last edit, nothing speaks against it,
 * and the machine is idle. The order of the tests is the order in which a user would want to know.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "manager/keep/settings.h"

enum decision {
	DECIDE_EDIT,
	DECIDE_WAIT,   /* something will change by itself: samples, time, load */
	DECIDE_SAMPLE, /* only samples are missing, not many, and it runs: sampling faster for seconds helps */
	DECIDE_NEVER,  /* until the user or a new build changes it */
};

struct decide_input {
	bool carries;
	const char *note;      /* when it does not carry: why; may be NULL */
	const char *condemned; /* NULL: not */
	const char *tuned;     /* what was measured of it here; NULL: nothing was */
	const char *pinned;    /* the reason, or NULL; set only when all its paths are pinned */
	bool has_target;
	uint64_t samples, new_samples;
	uint64_t others;	/* samples of others (priors.h), which make an edit possible */
	uint64_t new_others;	/* the part of new_samples that is theirs: all of them before a first edit */
	bool is_first;		/* no edit of it was ever tried to its end */
	bool is_by_others;	/* the last edit was mostly by what others counted */
	uint64_t needed;	/* new samples that the last attempt found missing; 0: none was */
	int64_t since_edit_s;	/* < 0: never edited */
	int64_t since_sample_s; /* since it was last sampled; < 0: the clock was set back */
	uint64_t failures;	/* edits that failed in a row */
	uint64_t edits_today;	/* of all programs, in the last 24 hours, that nobody asked for */
	uint64_t edits_of_user, edits_of_program; /* the same of its owner's programs, of itself */
	bool is_roots;				  /* no bound for its owner */
	const char *store_full;			  /* why nothing more of it may be kept; NULL: it may */
	uint64_t free_bytes;
	bool idle;
	const char *busy; /* why it is not idle */
};

#define DECIDE_REASON_MAX 256

/** decide() - @automatic false: the user asked, so only what makes an edit impossible counts */
enum decision decide(const struct settings *settings, const struct decide_input *input, bool automatic,
		     char retreason[DECIDE_REASON_MAX]);

/**
 * decide_activate() - shall what an edit made be put into place? @gain: what the editor predicts, if it does
 * @automatic: as for decide(); what the user asked for is used whatever the prediction. Return: false with @retreason
 */
bool decide_activate(bool gain_is_known, double gain, bool automatic, char retreason[DECIDE_REASON_MAX]);

/** decide_retry_s() - how long to wait after @failures failed edits: an hour, doubling, at most a week */
uint64_t decide_retry_s(uint64_t failures);

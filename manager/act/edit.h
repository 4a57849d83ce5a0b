/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * edit.h - from the samples of a module to its next generation: three jobs, one after the other
 *
 *	1. edit_start()		the shipped file goes into the store; what the jobs need is put together
 *	2. profile_command	samples of every generation -> profile
 *	3. editor_command	shipped file + profile -> new binary + report
 *	4. morph-check		is the new binary what it should be? by a process that never met the IR
 *	5. accept_generation()	into the store
 *	6. edit_activate()	at every path where the module is installed and not pinned
 *
 * Steps 2 to 4 are jobs (job.h), each of a user of its own, in a directory of its own, where files have these names;
 * variables in the two commands:
 *	{original}	the shipped file
 *	{samples}	a sample log with the samples of every generation
 *	{carried}	several words, or none: --from=PROFILE --half-life=TIME, what was carried over from
 *			the build before (carryover.h)
 *	{prior}		several words, or none: --prior=PROFILE, what others counted (priors.h), the nearest first
 *	{generations}	several words, perhaps none: --generation=BINARY for each of them that has samples
 *	{profile}	the profile: written by the first command, read by the second
 *	{output}	the new binary
 *	{report}	JSON about it; may stay away
 *	{directory}	the directory
 *	{sidecars}	where Morph data outside of its program is found by build ID
 *	{build_id}	of the shipped file
 *	{rebase}	--rebase where morphd.conf allows it, or no word
 *	{kept}		several words, or none: what is to stay as shipped (exceptions.h)
 * When the first command's standard output is JSON with a `verdict` of `empty` or `too-few`, an
 * automatic edit ends there, to be tried again after `missing_samples` more. Likewise when the edit before was mostly by
 * others' counts, and the samples since then agree with them (profile_answer.h).
 * A command succeeds by exit status 0 and by having written its file; otherwise the last line of its
 * standard error is the reason that is reported.
 */

#include <stdbool.h>
#include <stdint.h>

#include "manager/keep/context.h"

struct edit;

struct edit_request {
	int64_t module;
	const char *path;   /* NULL: automatic; else where the user wants it */
	const char *reason; /* of the decision */
	const char *
		made; /* a directory with an output, a report.json, a profile of somebody who measured it: steps 2 and 3
			     * are left out; NULL: none is */
};

/** How it ended: @code 0 or -errno, and @text says what happened. The edit is freed before. */
typedef void (*edit_done)(void *userdata, int code, const char *text);

/** edit_start() - step 1 and the first job; @done is called once, from the event loop, never from here */
int edit_start(struct manager *manager, const struct edit_request *request, edit_done done, void *userdata,
	       struct edit **ret, struct fault *reterr);

/** edit_stop() - end its job and free it; @done is not called. Accepts NULL */
void edit_stop(struct edit *edit);

/** edit_freeze() - stop its processes, or let them go on (job_freeze()); also those of its next jobs. 0 or -errno */
int edit_freeze(struct edit *edit, bool freeze, struct fault *reterr);

/** edit_cpu_us() - as job_cpu_us() */
uint64_t edit_cpu_us(const struct edit *edit);

/** edit_cancel() - end it without a trace: the samples count as new again, and it is no failure. @done hears -ECANCELED */
void edit_cancel(struct edit *edit, const char *text);

/** edit_is_automatic() - nobody asked for it */
bool edit_is_automatic(const struct edit *edit);

/** edit_module() - which module is being edited */
int64_t edit_module(const struct edit *edit);

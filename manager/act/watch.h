/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * watch.h - does a new generation misbehave? is this still the CPU it was made for?
 *
 * For watch_time after an activation (counted in seconds that morphd runs, so neither a changed clock
 * nor a reboot shortens it) deaths by a signal that speaks of a broken program are counted, of processes whose file
 * morphd has verified (verified.h), and weighed by who saw them (crashes.h). More of them than the shipped file's own record
 * explains: the shipped file goes back, the generation is condemned, and the module is left alone until a new build, until
 * condemned_time has passed, or until `morph pardon` or `morph reoptimize`.
 */

#include "manager/keep/catalog.h"
#include "manager/keep/context.h"
#include "profiles/samples/lifecycle.h"

/** watch_signal_counts() - SIGSEGV and its like, but not SIGTERM, SIGKILL, SIGPIPE ... */
bool watch_signal_counts(int signal_number);

/**
 * watch_is_worse() - are @crashes in @exposure too many for a program whose shipped file crashed
 * @base_crashes times in @base_exposure? Without any on record, one is too many; else more than the
 * expected number plus three standard deviations of it (Poisson) plus one.
 */
bool watch_is_worse(int64_t crashes, int64_t exposure, int64_t base_crashes, int64_t base_exposure);

/** watch_is_fault() - a death that says something about the program: nobody's kill(2), but a fault or an abort(3) */
bool watch_is_fault(const struct lifecycle_event *event);

/** watch_count() - inside a transaction: enter one event of the monitor */
int watch_count(struct manager *manager, const struct lifecycle_event *event, struct fault *reterr);

typedef int (*watch_judgement)(struct manager *manager, const struct target_row *target,
			       struct fault *reterr);

/** watch_each() - @judge every path at which a generation stands; it may put the shipped file back */
int watch_each(struct manager *manager, watch_judgement judge, struct fault *reterr);

/**
 * watch_judge() - put the shipped file back wherever the crashes that were counted are too many
 *
 * Outside of transactions. What is judged was committed before, so a kill in between only delays it.
 */
int watch_judge(struct manager *manager, struct fault *reterr);

/** watch_tick() - @seconds have passed */
int watch_tick(struct manager *manager, int64_t seconds, struct fault *reterr);

/**
 * watch_cpu() - put the shipped file back where, as the rows say, a generation made for another CPU stands
 * @retn, @retfailed: programs, added to; each failure is logged
 */
int watch_cpu(struct manager *manager, unsigned *retn, unsigned *retfailed, struct fault *reterr);

/** watch_pardon() - the module may be edited again, and its condemned generations be used; @why: for the journal */
int watch_pardon(struct manager *manager, int64_t module, const char *why, struct fault *reterr);

/** watch_condemn() - put back the shipped file at all paths with @generation; never use it again */
int watch_condemn(struct manager *manager, const struct generation_row *generation, const char *reason,
		  unsigned *retn, struct fault *reterr);

/* SPDX-License-Identifier: Apache-2.0 */

#include "manager/decide/decide.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/macro.h"

#define HOUR 3600u
#define WEEK (7u * 24 * HOUR)
#define SOONER 10
#define RUNS_S 120 /* sampled so lately, it still runs */

uint64_t decide_retry_s(uint64_t failures)
{
	if (!failures)
		return 0;
	return failures > 8 ? WEEK : MIN((uint64_t)HOUR << (failures - 1), (uint64_t)WEEK);
}

static enum decision _printf_(3, 4)
	verdict(enum decision v, char ret[DECIDE_REASON_MAX], const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(ret, DECIDE_REASON_MAX, fmt, ap);
	va_end(ap);
	return v;
}

/*
 * A first edit gains most, and the next ones make up for what it did not know; whether so few samples say enough of a program
 * of this size is asked of its profile (docs/decisions/0043-when-samples-are-enough.md).
 * After an edit by what others counted the samples here are asked soon whether they agree: a machine that uses the program
 * in another way should not wait for as many as another edit of the same kind needs. And what was postponed is looked at
 * again as soon as it has the samples that it lacked, not when it has as many once more.
 */
static uint64_t samples_enough(const struct settings *settings, const struct decide_input *in)
{
	const uint64_t minimum = settings->minimum_samples, sooner = (minimum + SOONER - 1) / SOONER;
	const uint64_t first = MIN(settings->first_samples, minimum);

	if (in->needed || in->is_by_others)
		return MAX(sooner, in->needed);
	return in->is_first && (!in->new_others || in->new_samples - in->new_others >= first) ? first :
												minimum;
}

static uint64_t wait_needed_s(const struct settings *settings, const struct decide_input *in)
{
	return MAX(settings->edit_interval_s, decide_retry_s(in->failures));
}

static bool has_waited(const struct settings *settings, const struct decide_input *in)
{
	return in->since_edit_s < 0 || (uint64_t)in->since_edit_s >= wait_needed_s(settings, in);
}

/* Half of the samples are there, so the others will come; a burst is for the last stretch. */
static bool is_near(const struct settings *settings, const struct decide_input *in, uint64_t enough)
{
	return has_waited(settings, in) && in->new_samples - in->new_others >= enough / 2 &&
	       in->since_sample_s >= 0 && in->since_sample_s < RUNS_S;
}

/* What no wish of the user can change. */
static bool is_impossible(const struct settings *settings, const struct decide_input *in,
			  char ret[DECIDE_REASON_MAX], enum decision *retverdict)
{
	if (!in->carries)
		*retverdict = verdict(DECIDE_NEVER, ret, "it cannot be optimized: %s",
				      in->note ? in->note : "it carries no Morph data");
	else if (in->pinned)
		*retverdict = verdict(DECIDE_NEVER, ret, "it is pinned: %s", in->pinned);
	else if (!in->has_target)
		*retverdict = verdict(DECIDE_NEVER, ret, "no installed file of this build is left");
	else if (!in->samples && !in->others)
		*retverdict = verdict(DECIDE_WAIT, ret, "it has no samples yet");
	else if (in->free_bytes < settings->minimum_free_bytes)
		*retverdict = verdict(DECIDE_WAIT, ret,
				      "only %llu MiB are free on the store's disk (minimum_free is %llu MiB)",
				      (unsigned long long)(in->free_bytes >> 20),
				      (unsigned long long)(settings->minimum_free_bytes >> 20));
	else
		return false;
	return true;
}

/* The prediction has been 11 % too low (docs/decisions/0009): only a clear loss speaks against a generation. */
#define CLEAR_LOSS 0.15

bool decide_activate(bool gain_is_known, double gain, bool automatic, char ret[DECIDE_REASON_MAX])
{
	if (!automatic || !gain_is_known || gain > -CLEAR_LOSS)
		return true;
	snprintf(ret, DECIDE_REASON_MAX,
		 "a generation was built, but not activated: it is predicted to execute %.1f %% more than "
		 "the shipped file",
		 -100 * gain);
	return false;
}

enum decision decide(const struct settings *settings, const struct decide_input *in, bool automatic,
		     char ret[DECIDE_REASON_MAX])
{
	uint64_t enough = samples_enough(settings, in);
	char others[64] = "";
	enum decision v;

	if (is_impossible(settings, in, ret, &v))
		return v;
	if (!automatic)
		return verdict(DECIDE_EDIT, ret, "requested; %llu samples, %llu of them new",
			       (unsigned long long)in->samples, (unsigned long long)in->new_samples);
	if (!settings->automatic)
		return verdict(DECIDE_WAIT, ret, "automatic = no: edits only on request");
	if (in->condemned)
		return verdict(DECIDE_NEVER, ret, "an earlier generation was taken back: %s", in->condemned);
	if (in->tuned)
		return verdict(DECIDE_NEVER, ret,
			       "it was measured on this machine: %s; only another build or CPU changes that",
			       in->tuned);
	if (in->new_samples < enough)
		return verdict(is_near(settings, in, enough) ? DECIDE_SAMPLE : DECIDE_WAIT, ret,
			       "%llu of %llu new samples%s", (unsigned long long)in->new_samples,
			       (unsigned long long)enough,
			       in->needed && !in->is_by_others ?
				       "; an edit was begun, and those until then were too few" :
				       "");
	if (!has_waited(settings, in))
		return verdict(DECIDE_WAIT, ret,
			       "the last edit %s %lld min ago, the next may run %llu min later",
			       in->failures ? "failed" : "was", (long long)in->since_edit_s / 60,
			       (unsigned long long)wait_needed_s(settings, in) / 60);
	if (settings->edits_per_day && in->edits_today >= settings->edits_per_day)
		return verdict(
			DECIDE_WAIT, ret, "edits begun in the last 24 hours: %llu (edits_per_day is %llu)",
			(unsigned long long)in->edits_today, (unsigned long long)settings->edits_per_day);
	if (settings->edits_per_program && in->edits_of_program >= settings->edits_per_program)
		return verdict(
			DECIDE_WAIT, ret,
			"edits of this program begun in the last 24 hours: %llu (edits_per_program is %llu)",
			(unsigned long long)in->edits_of_program,
			(unsigned long long)settings->edits_per_program);
	if (!in->is_roots && settings->edits_per_user && in->edits_of_user >= settings->edits_per_user)
		return verdict(DECIDE_WAIT, ret,
			       "edits of its owner's programs begun in the last 24 hours: %llu "
			       "(edits_per_user is %llu)",
			       (unsigned long long)in->edits_of_user,
			       (unsigned long long)settings->edits_per_user);
	if (in->store_full)
		return verdict(DECIDE_WAIT, ret, "%s", in->store_full);
	if (!in->idle)
		return verdict(DECIDE_WAIT, ret, "%s", in->busy);
	if (in->new_others)
		snprintf(others, sizeof(others), ", %llu of them of others",
			 (unsigned long long)in->new_others);
	return verdict(DECIDE_EDIT, ret, "%llu new samples%s (%llu are enough) and the machine is idle",
		       (unsigned long long)in->new_samples, others, (unsigned long long)enough);
}

/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/act/watch.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "manager/act/activation.h"
#include "manager/act/memos.h"
#include "manager/count/cost.h"
#include "manager/count/crashes.h"
#include "manager/keep/journal.h"
#include "manager/keep/store.h"
#include "manager/keep/verified.h"

bool watch_signal_counts(int signal_number)
{
	static const int broken[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS };

	for (size_t i = 0; i < ARRAY_SIZE(broken); i++)
		if (signal_number == broken[i])
			return true;
	return false;
}

bool watch_is_worse(int64_t crashes, int64_t exposure, int64_t base_crashes, int64_t base_exposure)
{
	double expected;

	if (crashes <= 0)
		return false;
	if (base_crashes <= 0)
		return true;
	expected = (double)base_crashes * (double)MAX(exposure, 1) / (double)MAX(base_exposure, 1);
	return (double)crashes > expected + 3 * sqrt(expected) + 1;
}

/* A generation's new state, in its row and beside it in the store. */
static int state_change(struct manager *m, const struct generation_row *generation, const char *state,
			const char *reason, struct fault *reterr)
{
	struct module_row module = { 0 };
	struct store_generation description = { .number = (uint64_t)generation->number,
						.build_id = generation->build_id,
						.digest = generation->digest,
						.cpu = generation->cpu,
						.llvm_version = generation->llvm_version,
						.state = (char *)state,
						.reason = (char *)reason,
						.size = (uint64_t)generation->size,
						.created_ns = (uint64_t)generation->created_ns,
						.gain = generation->gain,
						.cost_s = generation->cost_s,
						.profile_samples = generation->profile_samples };
	int r = generation_set_state(m->state, generation->id, state, reason, reterr);

	if (r == 0 && module_get(m->state, generation->module, &module, NULL) == 0)
		store_update_generation(m->store, module.key, &description, NULL);
	module_row_done(&module);
	return r;
}

static int condemn_rows(struct manager *m, const struct generation_row *generation, const char *reason,
			struct fault *reterr)
{
	int r = state_change(m, generation, "condemned", reason, reterr);

	if (r == 0)
		r = state_do(m->state, reterr,
			     "UPDATE module SET condemned = ?, condemned_ns = ? WHERE id = ?", "tii", reason,
			     journal_now_ns(), generation->module);
	if (r == 0)
		r = journal_event(m->state, generation->module, NULL, EVENT_CONDEMNED, reterr,
				  "generation %lld: %s", (long long)generation->number, reason);
	return r;
}

/* The next condemned generation of the module; -ENOENT: none */
static int condemned_next(struct manager *m, int64_t module, struct generation_row *ret, struct fault *reterr)
{
	int64_t number = 0;
	int r = state_integer(
		m->state, &number, reterr,
		"SELECT number FROM generation WHERE module = ? AND state = 'condemned' LIMIT 1", "i",
		module);

	return r < 0 ? r : generation_get(m->state, module, number, ret, reterr);
}

int watch_pardon(struct manager *m, int64_t module, const char *why, struct fault *reterr)
{
	int r = 0;

	while (r == 0) {
		struct generation_row generation = { 0 };

		r = condemned_next(m, module, &generation, reterr);
		if (r == 0)
			r = state_change(m, &generation, "built", why, reterr);
		/* What it did before is forgiven, or it would be condemned for it again. */
		if (r == 0)
			r = state_do(m->state, reterr, "DELETE FROM run WHERE generation = ?", "i",
				     generation.id);
		generation_row_done(&generation);
	}
	if (r == -ENOENT)
		r = state_do(m->state, reterr,
			     "UPDATE module SET condemned = NULL, condemned_ns = 0 WHERE id = ?", "i",
			     module);
	return r < 0 ? r : journal_event(m->state, module, NULL, EVENT_PARDONED, reterr, "%s", why);
}

/* Whoever condemned it had a reason then; the machine, the libraries and the users may be others now. */
static int pardon_old(struct manager *m, struct fault *reterr)
{
	for (;;) {
		int64_t module = 0;
		int r = m->settings.condemned_s ?
				state_integer(m->state, &module, reterr,
					      "SELECT id FROM module WHERE condemned IS NOT NULL AND "
					      "condemned_ns > 0 AND "
					      "condemned_ns < ? LIMIT 1",
					      "i",
					      journal_now_ns() -
						      (int64_t)m->settings.condemned_s * 1000000000) :
				-ENOENT;

		if (r == 0)
			r = watch_pardon(m, module, "that was long ago (condemned_time)", reterr);
		if (r < 0)
			return r == -ENOENT ? 0 : r;
	}
}

int watch_condemn(struct manager *m, const struct generation_row *generation, const char *reason,
		  unsigned *retn, struct fault *reterr)
{
	_clean_(paths_freep) char **paths = NULL;
	struct fault first = { "" };
	int r = target_paths(m->state, generation->module, &paths, reterr), failed = 0;

	*retn = 0;
	for (char **path = paths; r == 0 && *path; path++) {
		struct target_row target = { 0 };
		struct fault fault = { "" };
		int one = target_get(m->state, *path, &target, &fault);

		if (one == 0 && target.generation == generation->number) {
			one = activation_switch(m, *path, 0, EVENT_ROLLED_BACK, reason, &fault);
			*retn += one == 0;
		}
		target_row_done(&target);
		if (one < 0 && !failed) {
			failed = one;
			first = fault;
		}
	}
	if (r == 0 && strcmp(generation->state, "condemned") != 0)
		r = condemn_rows(m, generation, reason, reterr);
	if (r == 0)
		r = MIN(memos_drop(m, generation->module, reterr), 0);
	return r == 0 && failed ? fault_set(reterr, failed, "%s", first.text) : r;
}

/* Starts say best how often it could have crashed; without a monitor that tells them, samples do. */
static bool is_worse(const struct generation_row *made, const struct generation_row *shipped,
		     const struct crashes_sum *now, const struct crashes_sum *before)
{
	bool starts = now->starts && before->starts;

	return watch_is_worse(now->crashes, starts ? now->starts : made->samples, before->crashes,
			      starts ? before->starts : shipped->samples);
}

static int crashes_note(struct manager *m, const struct target_row *target, const struct crashes_sum *sum,
			struct fault *reterr)
{
	return state_do(m->state, reterr, "UPDATE target SET watch_crashes = ? WHERE path = ?", "it",
			sum->crashes, target->path);
}

static int judge_target(struct manager *m, const struct target_row *target, struct fault *reterr)
{
	struct generation_row made = { 0 }, shipped = { 0 };
	struct crashes_sum now = { 0 }, before = { 0 };
	char reason[160];
	unsigned n;
	int r = generation_get(m->state, target->module, target->generation, &made, reterr);

	if (r == 0)
		r = generation_get(m->state, target->module, 0, &shipped, reterr);
	if (r == 0)
		r = crashes_of(m->state, made.id, true, &now, reterr);
	if (r == 0)
		r = crashes_of(m->state, shipped.id, false, &before, reterr);
	if (r == 0)
		r = crashes_note(m, target, &now, reterr);
	if (r == 0 && is_worse(&made, &shipped, &now, &before)) {
		snprintf(reason, sizeof(reason), "it crashed %lld times while it was watched, for %lld users",
			 (long long)now.raw_crashes, (long long)now.n_users);
		log_warning("%s: generation %lld: %s", target->path, (long long)target->generation, reason);
		r = watch_condemn(m, &made, reason, &n, reterr);
	}
	generation_row_done(&made);
	generation_row_done(&shipped);
	return r;
}

int watch_each(struct manager *m, watch_judgement judge, struct fault *reterr)
{
	_clean_(paths_freep) char **paths = NULL;
	int r = target_paths(m->state, 0, &paths, reterr);

	for (char **path = paths; r == 0 && *path; path++) {
		struct target_row target = { 0 };

		r = target_get(m->state, *path, &target, reterr);
		if (r == 0 && target.generation > 0)
			r = judge(m, &target, reterr);
		target_row_done(&target);
	}
	return r;
}

static int judge_watched(struct manager *m, const struct target_row *target, struct fault *reterr)
{
	return target->watch_left_s > 0 ? judge_target(m, target, reterr) : 0;
}

int watch_judge(struct manager *m, struct fault *reterr)
{
	return watch_each(m, judge_watched, reterr);
}

/* An event of a file counts when morphd itself has seen which generation is in it; a name or a build ID is no proof. */
static int verified_get(struct manager *m, const struct file_identity *file, struct generation_row *ret,
			struct fault *reterr)
{
	int64_t id = 0, module = 0, number = 0;
	int r = verified_find(m->state, file, &id, reterr);

	if (r == 0)
		r = state_integer(m->state, &module, reterr, "SELECT module FROM generation WHERE id = ?",
				  "i", id);
	if (r == 0)
		r = state_integer(m->state, &number, reterr, "SELECT number FROM generation WHERE id = ?",
				  "i", id);
	return r < 0 ? r : generation_get(m->state, module, number, ret, reterr);
}

bool watch_is_fault(const struct lifecycle_event *event)
{
	if (event->kind != LIFECYCLE_SIGNAL || !watch_signal_counts(event->value))
		return false;
	return event->code > 0 || (event->value == SIGABRT && event->code == SI_TKILL);
}

static void user_text(uint32_t user, char ret[32])
{
	if (user == LIFECYCLE_USER_UNKNOWN)
		snprintf(ret, 32, "an unknown user");
	else
		snprintf(ret, 32, "user %u", user);
}

static int count_signal(struct manager *m, const struct generation_row *generation,
			const struct lifecycle_event *event, struct fault *reterr)
{
	int64_t n = event->count;
	char user[32];
	int r = crashes_enter(m->state, generation->id, event->user, 0, event->code > 0 ? n : 0,
			      event->code > 0 ? 0 : n, reterr);

	user_text(event->user, user);
	return r < 0 ? r :
		       journal_event(m->state, generation->module, NULL, EVENT_CRASHED, reterr,
				     "generation %lld: process %u (%s) of %s died by signal %d (%s)%s%.0d%s",
				     (long long)generation->number, event->pid, event->comm, user,
				     event->value, strsignal(event->value), n > 1 ? ", the last of " : "",
				     n > 1 ? (int)MIN(n, INT32_MAX) : 0, n > 1 ? " times" : "");
}

static int count_crash(struct manager *m, const struct lifecycle_event *event, struct fault *reterr)
{
	struct generation_row program = { 0 }, module = { 0 };
	int r = verified_get(m, &event->file, &program, reterr);

	if (r == 0)
		r = count_signal(m, &program, event, reterr);
	if (r == 0 || r == -ENOENT) {
		r = verified_get(m, &event->fault_file, &module, reterr);
		/* A library that was made faster and a program that was not: the fault is in the library. */
		if (r == 0 && module.id != program.id)
			r = count_signal(m, &module, event, reterr);
	}
	generation_row_done(&program);
	generation_row_done(&module);
	return r == -ENOENT ? 0 : r;
}

static int count_start(struct manager *m, const struct lifecycle_event *event, struct fault *reterr)
{
	int64_t generation = 0;
	int r = verified_find(m->state, &event->file, &generation, reterr);

	if (r == 0)
		r = crashes_enter(m->state, generation, event->user, event->count, 0, 0, reterr);
	if (r == 0)
		r = cost_add_starts(m->state, generation, event->user, event->time_ns, event->count, reterr);
	return r == -ENOENT ? 0 : r;
}

int watch_count(struct manager *m, const struct lifecycle_event *event, struct fault *reterr)
{
	int r = event->kind == LIFECYCLE_UNTOLD && event->value != LIFECYCLE_SIGNAL ?
			cost_add_gap(m->state, event->user, event->time_ns, reterr) :
			0;

	if (r < 0)
		return r;
	if (event->kind == LIFECYCLE_EXEC)
		return count_start(m, event, reterr);
	if (event->kind == LIFECYCLE_UNTOLD)
		return journal_total(m->state,
				     event->value == LIFECYCLE_SIGNAL ? "untold_deaths" : "untold_starts",
				     event->count, reterr);
	return watch_is_fault(event) ? count_crash(m, event, reterr) : 0;
}

int watch_tick(struct manager *m, int64_t seconds, struct fault *reterr)
{
	int r = state_do(m->state, reterr,
			 "UPDATE target SET watch_left_s = max(watch_left_s - ?, 0) WHERE watch_left_s > 0",
			 "i", seconds);

	/* Zero is "over", and is said once: -1 afterwards. */
	if (r == 0)
		r = state_do(m->state, reterr,
			     "INSERT INTO event(time_ns, module, path, kind, text) SELECT ?, module, path, "
			     "'" EVENT_WATCHED
			     "', 'generation ' || generation || ' stood the watch time with ' "
			     "|| watch_crashes || ' crashes' FROM target WHERE watch_left_s = 0 AND "
			     "generation > 0",
			     "i", journal_now_ns());
	if (r == 0)
		r = state_do(m->state, reterr, "UPDATE target SET watch_left_s = -1 WHERE watch_left_s = 0",
			     "");
	return r < 0 ? r : pardon_old(m, reterr);
}

/* 1: the shipped file stands there already: morph-start was first. */
static int put_back(struct manager *m, const struct target_row *target,
		    const struct generation_row *generation, struct fault *reterr)
{
	int r = activation_switch(m, target->path, 0, EVENT_ROLLED_BACK,
				  "the active generation was made for another CPU", reterr);

	if (r == 1)
		r = journal_event(m->state, target->module, target->path, EVENT_ROLLED_BACK, reterr,
				  "generation 0: put back when the machine started: generation %lld was made "
				  "for another CPU",
				  (long long)generation->number);
	/* Its samples are as good as new for this CPU. */
	return r < 0 ? r :
		       state_do(m->state, reterr,
				"UPDATE module SET edit_samples = 0, edit_ns = 0 WHERE id = ?", "i",
				target->module);
}

int watch_cpu(struct manager *m, unsigned *retn, unsigned *retfailed, struct fault *reterr)
{
	_clean_(paths_freep) char **paths = NULL;
	int r = target_paths(m->state, 0, &paths, reterr);

	for (char **path = paths; r == 0 && m->cpu[0] && *path; path++) {
		struct generation_row generation = { 0 };
		struct target_row target = { 0 };
		struct fault fault = { "" };
		int one = target_get(m->state, *path, &target, &fault);

		if (one == 0)
			one = generation_get(m->state, target.module, target.generation, &generation, &fault);
		if (one == 0 && generation.number && generation.cpu && strcmp(generation.cpu, m->cpu) != 0) {
			one = put_back(m, &target, &generation, &fault);
			*retn += one == 0;
		}
		if (one < 0 && one != -ENOENT) {
			log_warning("%s", fault.text);
			++*retfailed;
		}
		generation_row_done(&generation);
		target_row_done(&target);
	}
	return r;
}

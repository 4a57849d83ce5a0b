/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/watch.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "manager/activation.h"
#include "manager/journal.h"
#include "manager/store.h"

bool watch_signal_counts(int signal_number)
{
	static const int broken[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS };

	for (size_t i = 0; i < ARRAY_SIZE(broken); i++)
		if (signal_number == broken[i])
			return true;
	return false;
}

bool watch_is_worse(int64_t crashes, int64_t samples, int64_t base_crashes, int64_t base_samples)
{
	double expected;

	if (crashes <= 0)
		return false;
	if (base_crashes <= 0)
		return true;
	expected = (double)base_crashes * (double)MAX(samples, 1) / (double)MAX(base_samples, 1);
	return (double)crashes > expected + 3 * sqrt(expected) + 1;
}

static int condemn_rows(struct manager *m, const struct generation_row *generation,
			const char *reason, struct fault *reterr)
{
	struct module_row module = { 0 };
	struct store_generation description = {
		.number = (uint64_t)generation->number, .build_id = generation->build_id,
		.digest = generation->digest, .cpu = generation->cpu,
		.llvm_version = generation->llvm_version, .state = (char *)"condemned",
		.reason = (char *)reason, .size = (uint64_t)generation->size,
		.created_ns = (uint64_t)generation->created_ns, .gain = generation->gain,
		.cost_s = generation->cost_s, .profile_samples = generation->profile_samples
	};
	int r = generation_set_state(m->state, generation->id, "condemned", reason, reterr);

	if (r == 0)
		r = state_do(m->state, reterr, "UPDATE module SET condemned = ? WHERE id = ?", "ti", reason,
			     generation->module);
	if (r == 0)
		r = journal_event(m->state, generation->module, NULL, EVENT_CONDEMNED, reterr,
				  "generation %lld: %s", (long long)generation->number, reason);
	if (r == 0 && module_get(m->state, generation->module, &module, NULL) == 0)
		store_update_generation(m->store, module.key, &description, NULL);
	module_row_done(&module);
	return r;
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
	if (r == 0)
		r = condemn_rows(m, generation, reason, reterr);
	return r == 0 && failed ? fault_set(reterr, failed, "%s", first.text) : r;
}

/* Samples of @generation since it was activated are not kept apart: its total is close enough. */
static int judge(struct manager *m, struct generation_row *generation, struct target_row *target,
		 int signal_number, struct fault *reterr)
{
	struct generation_row shipped = { 0 };
	char reason[128];
	unsigned n;
	int r = generation_get(m->state, generation->module, 0, &shipped, reterr);

	if (r == 0 && watch_is_worse(target->watch_crashes, generation->samples, shipped.crashes,
				     shipped.samples)) {
		snprintf(reason, sizeof(reason), "it died by signal %d (%s), %lld times in the watch time",
			 signal_number, strsignal(signal_number), (long long)target->watch_crashes);
		r = watch_condemn(m, generation, reason, &n, reterr);
		if (r == 0)
			r = 1;
	}
	generation_row_done(&shipped);
	return r;
}

static int count_crash(struct manager *m, struct generation_row *generation,
		       struct target_row *target, int signal_number, struct fault *reterr)
{
	int r = state_do(m->state, reterr, "UPDATE generation SET crashes = crashes + 1 WHERE id = ?",
			 "i", generation->id);

	if (r == 0)
		r = journal_event(m->state, generation->module, target->path, EVENT_CRASHED, reterr,
				  "generation %lld died by signal %d (%s)", (long long)generation->number,
				  signal_number, strsignal(signal_number));
	if (r < 0 || !generation->number || !target->path || target->watch_left_s <= 0 ||
	    target->generation != generation->number)
		return r;
	target->watch_crashes++;
	r = target_put(m->state, target, reterr);
	return r < 0 ? r : judge(m, generation, target, signal_number, reterr);
}

int watch_crash(struct manager *m, const char *build_id, const char *path, int signal_number,
		struct fault *reterr)
{
	struct generation_row generation = { 0 };
	struct target_row target = { 0 };
	int r;

	if (!watch_signal_counts(signal_number))
		return 0;
	r = generation_get_by_build_id(m->state, build_id, &generation, reterr);
	if (r == 0)
		r = target_get(m->state, path, &target, reterr);
	if (r == 0 || (r == -ENOENT && generation.id))
		r = count_crash(m, &generation, &target, signal_number, reterr);
	generation_row_done(&generation);
	target_row_done(&target);
	return r == -ENOENT ? 0 : r;
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
			     "'" EVENT_WATCHED "', 'generation ' || generation || ' stood the watch time with ' "
			     "|| watch_crashes || ' crashes' FROM target WHERE watch_left_s = 0 AND "
			     "generation > 0",
			     "i", journal_now_ns());
	if (r == 0)
		r = state_do(m->state, reterr,
			     "UPDATE target SET watch_left_s = -1 WHERE watch_left_s = 0", "");
	return r;
}

int watch_cpu(struct manager *m, unsigned *retn, struct fault *reterr)
{
	_clean_(paths_freep) char **paths = NULL;
	int r = target_paths(m->state, 0, &paths, reterr);

	*retn = 0;
	for (char **path = paths; r == 0 && m->cpu[0] && *path; path++) {
		struct generation_row generation = { 0 };
		struct target_row target = { 0 };
		struct fault fault = { "" };
		int one = target_get(m->state, *path, &target, &fault);

		if (one == 0)
			one = generation_get(m->state, target.module, target.generation, &generation, &fault);
		if (one == 0 && generation.number && generation.cpu && strcmp(generation.cpu, m->cpu) != 0) {
			one = activation_switch(m, *path, 0, EVENT_ROLLED_BACK,
						"the active generation was made for another CPU", &fault);
			*retn += one == 0;
			if (one == 0) /* its samples are as good as new for this CPU */
				one = state_do(m->state, &fault, "UPDATE module SET edit_samples = 0, "
					       "edit_ns = 0 WHERE id = ?", "i", target.module);
		}
		if (one < 0)
			log_warning("%s", fault.text);
		generation_row_done(&generation);
		target_row_done(&target);
	}
	return r;
}

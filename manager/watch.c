/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/watch.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "manager/activation.h"
#include "manager/journal.h"
#include "manager/path.h"
#include "manager/store.h"

/* Five seconds of a busy CPU give half of what an edit needs; the monitor takes less when it must. */
#define BURST_HZ 997u
#define BURST_S 5u

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
	if (r == 0 && strcmp(generation->state, "condemned") != 0)
		r = condemn_rows(m, generation, reason, reterr);
	return r == 0 && failed ? fault_set(reterr, failed, "%s", first.text) : r;
}

/* Starts say best how often it could have crashed; without a monitor that tells them, samples do. */
static bool is_worse(const struct generation_row *made, const struct generation_row *shipped,
		     int64_t crashes)
{
	bool starts = made->starts && shipped->starts;

	return watch_is_worse(crashes, starts ? made->starts : made->samples, shipped->crashes,
			      starts ? shipped->starts : shipped->samples);
}

static int judge_target(struct manager *m, const struct target_row *target, struct fault *reterr)
{
	struct generation_row made = { 0 }, shipped = { 0 };
	char reason[128];
	unsigned n;
	int r = generation_get(m->state, target->module, target->generation, &made, reterr);

	if (r == 0)
		r = generation_get(m->state, target->module, 0, &shipped, reterr);
	if (r == 0 && is_worse(&made, &shipped, target->watch_crashes)) {
		snprintf(reason, sizeof(reason), "it crashed %lld times while it was watched",
			 (long long)target->watch_crashes);
		log_warning("%s: generation %lld: %s", target->path, (long long)target->generation, reason);
		r = watch_condemn(m, &made, reason, &n, reterr);
	}
	generation_row_done(&made);
	generation_row_done(&shipped);
	return r;
}

int watch_judge(struct manager *m, struct fault *reterr)
{
	_clean_(paths_freep) char **paths = NULL;
	int r = target_paths(m->state, 0, &paths, reterr);

	for (char **path = paths; r == 0 && *path; path++) {
		struct target_row target = { 0 };

		r = target_get(m->state, *path, &target, reterr);
		if (r == 0 && target.generation > 0 && target.watch_left_s > 0 && target.watch_crashes > 0)
			r = judge_target(m, &target, reterr);
		target_row_done(&target);
	}
	return r;
}

static int count_signal(struct manager *m, const struct build_id *id,
			const struct lifecycle_event *event, struct fault *reterr)
{
	struct generation_row generation = { 0 };
	char text[BUILD_ID_MAX_TEXT];
	int r = generation_get_by_build_id(m->state, build_id_text(id, text), &generation, reterr);

	if (r == 0)
		r = state_do(m->state, reterr,
			     "UPDATE generation SET crashes = crashes + ? WHERE id = ?", "ii",
			     (int64_t)event->count, generation.id);
	if (r == 0)
		r = state_do(m->state, reterr,
			     "UPDATE target SET watch_crashes = watch_crashes + ? WHERE module = ? AND "
			     "generation = ? AND generation > 0 AND watch_left_s > 0",
			     "iii", (int64_t)event->count, generation.module, generation.number);
	if (r == 0)
		r = journal_event(m->state, generation.module, NULL, EVENT_CRASHED, reterr,
				  "generation %lld: process %u (%s) died by signal %d (%s)",
				  (long long)generation.number, event->pid, event->comm, event->value,
				  strsignal(event->value));
	generation_row_done(&generation);
	return r == -ENOENT ? 0 : r;
}

int watch_count(struct manager *m, const struct lifecycle_event *event, struct fault *reterr)
{
	char text[BUILD_ID_MAX_TEXT];
	int r = 0;

	if (event->kind == LIFECYCLE_EXEC)
		return state_do(m->state, reterr,
				"UPDATE generation SET starts = starts + ? WHERE build_id = ?", "it",
				(int64_t)event->count, build_id_text(&event->build_id, text));
	if (event->kind != LIFECYCLE_SIGNAL || !watch_signal_counts(event->value))
		return 0;
	r = count_signal(m, &event->build_id, event, reterr);
	/* A library that was made faster and a program that was not: the fault is in the library. */
	if (r == 0 && !build_id_is_equal(&event->build_id, &event->fault_build_id))
		r = count_signal(m, &event->fault_build_id, event, reterr);
	return r;
}

/* Where morph-monitor takes requests (morph-monitor(8)); false: none runs here. */
static bool requests_find(struct manager *m, char retlist[PATH_MAX], char retdirectory[PATH_MAX])
{
	if (!settings_path(&m->settings, m->settings.watch_file, retlist))
		return false;
	strcpy(retdirectory, retlist);
	*strrchr(retdirectory, '/') = '\0';
	return access(retdirectory, W_OK) == 0;
}

int watch_list(struct manager *m, struct fault *reterr)
{
	_clean_(paths_freep) char **paths = NULL;
	_clean_(buffer_donep) struct buffer text = { 0 };
	_clean_(file_map_donep) struct file_map old = { 0 };
	char file[PATH_MAX], directory[PATH_MAX];
	int r = target_paths(m->state, 0, &paths, reterr);

	if (r < 0 || !requests_find(m, file, directory))
		return r;
	for (char **path = paths; *path; path++)
		if (!strchr(*path, '\n'))
			buffer_printf(&text, "%s\n", *path);
	if (text.bad)
		return fault_errno(reterr, -ENOMEM, "%s", file);
	if (file_map_open(file, &old, NULL) == 0 && old.size == text.size &&
	    (!text.size || memcmp(old.data, text.data, text.size) == 0))
		return 0;
	return file_write(file, text.data, text.size, 0644, reterr);
}

int watch_burst(struct manager *m, const char *path, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer text = { 0 };
	char list[PATH_MAX], directory[PATH_MAX], file[PATH_MAX];

	if (!path || strchr(path, '\n') || !requests_find(m, list, directory) ||
	    access(path_join(directory, "burst", file), F_OK) == 0)
		return 0;
	buffer_printf(&text, "rate = %u\nseconds = %u\nmodule = %s\n", BURST_HZ, BURST_S, path);
	if (text.bad)
		return fault_errno(reterr, -ENOMEM, "%s", file);
	return file_write(file, text.data, text.size, 0644, reterr);
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

/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "cli/tune/training.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/json_reader.h"
#include "cli/shared/self.h"

#define RATE_HZ "4000"
#define MOST_LOGS 256u
#define VAIN_LOGS 16u /* without a sample of the program: more would not help */
#define MOST_NS 60000000000ull

struct work {
	const struct training *training;
	char self[PATH_MAX];
	char *logs[MOST_LOGS]; /* owned */
	size_t n;
	double samples;
	bool is_enough, is_usable;
};

static void work_done(struct work *work)
{
	for (size_t i = 0; i < work->n; i++)
		free(work->logs[i]);
}

static int record(struct work *work, struct fault *reterr)
{
	const struct training *t = work->training;
	_clean_(fd_closep) int null = open("/dev/null", O_WRONLY | O_CLOEXEC),
			       said = memfd_create("said", MFD_CLOEXEC);
	struct run_options options = t->run;
	_clean_(freep) char **words = NULL;
	struct run_result result;
	size_t n = 0;
	char *log, line[200] = "";
	int r;

	while (t->run.command[n])
		n++;
	words = calloc(n + 9, sizeof(*words));
	if (!words || asprintf(&log, "%s/training-%zu.samples", t->directory, work->n) < 0)
		return fault_errno(reterr, -ENOMEM, "training");
	work->logs[work->n++] = log;
	memcpy(words,
	       (char *[]){ work->self, (char *)"record", (char *)"-q", (char *)"-F", (char *)RATE_HZ,
			   (char *)"-o", log, (char *)"--" },
	       8 * sizeof(*words));
	memcpy(words + 8, t->run.command, n * sizeof(*words));
	options.command = words;
	options.output = null;
	options.errors = said;
	r = run_measured(&options, &result, reterr);
	if (r < 0 || access(log, R_OK) == 0) /* what the command's status should be is not known yet */
		return r;
	if (said >= 0 && pread(said, line, sizeof(line) - 1, 0) < 0)
		line[0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return fault_set(reterr, -ECHILD, "the command could not be sampled: %s",
			 line[0] ? line : "no samples were written");
}

static int profile_make(struct work *work, struct fault *reterr)
{
	const struct training *t = work->training;
	_clean_(buffer_donep) struct buffer said = { 0 };
	_clean_(json_reader_freep) struct json_reader *answer = NULL;
	_clean_(freep) char *verdict = NULL;
	struct child_options options = { .retout = &said };
	const char *words[MOST_LOGS + 10] = { work->self, "profile", t->shipped };
	size_t n = 3;
	int r;

	for (size_t i = 0; i < work->n; i++)
		words[n++] = work->logs[i];
	words[n++] = "-o";
	words[n++] = t->profile;
	words[n++] = "--json";
	if (t->sidecar_dir) {
		words[n++] = "--sidecar-dir";
		words[n++] = t->sidecar_dir;
	}
	r = child_check((char *const *)words, &options, reterr);
	if (r < 0)
		return r;
	answer = json_reader_of((const char *)said.data, said.size);
	verdict = json_reader_text(answer, "$.verdict");
	if (!verdict || !json_reader_number(answer, "$.samples", &work->samples))
		return fault_set(reterr, -EBADMSG, "`morph profile` gave no verdict");
	work->is_enough = strcmp(verdict, "enough") == 0 || strcmp(verdict, "exact") == 0;
	work->is_usable = work->is_enough || strcmp(verdict, "usable") == 0;
	return 0;
}

int training_run(const struct training *training, struct fault *reterr)
{
	_clean_(work_done) struct work work = { .training = training };
	uint64_t start = clock_ns(CLOCK_MONOTONIC), wanted = 1;
	int r = self_find(work.self, reterr);

	while (r == 0 && !work.is_enough && work.n < (work.samples > 0 ? MOST_LOGS : VAIN_LOGS) &&
	       clock_ns(CLOCK_MONOTONIC) - start < MOST_NS) {
		r = record(&work, reterr);
		/* Profiles cost more than short commands do: they are made after one run, two, four, ... */
		if (r == 0 && work.n >= wanted) {
			r = profile_make(&work, reterr);
			r = r == -ECHILD ? 0 :
					   r; /* without any samples it is an error there; here it is early */
			wanted = 2 * work.n;
		}
	}
	if (r == 0 && !work.is_enough) {
		r = profile_make(&work, reterr);
		r = r == -ECHILD ? 0 : r;
	}
	if (r == 0 && !work.is_usable)
		return fault_set(reterr, -ENODATA,
				 "%.0f samples of %s in %zu runs of the command are too few; does it run the "
				 "program, and long "
				 "enough? Else name a profile with --profile",
				 work.samples, training->shipped, work.n);
	return r;
}

/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "cli/shared/rounds.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"

static const char *const streams[] = { "standard output", "standard error" };

int rounds_begin(struct rounds *rounds, size_t capacity, struct fault *reterr)
{
	if (!rounds->capacity) {
		rounds->capacity = capacity;
		rounds->random.state = (rounds->seed ?: clock_ns(CLOCK_MONOTONIC)) | 1;
		rounds->first[0] = rounds->first[1] = -1;
	}
	for (size_t i = 0; i < rounds->n; i++) {
		if (rounds->members[i].cpu_s)
			continue;
		rounds->members[i].cpu_s = calloc(rounds->capacity, sizeof(double));
		if (!rounds->members[i].cpu_s)
			return fault_errno(reterr, -ENOMEM, "rounds");
	}
	return 0;
}

void rounds_done(struct rounds *rounds)
{
	for (size_t i = 0; i < rounds->n; i++)
		free(TAKE(rounds->members[i].cpu_s));
	for (int i = 0; i < 2 && rounds->capacity; i++)
		fd_closep(&rounds->first[i]);
}

/* ---- outputs ---- */

/* The line, from 1, on which two files first differ; 0: nowhere; -1: cannot be read */
static int line_of_difference(int a, int b)
{
	struct stat sa, sb;
	char *pa = NULL, *pb = NULL;
	size_t n;
	int line = 1;

	if (fstat(a, &sa) < 0 || fstat(b, &sb) < 0)
		return -1;
	n = (size_t)MIN(sa.st_size, sb.st_size);
	if (n) {
		pa = mmap(NULL, n, PROT_READ, MAP_SHARED, a, 0);
		pb = mmap(NULL, n, PROT_READ, MAP_SHARED, b, 0);
	}
	if (pa == MAP_FAILED || pb == MAP_FAILED) {
		line = -1;
	} else if (sa.st_size == sb.st_size && (!n || memcmp(pa, pb, n) == 0)) {
		line = 0;
	} else {
		for (size_t i = 0; i < n && pa[i] == pb[i]; i++)
			line += pa[i] == '\n';
	}
	if (pa && pa != MAP_FAILED)
		munmap(pa, n);
	if (pb && pb != MAP_FAILED)
		munmap(pb, n);
	return line;
}

/* How this run differs from the first one, into @ret; false: not at all */
static bool differs_say(const struct rounds *rounds, const int files[2], const struct run_result *result,
			char *ret, size_t size)
{
	struct run_result first = { .status = rounds->status };
	char was[RUN_END_TEXT], is[RUN_END_TEXT];

	if (result->timed_out || result->status != rounds->status) {
		if (rounds->needs_success)
			snprintf(ret, size, "%s", run_end(result, is));
		else
			snprintf(ret, size, "ends with %s, not %s", run_end(result, is),
				 run_end(&first, was));
		return true;
	}
	for (int i = 0; i < 2; i++) {
		int line = rounds->is_quiet[i] ? 0 : line_of_difference(rounds->first[i], files[i]);

		if (line) {
			snprintf(ret, size, "prints something else, from line %d of %s on", line, streams[i]);
			return true;
		}
	}
	return false;
}

/* ---- one run ---- */

static int files_open(int ret[2], struct fault *reterr)
{
	ret[0] = memfd_create("output", MFD_CLOEXEC);
	ret[1] = memfd_create("errors", MFD_CLOEXEC);
	return ret[0] < 0 || ret[1] < 0 ? fault_errno(reterr, -errno, "no memory file for the output") : 0;
}

static void files_close(int (*files)[2])
{
	fd_closep(&(*files)[0]);
	fd_closep(&(*files)[1]);
}

/* What the command said last, for whoever wonders why it failed */
static void last_line(int file, char *ret, size_t size)
{
	char bytes[512];
	struct stat st;
	off_t from = fstat(file, &st) == 0 && st.st_size > (off_t)sizeof(bytes) ?
			     st.st_size - (off_t)sizeof(bytes) :
			     0;
	ssize_t n = pread(file, bytes, sizeof(bytes) - 1, from);
	char *line;

	while (n > 0 && bytes[n - 1] == '\n')
		n--;
	bytes[MAX(n, 0)] = '\0';
	line = strrchr(bytes, '\n');
	snprintf(ret, size, "%s%.160s", n > 0 ? ": " : "", line ? line + 1 : bytes);
}

/* The first run of all says what is right. */
static int first_take(struct rounds *rounds, int files[2], const struct run_result *result,
		      struct fault *reterr)
{
	char end[RUN_END_TEXT], said[200];
	bool cannot = result->timed_out || !WIFEXITED(result->status) || WEXITSTATUS(result->status) >= 126;

	last_line(files[1], said, sizeof(said));
	if (cannot || (rounds->needs_success && result->status != 0))
		return fault_set(reterr, -ECHILD, "the command fails with %s already: %s%s",
				 rounds->members[0].name, run_end(result, end), said);
	rounds->status = result->status;
	rounds->first[0] = files[0];
	rounds->first[1] = files[1];
	files[0] = files[1] = -1;
	rounds->has_first = true;
	return 0;
}

static int member_execute(const struct rounds *rounds, const struct rounds_member *member, const int files[2],
			  struct run_result *ret, struct fault *reterr)
{
	struct run_options options = rounds->run;

	options.directory = member->directory ?: options.directory;
	options.file = member->file;
	options.program = member->file ? options.program : NULL;
	options.output = files[0];
	options.errors = files[1];
	return run_measured(&options, ret, reterr);
}

static int member_run(struct rounds *rounds, struct rounds_member *member, bool measured,
		      struct fault *reterr)
{
	_clean_(files_close) int files[2] = { -1, -1 };
	struct run_result result = { 0 };
	char how[sizeof(member->out)];
	int r = files_open(files, reterr);

	if (r == 0)
		r = member_execute(rounds, member, files, &result, reterr);
	if (r == 0 && !rounds->has_first)
		r = first_take(rounds, files, &result, reterr);
	else if (r == 0 && differs_say(rounds, files, &result, how, sizeof(how))) {
		member->differs = true;
		if (!rounds->keeps_different || result.timed_out || result.status != rounds->status)
			snprintf(member->out, sizeof(member->out), "%s", how);
		if (member->out[0] && member == rounds->members)
			return fault_set(reterr, -ECHILD, "%s does not do the same each time: it %s",
					 member->name, how);
	}
	if (r < 0 || !measured || member->out[0])
		return r;
	member->cpu_s[rounds->n_done] = run_cpu_s(&result);
	member->user_s += result.user_s;
	member->system_s += result.system_s;
	member->max_rss_kib = MAX(member->max_rss_kib, result.max_rss_kib);
	return 0;
}

/* ---- rounds ---- */

int rounds_run(struct rounds *rounds, bool measured, struct fault *reterr)
{
	_clean_(freep) size_t *order = calloc(rounds->n, sizeof(*order));
	bool is_first = !rounds->has_first;
	struct fault fault = { "" };
	int r = 0;

	if (!order || (measured && rounds->n_done == rounds->capacity))
		return fault_errno(reterr, order ? -ENOSPC : -ENOMEM, "rounds");
	for (size_t i = 0; measured && i < rounds->n; i++)
		rounds->members[i].cpu_s[rounds->n_done] = NAN;
	stats_shuffle(&rounds->random, order, rounds->n);
	for (size_t i = 0; i < rounds->n && r == 0; i++) {
		struct rounds_member *member = &rounds->members[is_first ? i : order[i]];

		if (member->out[0] || member->rests)
			continue;
		r = member_run(rounds, member, measured, &fault);
		if (r < 0 && r != -EINTR && member != rounds->members) {
			snprintf(member->out, sizeof(member->out), "%.*s", (int)sizeof(member->out) - 1,
				 fault.text);
			r = 0;
		}
	}
	if (r < 0)
		return fault_set(reterr, r, "%s", fault.text);
	rounds->n_done += measured;
	return 0;
}

int rounds_repeat(struct rounds *rounds, bool retsame[2], struct fault *reterr)
{
	_clean_(files_close) int files[2] = { -1, -1 };
	struct run_result result = { 0 };
	char was[RUN_END_TEXT], is[RUN_END_TEXT];
	int r = member_run(rounds, rounds->members, false, reterr);

	if (r == 0)
		r = files_open(files, reterr);
	if (r == 0)
		r = member_execute(rounds, rounds->members, files, &result, reterr);
	if (r < 0)
		return r;
	if (result.timed_out || result.status != rounds->status)
		return fault_set(reterr, -ECHILD, "%s does not do the same each time: %s, then %s",
				 rounds->members[0].name,
				 run_end(&(struct run_result){ .status = rounds->status }, was),
				 run_end(&result, is));
	for (int i = 0; i < 2; i++) {
		retsame[i] = line_of_difference(rounds->first[i], files[i]) == 0;
		rounds->is_quiet[i] |= !retsame[i];
	}
	return 0;
}

size_t rounds_ratios(const struct rounds *rounds, const struct rounds_member *member,
		     const struct rounds_member *base, double *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < rounds->n_done; i++)
		if (!isnan(member->cpu_s[i]) && !isnan(base->cpu_s[i]) && base->cpu_s[i] > 0)
			ret[n++] = member->cpu_s[i] / base->cpu_s[i];
	return n;
}

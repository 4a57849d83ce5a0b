/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "cli/tune/all.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "cli/daemon.h"

#define IDLE_LOOK_S 10
#define NO_BENCHMARK 77 /* a child's exit code */

static int asked(const struct tune_all *all, struct record *retdaemon, struct records *retmodules,
		 struct fault *reterr)
{
	struct daemon_options options = { .client = *all->daemon };
	_clean_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;

	return daemon_status(&options, &reply, retdaemon, retmodules, reterr);
}

static int interrupted(struct fault *reterr)
{
	return fault_set(reterr, -EINTR, "interrupted");
}

static int idle_wait(const struct tune_all *all, struct fault *reterr)
{
	for (bool said = false;; said = true) {
		struct record daemon = { 0 };
		struct records modules = { 0 };
		int r = asked(all, &daemon, &modules, reterr);
		bool is_busy = r == 0 && record_has(&daemon, "busy");

		if (is_busy && !said)
			log_info("waiting for an idle machine: %s", SHOWN(record_text(&daemon, "busy")));
		record_done(&daemon);
		records_done(&modules);
		if (r < 0 || !is_busy)
			return r;
		sleep(IDLE_LOOK_S);
		if (*all->interrupted)
			return interrupted(reterr);
	}
}

_noreturn_ static void child_main(const struct tune_all *all, const char *program)
{
	struct fault fault = { "" };
	int r;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	r = all->measure(all->userdata, program, &fault);
	if (r < 0 && r != -ENODATA)
		verb_fail("tune", &fault);
	fflush(stdout);
	_exit(r == -ENODATA ? NO_BENCHMARK : r < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
}

/* A candidate's files, and what is mounted for it, are gone with the process, whatever became of it. */
static int one_measure(struct tune_all *all, const char *program, struct fault *reterr)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		return fault_errno(reterr, -errno, "a process");
	if (pid == 0)
		child_main(all, program);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return fault_errno(reterr, -errno, "a process");
		else if (*all->interrupted)
			kill(pid, SIGTERM);
	if (*all->interrupted)
		return interrupted(reterr);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_BENCHMARK)
		return 0;
	all->n_measured += WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
	all->n_failed += !WIFEXITED(status) || WEXITSTATUS(status) != EXIT_SUCCESS;
	return 0;
}

int tune_all(struct tune_all *all, struct fault *reterr)
{
	struct record daemon = { 0 };
	struct records modules = { 0 };
	int r = asked(all, &daemon, &modules, reterr);

	for (size_t i = 0; r == 0 && i < modules.n_rows; i++) {
		const struct record *module = &modules.rows[i];
		const char *path = record_text(module, "path");

		if (!path || record_integer(module, "generation") <= 0 || record_has(module, "tuned") ||
		    record_has(module, "pinned"))
			continue;
		if (all->when_idle)
			r = idle_wait(all, reterr);
		if (r == 0)
			r = one_measure(all, path, reterr);
	}
	record_done(&daemon);
	records_done(&modules);
	return r;
}

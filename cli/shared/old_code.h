/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * old_code.h - which processes still execute a file that is not the one at its path any more
 *
 * A replaced program goes on in the processes that have it: they keep the old file, and the new one is for whoever starts
 * next. What a process has mapped is told by /proc/PID/maps, which only root sees of everybody; the unit and the session by
 * its control group. Nothing is changed.
 *
 * morphd lets the old file have the temporary name of the new one before it goes (manager/place/replace.h), so maps call it
 * DIRECTORY/.morph-swap-... then. One that a package manager replaced is called by the program's own name.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fault.h"
#include "manager/talk/client.h"

#define OLD_CODE_NAME 256u

struct old_process {
	pid_t pid;
	uid_t uid;
	int64_t since_ns;	       /* of its start, CLOCK_REALTIME; 0: not known */
	const struct record *module;   /* borrowed: the row of `morph status` whose path it has */
	char unit[OLD_CODE_NAME];      /* "" : of none */
	bool is_user_unit;	       /* of the user's manager */
	char session[64];	       /* of logind; "": none */
	char container[OLD_CODE_NAME]; /* "": it runs on this system itself */
	bool is_swap; /* what it has is the same build, as it was before Morph's last change; else a package was upgraded */
	bool is_mixed; /* it has something else, too, that was replaced, by an upgrade */
	char swapped
		[64]; /* name of the old file in the program's directory, as maps have it; "": it has none of its own */
	bool is_old; /* false, of a container only: what its own image has at that path, whichever that is */
};

struct old_code {
	struct old_process *list; /* owned; by unit, then by process ID */
	size_t n, room;
	size_t n_hidden; /* processes that we may not look into */
};

/**
 * old_code_find() - of all processes below /proc, those that execute one of @modules' files as it was before
 * Processes that end meanwhile are passed over. Return: 0; -errno with @reterr
 */
int old_code_find(const struct records *modules, struct old_code *ret, struct fault *reterr);
void old_code_done(struct old_code *old);

/** old_code_runs() - on this system itself, because of Morph alone: what a restart of the unit is for */
static inline bool old_code_runs(const struct old_process *p)
{
	return p->is_old && p->is_swap && !p->container[0];
}

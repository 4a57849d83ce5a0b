/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * installed.h - what stands at a path now, against what morphd believes stands there
 *
 * Package managers replace files without asking. Before anything is done with a path, and once in a
 * while for all of them, the file is compared with the target's row: an unchanged inode and change
 * time are taken as proof; otherwise build ID and content decide. Another build is a package upgrade:
 * the target moves to that module, what did not change keeps its counts (carryover.h), pins stay.
 */

#include "manager/keep/context.h"
#include "manager/program/examine.h"

struct installed {
	struct examination examination; /* the file is open in it */
	struct target_row target;
	struct module_row module;
	struct generation_row
		generation; /* the one whose bytes stand there, or that is found by name instead (shadow.h) */
};

/**
 * installed_open() - the target at @path, added or moved to another module as the file demands
 * @ret: valid when 0 is returned; release with installed_done()
 * Return: 0; -ENODATA with the reason when the file cannot be optimized (any old target is gone then);
 * -ENOENT when there is no such file; -ESTALE when it has a known build ID but other bytes: the SHA-256 of a
 * shipped file is noted when the first one with its build ID is seen, and another file is another program;
 * -EACCES when it is where others could have put it (place.h). The last two are remembered for `morph explain`.
 */
int installed_open(struct manager *manager, const char *path, struct installed *ret, struct fault *reterr);
void installed_done(struct installed *installed);

/** installed_refresh() - look at every target whose inode or change time is not the one remembered */
int installed_refresh(struct manager *manager, struct fault *reterr);

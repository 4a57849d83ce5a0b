/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * intake.h - from the spool directory into the database, each file exactly once
 *
 *	1. read NAME.samples, decode, check the conservation law; what is damaged is moved to the spool's
 *	   directory `damaged`, with the reason in the journal (spool_file.h)
 *	2. look at modules never seen before (examine.h, installed.h)
 *	3. in one transaction: all counts, and the file's name and digest as "taken"
 *	4. delete the file
 *
 * Killed between 3 and 4, the file is still there: step 3 finds it already taken and only step 4 is
 * done. Killed before: nothing was taken. A full disk undoes the transaction and leaves the file.
 * NAME.events (starts and deaths of programs, lifecycle.h) go the same way, and then watch.h judges.
 */

#include "manager/keep/context.h"

#define INTAKE_SUFFIX ".samples"
#define INTAKE_MAX_SAMPLES (1ull << 53) /* of one module in one log: more than any clock gives */

/**
 * intake_file() - steps 1 to 4 for one file of the spool directory
 * Return: 0: taken; 1: had been taken before, now deleted; -EBADMSG: damaged, set aside (@reterr says
 * why); -ENOENT: gone; else it stays and may be tried again: -ENOSPC, -EIO, ...
 */
int intake_file(struct manager *manager, const char *name, struct fault *reterr);

/**
 * intake_scan() - take files in order of their names (writers put a time first), at most @limit
 * Return: how many were dealt with (so fewer than @limit: none is left, or the disk is full); -errno
 * when the directory cannot be read. Faults are logged.
 */
int intake_scan(struct manager *manager, unsigned limit, struct fault *reterr);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * carryover.h - what a package upgrade left unchanged keeps its counts
 *
 *	1. installed.h finds another build where a known one stood: carryover_make() takes the profile of the
 *	   old build's newest generation (or what was carried over to the old build, when it was never edited),
 *	   keeps the functions whose name and graph the new build has (profiles/store/carry.h), and writes the rest as
 *	   STORE/<new build>/carried
 *	2. every edit of the new build adds that, aged by the new build's own activity, to what its samples say:
 *	   {carried} in profile_command (edit.h)
 *
 * The file appears whole before the database knows of the upgrade, and is made only once for a build: a
 * build that came, went and came back would count its own samples twice. Samples that the old build got
 * after its last edit are left behind, and so are those of a build that was never edited.
 */

#include "manager/program/installed.h"

/**
 * carryover_make() - step 1, inside the transaction that moves a target from @old to @in->module
 * @rettext: what became of it, to stand behind "replaced by another build; "
 * Return: 0, also when nothing can be carried over; negative only when the database fails.
 */
int carryover_make(struct manager *manager, int64_t old, const struct installed *in, char *rettext,
		   size_t size, struct fault *reterr);

/** carryover_recall() - enter into a new row of module @id what the store holds for its build @key */
int carryover_recall(struct manager *manager, int64_t id, const char *key, struct fault *reterr);

/**
 * carryover_path() - of the file for the build @key, if there is one that can be used
 * @retsamples: its samples, as at the upgrade. Damage is set aside and logged.
 * Return: 0; -ENOENT.
 */
int carryover_path(struct manager *manager, const char *key, char ret[PATH_MAX], double *retsamples);

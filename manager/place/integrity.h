/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * integrity.h - what on this machine insists on programs being what their packages say
 *
 * IMA and EVM, IPE, fs-verity, dm-verity, fapolicyd, images that are read-only, file monitors (AIDE, Tripwire), package
 * managers that can compare (dpkg --verify, debsums, rpm -V). Some refuse to run other bytes, some only report them, and
 * for some a generation that is mounted over the file is fine where one in its place is not.
 * Sources: Documentation/ABI/testing/{ima_policy,evm}, ipe.rst, fapolicyd.conf(5), proc_pid_mountinfo(5).
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/fault.h"

enum integrity_policy { INTEGRITY_REPLACE, INTEGRITY_MOUNT };

enum integrity_weight {
	INTEGRITY_ABSENT,	 /* not there, or not asked to do anything */
	INTEGRITY_REPORTS,	 /* will say that files differ, if somebody asks it; Morph runs beside it */
	INTEGRITY_PREFERS_MOUNT, /* with activation = replace nothing, or nothing good, would come of an edit */
	INTEGRITY_REFUSES,	 /* other bytes would not be executed, wherever they come from */
};

struct integrity_finding {
	const char *name;
	enum integrity_weight weight;
	char text[400]; /* what was found, and what to do */
};

#define INTEGRITY_FINDINGS_MAX 16

struct integrity {
	struct integrity_finding findings[INTEGRITY_FINDINGS_MAX];
	size_t n_findings;
};

/** integrity_look() - all that was found; what is absent is left out. @root: "" or a directory that stands for "/" */
void integrity_look(const char *root, struct integrity *ret);

/**
 * integrity_obstacle() - would a generation of the program at @path still run, put there by @policy?
 * Return: 0; -EPERM with who refuses, and what to do.
 */
int integrity_obstacle(const char *root, const char *path, enum integrity_policy policy,
		       struct fault *reterr);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * training.h - a profile of the command that is measured, where none is given
 *
 * The command runs under `morph record`, with the shipped file in the program's place, until `morph profile` says that the
 * samples are enough, or a minute is over.
 */

#include "cli/shared/run.h"

struct training {
	struct run_options run; /* the command; `program` NULL: the shipped file stands there already */
	const char *shipped, *sidecar_dir; /* the latter may be NULL */
	const char *directory;		   /* where logs and profile are written */
	const char *profile;		   /* into this file */
};

/** training_run() - Return: 0; -ENODATA: too few samples, whatever was done; -EINTR; other -errno; @reterr says what to do */
int training_run(const struct training *training, struct fault *reterr);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * allowed.h - could a generation be activated there? activation_may() as it said some minutes ago
 *
 * It walks to the file, reads the table of mounts and looks for software that watches over files: some hundred system calls.
 * Where hundreds of programs wait for the machine to be idle, that is asked of each of them every decide_interval. What it
 * said holds for ALLOWED_INTERVALS of these. It is for those who only report or choose: before an edit begins, and when
 * its generation is activated, it is asked again.
 */

#include "manager/keep/context.h"

#define ALLOWED_INTERVALS 10

/** allowed_remembered() - as activation_may(), or what that said lately. Cost: O(log n) for n paths that were asked for */
int allowed_remembered(struct manager *manager, const char *path, struct fault *reterr);

void allowed_free(struct allowed *allowed); /* accepts NULL */

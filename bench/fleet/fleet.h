/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * fleet.h - what bench-fleet does: a command each, with main()'s arguments, its name at 1
 *
 * Machines are of the simulation only in that many live in one process: their roles, credentials, connections, profiles and
 * batches are real ones, and go through fleet/'s own code.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "module/build_id.h"

/** deal PROGRAM LOG PREFIX NUMBER SAMPLES: PREFIX-0.samples ...: that many of PROGRAM's samples in each, none in two */
int fleet_deal(int argc, char **argv, struct fault *reterr);

/**
 * modules DIRECTORY FIRST STEP END PROFILE...: DIRECTORY/M-V, the V-th PROFILE under the build ID of module M, which is FIRST
 * or a multiple of STEP above it
 */
int fleet_modules(int argc, char **argv, struct fault *reterr);

/** lie PROFILE OUT: what a machine says that has that program and means harm */
int fleet_lie(int argc, char **argv, struct fault *reterr);

/** machines URL NUMBER FILE: let in so many; FILE gets the credential of each as a line */
int fleet_machines(int argc, char **argv, struct fault *reterr);

/** push OPTION...: machines come and hand over batches (crowd.c) */
int fleet_push(int argc, char **argv, struct fault *reterr);

/** pull OPTION...: machines come and ask for profiles */
int fleet_pull(int argc, char **argv, struct fault *reterr);

/** fleet_module_id() - of the simulated module with that number */
void fleet_module_id(size_t module, struct build_id *ret);

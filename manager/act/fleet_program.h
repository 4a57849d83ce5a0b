/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * fleet_program.h - may the fleet be told of a program, or asked about it? (A question names a build, too.)
 *
 * Its shipped file must be as a package shipped it, byte for byte, and `fleet_programs` has its path, or says packages.
 */

#include "manager/keep/catalog.h"
#include "manager/keep/context.h"

/** fleet_program_may() - 1; 0: not; -errno. The shipped file is the store's, or the one that is installed */
int fleet_program_may(struct manager *manager, const struct module_row *module, struct fault *reterr);

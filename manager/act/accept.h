/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * accept.h - is what the editor left in the work directory a generation of this module?
 *
 * It must be an ELF file of the shipped file's machine and type, have a build ID of its own, and carry
 * a block map; its report, if there is one, must be JSON. Then it goes into the store with a number.
 */

#include "manager/keep/catalog.h"
#include "manager/keep/context.h"

/* What a generation was made from, aged: samples of this machine, and of others (priors.h). */
struct made_from {
	double samples, fleet_samples, package_samples;
	double cost_s; /* CPU time */
};

/**
 * accept_generation() - check, store, enter
 * @ret: the new row; when the editor made the same file as an earlier time: that generation's row
 * Return: 0; -EBADMSG with the reason when it is refused; -ENOSPC, ...
 */
int accept_generation(struct manager *manager, const struct module_row *module, const struct made_from *from,
		      struct generation_row *ret, struct fault *reterr);

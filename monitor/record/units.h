/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * units.h - which unit, and whose processes, the number of a group stands for
 *
 * The kernel side tells of a cgroup in which a user's process was sampled, once, by name: so what has ended since is
 * known, too. Numbers rise; of the last 8,192 the names are kept.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/macro.h"
#include "monitor/bpf/sampler.h"

struct units;

struct units *units_new(void);
void units_free(struct units *units); /* accepts NULL */
DEFINE_CLEANUP(struct units *, units_free);

/** units_announce() - a GROUP event of @size bytes; what it lacks is not known then */
void units_announce(struct units *units, const struct sampler_module_event *event, size_t size);

struct unit_of_group {
	const char *unit; /* as cgroup_unit() says, borrowed; "": not known */
	uint32_t user;	  /* SAMPLE_USER_UNKNOWN: not known */
};

/** units_find() - of the group with this number */
struct unit_of_group units_find(const struct units *units, uint32_t number);

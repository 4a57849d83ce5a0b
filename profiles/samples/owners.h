/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * owners.h - whose time it was: samples by name of the process, unit and user
 *
 * All modes together, so that a service's system calls count as its own. Names are what processes call themselves;
 * units are cgroups as systemd names them (services, scopes, so containers, too), or the cgroup's own name.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "profiles/samples/interned.h"

#define OWNERS_MAX 4096u /* of one log; what would be more counts as nobody's */
#define OWNER_MAX_BYTES 256u

struct owner {
	char *process, *unit; /* owned; "": not known */
	uint32_t user;	      /* SAMPLE_USER_UNKNOWN: not told */
	uint64_t count;	      /* samples */
};

struct owners {
	struct owner *list; /* owned */
	size_t n, capacity;
	uint64_t n_nobody; /* samples beyond OWNERS_MAX */
	struct interned index;
};

/** owners_done() - empty again, and usable; all zeros is an empty one */
void owners_done(struct owners *owners);

/** owners_add() - names beyond OWNER_MAX_BYTES are cut; 0 or -ENOMEM */
int owners_add(struct owners *owners, const char *process, const char *unit, uint32_t user, uint64_t count);

/** owners_merge() - all of @from, too; 0 or -ENOMEM */
int owners_merge(struct owners *into, const struct owners *from);

/** owners_total() - samples of all of them, nobody's too */
uint64_t owners_total(const struct owners *owners);

/** owners_encode(), owners_decode() - docs/format-sample-log.md; decoding into an empty one, 0 or -ENOMEM, else @reader is bad */
void owners_encode(const struct owners *owners, struct buffer *buffer);
int owners_decode(struct reader *reader, struct owners *owners);

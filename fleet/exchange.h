/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * exchange.h - what a machine does with the fleet: hand over batches, ask for profiles
 */

#include <stdint.h>
#include <stdio.h>

#include "fleet/database.h"
#include "module/build_id.h"
#include "profiles/store/profile.h"

#define EXCHANGE_INTERFACE 3 /* of fleet.hello(), fleet.push(), fleet.pull(), fleet.seen() */

enum exchange_outcome {
	EXCHANGE_TAKEN,	  /* it counts, once */
	EXCHANGE_AGAIN,	  /* it was taken before */
	EXCHANGE_REFUSED, /* it never will be; let it go */
	EXCHANGE_LATER,	  /* not now: keep it */
};

/** exchange_outcome_name() - taken, again, refused, later */
const char *exchange_outcome_name(enum exchange_outcome outcome);

struct exchange {
	struct database *database; /* borrowed */
	uint64_t stream;	   /* this machine's queue */
	uint64_t last;		   /* sequence number that the database took last from it */
	unsigned k;		   /* machines, before a count is served */
	double half_life_days;
};

/**
 * exchange_begin() - is this a fleet, are we one of it, and how far is our queue?
 * Return: 0; -EPROTONOSUPPORT: it speaks another interface, or has no fleet; else as database_do()
 */
int exchange_begin(struct database *database, uint64_t stream, struct exchange *ret, struct fault *reterr);

/**
 * exchange_push() - hand over one batch: a stored profile of what was counted since the last one
 * @sequence: > 0, rising; the same number for the same file, whenever it is tried
 * Return: 0 with @ret; a negative errno with EXCHANGE_LATER when there is no use in trying others now. @reterr is filled
 * for EXCHANGE_REFUSED, too.
 */
int exchange_push(struct exchange *exchange, uint64_t sequence, const char *path, enum exchange_outcome *ret,
		  struct fault *reterr);

/**
 * exchange_ask() - what the fleet knows of @build_id
 * Return: 0 with *ret, owned by the caller; -ENODATA: nothing, or not from enough machines yet; -EBADMSG, -EFBIG: the answer makes no
 * sense; else as database_do()
 */
int exchange_ask(struct exchange *exchange, const struct build_id *build_id, struct profile **ret,
		 struct fault *reterr);

/** exchange_pull() - the same as a stored profile into the file @path */
int exchange_pull(struct exchange *exchange, const struct build_id *build_id, const char *path,
		  struct fault *reterr);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * machines.h - who is of the fleet: a role with a password of its own for each machine
 *
 * The password is made here, from the kernel's random numbers; the database gets a SCRAM verifier of it. A role may execute
 * three functions and read its own row, nothing else.
 */

#include <stdbool.h>
#include <stdio.h>

#include "fleet/database.h"

#define MACHINES_NAME_MAX 40

/** machines_name_is_good() - lower-case letters, digits and '-', at most MACHINES_NAME_MAX */
bool machines_name_is_good(const char *name);

/**
 * machines_add() - make a role for @name; one that was revoked gets a new password
 * @for_url: how machines reach the database; NULL: as we did
 * @retcredential: one line, what the machine needs (database_url_read()); needs free()
 * Return: 0; -EINVAL: not a name; -EEXIST: it is one of the fleet already, or there is such a role; else as database_do()
 */
int machines_add(struct database *database, const char *name, const char *for_url, char **retcredential,
		 struct fault *reterr);

/** machines_revoke() - from here on it is not let in, and what is connected is cut off. -ENOENT: no such machine */
int machines_revoke(struct database *database, const char *name, struct fault *reterr);

/** machines_list(), machines_status(), machines_top() - for people, or as JSON */
int machines_list(struct database *database, bool json, FILE *out, struct fault *reterr);
int machines_status(struct database *database, bool json, FILE *out, struct fault *reterr);
int machines_top(struct database *database, unsigned days, bool json, FILE *out, struct fault *reterr);

/**
 * machines_diff() - packages of which a later build came in the last @days: what CPU a machine spends on each in a day on which
 * it runs, whether that is more than chance
 */
int machines_diff(struct database *database, unsigned days, bool json, FILE *out, struct fault *reterr);

/** machines_name_module() - what top calls the module with that build ID */
int machines_name_module(struct database *database, const char *build_id, const char *name,
			 struct fault *reterr);

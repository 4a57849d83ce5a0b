/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * schema.h - the fleet's tables and functions in the database, and how they get there
 *
 * fleet/schema/NNN-NAME.sql brings version NNN - 1 of the tables to NNN; functions.sql is installed anew each time. All of
 * it is one transaction: a database has a whole version or the one before.
 *
 * Roles (of the whole cluster): morph_fleet_owner has the tables, in whose name the functions run, and cannot log in;
 * machines are members of morph_fleet_machine, those who look of morph_fleet_viewer.
 */

#include "fleet/database.h"

extern const char *const schema_steps[]; /* ends with NULL; the version is their number */
extern const char *const schema_functions;

struct schema_report {
	int before, after; /* versions; 0: none */
};

/**
 * schema_install() - the tables of this version, whatever is there
 * Return: 0; -EPROTONOSUPPORT: the database has a newer version; -EPERM: a role of that name has more rights than ours
 * would; else as database_do().
 */
int schema_install(struct database *database, struct schema_report *ret, struct fault *reterr);

/** schema_as_owner() - begin a transaction in the owner's name. -ENOENT: there is no fleet in this database */
int schema_as_owner(struct database *database, struct fault *reterr);

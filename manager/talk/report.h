/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * report.h - database rows as D-Bus dictionaries: what Status, Explain, History and Pins answer
 *
 * A column becomes an entry under its name: integers as x, reals as d, texts as s; null is left out.
 * Texts that are not UTF-8 (paths may be anything) get U+FFFD for each wrong byte. Everything is read from
 * the database, and rows about programs that @audience may not know of are left out (audience.h): a path of
 * such a program is answered like one that nobody ever heard of.
 */

#include <systemd/sd-bus.h>

#include "manager/keep/context.h"
#include "manager/talk/audience.h"

/* @path: NULL for report_status() and report_pins(); "" for the history of all */
int report_status(struct manager *manager, const struct audience *audience, const char *path,
		  sd_bus_message *into, struct fault *reterr);
int report_explain(struct manager *manager, const struct audience *audience, const char *path,
		   sd_bus_message *into, struct fault *reterr);
int report_history(struct manager *manager, const struct audience *audience, const char *path,
		   sd_bus_message *into, struct fault *reterr);
int report_pins(struct manager *manager, const struct audience *audience, const char *path,
		sd_bus_message *into, struct fault *reterr);

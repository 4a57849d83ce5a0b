/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * fleet_report.h - what morph-fleet says became of batches and of questions: lines "KEY OUTCOME WHY"
 *
 * It talks to a database that may be anybody's, and may have been taken over by it. A line is believed only as far as its key
 * is one that it was given; what is longer, or has other bytes than printable ones, is no line.
 */

#include <stdbool.h>
#include <stddef.h>

#define FLEET_REPORT_BYTES (1u << 20)

struct fleet_line {
	char key[80];	  /* a number, or a build ID; "last" */
	char outcome[24]; /* taken, again, refused, later; known, unknown; after "last" a number */
	char why[400];	  /* "": not said */
};

/**
 * fleet_report_next() - the next line that is one; @at: where to go on, first 0
 * Return: false: there is none
 */
bool fleet_report_next(const char *text, size_t size, size_t *at, struct fleet_line *ret);

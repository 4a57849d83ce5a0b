/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * report.h - what one edit did, as JSON for the manager and for people (docs/format-report.md)
 */

#include "editor/edit.h"
#include "sandbox/sandbox.h"

/**
 * report_write() - atomically; -errno with @reterr
 * @path: NULL: standard output, whose failure base/standard_output.h tells
 * @profile_path: of the file that @profile was read from, whose digest is noted: with the program, the versions and the
 * options it is all that the result depends on (docs/decisions/0081)
 */
int report_write(const char *path, const struct image *program, const struct profile *profile,
		 const char *profile_path, const struct edit_options *options,
		 const struct edit_report *report, const struct sandbox_report *walls, struct fault *reterr);

/** report_check_print() - what --check found out, on standard output; @difference: unless it regenerates */
void report_check_print(const char *program, bool regenerates, const struct fault *difference);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * report.h - what one edit did, as JSON for the manager and for people (docs/format-report.md)
 */

#include "editor/edit.h"
#include "editor/sandbox.h"

/** report_write() - atomically; -errno with @reterr */
int report_write(const char *path, const struct image *program, const struct profile *profile,
		 const struct edit_report *report, const struct sandbox_report *walls,
		 struct fault *reterr);

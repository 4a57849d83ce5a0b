/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * export.h - the report's rows, each an instruction, in a form that other tools read (profiles/export/places.h)
 */

#include "cli/report/rows.h"
#include "profiles/export/places.h"

/** report_export_calls() - likewise, the stacks that logs hold, and in one place the time that has none */
int report_export_calls(const struct ran *ran, const struct rows_options *options,
			const struct place_exporter *exporter, const char *output, struct fault *reterr);

/** report_export() - into the file @output, or NULL: to standard output; 0 or -errno with @reterr */
int report_export(const struct ran *ran, const struct rows *rows, const struct place_exporter *exporter,
		  const char *output, struct fault *reterr);

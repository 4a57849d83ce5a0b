/* SPDX-License-Identifier: Apache-2.0 */

/* A profile as export_pprof.c has it: line 0 of a function carries its samples, line n the executions of its IR block n. */

#include "profiles/export/export.h"

#include <errno.h>

#include "profiles/export/otlp.h"
#include "profiles/store/function_order.h"

static void sample_put(struct otlp *otlp, uint32_t mapping, const struct otlp_line *line, uint64_t samples,
		       uint64_t executions)
{
	uint32_t location = otlp_location(otlp, mapping, 0, line, 0);

	otlp_sample(otlp, otlp_stack(otlp, &location, 1), NULL, 0,
		    (uint64_t[OTLP_MOST_VALUES]){ samples, executions });
}

static void function_put(struct otlp *otlp, uint32_t mapping, const char *path,
			 const struct profile_function *f)
{
	char name[FUNCTION_NAME_BYTES];
	struct otlp_line line = { function_name(f, name), NULL, path, 0 };

	if (f->samples >= 0.5)
		sample_put(otlp, mapping, &line, (uint64_t)(MIN(f->samples, 0x1p62) + 0.5), 0);
	for (line.line = 1; line.line <= f->n_counts; line.line++)
		if (f->counts[line.line - 1].executions)
			sample_put(otlp, mapping, &line, 0, f->counts[line.line - 1].executions);
}

int export_otlp(const struct profile *profile, struct buffer *ret)
{
	static const struct otlp_type types[] = { { "samples", "count" }, { "executions", "count" } };
	_clean_(freep) const struct profile_function **functions = function_order(profile);
	_clean_(otlp_done) struct otlp otlp = { .n_types = ARRAY_SIZE(types) };
	uint64_t duration = profile->last_ns > profile->first_ns ? profile->last_ns - profile->first_ns : 0;
	uint32_t mapping;

	if (!functions)
		return -ENOMEM;
	mapping = otlp_mapping(&otlp, profile->path, &profile->build_id);
	for (size_t i = 0; i < profile->n_functions; i++)
		function_put(&otlp, mapping, profile->path, functions[i]);
	return otlp_write(&otlp, types, profile->first_ns, duration, ret);
}

static int otlp_run(const struct export_input *input, struct buffer *ret, char *retleft _unused_,
		    struct fault *reterr)
{
	int r = export_otlp(input->profile, ret);

	return r < 0 ? fault_errno(reterr, r, "exporting") : 0;
}

const struct exporter exporter_otlp = {
	.name = "otlp",
	.title = "of a profile: OpenTelemetry profiles (v1development of 1.10.0 and 1.11.0)",
	.is_binary = true,
	.run = otlp_run,
};

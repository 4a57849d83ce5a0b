/* SPDX-License-Identifier: Apache-2.0 */

#include "fleet/delta.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>

/* As fleet.batch_check() has them (fleet/schema/functions.sql). */
#define FUNCTIONS_MAX 65536u
#define COUNTS_MAX 1000000u

static bool is_known(const struct profile_function *f)
{
	for (uint32_t i = 0; i < f->n_counts; i++)
		if (f->counts[i].confidence)
			return true;
	return false;
}

static void function_add(struct buffer *to, const struct profile_function *f)
{
	buffer_printf(to, "\"(%" PRId64 ",%" PRId64 ",%.17g,\\\"{", (int64_t)f->guid, (int64_t)f->cfg_hash,
		      fmax(f->samples, 0));
	for (uint32_t i = 0; i < f->n_counts; i++)
		buffer_printf(to, "%s%" PRIu64, i ? "," : "",
			      f->counts[i].confidence ? f->counts[i].executions : 0);
	buffer_printf(to, "}\\\",\\\"{");
	for (uint32_t i = 0; i < f->n_counts; i++)
		buffer_printf(to, "%s%.6g", i ? "," : "",
			      f->counts[i].confidence ? profile_error(f->counts[i].confidence) : -1.0);
	buffer_printf(to, "}\\\")\"");
}

int delta_of(const struct profile *profile, struct buffer *ret, struct delta_report *retreport,
	     struct fault *reterr)
{
	struct delta_report report = { 0 };
	double samples = 0, executions = 0;

	buffer_u8(ret, '{');
	for (size_t i = 0; i < profile->n_functions; i++) {
		const struct profile_function *f = &profile->functions[i];

		if (!is_known(f))
			continue;
		if (!f->cfg_hash) {
			report.n_without_graph++;
			continue;
		}
		if (report.n_functions)
			buffer_u8(ret, ',');
		function_add(ret, f);
		report.n_functions++;
		report.n_counts += f->n_counts;
		samples += f->samples;
		for (uint32_t j = 0; j < f->n_counts; j++)
			executions += f->counts[j].confidence ? (double)f->counts[j].executions : 0;
	}
	buffer_u8(ret, '}');
	buffer_u8(ret, '\0');
	*retreport = report;
	if (ret->bad)
		return fault_errno(reterr, -ENOMEM, "a batch of %zu functions", report.n_functions);
	if (!(samples > 0) || !(executions > 0))
		return fault_set(reterr, -ENODATA,
				 "the profile has no counts that another machine could use");
	if (report.n_functions > FUNCTIONS_MAX || report.n_counts > COUNTS_MAX)
		return fault_set(reterr, -E2BIG,
				 "the profile has %zu functions with %zu blocks; a batch takes %u and %u",
				 report.n_functions, report.n_counts, FUNCTIONS_MAX, COUNTS_MAX);
	return 0;
}

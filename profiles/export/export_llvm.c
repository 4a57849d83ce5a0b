/* SPDX-License-Identifier: Apache-2.0 */

#include "profiles/export/export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "profiles/store/function_order.h"

static uint64_t counts_sum(const struct profile_function *f)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < f->n_counts; i++)
		if (__builtin_add_overflow(sum, f->counts[i].executions, &sum))
			return UINT64_MAX;
	return sum;
}

/* "NAME:TOTAL:ENTRY", then " PROBE: COUNT" and " !CFGChecksum: HASH". */
static void function_export(const struct profile_function *f, struct buffer *out)
{
	buffer_printf(out, "%s:%" PRIu64 ":%" PRIu64 "\n", f->name, counts_sum(f),
		      f->n_counts ? f->counts[0].executions : 0);
	for (uint32_t i = 0; i < f->n_counts; i++)
		if (f->counts[i].executions || f->counts[i].confidence)
			buffer_printf(out, " %u: %" PRIu64 "\n", i + 1, f->counts[i].executions);
	buffer_printf(out, " !CFGChecksum: %" PRIu64 "\n", f->cfg_hash);
}

int export_llvm(const struct profile *profile, struct buffer *ret, size_t *retn_nameless)
{
	_clean_(freep) const struct profile_function **functions = function_order(profile);
	size_t n_nameless = 0;

	if (!functions)
		return -ENOMEM;
	for (size_t i = 0; i < profile->n_functions; i++) {
		if (functions[i]->name && functions[i]->n_counts)
			function_export(functions[i], ret);
		else
			n_nameless += !functions[i]->name;
	}
	if (retn_nameless)
		*retn_nameless = n_nameless;
	return ret->bad ? -ENOMEM : 0;
}

static int llvm_run(const struct export_input *input, struct buffer *ret, char *retleft, struct fault *reterr)
{
	size_t n_nameless = 0;
	int r = export_llvm(input->profile, ret, &n_nameless);

	if (n_nameless)
		snprintf(retleft, EXPORT_LEFT_BYTES, "%zu functions without a name were left out",
			 n_nameless);
	return r < 0 ? fault_errno(reterr, r, "exporting") : 0;
}

const struct exporter exporter_llvm = {
	.name = "llvm",
	.title = "of a profile: LLVM sample profile, as text",
	.run = llvm_run,
};

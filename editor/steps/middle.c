/* SPDX-License-Identifier: Apache-2.0 */

/* Passes over the hot module of which other folders have the whole. */

#include <errno.h>

#include "editor/code/host.h"
#include "editor/code/loops.h"
#include "editor/code/pipeline.h"
#include "editor/count/recount.h"
#include "editor/steps/state.h"
#include "editor/trust/facts.h"

int pass_facts(struct edit *edit, struct fault *reterr)
{
	int r = facts_strip(edit->hot, FACTS_TAKEN, reterr);

	return r < 0 ? r : facts_rederive(edit->hot, reterr);
}

int pass_close(struct edit *edit, struct fault *reterr)
{
	(void)reterr;
	ir_internalize(edit->hot, edit->visible);
	return 0;
}

int pass_retarget(struct edit *edit, struct fault *reterr)
{
	const struct edit_options *options = edit->options;

	(void)reterr;
	host_retarget(edit->hot, options->cpu, options->tune ? options->tune : options->cpu);
	return 0;
}

int pass_optimize(struct edit *edit, struct fault *reterr)
{
	struct pipeline_options options = { .opt_level = MAX(edit->data->opt_level, 2u),
					    .cpu = edit->options->cpu,
					    .no_unroll = edit->options->no_unroll,
					    .no_vectors = edit->options->limits_vectors &&
							  !edit->options->vector_bits };

	if (edit->options->limits_vectors && edit->options->vector_bits)
		host_vectors_limit(edit->hot, edit->options->vector_bits);
	return pipeline_run(edit->hot, &options, reterr);
}

int pass_recount(struct edit *edit, struct fault *reterr)
{
	return recount_module(edit->hot, edit->profile, reterr);
}

int pass_loops(struct edit *edit, struct fault *reterr)
{
	if (loops_align(edit->hot, edit->report->counts.executions, &edit->report->n_loops) < 0)
		return fault_errno(reterr, -ENOMEM, "aligning loops");
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */

/* An encoded link plan: what decodes encodes to something that decodes to as many inputs. */

#include "module/link_plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_clean_(link_plan_freep) struct link_plan *plan = NULL, *again = NULL;
	_clean_(buffer_donep) struct buffer bytes = { 0 };
	struct fault fault;

	if (link_plan_decode(data, size, &plan, &fault) < 0)
		return 0;
	link_plan_encode(plan, &bytes);
	if (!bytes.bad && (link_plan_decode(bytes.data, bytes.size, &again, &fault) < 0 ||
			   again->n_inputs != plan->n_inputs))
		abort();
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Encoded: the number of inputs, then for each: kind(1), text, bytes. Equal bytes are written once:
 * a length of 0 is followed by the ULEB128 of "0: none, n: those of input n - 1".
 */

#include "module/link_plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "module/array.h"

int link_plan_add(struct link_plan *plan, enum link_input_kind kind, const char *text, const void *bytes,
		  size_t size)
{
	struct link_input *input;
	char *copy = strdup(text ? text : "");

	if (!copy)
		return -ENOMEM;
	if (!array_reserve(plan->inputs, plan->n_inputs, &plan->capacity)) {
		free(copy);
		return -ENOMEM;
	}
	input = &plan->inputs[plan->n_inputs++];
	*input = (struct link_input){ .kind = kind, .text = copy, .bytes = bytes, .size = size };
	return 0;
}

void link_plan_free(struct link_plan *plan)
{
	if (!plan)
		return;
	for (size_t i = 0; i < plan->n_inputs; i++)
		free(plan->inputs[i].text);
	free(plan->inputs);
	free(plan);
}

/* 1 + place of an earlier input with the same bytes, or 0. */
static size_t input_twin(const struct link_plan *plan, size_t i)
{
	const struct link_input *input = &plan->inputs[i];

	for (size_t j = 0; input->size && j < i; j++)
		if (plan->inputs[j].size == input->size &&
		    memcmp(plan->inputs[j].bytes, input->bytes, input->size) == 0)
			return j + 1;
	return 0;
}

void link_plan_encode(const struct link_plan *plan, struct buffer *ret)
{
	buffer_uleb(ret, plan->n_inputs);
	for (size_t i = 0; i < plan->n_inputs; i++) {
		const struct link_input *input = &plan->inputs[i];
		size_t twin = input_twin(plan, i);

		buffer_u8(ret, (uint8_t)input->kind);
		buffer_string(ret, input->text, strlen(input->text));
		buffer_string(ret, (const char *)input->bytes, twin ? 0 : input->size);
		if (twin || !input->size)
			buffer_uleb(ret, twin);
	}
}

static int input_decode(struct link_plan *plan, struct reader *in, struct fault *reterr)
{
	unsigned kind = reader_u8(in);
	size_t n_text, size;
	const char *text = reader_string(in, &n_text);
	const char *bytes = reader_string(in, &size);
	uint64_t twin = size ? 0 : reader_uleb(in);
	char *copy;
	int r;

	if (in->bad || kind < LINK_ARGUMENT || kind > LINK_IR || twin > plan->n_inputs ||
	    (n_text && memchr(text, 0, n_text)))
		return fault_set(reterr, -EBADMSG, "link plan damaged at byte %zu", reader_offset(in));
	if (twin) {
		bytes = (const char *)plan->inputs[twin - 1].bytes;
		size = plan->inputs[twin - 1].size;
	}
	copy = strndup(text, n_text);
	r = copy ? link_plan_add(plan, (enum link_input_kind)kind, copy, bytes, size) : -ENOMEM;
	free(copy);
	return r < 0 ? fault_errno(reterr, r, "link plan") : 0;
}

int link_plan_decode(const void *bytes, size_t size, struct link_plan **ret, struct fault *reterr)
{
	_clean_(link_plan_freep) struct link_plan *plan = calloc(1, sizeof(*plan));
	struct reader in = reader_of(bytes, size);
	uint64_t n = reader_uleb(&in);

	if (!plan)
		return fault_errno(reterr, -ENOMEM, "link plan");
	for (uint64_t i = 0; i < n && !in.bad; i++) {
		int r = input_decode(plan, &in, reterr);

		if (r < 0)
			return r;
	}
	if (in.bad || reader_left(&in))
		return fault_set(reterr, -EBADMSG, "link plan damaged: it does not fill its bytes");
	*ret = TAKE(plan);
	return 0;
}

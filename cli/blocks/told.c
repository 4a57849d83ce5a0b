/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/blocks/blocks.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORTH_SAYING 0.1 /* of an instruction's time */

static int by_charge(const void *pa, const void *pb)
{
	const struct told_block *a = pa, *b = pb;

	if (a->charged != b->charged)
		return a->charged < b->charged ? 1 : -1;
	return a->index < b->index ? -1 : a->index > b->index;
}

int told_blocks(const struct analysis *a, const struct analysed_function *function, struct told_block **ret,
		size_t *retn)
{
	const struct cycles *c = &a->cycles;
	const struct block_function *f = function->function;
	struct told_block *list = calloc(f->n_blocks + 1, sizeof(*list));
	double all = 0;

	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->n_blocks; i++) {
		struct told_block *told = &list[i];
		const struct code_block *code;

		told->index = f->first_block + i;
		code = &c->code.blocks[told->index];
		told->n_insns = code->n_insns;
		told->executions = c->scale == CYCLES_UNKNOWN ? NAN : c->estimate.blocks[told->index];
		told->cycles = cycles_block(c, told->index, &told->best);
		for (uint32_t k = 0; k < code->n_insns; k++)
			told->charged += c->insns[code->first_insn + k].samples;
		all += told->charged;
	}
	for (uint32_t i = 0; i < f->n_blocks && all > 0; i++)
		list[i].share = list[i].charged / all;
	if (f->n_blocks)
		qsort(list, f->n_blocks, sizeof(*list), by_charge);
	*ret = list;
	*retn = f->n_blocks;
	return 0;
}

static int by_share(const void *pa, const void *pb)
{
	const struct told_insn *a = pa, *b = pb;

	if (a->share != b->share)
		return a->share < b->share ? 1 : -1;
	return a->address < b->address ? -1 : a->address > b->address;
}

static void function_add(const struct analysis *a, uint32_t function, struct told_insn *list, size_t *n)
{
	const struct cycles *c = &a->cycles;
	const struct block_function *f = &a->map->functions[function];
	double all = (double)a->module->total;

	for (uint32_t b = f->first_block; b < f->first_block + f->n_blocks; b++) {
		const struct code_block *code = &c->code.blocks[b];
		uint64_t address = a->map->blocks[b].address;

		for (uint32_t i = code->first_insn; i < code->first_insn + code->n_insns; i++) {
			if (c->insns[i].samples > 0)
				list[(*n)++] = (struct told_insn){ address, i, function,
								   all > 0 ? c->insns[i].samples / all : 0 };
			address += c->code.insns[i].size;
		}
	}
}

int told_insns(const struct blocks_view *view, struct told_insn **ret, size_t *retn)
{
	const struct analysis *a = view->analysis;
	struct told_insn *list = calloc((size_t)a->cycles.code.n_insns + 1, sizeof(*list));
	size_t n = 0;

	if (!list)
		return -ENOMEM;
	for (uint32_t f = 0; f < a->map->n_functions; f++)
		if (!view->chosen || view->chosen->function == &a->map->functions[f])
			function_add(a, f, list, &n);
	if (n)
		qsort(list, n, sizeof(*list), by_share);
	*ret = list;
	*retn = MIN(n, view->limit);
	return 0;
}

const char *told_text(const struct analysis *a, uint32_t insn, uint64_t address, char ret[TOLD_INSN_BYTES])
{
	uint8_t size = a->cycles.code.insns[insn].size;
	const uint8_t *code = image_code(a->image, address, size);
	char text[INSN_TEXT_BYTES];

	snprintf(ret, TOLD_INSN_BYTES, "%s",
		 code ? insn_text(image_machine(a->image), code, size, address, text) : "(no bytes)");
	return ret;
}

const char *told_waits(const struct cycles_insn *insn, char ret[WAITS_BYTES])
{
	unsigned worst = CULPRIT_EXECUTION + 1;

	ret[0] = '\0';
	for (unsigned k = worst + 1; k < CULPRIT_END; k++)
		if (insn->shares[k] > insn->shares[worst])
			worst = k;
	if (insn->shares[worst] >= WORTH_SAYING)
		snprintf(ret, WAITS_BYTES, "%s %.0f %%", culprit_name(worst), 100 * insn->shares[worst]);
	else if (insn->may >= WORTH_SAYING)
		snprintf(ret, WAITS_BYTES, "one of several %.0f %%", 100 * insn->may);
	return ret;
}

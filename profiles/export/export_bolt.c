/* SPDX-License-Identifier: Apache-2.0 */

/*
 * fdata for programs sampled without branch records: the line "no_lbr EVENT", then lines
 *
 *	1 SYMBOL OFFSET COUNT		(offset hexadecimal, from the symbol's address)
 *
 * BOLT gives every local symbol a number, NAME/1, NAME/2 ..., in the order of addresses and over
 * symbols of every type (its NameResolver); blanks and backslashes in names are escaped with a
 * backslash.
 */

#include "profiles/export/export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/search.h"

/* A function symbol; @local: its number, 0 for a global one. */
struct target {
	const struct image_symbol *symbol;
	uint64_t local;
};

struct local_symbol {
	const char *name;
	size_t index; /* of the symbol, so that equal names stay in the order of addresses */
};

static int compare_named(const void *a, const void *b)
{
	const struct local_symbol *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : (x->index > y->index) - (x->index < y->index);
}

/* ret[i]: the number that BOLT gives local symbol i. */
static int locals_number(const struct image *image, uint32_t *ret)
{
	size_t n_symbols = image_n_symbols(image), n = 0;
	_clean_(freep) struct local_symbol *named = calloc(n_symbols + 1, sizeof(*named));

	if (!named)
		return -ENOMEM;
	for (size_t i = 0; i < n_symbols; i++) {
		const struct image_symbol *s = image_symbol_at(image, i);

		if (s->binding == STB_LOCAL && s->type != STT_FILE && s->address && s->name && *s->name)
			named[n++] = (struct local_symbol){ s->name, i };
	}
	qsort(named, n, sizeof(*named), compare_named);
	for (size_t i = 0; i < n; i++)
		ret[named[i].index] =
			i && strcmp(named[i].name, named[i - 1].name) == 0 ? ret[named[i - 1].index] + 1 : 1;
	return 0;
}

/* The function symbols in the order of addresses, one for each address, a global one if there is.
 */
static int targets_collect(const struct image *image, struct target **ret, size_t *retn)
{
	size_t n_symbols = image_n_symbols(image), n = 0;
	_clean_(freep) uint32_t *numbers = calloc(n_symbols + 1, sizeof(*numbers));
	_clean_(freep) struct target *targets = calloc(n_symbols + 1, sizeof(*targets));

	if (!numbers || !targets || locals_number(image, numbers) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n_symbols; i++) {
		const struct image_symbol *s = image_symbol_at(image, i);

		if (s->type != STT_FUNC || !s->size || !s->name || !*s->name)
			continue;
		if (n && targets[n - 1].symbol->address == s->address) {
			if (targets[n - 1].local && !numbers[i])
				targets[n - 1] = (struct target){ s, 0 };
			continue;
		}
		targets[n++] = (struct target){ s, numbers[i] };
	}
	*ret = TAKE(targets);
	*retn = n;
	return 0;
}

static const struct target *target_find(const struct target *targets, size_t n, uint64_t address)
{
	size_t low = LOWER_BOUND(0, n, middle, targets[middle].symbol->address <= address);

	if (!low || address - targets[low - 1].symbol->address >= targets[low - 1].symbol->size)
		return NULL;
	return &targets[low - 1];
}

static void line_put(struct buffer *out, const struct target *target, uint64_t address, uint64_t count)
{
	buffer_printf(out, "1 ");
	for (const char *p = target->symbol->name; *p; p++) {
		if (*p == ' ' || *p == '\\')
			buffer_u8(out, '\\');
		buffer_u8(out, (uint8_t)*p);
	}
	if (target->local)
		buffer_printf(out, "/%" PRIu64, target->local);
	buffer_printf(out, " %" PRIx64 " %" PRIu64 "\n", address - target->symbol->address, count);
}

int export_bolt(const struct image *image, const struct sample_module *module, struct buffer *ret,
		uint64_t *retmapped, struct fault *reterr)
{
	_clean_(freep) struct target *targets = NULL;
	uint64_t mapped = 0, address;
	size_t n;

	if (targets_collect(image, &targets, &n) < 0)
		return fault_errno(reterr, -ENOMEM, "%s", image_path(image));
	if (!n)
		return fault_set(reterr, -ENODATA,
				 "%s: has no function symbols, and BOLT knows functions by "
				 "symbol; use the file as it was before it was stripped",
				 image_path(image));
	buffer_printf(ret, "no_lbr samples\n");
	for (size_t i = 0; i < module->n_counts; i++) {
		const struct target *target =
			image_offset_to_address(image, module->counts[i].offset, &address) ?
				target_find(targets, n, address) :
				NULL;

		if (!target)
			continue;
		line_put(ret, target, address, module->counts[i].count);
		mapped += module->counts[i].count;
	}
	if (retmapped)
		*retmapped = mapped;
	return ret->bad ? fault_errno(reterr, -ENOMEM, "%s", image_path(image)) : 0;
}

static int bolt_run(const struct export_input *input, struct buffer *ret, char *retleft, struct fault *reterr)
{
	uint64_t mapped = 0, total = input->module->total;
	int r = export_bolt(input->image, input->module, ret, &mapped, reterr);

	if (r == 0 && mapped < total)
		snprintf(retleft, EXPORT_LEFT_BYTES,
			 "%" PRIu64 " of %" PRIu64 " samples are in no function symbol and were left out",
			 total - mapped, total);
	return r;
}

const struct exporter exporter_bolt = {
	.name = "bolt",
	.title = "of a program's samples: BOLT's fdata without branch records",
	.of_samples = true,
	.run = bolt_run,
};

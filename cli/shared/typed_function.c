/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/shared/typed_function.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/search.h"
#include "cli/shared/demangle.h"
#include "cli/shared/number.h"
#include "profiles/cycles/recover.h"

/* "0x40117a" */
static bool address_typed(const char *text, uint64_t *ret)
{
	char *end;

	if (strncmp(text, "0x", 2) != 0 || !text[2])
		return false;
	errno = 0;
	*ret = strtoull(text, &end, 16);
	return !*end && errno == 0;
}

/* "NAME#3": the third function of that name, as sampled_file.c counts them. */
static int numbered_find(const struct image *image, const struct image *symbols, const char *text,
			 uint64_t *ret)
{
	const char *mark = strrchr(text, '#');
	_clean_(freep) struct recover_range *ranges = NULL;
	_clean_(freep) char *name = NULL;
	double number;
	size_t n = 0, of_name = 0;

	if (!mark || !number_parse(mark + 1, 2, 1e9, &number))
		return -ENOENT;
	name = strndup(text, (size_t)(mark - text));
	if (!name || recover_ranges(image, symbols, &ranges, &n) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (!ranges[i].name || !demangled_is(ranges[i].name, name) || (double)++of_name != number)
			continue;
		*ret = ranges[i].start;
		return 0;
	}
	return -ENOENT;
}

/* How many samples there were before each of them, and at the end all. */
static double *samples_before(const struct sample_module *module)
{
	double *before = calloc(module->n_counts + 1, sizeof(*before));

	for (size_t i = 0; before && i < module->n_counts; i++)
		before[i + 1] = before[i] + (double)module->counts[i].count;
	return before;
}

static size_t counts_below(const struct sample_module *module, uint64_t offset)
{
	return LOWER_BOUND(0, module->n_counts, i, module->counts[i].offset < offset);
}

static double samples_of(const struct image *image, const struct sample_module *module, const double *before,
			 const struct image_symbol *symbol)
{
	uint64_t offset, end;

	if (!image_address_to_offset(image, symbol->address, &offset))
		return 0;
	if (__builtin_add_overflow(offset, symbol->size, &end))
		end = UINT64_MAX;
	return before[counts_below(module, end)] - before[counts_below(module, offset)];
}

static int named_find(const struct image *image, const struct image *symbols,
		      const struct sample_module *module, const char *text, uint64_t *ret)
{
	_clean_(freep) double *before = samples_before(module);
	bool is_found = false, is_symbol = false;
	double most = 0;

	if (!before)
		return -ENOMEM;
	for (size_t i = 0; i < image_n_symbols(symbols); i++) {
		const struct image_symbol *symbol = image_symbol_at(symbols, i);
		bool is_it = strcmp(symbol->name, text) == 0;
		double samples;

		if (!is_it && (is_symbol || !demangled_is(symbol->name, text)))
			continue;
		samples = samples_of(image, module, before, symbol);
		if (is_found && is_it == is_symbol && samples <= most)
			continue;
		is_found = true;
		is_symbol = is_it;
		most = samples;
		*ret = symbol->address;
	}
	return is_found ? 0 : -ENOENT;
}

int typed_function(const struct image *image, const struct image *symbols, const struct sample_module *module,
		   const char *text, uint64_t *ret)
{
	int r = named_find(image, symbols ? symbols : image, module, text, ret);

	if (r == -ENOENT)
		r = numbered_find(image, symbols, text, ret);
	if (r == -ENOENT && address_typed(text, ret))
		r = 0;
	return r;
}

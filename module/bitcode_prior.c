/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The bytes, in order: every loaded segment without code, with zeros for what is left out; names of the
 * block map's functions in order of address, and those of the link plan's first object, without the NULs
 * between them: a module's names stand one behind the other, too. The numbers: GUID and hash of each IR
 * function, in the order in which the functions stand in the file, then those that have no code.
 */

#define _GNU_SOURCE
#include "module/bitcode_prior.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "module/dynamic.h"

static void zero(uint8_t *bytes, uint64_t offset, uint64_t size, uint64_t from, uint64_t end)
{
	from = MAX(from, offset);
	end = MIN(end, offset + size);
	if (from < end)
		memset(bytes + (from - offset), 0, end - from);
}

/* Which bytes of the string table are the names of dynamic symbols? One byte for each; NULL: no memory. */
static bool *symbol_names(const struct dynamic *dynamic)
{
	const struct image_section *symbols = image_section_find(dynamic->image, ".dynsym");
	bool *is_name = calloc(dynamic->n_strings + 1, sizeof(*is_name));

	for (size_t at = 0; is_name && symbols && symbols->data && symbols->size - at >= sizeof(Elf64_Sym);
	     at += sizeof(Elf64_Sym)) {
		const char *name;
		Elf64_Sym symbol;

		memcpy(&symbol, symbols->data + at, sizeof(symbol));
		name = dynamic_string(dynamic, symbol.st_name);
		/* What was marked from its beginning on is marked to its end: no name is walked twice. */
		for (size_t i = symbol.st_name; name && *name && !is_name[i]; name++, i++)
			is_name[i] = true;
	}
	return is_name;
}

/* Of the dynamic strings only the names of symbols: whoever installs a file changes the rest (editor/trust/run_path.h). */
static int strings_zero(const struct image *image, const Elf64_Phdr *segment, uint8_t *bytes)
{
	_clean_(freep) bool *is_name = NULL;
	struct dynamic dynamic;

	if (dynamic_open(image, &dynamic, NULL) < 0)
		return 0;
	is_name = symbol_names(&dynamic);
	if (!is_name)
		return -ENOMEM;
	for (size_t i = 0; i < dynamic.n_strings; i++)
		if (!is_name[i])
			zero(bytes, segment->p_offset, segment->p_filesz, dynamic.strings + i,
			     dynamic.strings + i + 1);
	return 0;
}

static int segment_add(const struct image *image, const Elf64_Phdr *segment, struct buffer *ret)
{
	size_t file_size, at = ret->size;
	const uint8_t *file = image_bytes(image, &file_size);
	Elf64_Ehdr header;

	/* Segments that lie outside, or all over one another, are nobody's honest file. */
	if (segment->p_offset > file_size || segment->p_filesz > file_size - segment->p_offset ||
	    segment->p_filesz > file_size - MIN(at, file_size))
		return 0;
	memcpy(&header, file, sizeof(header));
	buffer_bytes(ret, file + segment->p_offset, segment->p_filesz);
	if (ret->bad)
		return -ENOMEM;
	zero(ret->data + at, segment->p_offset, segment->p_filesz, 0,
	     MAX(header.e_phoff + image_n_segments(image) * sizeof(Elf64_Phdr), sizeof(header)));
	for (size_t i = 0; i < image_n_segments(image); i++) {
		const Elf64_Phdr *other = image_segment_at(image, i);

		if (other->p_type == PT_NOTE || other->p_type == PT_DYNAMIC)
			zero(ret->data + at, segment->p_offset, segment->p_filesz, other->p_offset,
			     other->p_offset + other->p_filesz);
	}
	return strings_zero(image, segment, ret->data + at);
}

static void name_add(struct buffer *ret, const char *name)
{
	if (name)
		buffer_bytes(ret, name, strlen(name));
}

/* The object that lists names (backend/name_order.h): every string of it that is no section's name. */
static void plan_names_add(const struct link_plan *plan, struct buffer *ret)
{
	for (size_t i = 0; i < plan->n_inputs; i++) {
		const struct link_input *input = &plan->inputs[i];

		if (input->kind != LINK_OBJECT)
			continue;
		for (size_t j = 0; j < input->size; j++)
			if (input->bytes[j] > ' ' && input->bytes[j] < 0x7f)
				buffer_u8(ret, input->bytes[j]);
		return;
	}
}

static bool number_is_new(const struct bitcode_prior *prior, uint64_t number)
{
	return !prior->n_numbers || prior->numbers[prior->n_numbers - 2] != number;
}

static int numbers_make(const struct block_map *map, struct bitcode_prior *ret)
{
	_clean_(freep) bool *is_taken = calloc(map->n_ir_functions + 1, 1);

	ret->numbers = calloc(map->n_ir_functions + 1, 2 * sizeof(*ret->numbers));
	if (!ret->numbers || !is_taken)
		return -ENOMEM;
	for (size_t i = 0; i < map->n_functions + map->n_ir_functions; i++) {
		const struct block_ir_function *f =
			i < map->n_functions ? block_map_ir_function(map, map->functions[i].guid) :
					       &map->ir_functions[i - map->n_functions];

		if (!f || is_taken[f - map->ir_functions] || !number_is_new(ret, f->guid))
			continue;
		is_taken[f - map->ir_functions] = true;
		ret->numbers[ret->n_numbers++] = f->guid;
		ret->numbers[ret->n_numbers++] = f->cfg_hash;
	}
	return 0;
}

int bitcode_prior_make(const struct image *image, const struct block_map *map, const struct link_plan *plan,
		       struct bitcode_prior *ret)
{
	const struct example *example = example_get();
	int r = example ? 0 : -ENOMEM;

	*ret = (struct bitcode_prior){ .example = example ? &example->ir : NULL };
	for (size_t i = 0; image && i < image_n_segments(image) && r == 0; i++) {
		const Elf64_Phdr *segment = image_segment_at(image, i);

		if (segment->p_type == PT_LOAD && !(segment->p_flags & PF_X))
			r = segment_add(image, segment, &ret->bytes);
	}
	for (size_t i = 0; map && i < map->n_functions; i++)
		name_add(&ret->bytes, map->functions[i].name);
	if (plan)
		plan_names_add(plan, &ret->bytes);
	if (map && r == 0)
		r = numbers_make(map, ret);
	if (r < 0 || ret->bytes.bad) {
		bitcode_prior_done(ret);
		return -ENOMEM;
	}
	return 0;
}

void bitcode_prior_done(struct bitcode_prior *prior)
{
	buffer_done(&prior->bytes);
	free(prior->numbers);
	*prior = (struct bitcode_prior){ 0 };
}

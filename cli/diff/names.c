/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/diff/names.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/diff/renamed.h"
#include "cli/shared/shipped.h"
#include "debug/code_hash.h"
#include "debug/pair.h"
#include "debug/source.h"
#include "module/morph_data.h"

#define PROBES_LEAST 4u /* blocks: the graphs of smaller functions are alike by chance */

/* What match_block() said of a block, once it was asked. */
struct matched_block {
	struct match_insn *insns; /* owned */
	size_t n;
};

struct side {
	const struct sampled_file *file; /* borrowed */
	struct morph_data *data;	 /* owned; NULL: none */
	struct build_functions functions;
	uint32_t *n_probes; /* per IR function: the highest probe */
	/* NAMES_SHIPPED, of a generation */
	struct pair pair;
	bool has_pair;
	struct matched_block *blocks; /* one per block of the generation */
	struct source *source;	      /* NAMES_SCOPES */
};

struct names {
	enum names_by how;
	struct side sides[2];
	struct sampled_file shipped; /* NAMES_SHIPPED */
	size_t n_renamed;
	char note[512];
	struct arena *arena;
};

static void side_done(struct side *side)
{
	for (size_t i = 0; side->blocks && i < side->pair.generation_data->map->n_blocks; i++)
		free(side->blocks[i].insns);
	free(side->blocks);
	if (side->has_pair)
		pair_done(&side->pair);
	morph_data_free(side->data);
	source_free(side->source);
}

void names_free(struct names *names)
{
	if (!names)
		return;
	side_done(&names->sides[0]);
	side_done(&names->sides[1]);
	sampled_file_done(&names->shipped);
	arena_free(names->arena);
	free(names);
}

enum names_by names_how(const struct names *names)
{
	return names->how;
}

const char *names_note(const struct names *names)
{
	return names->note;
}

size_t names_renamed(const struct names *names)
{
	return names->n_renamed;
}

/* --- by way of the shipped file ------------------------------------------------------------------- */

static const struct build_id *origin_of(const struct side *side)
{
	return side->data->origin.size ? &side->data->origin : &side->data->build_id;
}

static int shipped_open(struct names *names, const struct names_options *options, char path[PATH_MAX],
			struct fault *reterr)
{
	for (unsigned i = 0; i < 2; i++)
		if (!names->sides[i].data->origin.size) {
			snprintf(path, PATH_MAX, "%s", image_path(names->sides[i].file->image));
			return 0;
		}
	if (!options->shipped)
		return shipped_find(image_path(names->sides[0].file->image), options->store, path, reterr);
	snprintf(path, PATH_MAX, "%s", options->shipped);
	return 0;
}

static int generation_open(struct side *side, const char *shipped, const char *sidecar_dir,
			   struct fault *reterr)
{
	int r;

	if (!side->data->origin.size)
		return 0;
	r = pair_open(image_path(side->file->image), shipped, sidecar_dir, &side->pair, reterr);
	if (r < 0)
		return r;
	side->has_pair = true;
	side->blocks = calloc(side->pair.generation_data->map->n_blocks + 1, sizeof(*side->blocks));
	return side->blocks ? 0 : fault_errno(reterr, -ENOMEM, "%s", shipped);
}

/* 1: it cannot be found, and names->note says so. */
static int shipped_use(struct names *names, const struct names_options *options, struct fault *reterr)
{
	struct sample_module module = { .kind = SAMPLE_MODULE_FILE,
					.build_id = *origin_of(&names->sides[0]) };
	char path[PATH_MAX], *copies[] = { path };
	struct fault fault;
	int r = shipped_open(names, options, path, &fault);

	if (r == 0) {
		module.path = path;
		r = sampled_file_open(&module, copies, 1, &names->shipped);
		if (r < 0)
			return fault_errno(reterr, r, "%s", path);
		if (names->shipped.state != SAMPLED_FILE)
			r = fault_set(&fault, -ENODATA,
				      "%s: is not the file that the generations were made from", path);
	}
	for (unsigned i = 0; r == 0 && i < 2; i++)
		r = generation_open(&names->sides[i], path, options->sidecar_dir, &fault);
	if (r == -ENOMEM || (r < 0 && options->shipped)) {
		if (reterr)
			*reterr = fault;
		return r;
	}
	if (r < 0) {
		snprintf(names->note, sizeof(names->note), "inlining is seen by blocks only: %.450s",
			 fault.text);
		return 1;
	}
	names->how = NAMES_SHIPPED;
	return 0;
}

static const char *shipped_name(const struct names *names, uint64_t address)
{
	uint64_t offset;

	return image_address_to_offset(names->shipped.image, address, &offset) ?
		       sampled_function(&names->shipped, offset) :
		       "(no code)";
}

/* The shipped address that @address of the generation stands for; 0: none. */
static int shipped_address(struct side *side, uint64_t address, uint64_t *ret)
{
	uint32_t block = block_map_find(side->pair.generation_data->map, address);
	struct matched_block *matched;
	struct match_insn insn;
	int r;

	if (block == BLOCK_NONE) {
		r = match_address(side->pair.match, address, &insn);
		*ret = r == 0 && insn.kind != MATCH_NONE ? insn.shipped : 0;
		return r;
	}
	matched = &side->blocks[block];
	if (!matched->insns && match_block(side->pair.match, block, &matched->insns, &matched->n) < 0)
		return -ENOMEM;
	*ret = 0;
	for (size_t i = 0; i < matched->n; i++)
		if (address - matched->insns[i].address < matched->insns[i].size)
			*ret = matched->insns[i].kind != MATCH_NONE ? matched->insns[i].shipped : 0;
	return 0;
}

/* --- functions of two builds ---------------------------------------------------------------------- */

static uint64_t symbol_hash(const struct build_functions *functions, size_t i)
{
	const struct sampled_file *file = functions->user;

	return code_hash(file->image, file->ranges[i].start, file->ranges[i].end);
}

static int symbols_list(struct names *names, struct side *side)
{
	const struct sampled_file *file = side->file;

	side->functions = (struct build_functions){ .n = file->n, .hash = symbol_hash, .user = file };
	side->functions.list = arena_array(names->arena, struct build_function, file->n + 1);
	for (size_t i = 0; side->functions.list && i < file->n; i++) {
		struct build_function *f = &side->functions.list[i];

		f->is_named = file->ranges[i].name != NULL;
		f->name = function_base_name(names->arena, file->names[i]);
		if (!f->name)
			return -ENOMEM;
	}
	return side->functions.list ? 0 : -ENOMEM;
}

static uint64_t graph_hash(const struct build_functions *functions, size_t i)
{
	const struct side *side = functions->user;

	return side->n_probes[i] >= PROBES_LEAST ? side->data->map->ir_functions[i].cfg_hash : 0;
}

static int ir_functions_list(struct names *names, struct side *side)
{
	const struct block_map *map = side->data->map;
	size_t n = map->n_ir_functions;

	side->functions = (struct build_functions){ .n = n, .hash = graph_hash, .user = side };
	side->functions.list = arena_array(names->arena, struct build_function, n + 1);
	side->n_probes = arena_array(names->arena, uint32_t, n + 1);
	if (!side->functions.list || !side->n_probes)
		return -ENOMEM;
	for (size_t i = 0; i < map->n_probes; i++) {
		const struct block_ir_function *f = block_map_ir_function(map, map->probes[i].guid);
		uint32_t *most = f ? &side->n_probes[f - map->ir_functions] : NULL;

		if (most)
			*most = MAX(*most, map->probes[i].index);
	}
	for (size_t i = 0; i < n; i++) {
		const char *name = map->ir_functions[i].name;
		struct build_function *f = &side->functions.list[i];

		f->is_named = name && *name;
		f->name = f->is_named ? function_base_name(names->arena, name) : "?";
		if (!f->name)
			return -ENOMEM;
	}
	return 0;
}

static int builds_match(struct names *names, int (*list)(struct names *names, struct side *side))
{
	int r = 0;

	for (unsigned i = 0; r == 0 && i < 2; i++)
		r = list(names, &names->sides[i]);
	if (r == 0)
		r = renamed_match(&names->sides[0].functions, &names->sides[1].functions, names->arena);
	names->n_renamed = r > 0 ? (size_t)r : 0;
	return MIN(r, 0);
}

/* --- which way ------------------------------------------------------------------------------------ */

static bool has_probes(const struct side *side)
{
	return side->data && side->data->map && side->data->map->n_probes && side->data->map->n_ir_functions;
}

static int scopes_use(struct names *names, struct fault *reterr)
{
	names->how = NAMES_SCOPES;
	for (unsigned i = 0; i < 2; i++) {
		int r = source_read(image_path(names->sides[i].file->image), NULL, &names->sides[i].source,
				    reterr);

		if (r < 0)
			return r;
	}
	return 0;
}

static int way_find(struct names *names, const struct names_options *options, struct fault *reterr)
{
	struct side *a = &names->sides[0], *b = &names->sides[1];
	int r = 1;

	names->how = NAMES_SYMBOLS;
	if (!a->file->image || !b->file->image)
		return 0;
	for (unsigned i = 0; i < 2; i++)
		if (morph_data_load(names->sides[i].file->image, options->sidecar_dir, &names->sides[i].data,
				    NULL) < 0)
			names->sides[i].data = NULL;
	if (a->data && b->data && a->data->map && b->data->map &&
	    build_id_is_equal(origin_of(a), origin_of(b)))
		r = shipped_use(names, options, reterr);
	if (r <= 0)
		return r;
	if (options->inlined)
		return scopes_use(names, reterr);
	if (has_probes(a) && has_probes(b))
		names->how = NAMES_PROBES;
	r = builds_match(names, names->how == NAMES_PROBES ? ir_functions_list : symbols_list);
	return r < 0 ? fault_errno(reterr, r, "%s", image_path(a->file->image)) : 0;
}

int names_open(const struct sampled_file *files[2], const struct names_options *options, struct names **ret,
	       struct fault *reterr)
{
	_clean_(names_freep) struct names *names = calloc(1, sizeof(*names));
	int r = 0;

	if (names)
		names->arena = arena_new();
	if (!names || !names->arena)
		return fault_errno(reterr, -ENOMEM, "functions");
	for (unsigned i = 0; i < 2; i++)
		names->sides[i].file = files[i];
	if (build_id_is_equal(&files[0]->build_id, &files[1]->build_id) && files[0]->build_id.size)
		names->how = NAMES_SAME;
	else
		r = way_find(names, options, reterr);
	if (r < 0)
		return r;
	*ret = TAKE(names);
	return 0;
}

/* --- a place -------------------------------------------------------------------------------------- */

static const char *symbol_name(const struct side *side, uint64_t offset, uint64_t address)
{
	const struct sampled_file *file = side->file;
	const struct recover_range *range =
		side->functions.list ? recover_range_at(file->ranges, file->n, address) : NULL;

	return range ? side->functions.list[range - file->ranges].key : sampled_function(file, offset);
}

static const char *scope_name(struct names *names, const struct side *side, uint64_t address)
{
	uint32_t scopes[SOURCE_DEPTH];
	unsigned n = source_scopes_at(side->source, address, scopes);
	const struct source_scope *scope = n ? &side->source->scopes[scopes[n - 1]] : NULL;
	const struct recover_range *range = recover_range_at(side->file->ranges, side->file->n, address);

	if (scope && (scope->linkage || (scope->name && *scope->name)))
		return scope->linkage ? scope->linkage : scope->name;
	return range ? function_base_name(names->arena, side->file->names[range - side->file->ranges]) :
		       "(between functions)";
}

/* A block's samples to the IR functions whose probes it has, each by their number. */
static int probes_tally(struct names *names, struct side *side, uint64_t address, double samples,
			struct tally *tally, const char *module, size_t column)
{
	const struct block_map *map = side->data->map;
	uint32_t b = block_map_find(map, address);
	const struct block *block = b != BLOCK_NONE ? &map->blocks[b] : NULL;
	const struct block_ir_function *of;
	const struct recover_range *range;
	const char *name = "(no symbol)";
	uint32_t f;
	int r = 0;

	for (uint32_t i = 0; block && r == 0 && i < block->n_probes; i++) {
		of = block_map_ir_function(map, map->probes[block->first_probe + i].guid);
		r = tally_add(tally, module,
			      of ? side->functions.list[of - map->ir_functions].key : "(unknown)", column,
			      samples / block->n_probes);
	}
	if (block && block->n_probes)
		return r;
	f = block ? block_map_function_of(map, b) : BLOCK_NONE;
	of = f != BLOCK_NONE ? block_map_ir_function(map, map->functions[f].guid) : NULL;
	if (of)
		return tally_add(tally, module, side->functions.list[of - map->ir_functions].key, column,
				 samples);
	range = recover_range_at(side->file->ranges, side->file->n, address);
	if (range && range->name)
		name = function_base_name(names->arena, side->file->names[range - side->file->ranges]);
	return name ? tally_add(tally, module, name, column, samples) : -ENOMEM;
}

int names_tally(struct names *names, unsigned which, uint64_t offset, double samples, struct tally *tally,
		const char *module, size_t column)
{
	struct side *side = &names->sides[which];
	const char *name = NULL;
	uint64_t address, shipped;

	if (!side->file->image || !image_offset_to_address(side->file->image, offset, &address))
		return tally_add(tally, module, sampled_function(side->file, offset), column, samples);
	switch (names->how) {
	case NAMES_SAME: name = sampled_function(side->file, offset); break;
	case NAMES_SYMBOLS: name = symbol_name(side, offset, address); break;
	case NAMES_SCOPES: name = scope_name(names, side, address); break;
	case NAMES_PROBES: return probes_tally(names, side, address, samples, tally, module, column);
	case NAMES_SHIPPED:
		if (!side->has_pair)
			shipped = address;
		else if (shipped_address(side, address, &shipped) < 0)
			return -ENOMEM;
		name = shipped ? shipped_name(names, shipped) :
				 function_base_name(names->arena, sampled_function(side->file, offset));
		break;
	}
	return name ? tally_add(tally, module, name, column, samples) : -ENOMEM;
}

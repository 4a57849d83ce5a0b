/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "debug/pair.h"

#include <errno.h>

void pair_done(struct pair *pair)
{
	match_free(pair->match);
	morph_data_free(pair->generation_data);
	morph_data_free(pair->shipped_data);
	image_free(pair->generation);
	image_free(pair->shipped);
	*pair = (struct pair){ 0 };
}

static int origin_check(const struct pair *pair, struct fault *reterr)
{
	char origin[BUILD_ID_MAX_TEXT], id[BUILD_ID_MAX_TEXT];

	if (!pair->generation_data->origin.size)
		return fault_set(reterr, -EINVAL, "%s: is a shipped file, no generation of one",
				 image_path(pair->generation));
	if (!build_id_is_equal(&pair->generation_data->origin, &pair->shipped_data->build_id))
		return fault_set(reterr, -EINVAL, "%s: was made from build ID %s; %s has %s",
				 image_path(pair->generation),
				 build_id_text(&pair->generation_data->origin, origin),
				 image_path(pair->shipped), build_id_text(&pair->shipped_data->build_id, id));
	return 0;
}

int pair_open(const char *generation, const char *shipped, const char *sidecar_dir, struct pair *ret,
	      struct fault *reterr)
{
	struct pair pair = { 0 };
	int r = image_open(generation, &pair.generation, reterr);

	if (r == 0)
		r = morph_data_load(pair.generation, sidecar_dir, &pair.generation_data, reterr);
	if (r == 0)
		r = image_open(shipped, &pair.shipped, reterr);
	if (r == 0)
		r = morph_data_load(pair.shipped, sidecar_dir, &pair.shipped_data, reterr);
	if (r == 0)
		r = origin_check(&pair, reterr);
	if (r == 0)
		r = match_new(pair.generation, pair.generation_data->map, pair.shipped,
			      pair.shipped_data->map, &pair.match, reterr);
	if (r < 0)
		pair_done(&pair);
	else
		*ret = pair;
	return r;
}

struct place_name place_of(const struct image *image, const struct block_map *map, uint64_t address)
{
	struct place_name ret = { .block = BLOCK_NONE };
	uint32_t block = block_map_find(map, address);

	if (block != BLOCK_NONE) {
		const struct block_function *f = &map->functions[block_map_function_of(map, block)];

		ret.function = f->name;
		ret.function_offset = address - f->address;
		ret.block = map->blocks[block].id;
		ret.block_offset = address - map->blocks[block].address;
		return ret;
	}
	for (size_t i = 0; i < image_n_symbols(image); i++) {
		const struct image_symbol *s = image_symbol_at(image, i);

		if (s->type == STT_FUNC && address - s->address < s->size) {
			ret.function = s->name;
			ret.function_offset = address - s->address;
		}
	}
	return ret;
}

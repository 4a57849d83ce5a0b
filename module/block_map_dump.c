/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The text of a block map: a line for the file, one for each function, one for each block:
 *
 *	function main at 0x17c0, guid 95db6436..., 3 blocks
 *	  #0 0x17c0+31 falls-through, calls end at 12 20, probes 1 2, to #1 62.50% #2 37.50%
 */

#include <inttypes.h>

#include "base/json.h"
#include "base/text.h"
#include "module/block_map.h"

static const char *const flag_texts[] = { " returns", " tail-calls", " EH-pad", " falls-through",
					  " jumps-indirect" };

static void block_dump(const struct block_map *map, const struct block_function *f, const struct block *b,
		       FILE *out)
{
	fprintf(out, "  #%u 0x%" PRIx64 "+%u", b->id, b->address, b->size);
	for (unsigned i = 0; i < ARRAY_SIZE(flag_texts); i++)
		if (b->flags & 1u << i)
			fputs(flag_texts[i], out);
	for (uint32_t i = 0; i < b->n_calls; i++)
		fprintf(out, "%s%u", i ? " " : ", calls end at ", map->calls[b->first_call + i]);
	for (uint32_t i = 0; i < b->n_probes; i++) {
		const struct block_probe *p = &map->probes[b->first_probe + i];

		fprintf(out, "%s%u", i ? " " : ", probes ", p->index);
		if (p->guid != f->guid)
			fprintf(out, "@%016" PRIx64, p->guid);
	}
	for (uint32_t i = 0; i < b->n_edges; i++) {
		const struct block_edge *e = &map->edges[b->first_edge + i];

		fprintf(out, "%s#%u %.2f%%", i ? " " : ", to ", map->blocks[e->target].id,
			100.0 * e->probability / (1u << 31));
	}
	fputc('\n', out);
}

void block_map_dump(const struct block_map *map, FILE *out)
{
	char id[BUILD_ID_MAX_TEXT];

	fprintf(out,
		"block map of build ID %s: %zu functions, %zu blocks, %zu edges, %zu calls, "
		"%zu probes (%" PRIu64 " unplaced), %zu IR functions\n",
		map->build_id.size ? build_id_text(&map->build_id, id) : "none", map->n_functions,
		map->n_blocks, map->n_edges, map->n_calls, map->n_probes, map->n_unplaced,
		map->n_ir_functions);
	for (size_t i = 0; i < map->n_functions; i++) {
		const struct block_function *f = &map->functions[i];
		const struct block_ir_function *ir = block_map_ir_function(map, f->guid);

		fputs("function ", out);
		text_print(out, f->name ? f->name : "?");
		fprintf(out, " at 0x%" PRIx64 ", guid %016" PRIx64, f->address, f->guid);
		if (ir)
			fprintf(out, ", cfg %016" PRIx64, ir->cfg_hash);
		fprintf(out, ", %u blocks\n", f->n_blocks);
		for (uint32_t j = 0; j < f->n_blocks; j++)
			block_dump(map, f, &map->blocks[f->first_block + j], out);
	}
}

static void hex_json(struct json *json, const char *key, uint64_t value)
{
	char text[17];

	snprintf(text, sizeof(text), "%016" PRIx64, value); /* JSON numbers lose bits beyond 2^53 */
	json_string(json, key, text);
}

static void probes_json(const struct block_map *map, const struct block_function *f, const struct block *b,
			struct json *json)
{
	json_array_begin(json, "probes");
	for (uint32_t i = 0; i < b->n_probes; i++) {
		const struct block_probe *p = &map->probes[b->first_probe + i];

		json_object_begin(json, NULL);
		json_u64(json, "index", p->index);
		if (p->guid != f->guid)
			hex_json(json, "guid", p->guid);
		json_object_end(json);
	}
	json_array_end(json);
}

static void block_json(const struct block_map *map, const struct block_function *f, const struct block *b,
		       struct json *json)
{
	json_object_begin(json, NULL);
	json_u64(json, "id", b->id);
	json_u64(json, "address", b->address);
	json_u64(json, "size", b->size);
	json_u64(json, "flags", b->flags);
	json_array_begin(json, "call_ends");
	for (uint32_t i = 0; i < b->n_calls; i++)
		json_u64(json, NULL, map->calls[b->first_call + i]);
	json_array_end(json);
	probes_json(map, f, b, json);
	json_array_begin(json, "edges");
	for (uint32_t i = 0; i < b->n_edges; i++) {
		const struct block_edge *e = &map->edges[b->first_edge + i];

		json_object_begin(json, NULL);
		json_u64(json, "to", map->blocks[e->target].id);
		json_double(json, "probability", (double)e->probability / (1u << 31));
		json_object_end(json);
	}
	json_array_end(json);
	json_object_end(json);
}

void block_map_json(const struct block_map *map, struct json *json, const char *key)
{
	char id[BUILD_ID_MAX_TEXT];

	json_object_begin(json, key);
	json_string(json, "build_id", map->build_id.size ? build_id_text(&map->build_id, id) : NULL);
	json_u64(json, "unplaced_probes", map->n_unplaced);
	json_array_begin(json, "functions");
	for (size_t i = 0; i < map->n_functions; i++) {
		const struct block_function *f = &map->functions[i];
		const struct block_ir_function *ir = block_map_ir_function(map, f->guid);

		json_object_begin(json, NULL);
		json_string(json, "name", f->name);
		json_u64(json, "address", f->address);
		hex_json(json, "guid", f->guid);
		if (ir)
			hex_json(json, "cfg_hash", ir->cfg_hash);
		json_array_begin(json, "blocks");
		for (uint32_t j = 0; j < f->n_blocks; j++)
			block_json(map, f, &map->blocks[f->first_block + j], json);
		json_array_end(json);
		json_object_end(json);
	}
	json_array_end(json);
	json_object_end(json);
}

void block_map_dump_json(const struct block_map *map, FILE *out)
{
	struct json json = json_to(out);

	block_map_json(map, &json, NULL);
}

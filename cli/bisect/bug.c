/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "cli/bisect/bug.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "arch/arch.h"
#include "base/file.h"
#include "base/text.h"
#include "manager/keep/path.h"
#include "module/block_map.h"
#include "module/morph_data.h"

/* One of both files, read once. */
struct side {
	struct image *image;
	struct morph_data *data;
};

static void side_done(struct side *side)
{
	morph_data_free(side->data);
	image_free(side->image);
}

static int side_open(const struct subject *s, const char *path, struct side *ret, struct fault *reterr)
{
	int r = image_open(path, &ret->image, reterr);

	return r < 0 ? r :
		       morph_data_load(ret->image, s->repeat.sidecars[0] ? s->repeat.sidecars : NULL,
				       &ret->data, reterr);
}

/* ---- code ---- */

static void block_print(const struct side *side, const struct block *block, struct buffer *out)
{
	const uint8_t *code = image_code(side->image, block->address, block->size);
	uint16_t machine = image_machine(side->image);
	char text[INSN_TEXT_BYTES];
	struct insn insn;

	for (uint32_t i = 0; i < block->n_probes; i++) {
		const struct block_probe *probe = &side->data->map->probes[block->first_probe + i];

		buffer_printf(out, "\t# %016llx:%u\n", (unsigned long long)probe->guid, probe->index);
	}
	for (uint32_t at = 0; code && at < block->size; at += insn.size) {
		insn_decode(machine, code + at, block->size - at, block->address + at, &insn);
		buffer_printf(out, "%8llx:\t%s\n", (unsigned long long)block->address + at,
			      insn_text(machine, code + at, block->size - at, block->address + at, text));
	}
}

static bool has_probe(const struct block_map *map, const struct block_function *f, uint64_t guid)
{
	for (uint32_t b = f->first_block; b < f->first_block + f->n_blocks; b++)
		for (uint32_t i = 0; i < map->blocks[b].n_probes; i++)
			if (map->probes[map->blocks[b].first_probe + i].guid == guid)
				return true;
	return false;
}

/* A generation calls it otherwise; its first block is the first one. */
static bool is_function(const struct block_map *map, const struct block_function *f, uint64_t guid)
{
	const struct block *first = &map->blocks[f->first_block];

	return f->guid == guid ||
	       (f->n_blocks && first->n_probes && map->probes[first->first_probe].guid == guid &&
		map->probes[first->first_probe].index == 1);
}

/* The function, and whoever has a copy of it. */
static int code_write(const struct side *side, uint64_t guid, const char *path, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer out = { 0 };
	const struct block_map *map = side->data->map;

	buffer_printf(&out, "# addresses are those of the file; # GUID:INDEX is a block of the shipped IR\n");
	for (size_t i = 0; i < map->n_functions; i++) {
		const struct block_function *f = &map->functions[i];

		if (f->guid != guid && !has_probe(map, f, guid))
			continue;
		buffer_printf(&out, "\n%s:%s\n", SHOWN(f->name ? f->name : "?"),
			      is_function(map, f, guid) ? "" : " # has blocks of it");
		for (uint32_t b = f->first_block; b < f->first_block + f->n_blocks; b++)
			block_print(side, &map->blocks[b], &out);
	}
	return out.bad ? fault_errno(reterr, -ENOMEM, "%s", path) :
			 file_write(path, out.data, out.size, 0644, reterr);
}

/* ---- counts ---- */

static int counts_write(const struct profile_function *f, const char *path, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer out = { 0 };

	buffer_printf(&out, "function %s\nguid %016llx\ncfg_hash %016llx\nsamples %.1f\n", SHOWN(f->name),
		      (unsigned long long)f->guid, (unsigned long long)f->cfg_hash, f->samples);
	for (uint32_t i = 0; i < f->n_counts; i++)
		buffer_printf(&out, "block %u executions %llu confidence %u\n", i + 1,
			      (unsigned long long)f->counts[i].executions, f->counts[i].confidence);
	return out.bad ? fault_errno(reterr, -ENOMEM, "%s", path) :
			 file_write(path, out.data, out.size, 0644, reterr);
}

/* ---- all of it ---- */

/* What a directory may be called: the number tells apart what is left. */
static void folder_name(size_t n, const char *name, char ret[80])
{
	int at = snprintf(ret, 80, "%zu-", n);

	for (; *name && at < 72; name++)
		ret[at++] = isalnum((unsigned char)*name) || *name == '_' ? *name : '-';
	ret[at] = '\0';
}

static int function_write(struct subject *s, const struct side sides[2], const struct profile_function *f,
			  const char *folder, struct fault *reterr)
{
	char path[PATH_MAX];
	int r = file_mkdirs(folder, 0755, reterr);

	if (r == 0)
		r = subject_ir(s, f->name, path_join(folder, "shipped.ll", path), reterr);
	if (r == 0)
		r = counts_write(f, path_join(folder, "counts", path), reterr);
	if (r == 0)
		r = code_write(&sides[0], f->guid, path_join(folder, "shipped.s", path), reterr);
	if (r == 0)
		r = code_write(&sides[1], f->guid, path_join(folder, "generation.s", path), reterr);
	return r;
}

static int functions_write(struct subject *s, const struct bug *bug, const struct side sides[2],
			   struct fault *reterr)
{
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; i < s->n_functions && r == 0; i++)
		for (size_t j = 0; j < s->profile->n_functions && bug->wanted[i] && r == 0; j++) {
			const struct profile_function *f = &s->profile->functions[j];
			char name[80], folder[PATH_MAX];

			if (!f->name || strcmp(f->name, s->functions[i].name) != 0)
				continue;
			folder_name(++n, f->name, name);
			r = function_write(s, sides, f, path_join(bug->directory, name, folder), reterr);
		}
	return r;
}

int bug_write(struct subject *s, const struct bug *bug, struct fault *reterr)
{
	struct side sides[2] = { { 0 } };
	char path[PATH_MAX];
	int r = mkdir(bug->directory, 0755) < 0 ? fault_errno(reterr, -errno, "%s", bug->directory) : 0;

	if (r == 0)
		r = side_open(s, s->repeat.original, &sides[0], reterr);
	if (r == 0)
		r = side_open(s, bug->generation, &sides[1], reterr);
	if (r == 0)
		r = functions_write(s, bug, sides, reterr);
	if (r == 0)
		r = file_write(path_join(bug->directory, "README", path), bug->summary, strlen(bug->summary),
			       0644, reterr);
	side_done(&sides[0]);
	side_done(&sides[1]);
	return r;
}

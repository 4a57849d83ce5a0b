/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/steps/generation.h"

#include <errno.h>
#include <llvm-c/Core.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "base/config.h"
#include "base/file.h"
#include "base/text.h"
#include "module/image_edit.h"

#define NOTE_TYPE 1u

uint64_t generation_text_bytes(const struct image *image)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < image_n_sections(image); i++)
		if (image_section_at(image, i)->flags & SHF_EXECINSTR)
			bytes += image_section_at(image, i)->size;
	return bytes;
}

static void llvm_version(char *ret, size_t size)
{
	unsigned major, minor, patch;

	LLVMGetVersion(&major, &minor, &patch);
	snprintf(ret, size, "%u.%u.%u", major, minor, patch);
}

int generation_identify(const struct image *program, const struct morph_data *data,
			const struct profile *profile, const struct edit_options *options,
			struct edit_report *ret, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer inputs = { 0 };
	char origin[BUILD_ID_MAX_TEXT];
	XXH128_hash_t hash;
	int r;

	llvm_version(ret->llvm, sizeof(ret->llvm));
	snprintf(ret->cpu, sizeof(ret->cpu), "%s", options->cpu ? options->cpu : "");
	snprintf(ret->tune, sizeof(ret->tune), "%s", options->tune ? options->tune : ret->cpu);
	ret->n_modules = data->n_modules;
	ret->n_blocks = data->map->n_blocks;
	ret->text_before = generation_text_bytes(program);
	r = profile_encode(profile, &inputs);
	if (r < 0)
		return fault_errno(reterr, r, "naming the generation");
	ret->profile_digest = XXH3_64bits(inputs.data, inputs.size);
	/* All that the bytes depend on. */
	buffer_printf(&inputs, "%s %s %s %s %s %d", MORPH_VERSION, build_id_text(&data->build_id, origin),
		      ret->llvm, ret->cpu, ret->tune, options->layout_only);
	if (options->limits_copies)
		buffer_printf(&inputs, " copies %g", options->copies);
	if (options->no_unroll)
		buffer_printf(&inputs, " no-unroll");
	if (options->limits_vectors)
		buffer_printf(&inputs, " vectors %u", options->vector_bits);
	if (options->passes_off)
		buffer_u64(&inputs, options->passes_off);
	for (size_t i = 0; i < options->n_as_shipped; i++) {
		buffer_bytes(&inputs, options->as_shipped[i].name, strlen(options->as_shipped[i].name) + 1);
		buffer_u64(&inputs, options->as_shipped[i].cfg_hash);
	}
	if (inputs.bad)
		return fault_errno(reterr, -ENOMEM, "naming the generation");
	hash = XXH3_128bits(inputs.data, inputs.size);
	ret->build_id.size = sizeof(hash);
	memcpy(ret->build_id.bytes, &hash, sizeof(hash));
	return 0;
}

/* What the edit was asked to leave as it is. */
static void exceptions_write(const struct edit_options *options, const struct edit_report *report,
			     struct buffer *text)
{
	for (size_t i = 0; i < options->n_as_shipped; i++)
		if (report->kept[i].state == KEPT)
			buffer_printf(text, "as shipped %s\n", SHOWN(options->as_shipped[i].name));
	if (report->without[0])
		buffer_printf(text, "without %s\n", report->without);
}

static void note_write(const struct morph_data *origin, const struct edit_options *options,
		       const struct edit_report *report, struct buffer *ret)
{
	_clean_(buffer_donep) struct buffer text = { 0 };
	char id[BUILD_ID_MAX_TEXT];

	buffer_printf(&text, "morph %s\norigin %s\nprofile %016llx\nllvm %s\ncpu %s\n", MORPH_VERSION,
		      build_id_text(&origin->build_id, id), (unsigned long long)report->profile_digest,
		      report->llvm, report->cpu[0] ? report->cpu : "as shipped");
	if (report->tune[0])
		buffer_printf(&text, "tuned for %s\n", report->tune);
	if (report->difference.text[0])
		buffer_printf(&text, "rebased: %s\n", report->difference.text);
	exceptions_write(options, report, &text);
	buffer_u8(&text, 0);
	buffer_u32(ret, sizeof("Morph"));
	buffer_u32(ret, (uint32_t)text.size);
	buffer_u32(ret, NOTE_TYPE);
	buffer_bytes(ret, "Morph\0\0", 8);
	buffer_bytes(ret, text.data, text.size);
	buffer_bytes(ret, "\0\0\0", -text.size & 3u);
	ret->bad |= text.bad;
}

/* The linker's part of the block map; .morph has all of it. */
static const char *const spent_sections[] = { ".llvm_bb_addr_map", ".pseudo_probe", ".pseudo_probe_desc",
					      NULL };

int generation_sign(const char *path, struct block_map *map, const struct morph_data *origin,
		    const struct edit_options *options, const struct edit_report *report,
		    struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer container = { 0 }, note = { 0 }, file = { 0 };
	_clean_(image_freep) struct image *image = NULL;
	struct link_plan no_plan = { 0 };
	struct morph_data data = *origin;
	int r;

	data.build_id = report->build_id;
	data.origin = origin->build_id;
	data.map = map;
	data.plan = &no_plan;
	data.n_modules = 0;
	r = morph_data_encode(&data, &container);
	if (r < 0)
		return fault_errno(reterr, r, "describing the generation");
	note_write(origin, options, report, &note);
	if (note.bad)
		return fault_errno(reterr, -ENOMEM, "describing the generation");
	r = image_open(path, &image, reterr);
	if (r == 0)
		r = image_edit(image, spent_sections,
			       (struct image_new_section[]){
				       { MORPH_SECTION, SHT_PROGBITS, container.data, container.size },
				       { GENERATION_NOTE_SECTION, SHT_NOTE, note.data, note.size } },
			       2, &file, reterr);
	return r < 0 ? r : file_write(path, file.data, file.size, 0755, reterr);
}

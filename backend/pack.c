/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Packing:
 *	1. open the linked file; the modules stand one behind the other in .llvmbc; what generations
 *	   do not need goes: debug information, symbol tables for linkers
 *	2. build its block map
 *	3. read which inputs were used, and make the link plan
 *	4. name the file: a build ID from what is loaded and all of the above
 *	5. encode everything
 *	6. llvm-objcopy: the linker's sections out, .morph in
 *	7. compare what is loaded
 *	8. make its lines readable for elfutils, and rename over the output
 */

#define _GNU_SOURCE
#include "backend/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backend/debug_info.h"
#include "backend/discriminators.h"
#include "backend/identity.h"
#include "backend/plan.h"
#include "backend/tools.h"
#include "backend/used_inputs.h"
#include "base/child.h"
#include "base/file.h"
#include "base/log.h"
#include "module/array.h"
#include "module/bitcode.h"
#include "module/morph_data.h"

static const char *const linker_sections[] = { ".llvmbc", ".llvmcmd", ".llvm_bb_addr_map", ".pseudo_probe",
					       ".pseudo_probe_desc" };

struct packer {
	const struct ld_line *line;
	const struct pack_choice *choice;
	struct image *image;
	struct morph_data *data;
	struct used_inputs used;
	struct plan_files files;
	struct buffer *reduced; /* owned; the modules without what generations do not need */
	struct buffer container;
	struct fault *reterr;
};

static void packer_done(struct packer *p)
{
	for (size_t i = 0; p->reduced && p->data && i < p->data->n_modules; i++)
		buffer_done(&p->reduced[i]);
	free(p->reduced);
	morph_data_free(p->data);
	plan_files_done(&p->files);
	used_inputs_done(&p->used);
	image_free(p->image);
	buffer_done(&p->container);
}

static bool text_set(char **ret, const char *text)
{
	*ret = text && *text ? strdup(text) : NULL;
	return *ret || !text || !*text;
}

static int module_add(struct packer *p, const uint8_t *bitcode, size_t size, size_t *capacity)
{
	struct morph_data *data = p->data;
	struct bitcode_facts facts;
	int r = bitcode_facts_read(bitcode, size, &facts, p->reterr);

	if (r < 0)
		return r;
	if (!array_reserve(data->modules, data->n_modules, capacity) ||
	    (!data->n_modules && !text_set(&data->triple, facts.triple)) ||
	    (!data->n_modules &&
	     !text_set(&data->llvm_version, facts.producer + (strncmp(facts.producer, "LLVM", 4) ? 0 : 4))))
		return fault_errno(p->reterr, -ENOMEM, "IR");
	data->modules[data->n_modules] = (struct morph_module){ .bitcode = bitcode, .size = size };
	if (!text_set(&data->modules[data->n_modules].name, *facts.source ? facts.source : "unnamed"))
		return fault_errno(p->reterr, -ENOMEM, "IR");
	data->n_modules++;
	return 0;
}

/* 1 */
static int modules_read(struct packer *p, const struct image_section *s)
{
	size_t capacity = 0, at = 0;

	while (at < s->size) {
		size_t size;
		int r = bitcode_size(s->data + at, s->size - at, &size, p->reterr);

		if (r == 0)
			r = module_add(p, s->data + at, size, &capacity);
		if (r < 0)
			return fault_prefix(p->reterr, r, "%s: section .llvmbc", p->line->output);
		at += size;
	}
	if (!p->data->llvm_version || !p->data->triple)
		return fault_set(p->reterr, -EBADMSG, "%s: its IR names no compiler or target",
				 p->line->output);
	return 0;
}

/* Where LLVM cannot do it, or code depends on it, debug information stays. */
static int debug_info_drop(struct packer *p, struct buffer *retstripped)
{
	size_t n = p->data->n_modules;
	_clean_(freep) struct bitcode_span *modules = calloc(MAX(n, (size_t)1), sizeof(*modules));
	struct fault fault;

	if (!modules)
		return fault_errno(p->reterr, -ENOMEM, "IR");
	for (size_t i = 0; i < n; i++)
		if (!p->choice || i >= p->choice->n || !p->choice->keeps_debug[i])
			modules[i] = (struct bitcode_span){ p->data->modules[i].bitcode,
							    p->data->modules[i].size };
	if (debug_info_strip(modules, n, retstripped, &fault) < 0)
		log_warning("%s: its IR keeps its debug information: %s", p->line->output, fault.text);
	return 0;
}

/* @stripped: empty: the module as it is */
static int module_reduce(struct packer *p, size_t i, struct buffer *stripped)
{
	struct morph_module *module = &p->data->modules[i];
	bool is_stripped = stripped->size > 0;
	int r = bitcode_trim(is_stripped ? stripped->data : module->bitcode,
			     is_stripped ? stripped->size : module->size, &p->reduced[i], p->reterr);

	buffer_done(stripped);
	module->bitcode = p->reduced[i].data;
	module->size = p->reduced[i].size;
	return r;
}

static int modules_reduce(struct packer *p)
{
	size_t n = p->data->n_modules;
	_clean_(freep) struct buffer *stripped = calloc(MAX(n, (size_t)1), sizeof(*stripped));
	int r;

	p->reduced = calloc(MAX(n, (size_t)1), sizeof(*p->reduced));
	r = stripped && p->reduced ? debug_info_drop(p, stripped) : fault_errno(p->reterr, -ENOMEM, "IR");
	for (size_t i = 0; i < n && r == 0; i++)
		r = module_reduce(p, i, &stripped[i]);
	for (size_t i = 0; stripped && i < n; i++)
		buffer_done(&stripped[i]);
	return r;
}

/* -mllvm X, --plugin-opt=-X: options of the caller's that shape the code. */
static int options_take(struct packer *p)
{
	const struct ld_line *line = p->line;
	struct morph_data *data = p->data;

	data->options = calloc(line->n_items + 1, sizeof(char *));
	if (!data->options)
		return fault_errno(p->reterr, -ENOMEM, "options");
	for (size_t i = 0; i < line->n_items; i++) {
		const struct ld_item *item = &line->items[i];
		bool plugin = item->option && strcmp(item->option, "plugin-opt") == 0;

		if (item->kind != LD_CODEGEN || !item->value || item->value[0] != '-' ||
		    (!plugin && strcmp(item->option, "mllvm") != 0))
			continue;
		if (!text_set(&data->options[data->n_options], item->value))
			return fault_errno(p->reterr, -ENOMEM, "options");
		data->n_options++;
	}
	return 0;
}

static int facts_take(struct packer *p)
{
	const struct ld_line *line = p->line;
	struct morph_data *data = p->data;

	data->build_id = *image_build_id(p->image);
	if (!data->build_id.size)
		return fault_set(p->reterr, -ENODATA, "%s: the linker gave it no build ID of %u to %u bytes",
				 line->output, BUILD_ID_MIN_BYTES, BUILD_ID_MAX_BYTES);
	data->lto = line->is_thin ? MORPH_LTO_THIN : MORPH_LTO_FULL;
	data->lto_level = line->lto_level;
	data->opt_level = line->codegen_level;
	data->strips = line->strips;
	data->pic = line->is_shared || line->is_pie;
	if (!text_set(&data->cpu, line->cpu) || !text_set(&data->selftest, line->selftest) ||
	    !text_set(&data->benchmark, line->benchmark))
		return fault_errno(p->reterr, -ENOMEM, "options");
	return options_take(p);
}

/* 2 */
static int map_take(struct packer *p)
{
	int r = block_map_build(p->image, &p->data->map, p->reterr);

	if (r < 0)
		return r;
	return block_map_make_unique(p->data->map) < 0 ? fault_errno(p->reterr, -ENOMEM, "block map") : 0;
}

/* 3; an object with .llvmbc of its own would be mistaken for IR of this link. */
static int plan_take(struct packer *p, const struct buffer *trace, struct buffer *retother)
{
	int r = used_inputs_read(trace, &p->used, retother, p->reterr);

	for (size_t i = 0; r == 0 && i < p->used.n_inputs; i++) {
		const struct used_input *input = &p->used.inputs[i];
		_clean_(image_freep) struct image *image = NULL;

		if (input->kind == USED_OBJECT &&
		    image_open_bytes(input->bytes, input->size, input->name, &image, NULL) == 0 &&
		    image_section_find(image, ".llvmbc"))
			r = fault_set(p->reterr, -ENOTSUP, "%s: compiled with -fembed-bitcode", input->name);
	}
	return r < 0 ? r :
		       plan_build(p->line, &p->used, p->image, p->data->map, &p->files, &p->data->plan,
				  p->reterr);
}

/* 4; what the caller chose stays. */
static int identify(struct packer *p)
{
	int r = p->line->chooses_build_id ? 0 :
					    identity_make(p->image, p->data, &p->data->build_id, p->reterr);

	p->data->map->build_id = p->data->build_id;
	return r;
}

/* 6: @section: a descriptor that the child inherits; its path is good for the child, too. -1: none is added */
static int objcopy_run(struct packer *p, int section, const char *to)
{
	char tool[PATH_MAX];
	struct arguments args = { 0 };
	int r = tool_llvm("llvm-objcopy", tool, sizeof(tool), p->reterr);

	if (r < 0)
		return r;
	arguments_add(&args, tool);
	for (size_t i = 0; i < ARRAY_SIZE(linker_sections); i++)
		arguments_printf(&args, "--remove-section=%s", linker_sections[i]);
	if (p->line->strips)
		arguments_add(&args, "--strip-all-gnu");
	arguments_printf(&args, "--keep-section=%s", MORPH_SECTION);
	if (section >= 0)
		arguments_printf(&args, "--add-section=%s=/proc/self/fd/%d", MORPH_SECTION, section);
	arguments_add(&args, p->line->output);
	arguments_add(&args, to);
	r = args.bad ? fault_errno(p->reterr, -ENOMEM, "llvm-objcopy") : child_check(args.v, NULL, p->reterr);
	arguments_done(&args);
	return r;
}

/* 7: all that is mapped at run time, but for the section header's place in the ELF header. */
static int loaded_compare(struct packer *p, const char *path)
{
	_clean_(image_freep) struct image *after = NULL;
	size_t n_before, n_after, skip = sizeof(Elf64_Ehdr);
	const uint8_t *before = image_bytes(p->image, &n_before), *bytes;
	int r = image_open(path, &after, p->reterr);

	if (r < 0)
		return r;
	bytes = image_bytes(after, &n_after);
	if (image_n_segments(p->image) != image_n_segments(after))
		return fault_set(p->reterr, -EIO, "%s: llvm-objcopy changed its segments", p->line->output);
	for (size_t i = 0; i < image_n_segments(after); i++) {
		const Elf64_Phdr *a = image_segment_at(p->image, i), *b = image_segment_at(after, i);
		uint64_t from = MAX(a->p_offset, (uint64_t)skip), end = a->p_offset + a->p_filesz;

		if (memcmp(a, b, sizeof(*a)) != 0 ||
		    (a->p_type == PT_LOAD &&
		     (end > n_before || end > n_after ||
		      (from < end && memcmp(before + from, bytes + from, end - from) != 0))))
			return fault_set(p->reterr, -EIO, "%s: llvm-objcopy changed what is loaded",
					 p->line->output);
	}
	return 0;
}

/* 8 */
static int lines_shorten(struct packer *p, const char *path)
{
	_clean_(image_freep) struct image *image = NULL;
	_clean_(fd_closep) int fd = -1;
	_clean_(freep) uint8_t *bytes = NULL;
	const struct image_section *lines;
	int r = image_open(path, &image, p->reterr);

	lines = r == 0 ? image_section_find(image, ".debug_line") : NULL;
	if (!lines || !lines->data || lines->flags & (SHF_ALLOC | SHF_COMPRESSED))
		return r;
	bytes = malloc(lines->size + 1);
	if (!bytes)
		return fault_errno(p->reterr, -ENOMEM, "%s", path);
	memcpy(bytes, lines->data, lines->size);
	if (!discriminators_shorten(bytes, lines->size))
		return 0;
	fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || pwrite(fd, bytes, lines->size, (off_t)lines->offset) != (ssize_t)lines->size)
		return fault_errno(p->reterr, -errno, "%s: its lines", path);
	return 0;
}

/* In a directory of others, the name may lead elsewhere by now. */
static int mode_set(const char *path, mode_t mode, struct fault *reterr)
{
	_clean_(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0 || fchmod(fd, mode) < 0)
		return fault_errno(reterr, -errno, "%s", path);
	return 0;
}

static int output_replace(struct packer *p)
{
	_clean_(fd_closep) int section = -1, fd = -1;
	char temp[PATH_MAX];
	struct stat st;
	int r = p->container.size ? tool_input(p->container.data, p->container.size, &section, p->reterr) : 0;

	if (r < 0)
		return r;
	if (stat(p->line->output, &st) < 0)
		return fault_errno(p->reterr, -errno, "%s", p->line->output);
	if (snprintf(temp, sizeof(temp), "%s.morph-XXXXXX", p->line->output) >= (int)sizeof(temp))
		return fault_errno(p->reterr, -ENAMETOOLONG, "%s", p->line->output);
	fd = mkostemp(temp, O_CLOEXEC);
	if (fd < 0)
		return fault_errno(p->reterr, -errno, "%s: cannot create a file beside it", p->line->output);
	r = objcopy_run(p, section, temp);
	if (r == 0)
		r = loaded_compare(p, temp);
	if (r == 0 && p->container.size) {
		r = identity_write(temp, p->image, &p->data->build_id);
		if (r < 0)
			fault_errno(p->reterr, r, "%s: build ID", temp);
	}
	if (r == 0)
		r = lines_shorten(p, temp);
	if (r == 0)
		r = mode_set(temp, st.st_mode & 07777, p->reterr);
	if (r == 0 && rename(temp, p->line->output) < 0)
		r = fault_errno(p->reterr, -errno, "%s", p->line->output);
	if (r < 0)
		unlink(temp);
	return r;
}

int pack(const struct ld_line *line, const struct buffer *trace, const struct pack_choice *choice,
	 struct buffer *retother, struct fault *reterr)
{
	_clean_(packer_done) struct packer p = { .line = line, .choice = choice, .reterr = reterr };
	const struct image_section *ir;
	int r = image_open(line->output, &p.image, reterr);

	if (r < 0)
		return r;
	ir = image_section_find(p.image, ".llvmbc");
	if (!ir || !ir->size)
		return 1;
	p.data = calloc(1, sizeof(*p.data));
	if (!p.data)
		return fault_errno(reterr, -ENOMEM, "%s", line->output);
	p.data->image = p.image;
	r = modules_read(&p, ir);
	if (r == 0)
		r = modules_reduce(&p);
	if (r == 0)
		r = facts_take(&p);
	if (r == 0)
		r = map_take(&p);
	if (r == 0)
		r = plan_take(&p, trace, retother);
	if (r == 0)
		r = identify(&p);
	if (r < 0)
		return r;
	r = morph_data_encode(p.data, &p.container); /* 5 */
	if (r < 0)
		return fault_errno(reterr, r, "%s: its Morph data", line->output);
	return output_replace(&p);
}

int pack_nothing(const struct ld_line *line, struct fault *reterr)
{
	_clean_(packer_done) struct packer p = { .line = line, .reterr = reterr };
	int r = image_open(line->output, &p.image, reterr);

	return r < 0 ? r : output_replace(&p);
}

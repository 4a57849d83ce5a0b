/* SPDX-License-Identifier: Apache-2.0 */

/*
 *	1. .llvmbc -> modules, one behind the other, each with the name of its source file
 *	2. address map and probes -> block map
 *	3. command line and trace -> link plan, with the shared libraries that the output needs
 *	4. the sections that these came from go, .morph comes
 */

#define _GNU_SOURCE
#include "backend/pack.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backend/driver.h"
#include "backend/trace.h"
#include "base/child.h"
#include "base/config.h"
#include "base/file.h"
#include "module/bitcode.h"
#include "module/image.h"
#include "module/image_append.h"

/* Step 1. */
static int modules_split(const struct image_section *section, struct morph_data *data, struct fault *reterr)
{
	const uint8_t *at = section->data, *end = at + section->size;
	int r = 0;

	while (r == 0 && at < end) {
		struct morph_module *modules = reallocarray(data->modules, data->n_modules + 1, sizeof(*modules));
		char name[512];
		size_t size;

		if (!modules)
			return fault_errno(reterr, -ENOMEM, "packing the IR");
		data->modules = modules;
		r = bitcode_size(at, (size_t)(end - at), &size, reterr);
		if (r == 0)
			r = bitcode_source_name(at, size, name, sizeof(name), reterr);
		if (r < 0)
			break;
		modules[data->n_modules] = (struct morph_module){ strdup(name), at, size };
		if (!modules[data->n_modules++].name)
			r = fault_errno(reterr, -ENOMEM, "packing the IR");
		at += size;
	}
	return r;
}

static const char *dynamic_string(const struct image_section *strings, uint64_t offset)
{
	if (offset >= strings->size || !memchr(strings->data + offset, 0, strings->size - offset))
		return NULL;
	return (const char *)strings->data + offset;
}

/* Step 3: needed libraries, in the order of the output; --no-as-needed keeps every one. */
static int libraries_plan(const struct image *image, struct link_plan *plan, struct fault *reterr)
{
	const struct image_section *dynamic = image_section_find(image, ".dynamic");
	const struct image_section *strings = image_section_find(image, ".dynstr");
	struct reader reader = reader_of(dynamic ? dynamic->data : NULL, dynamic ? dynamic->size : 0);
	int r = link_plan_add(plan, LINK_ARGUMENT, "--no-as-needed", NULL, 0);

	while (r == 0 && strings && reader_left(&reader) >= 16) {
		int64_t tag = (int64_t)reader_u64(&reader);
		const char *soname = dynamic_string(strings, reader_u64(&reader));

		if (tag == 0)
			break;
		if (tag == 1 && soname) /* DT_NEEDED */
			r = link_plan_add(plan, LINK_SHARED, soname, NULL, 0);
	}
	return r < 0 ? fault_errno(reterr, -ENOMEM, "link plan") : 0;
}

static int head_fill(const struct linker_options *options, struct morph_data *data)
{
	const char *selftest = getenv(DRIVER_SELFTEST_ENV);
	bool ok = true;

	data->llvm_version = strdup(MORPH_LLVM_VERSION);
	data->triple = strdup(MORPH_TRIPLE);
	data->lto = options->thin ? MORPH_LTO_THIN : MORPH_LTO_FULL;
	data->opt_level = MIN(options->opt_level, 3u);
	data->pic = options->pic;
	data->cpu = options->cpu ? strdup(options->cpu) : NULL;
	data->selftest = selftest && *selftest ? strdup(selftest) : NULL;
	data->options = calloc(options->n_codegen + 1, sizeof(*data->options));
	for (size_t i = 0; data->options && i < options->n_codegen; i++) {
		data->options[i] = strdup(options->codegen[i]);
		ok = ok && data->options[i];
		data->n_options += ok;
	}
	return ok && data->llvm_version && data->triple && data->options ? 0 : -ENOMEM;
}

static int data_collect(const struct image *image, const struct image_section *ir, int argc, char **argv,
			const struct linker_options *options, const char *trace, struct morph_data *data,
			struct buffer *retrest, struct fault *reterr)
{
	int r;

	data->build_id = *image_build_id(image);
	data->plan = calloc(1, sizeof(*data->plan));
	if (!data->plan || head_fill(options, data) < 0)
		return fault_errno(reterr, -ENOMEM, "packing");
	r = modules_split(ir, data, reterr);
	if (r == 0)
		r = block_map_build(image, &data->map, reterr);
	if (r == 0 && block_map_make_unique(data->map) < 0)
		r = fault_errno(reterr, -ENOMEM, "packing");
	if (r == 0)
		r = linker_options_plan(argc, argv, data->plan, reterr);
	if (r == 0)
		r = trace_plan(trace, data->plan, retrest, reterr);
	return r < 0 ? r : libraries_plan(image, data->plan, reterr);
}

/* Step 4: llvm-objcopy takes sections out; what is loaded stays the same to the bit. */
static int sections_remove(const char *path, bool strip, struct fault *reterr)
{
	char *argv[16] = { MORPH_LLVM_DIR "/bin/llvm-objcopy", "--remove-section=.llvmbc",
			   "--remove-section=.llvmcmd", "--remove-section=.llvm_bb_addr_map",
			   "--remove-section=.pseudo_probe", "--remove-section=.pseudo_probe_desc" };
	int n = 6;

	if (strip)
		argv[n++] = "--strip-all";
	argv[n] = (char *)(uintptr_t)path;
	return child_check(argv, NULL, reterr);
}

static int morph_append(const char *path, const struct buffer *container, struct fault *reterr)
{
	_clean_(image_freep) struct image *image = NULL;
	_clean_(buffer_donep) struct buffer file = { 0 };
	struct image_new_section section = { MORPH_SECTION, SHT_PROGBITS, container->data, container->size };
	struct stat st;
	int r;

	if (stat(path, &st) < 0)
		return fault_errno(reterr, -errno, "%s", path);
	r = image_open(path, &image, reterr);
	if (r == 0)
		r = image_append(image, &section, 1, &file, reterr);
	return r < 0 ? r : file_write(path, file.data, file.size, st.st_mode & 0777, reterr);
}

int pack_file(const char *path, int argc, char **argv, const struct linker_options *options,
	      const char *trace, struct buffer *retrest, struct fault *reterr)
{
	_clean_(morph_data_freep) struct morph_data *data = calloc(1, sizeof(*data));
	_clean_(buffer_donep) struct buffer container = { 0 };
	_clean_(image_freep) struct image *image = NULL;
	const struct image_section *ir;
	int r = image_open(path, &image, reterr);

	if (r < 0)
		return r;
	if (!data)
		return fault_errno(reterr, -ENOMEM, "packing");
	ir = image_section_find(image, ".llvmbc");
	if (!ir || !ir->size)
		return PACK_NOTHING;
	r = data_collect(image, ir, argc, argv, options, trace, data, retrest, reterr);
	if (r == 0 && morph_data_encode(data, &container) < 0)
		r = fault_errno(reterr, -ENOMEM, "packing");
	if (r == 0)
		r = sections_remove(path, options->strip_all, reterr);
	return r < 0 ? r : morph_append(path, &container, reterr);
}

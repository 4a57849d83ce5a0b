/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "backend/debug_info.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backend/arguments.h"
#include "backend/tools.h"
#include "base/child.h"
#include "module/bitcode.h"
#include "module/image.h"

static int input_make(const void *bytes, size_t size, struct fault *reterr)
{
	int fd = memfd_create("module", 0); /* inherited: the child opens it by our descriptor's number */
	size_t at = 0;

	while (fd >= 0 && at < size) {
		ssize_t n = write(fd, (const char *)bytes + at, size - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			close(fd);
			break;
		}
		at += (size_t)n;
	}
	return fd >= 0 && at == size ? fd : fault_errno(reterr, -errno, "module without debug information");
}

static int tool_begin(const char *name, struct arguments *args, struct fault *reterr)
{
	char tool[PATH_MAX];
	int r = tool_llvm(name, tool, sizeof(tool), reterr);

	if (r == 0)
		arguments_add(args, tool);
	return r;
}

/* Run it over a module; what it writes is the caller's. */
static int tool_run(struct arguments *args, const struct buffer *module, struct buffer *ret, struct fault *reterr)
{
	struct child_options options = { .retout = ret };
	_clean_(fd_closep) int fd = input_make(module->data, module->size, reterr);
	int r;

	if (fd < 0)
		return fd;
	arguments_printf(args, "/proc/self/fd/%d", fd);
	arguments_add(args, "-o");
	arguments_add(args, "-");
	r = args->bad ? -ENOMEM : child_check(args->v, &options, reterr);
	return args->bad || ret->bad ? fault_errno(reterr, -ENOMEM, "module without debug information") : r;
}

static int module_strip(const struct buffer *module, struct buffer *ret, struct fault *reterr)
{
	struct arguments args = { 0 };
	int r = tool_begin("opt", &args, reterr);

	arguments_add(&args, "-disable-verify");
	arguments_add(&args, "-strip-debug");
	if (r == 0)
		r = tool_run(&args, module, ret, reterr);
	if (r == 0 && !bitcode_is(ret->data, ret->size))
		r = fault_set(reterr, -EIO, "%s: wrote no module", args.v[0]);
	arguments_done(&args);
	return r;
}

/* As the link does it, in all that may matter to what the code sees of debug information. */
static int code_generate(const struct morph_data *data, const struct buffer *module, struct buffer *ret, struct fault *reterr)
{
	struct arguments args = { 0 };
	int r = tool_begin("llc", &args, reterr);

	arguments_printf(&args, "-O%u", data->opt_level);
	arguments_printf(&args, "-relocation-model=%s", data->pic ? "pic" : "static");
	if (data->cpu)
		arguments_printf(&args, "-mcpu=%s", data->cpu);
	for (size_t i = 0; i < data->n_options; i++)
		arguments_add(&args, data->options[i]);
	arguments_add(&args, "-function-sections");
	arguments_add(&args, "-basic-block-address-map");
	arguments_add(&args, "-filetype=obj");
	if (r == 0)
		r = tool_run(&args, module, ret, reterr);
	arguments_done(&args);
	return r;
}

static bool is_code(const struct image_section *s)
{
	return (s->flags & SHF_EXECINSTR) || strcmp(s->name, ".llvm_bb_addr_map") == 0;
}

static const struct image_section *code_after(const struct image *image, size_t *at)
{
	while (*at < image_n_sections(image)) {
		const struct image_section *s = image_section_at(image, (*at)++);

		if (is_code(s))
			return s;
	}
	return NULL;
}

static bool is_same_section(const struct image_section *a, const struct image_section *b)
{
	return strcmp(a->name, b->name) == 0 && a->size == b->size && memcmp(a->data, b->data, a->size) == 0;
}

/*
 * Code generation is meant not to see debug information, but does in places: loop strength reduction asks for the values of
 * described variables and finds them again later (llvm-project issue 56030); a search for the next use of the flags gives up
 * at the description that ends a block (MachineBasicBlock::computeRegisterLiveness(); both LLVM 22). Nobody knows them all.
 */
static int code_depends(const struct morph_data *data, const struct buffer *module, const struct buffer *stripped,
			struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer with = { 0 }, without = { 0 };
	_clean_(image_freep) struct image *a = NULL, *b = NULL;
	const struct image_section *x, *y;
	size_t i = 0, j = 0;
	int r = code_generate(data, module, &with, reterr);

	if (r == 0)
		r = code_generate(data, stripped, &without, reterr);
	if (r == 0)
		r = image_open_bytes(with.data, with.size, "code with debug information", &a, reterr);
	if (r == 0)
		r = image_open_bytes(without.data, without.size, "code without debug information", &b, reterr);
	if (r < 0)
		return r;
	do {
		x = code_after(a, &i);
		y = code_after(b, &j);
	} while (x && y && is_same_section(x, y));
	return x || y;
}

int debug_info_strip(const struct morph_data *data, const struct morph_module *m, struct buffer *ret, struct fault *reterr)
{
	const struct buffer module = { .data = (uint8_t *)(uintptr_t)m->bitcode, .size = m->size };
	_clean_(buffer_donep) struct buffer out = { 0 };
	bool has = false;
	int r = bitcode_has_debug_info(m->bitcode, m->size, &has, reterr);

	if (r == 0 && !has)
		return 1;
	if (r == 0)
		r = module_strip(&module, &out, reterr);
	if (r == 0)
		r = bitcode_has_described_variables(m->bitcode, m->size, &has, reterr);
	if (r == 0 && has)
		r = code_depends(data, &module, &out, reterr);
	if (r)
		return r;
	*ret = out;
	out = (struct buffer){ 0 };
	return 0;
}

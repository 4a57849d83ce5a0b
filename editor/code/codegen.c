/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "editor/code/codegen.h"

#include <errno.h>
#include <limits.h>
#include <llvm-c/lto.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/macro.h"
#include "editor/code/forker.h"

/* Whose children generate code, what the last one said, and what all have taken. Words in memory, for they tell of full disks. */
static struct forker forker;
static int said = -1;
static struct codegen_spent spent;

#define OPTIONS_MAX 60 /* of the caller's */

/* In a child: what was asked for, as it was written to DIRECTORY/PREFIX.request; its strings are in that file. */
struct request {
	struct codegen_options options;
	const char *list[OPTIONS_MAX + 1];
	const char *directory, *prefix;
	struct reader names; /* of the modules, one after the other */
	size_t n;
};

static void module_path(const char *directory, const char *prefix, size_t i, const char *suffix,
			char ret[PATH_MAX])
{
	snprintf(ret, PATH_MAX, "%s/%s-%zu.%s", directory, prefix, i, suffix);
}

/* ---- in the child ---- */

/* Options reach libLTO as one list, its own flags among them (LLVM 22: lto.cpp, "-O", "-mcpu"). */
static void options_set(const struct codegen_options *options)
{
	const char *list[OPTIONS_MAX + 3];
	char level[8], threads[32];
	int n = 0;

	snprintf(level, sizeof(level), "-O%u", MIN(options->opt_level, 3u));
	list[n++] = level;
	if (options->n_threads) {
		snprintf(threads, sizeof(threads), "-threads=%u", options->n_threads);
		list[n++] = threads;
	}
	for (const char *const *o = options->options; *o; o++)
		list[n++] = *o;
	lto_set_debug_options(list, n);
}

/* Written with its NUL (request_make()). */
static const char *text_read(struct reader *reader)
{
	size_t size;
	const char *text = reader_string(reader, &size);

	return text && size && !text[size - 1] ? text : "";
}

static bool request_read(const char *path, struct request *ret)
{
	struct file_map map; /* for as long as this process lives */
	struct fault fault;
	struct reader reader;
	size_t n;

	if (file_map_open(path, &map, &fault) < 0)
		return false;
	reader = reader_of(map.data, map.size);
	ret->directory = text_read(&reader);
	ret->prefix = text_read(&reader);
	ret->options.cpu = text_read(&reader);
	ret->options.opt_level = reader_u32(&reader);
	ret->options.pic = reader_u8(&reader);
	ret->options.n_threads = reader_u32(&reader);
	n = reader_uleb(&reader);
	if (n > OPTIONS_MAX)
		return false;
	for (size_t i = 0; i < n; i++)
		ret->list[i] = text_read(&reader);
	ret->options.options = ret->list;
	ret->n = reader_uleb(&reader);
	ret->names = reader;
	return !reader.bad;
}

_noreturn_ static void give_up(const char *why)
{
	fprintf(stderr, "%s\n", why);
	_exit(1);
}

static void modules_add(thinlto_code_gen_t cg, const struct request *request)
{
	struct reader names = request->names;

	for (size_t i = 0; i < request->n; i++) {
		char path[PATH_MAX];
		struct file_map map; /* for as long as this process lives */
		struct fault fault;

		module_path(request->directory, request->prefix, i, "bc", path);
		if (file_map_open(path, &map, &fault) < 0)
			give_up(fault.text);
		thinlto_codegen_add_module(cg, text_read(&names), (const char *)map.data, (int)map.size);
	}
}

static void objects_write(thinlto_code_gen_t cg, const struct request *request)
{
	unsigned n = thinlto_module_get_num_objects(cg);
	char path[PATH_MAX];
	struct fault fault;

	if (n != request->n) {
		snprintf(path, sizeof(path), "%u objects from %zu modules", n, request->n);
		give_up(path);
	}
	for (unsigned i = 0; i < n; i++) {
		LTOObjectBuffer object = thinlto_module_get_object(cg, i);

		module_path(request->directory, request->prefix, i, "o", path);
		if (file_write_scratch(path, object.Buffer, object.Size, &fault) < 0)
			give_up(fault.text);
	}
}

/* @path: of the request. Exit status 0, or 1 with a line of what was said. */
static void compile(const char *path)
{
	struct request request = { 0 };
	thinlto_code_gen_t cg;

	if (dup2(said, STDERR_FILENO) < 0)
		_exit(1);
	if (!request_read(path, &request))
		give_up("its request cannot be read");
	options_set(&request.options);
	cg = thinlto_create_codegen();
	thinlto_codegen_set_codegen_only(cg, true);
	thinlto_codegen_set_pic_model(cg, request.options.pic ? LTO_CODEGEN_PIC_MODEL_DYNAMIC :
								LTO_CODEGEN_PIC_MODEL_STATIC);
	if (request.options.cpu[0])
		thinlto_codegen_set_cpu(cg, request.options.cpu);
	modules_add(cg, &request);
	thinlto_codegen_process(cg);
	objects_write(cg, &request);
	_exit(0);
}

/* ---- in the caller ---- */

static void text_add(struct buffer *buffer, const char *text)
{
	buffer_string(buffer, text, strlen(text) + 1);
}

static int request_make(const struct codegen_input *inputs, size_t n_inputs, const struct codegen_options *o,
			const char *directory, const char *prefix, const char *path, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer buffer = { 0 };
	size_t n = 0;

	while (o->options && o->options[n])
		n++;
	if (n > OPTIONS_MAX)
		return fault_errno(reterr, -E2BIG, "code generation: options");
	text_add(&buffer, directory);
	text_add(&buffer, prefix);
	text_add(&buffer, o->cpu ? o->cpu : "");
	buffer_u32(&buffer, o->opt_level);
	buffer_u8(&buffer, o->pic);
	buffer_u32(&buffer, o->n_threads);
	buffer_uleb(&buffer, n);
	for (size_t i = 0; i < n; i++)
		text_add(&buffer, o->options[i]);
	buffer_uleb(&buffer, n_inputs);
	for (size_t i = 0; i < n_inputs; i++)
		text_add(&buffer, inputs[i].name);
	if (buffer.bad)
		return fault_errno(reterr, -ENOMEM, "code generation");
	return file_write_scratch(path, buffer.data, buffer.size, reterr);
}

/* The first line that is not empty; what was said is forgotten. */
static void first_line(char *ret, size_t size)
{
	ssize_t n = pread(said, ret, size - 1, 0);
	size_t empty;

	ret[MAX(n, 0)] = '\0';
	empty = strspn(ret, "\n");
	memmove(ret, ret + empty, strlen(ret + empty) + 1);
	ret[strcspn(ret, "\n")] = '\0';
	if (ftruncate(said, 0) < 0 || lseek(said, 0, SEEK_SET) < 0)
		ret[0] = '\0';
}

static int generate(const char *request, const char *prefix, struct fault *reterr)
{
	struct rusage usage = { 0 };
	char line[400];
	int status = 0, r = codegen_begin(reterr);

	if (r == 0)
		r = forker_run(&forker, request, &status, &usage, reterr);
	if (r < 0)
		return fault_prefix(reterr, r, "code generation (%s)", prefix);
	first_line(line, sizeof(line));
	spent.cpu_s += rusage_s(&usage);
	spent.peak_bytes = MAX(spent.peak_bytes, (uint64_t)usage.ru_maxrss * 1024);
	if (WIFSIGNALED(status))
		return fault_set(reterr, -ECHILD, "code generation (%s): the compiler died of signal %d%s%s",
				 prefix, WTERMSIG(status), line[0] ? ": " : "", line);
	if (WEXITSTATUS(status) != 0)
		return fault_set(reterr, -ECHILD, "code generation (%s): %s", prefix, line);
	return 0;
}

int codegen_begin(struct fault *reterr)
{
	if (forker.caller == getpid())
		return 0;
	said = memfd_create("said", MFD_CLOEXEC);
	if (said < 0)
		return fault_errno(reterr, -errno, "code generation: no memory for its messages");
	return forker_begin(&forker, compile, reterr);
}

struct codegen_spent codegen_spent(void)
{
	return spent;
}

int codegen_run(const struct codegen_input *inputs, size_t n_inputs, const struct codegen_options *options,
		const char *directory, const char *prefix, struct fault *reterr)
{
	char request[PATH_MAX], path[PATH_MAX];
	size_t n = 0;
	int r = 0;

	snprintf(request, sizeof(request), "%s/%s.request", directory, prefix);
	for (; n < n_inputs && r == 0; n++) {
		module_path(directory, prefix, n, "bc", path);
		r = file_write_scratch(path, inputs[n].bitcode, inputs[n].size, reterr);
	}
	if (r == 0)
		r = request_make(inputs, n_inputs, options, directory, prefix, request, reterr);
	if (r == 0)
		r = generate(request, prefix, reterr);
	unlink(request);
	while (n--) {
		module_path(directory, prefix, n, "bc", path);
		unlink(path);
	}
	return r;
}

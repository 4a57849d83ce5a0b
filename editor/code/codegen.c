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

#include "base/file.h"
#include "base/macro.h"

/* Options reach libLTO as one list, its own flags among them (LLVM 22: lto.cpp, "-O", "-mcpu"). */
static void options_set(const struct codegen_options *options)
{
	const char *list[64];
	char level[8], threads[32];
	int n = 0;

	snprintf(level, sizeof(level), "-O%u", MIN(options->opt_level, 3u));
	list[n++] = level;
	if (options->n_threads) {
		snprintf(threads, sizeof(threads), "-threads=%u", options->n_threads);
		list[n++] = threads;
	}
	for (const char *const *o = options->options; o && *o && n < (int)ARRAY_SIZE(list); o++)
		list[n++] = *o;
	lto_set_debug_options(list, n);
}

/* In the child. Exit status 0, or 1 with a line on standard error. */
_noreturn_ static void compile(const struct codegen_input *inputs, size_t n_inputs,
			       const struct codegen_options *options, const char *directory,
			       const char *prefix)
{
	thinlto_code_gen_t cg;
	unsigned n;

	options_set(options);
	cg = thinlto_create_codegen();
	thinlto_codegen_set_codegen_only(cg, true);
	thinlto_codegen_set_pic_model(cg, options->pic ? LTO_CODEGEN_PIC_MODEL_DYNAMIC :
							 LTO_CODEGEN_PIC_MODEL_STATIC);
	if (options->cpu)
		thinlto_codegen_set_cpu(cg, options->cpu);
	for (size_t i = 0; i < n_inputs; i++)
		thinlto_codegen_add_module(cg, inputs[i].name, inputs[i].bitcode, (int)inputs[i].size);
	thinlto_codegen_process(cg);
	n = thinlto_module_get_num_objects(cg);
	if (n != n_inputs) {
		fprintf(stderr, "%u objects from %zu modules\n", n, n_inputs);
		_exit(1);
	}
	for (unsigned i = 0; i < n; i++) {
		LTOObjectBuffer object = thinlto_module_get_object(cg, i);
		char path[PATH_MAX];
		struct fault fault;

		snprintf(path, sizeof(path), "%s/%s-%u.o", directory, prefix, i);
		if (file_write_scratch(path, object.Buffer, object.Size, &fault) < 0) {
			fprintf(stderr, "%s\n", fault.text);
			_exit(1);
		}
	}
	_exit(0);
}

static void first_line(FILE *file, char *ret, size_t size)
{
	ret[0] = '\0';
	if (fseek(file, 0, SEEK_SET) < 0)
		return;
	while (!ret[0] && fgets(ret, (int)size, file))
		ret[strcspn(ret, "\n")] = '\0';
}

int codegen_run(const struct codegen_input *inputs, size_t n_inputs, const struct codegen_options *options,
		const char *directory, const char *prefix, struct fault *reterr)
{
	char line[400];
	int fd = memfd_create("errors", MFD_CLOEXEC);
	FILE *errors = fd < 0 ? NULL : fdopen(fd, "w+");
	int status = 0;
	pid_t pid;

	if (!errors)
		return fault_errno(reterr, -errno, "code generation: no memory for its messages");
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		dup2(fileno(errors), STDERR_FILENO);
		compile(inputs, n_inputs, options, directory, prefix);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	first_line(errors, line, sizeof(line));
	fclose(errors);
	if (pid < 0)
		return fault_errno(reterr, -errno, "code generation: cannot fork");
	if (WIFSIGNALED(status))
		return fault_set(reterr, -ECHILD, "code generation (%s): the compiler died of signal %d%s%s",
				 prefix, WTERMSIG(status), line[0] ? ": " : "", line);
	if (WEXITSTATUS(status) != 0)
		return fault_set(reterr, -ECHILD, "code generation (%s): %s", prefix, line);
	return 0;
}

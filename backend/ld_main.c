/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morph-ld: what clang runs in place of ld.lld under `morph cc`. It sees the exact command line:
 *	1. no input carries IR: the linker that clang would have run without us takes over
 *	2. something else than a program or library is made: ld.lld takes over
 *	3. else ld.lld links with the options that leave IR, address map and probes in the output
 *	4. and the output is packed, and verified where that is wanted (ld_verify.h); if it cannot be packed, it
 *	   stays what the linker wrote, with a warning
 * The exit status is the linker's.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/build_report.h"
#include "backend/ld_fat.h"
#include "backend/ld_line.h"
#include "backend/ld_verify.h"
#include "backend/link_cache.h"
#include "backend/link_choice.h"
#include "backend/pack.h"
#include "backend/tools.h"
#include "backend/used_inputs.h"
#include "backend/version_nodes.h"
#include "base/child.h"
#include "base/file.h"
#include "base/log.h"

#define EXIT_CANNOT_RUN 127

/* Returns only when @program cannot be run. */
static void become(struct arguments *args)
{
	if (!args->bad)
		execvp(args->v[0], args->v);
	arguments_done(args);
}

/* 1: options that only ld.lld's code generator knows are of no use to `ld`. */
static void become_system_linker(const struct ld_line *line)
{
	struct arguments args = { 0 };

	arguments_add(&args, "ld");
	for (size_t i = 0; i < line->n_items; i++) {
		const struct ld_item *item = &line->items[i];

		for (size_t j = 0; item->kind != LD_CODEGEN && item->kind != LD_OURS && j < item->n; j++)
			arguments_add(&args, line->words.v[item->first + j]);
	}
	become(&args);
}

/* GNU ld takes version scripts with names that nothing defines; so does this ld.lld, unless the caller minds. */
static void lenience_add(const struct ld_line *line, struct arguments *args)
{
	if (!line->judges_versions)
		arguments_add(args, "--undefined-version");
	if (ld_line_keeps_started(line)) {
		arguments_add(args, "-z");
		arguments_add(args, "nostart-stop-gc");
	}
}

/* Those that ld.lld gets. */
static bool is_for_lld(const struct ld_item *item)
{
	return item->kind != LD_OURS && item->kind != LD_GNU;
}

/* 2 */
static int become_lld(const struct ld_line *line, const char *lld)
{
	struct arguments args = { 0 };

	arguments_add(&args, lld);
	lenience_add(line, &args);
	for (size_t i = 0; i < line->n_items; i++)
		for (size_t j = 0; is_for_lld(&line->items[i]) && j < line->items[i].n; j++)
			arguments_add(&args, line->words.v[line->items[i].first + j]);
	become(&args);
	log_error("%s: %s", lld, strerror(errno));
	return EXIT_CANNOT_RUN;
}

/* 3: the caller's words, but for those that are ours or would take the symbol table away too early. */
static void link_words(const struct ld_line *line, struct arguments *args)
{
	lenience_add(line, args);
	for (size_t i = 0; i < line->n_items; i++) {
		const struct ld_item *item = &line->items[i];

		if (item->kind == LD_STRIP_ALL || !is_for_lld(item))
			continue;
		for (size_t j = 0; j < item->n; j++)
			arguments_add(args, line->words.v[item->first + j]);
	}
	if (!line->has_build_id)
		arguments_add(args, "--build-id");
	arguments_printf(args, "--lto-newpm-passes=%s<O%u>,pseudo-probe", line->is_thin ? "thinlto" : "lto",
			 line->lto_level);
	arguments_add(args, "--lto-basic-block-address-map");
	arguments_add(args, "-mllvm");
	arguments_add(args, "-lto-embed-bitcode=optimized");
	arguments_add(args, "-mllvm");
	arguments_add(args, "-pgo-analysis-map=br-prob");
	arguments_add(args, "--trace");
}

/* The object with GNU ld's symbols for versions, in @path; 1: there are none */
static int versions_make(const struct ld_line *line, struct fat_objects *fat, char *path,
			 struct fault *reterr)
{
	_clean_(symbol_object_donep) struct symbol_object object = { 0 };
	_clean_(buffer_donep) struct buffer bytes = { 0 };
	int r = 0;

	for (size_t i = 0; i < line->n_items && r == 0 && line->is_shared; i++) {
		const struct ld_item *item = &line->items[i];
		_clean_(version_nodes_donep) struct version_nodes nodes = { 0 };
		_clean_(file_map_donep) struct file_map map = { 0 };

		if (item->kind != LD_FILE || !item->value || strcmp(item->option, "version-script") != 0 ||
		    file_map_open(item->value, &map, NULL) < 0)
			continue; /* the linker will complain */
		r = version_nodes_read((const char *)map.data, map.size, &nodes);
		if (r == 0)
			r = version_nodes_define(&nodes, &object);
	}
	if (r == 0 && !object.symbols.size)
		return 1;
	symbol_object_write(&object, line->is_aarch64 ? EM_AARCH64 : EM_X86_64, &bytes);
	if (r < 0 || bytes.bad)
		return fault_errno(reterr, -ENOMEM, "symbols of versions");
	r = fat_objects_directory(fat, reterr);
	if (r < 0)
		return r;
	snprintf(path, PATH_MAX, "%s/versions.o", fat->directory);
	return file_write(path, bytes.data, bytes.size, 0600, reterr);
}

static int versions_add(const struct ld_line *line, struct fat_objects *fat, struct arguments *args,
			struct fault *reterr)
{
	char path[PATH_MAX];
	int r = versions_make(line, fat, path, reterr);

	if (r == 0)
		arguments_add(args, path);
	return r < 0 ? r : 0;
}

static void text_print(const struct buffer *text)
{
	if (text->size)
		fwrite(text->data, 1, text->size, stdout);
}

static bool output_is_plain(const struct ld_line *line)
{
	struct stat st;

	return stat(line->output, &st) == 0 && S_ISREG(st.st_mode);
}

/* Of a link that failed, all but the trace that nobody asked for. */
static void output_pass(const struct ld_line *line, const struct buffer *trace)
{
	_clean_(used_inputs_donep) struct used_inputs used = { 0 };
	_clean_(buffer_donep) struct buffer other = { 0 };

	if (!line->wants_trace)
		used_inputs_read(trace, &used, &other, NULL);
	text_print(line->wants_trace ? trace : &other);
}

/* 3, perhaps once more with other inputs. */
struct job {
	const struct ld_line *line;
	struct arguments args;
	struct fat_objects fat;
	struct buffer trace, errors; /* what ld.lld printed */
	char linked[PATH_MAX];	     /* a copy of what ld.lld wrote, for ld_verify() */
	struct link_cache cache;
};

static int link_run(struct job *job, int *retstatus, struct fault *reterr)
{
	struct child_options options = { .retout = &job->trace, .reterrout = &job->errors };
	int r;

	buffer_done(&job->trace);
	buffer_done(&job->errors);
	job->trace = job->errors = (struct buffer){ 0 };
	r = child_run(job->args.v, &options, retstatus, reterr);
	if (r == 0 && WIFEXITED(*retstatus) && WEXITSTATUS(*retstatus) == 0)
		link_cache_seal(&job->cache);
	return r;
}

static void errors_print(const struct job *job)
{
	if (job->errors.size)
		fwrite(job->errors.data, 1, job->errors.size, stderr);
}

static int linked_keep(struct job *job, struct fault *reterr)
{
	int r = fat_objects_directory(&job->fat, reterr);

	if (r < 0)
		return r;
	snprintf(job->linked, sizeof(job->linked), "%s/linked", job->fat.directory);
	return file_copy(job->line->output, job->linked, reterr);
}

static int link_again(struct ld_verify *verify, struct fault *reterr)
{
	struct job *job = verify->userdata;
	int status = 0, r = link_run(job, &status, reterr);

	if (r == 0 && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
		r = fault_set(reterr, -EIO, "cannot be linked without the IR that does not regenerate");
	errors_print(job);
	return r < 0 ? r : linked_keep(job, reterr);
}

static int verify(struct job *job, struct fault *reterr)
{
	struct ld_verify verify = { .line = job->line,
				    .args = &job->args,
				    .fat = &job->fat,
				    .linked = job->linked,
				    .cache = job->cache.path,
				    .trace = &job->trace,
				    .again = link_again,
				    .userdata = job };

	return ld_verify(&verify, reterr);
}

static void unpacked_say(const struct ld_line *line, const char *why)
{
	if (child_signalled())
		return;
	log_warning("%s: carries no Morph data: %s", line->output, why);
	build_report_add("unpacked", line->output, why);
}

/* 4; the linker's own output goes to the caller either way. */
static void output_pack(struct job *job)
{
	_clean_(buffer_donep) struct buffer other = { 0 };
	const struct ld_line *line = job->line;
	bool is_plain = output_is_plain(line);
	struct fault fault;
	int r = is_plain && line->verifies ? linked_keep(job, &fault) : 0;

	if (r == 0)
		r = is_plain ? pack(line, &job->trace, NULL, &other, &fault) : 1;
	text_print(line->wants_trace ? &job->trace : &other);
	if (r == 0 && line->verifies)
		r = verify(job, &fault);
	if (r < 0)
		unpacked_say(line, fault.text);
	else
		fat_objects_say(&job->fat, line->output, &job->trace);
}

/* GNU ld gives a program the stack that its objects need (GCC's functions in functions); ld.lld 22 wants to be told. */
static bool wants_stack(const struct job *job)
{
	static const char said[] = "requires an executable stack";

	return !job->line->judges_stack && job->errors.size &&
	       memmem(job->errors.data, job->errors.size, said, strlen(said));
}

/* -1: nothing was linked or said, for an object needs an executable stack; else the exit status */
static int link_and_pack(const struct ld_line *line, const char *lld)
{
	bool needs_stack = false;
	struct job job = { .line = line };
	struct fault fault;
	int status = 0, r;

	arguments_add(&job.args, lld);
	link_words(line, &job.args);
	r = job.args.bad ? fault_errno(&fault, -ENOMEM, "command line") :
			   fat_objects_mend(line, &job.args, &job.fat, &fault);
	if (r > 0) {
		arguments_done(&job.args);
		unpacked_say(line, fault.text);
		return become_lld(line, lld);
	}
	if (r == 0)
		r = versions_add(line, &job.fat, &job.args, &fault);
	if (r == 0)
		r = link_cache_open(line, &job.fat, &job.args, &job.cache, &fault);
	if (r == 0)
		r = link_run(&job, &status, &fault);
	if (r == 0 && !(WIFEXITED(status) && WEXITSTATUS(status) == 0))
		needs_stack = wants_stack(&job);
	if (!needs_stack)
		errors_print(&job);
	if (r == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		output_pack(&job);
	else if (!needs_stack)
		output_pass(line, &job.trace);
	fat_objects_done(&job.fat);
	arguments_done(&job.args);
	buffer_done(&job.trace);
	buffer_done(&job.errors);
	child_die();
	if (needs_stack)
		return -1;
	if (r < 0)
		log_error("%s", fault.text);
	return r < 0 ? EXIT_CANNOT_RUN : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* As lld, but without what is only for morph-ld; why is for people and the build's report. */
static bool is_left_alone(const struct ld_line *line)
{
	const char *why = NULL;
	bool is_plain = !line->passes && link_is_plain(line->output, line->is_shared, &why);

	if (is_plain)
		build_report_add("plain", line->output, why);
	if (!line->refuses_build_id && !line->has_pipeline)
		return line->passes || is_plain;
	why = line->has_pipeline ? "--lto-newpm-passes chooses the passes" :
				   "--build-id=none leaves it without identity";
	if (!is_plain)
		unpacked_say(line, why);
	return true;
}

/* The same link, with what it lacks. */
static int link_with_stack(const struct ld_line *line, const char *lld)
{
	_clean_(ld_line_donep) struct ld_line whole = { 0 };
	struct arguments words = { 0 };
	struct fault fault;
	int r;

	for (size_t i = 0; i < line->words.n; i++)
		arguments_add(&words, line->words.v[i]);
	arguments_add(&words, "-z");
	arguments_add(&words, "execstack");
	r = words.bad ? fault_errno(&fault, -ENOMEM, "command line") :
			ld_line_parse((int)words.n, words.v, &whole, &fault);
	arguments_done(&words);
	if (r < 0) {
		log_error("%s", fault.text);
		return EXIT_CANNOT_RUN;
	}
	log_warning("%s: has an executable stack, as one of its objects needs", line->output);
	return link_and_pack(&whole, lld);
}

int main(int argc, char **argv)
{
	int status;
	_clean_(ld_line_donep) struct ld_line line = { 0 };
	struct fault fault;
	char lld[PATH_MAX];

	log_init("morph-ld", LOG_LEVEL_INFO);
	if (ld_line_parse(argc - 1, argv + 1, &line, &fault) < 0) {
		log_error("%s", fault.text);
		return EXIT_CANNOT_RUN;
	}
	if (line.is_relocatable || (!line.passes && !line.wants_lld && !ld_line_has_ir(&line)))
		become_system_linker(&line); /* or, where there is none, ld.lld */
	if (tool_llvm("ld.lld", lld, sizeof(lld), &fault) < 0) {
		log_error("%s", fault.text);
		return EXIT_CANNOT_RUN;
	}
	if (is_left_alone(&line))
		return become_lld(&line, lld);
	child_pass_signals();
	status = link_and_pack(&line, lld);
	return status < 0 ? link_with_stack(&line, lld) : status;
}

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morph-ld: what clang runs in place of ld.lld under `morph cc`. It sees the exact command line:
 *	1. no input carries IR: the linker that clang would have run without us takes over
 *	2. something else than a program or library is made: ld.lld takes over
 *	3. else ld.lld links with the options that leave IR, address map and probes in the output
 *	4. and the output is packed; if that fails, it stays what the linker wrote, with a warning
 * The exit status is the linker's.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/ld_fat.h"
#include "backend/ld_line.h"
#include "backend/pack.h"
#include "backend/tools.h"
#include "backend/used_inputs.h"
#include "base/child.h"
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

/* 2 */
static int become_lld(const struct ld_line *line, const char *lld)
{
	struct arguments args = { 0 };

	arguments_add(&args, lld);
	for (size_t i = 0; i < line->n_items; i++)
		for (size_t j = 0; line->items[i].kind != LD_OURS && j < line->items[i].n; j++)
			arguments_add(&args, line->words.v[line->items[i].first + j]);
	become(&args);
	log_error("%s: %s", lld, strerror(errno));
	return EXIT_CANNOT_RUN;
}

/* 3: the caller's words, but for those that are ours or would take the symbol table away too early. */
static void link_words(const struct ld_line *line, struct arguments *args)
{
	for (size_t i = 0; i < line->n_items; i++) {
		const struct ld_item *item = &line->items[i];

		if (item->kind == LD_STRIP_ALL || item->kind == LD_OURS)
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

/* 4; the linker's own output goes to the caller either way. */
static void output_pack(const struct ld_line *line, const struct buffer *trace)
{
	_clean_(buffer_donep) struct buffer other = { 0 };
	struct fault fault;
	int r = output_is_plain(line) ? pack(line, trace, &other, &fault) : 1;

	if (r < 0)
		log_warning("%s: carries no Morph data: %s", line->output, fault.text);
	text_print(line->wants_trace ? trace : &other);
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

static int link_and_pack(const struct ld_line *line, const char *lld)
{
	_clean_(buffer_donep) struct buffer trace = { 0 };
	struct child_options options = { .retout = &trace };
	struct fat_objects fat = { 0 };
	struct arguments args = { 0 };
	struct fault fault;
	int status = 0, r;

	arguments_add(&args, lld);
	link_words(line, &args);
	r = args.bad ? -ENOMEM : fat_objects_mend(&args, &fat, &fault);
	if (r == 0)
		r = child_run(args.v, &options, &status, &fault);
	if (r == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		output_pack(line, &trace);
	else
		output_pass(line, &trace);
	fat_objects_done(&fat);
	arguments_done(&args);
	if (r < 0)
		log_error("%s", fault.text);
	return r < 0 ? EXIT_CANNOT_RUN : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
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
	if (line.refuses_build_id || line.has_pipeline)
		log_warning("%s: carries no Morph data: %s", line.output,
			    line.has_pipeline ? "--lto-newpm-passes chooses the passes" :
						"--build-id=none leaves it without identity");
	if (line.passes || line.refuses_build_id || line.has_pipeline)
		return become_lld(&line, lld);
	return link_and_pack(&line, lld);
}

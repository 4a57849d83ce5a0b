/* SPDX-License-Identifier: Apache-2.0 */

#include "backend/debug_info.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend/tools.h"
#include "base/child.h"
#include "module/bitcode.h"
#include "module/strip_debug.h"

/* 1: @rethow is to be asked; 0: it stays as it is; -errno */
static int module_judge(const struct bitcode_span *module, enum strip_debug *rethow, struct fault *reterr)
{
	bool has = false;
	int r = module->size ? bitcode_has_debug_info(module->bytes, module->size, &has, reterr) : 0;

	if (r < 0 || !has)
		return r;
	/* The code generation describes its thunks in .eh_frame if the module has any debug information. */
	r = bitcode_has_thunks(module->bytes, module->size, &has, reterr);
	if (r < 0 || has)
		return r;
	r = bitcode_has_described_loops(module->bytes, module->size, &has, reterr);
	*rethow = has ? STRIP_DEBUG_IF_LOOPS : STRIP_DEBUG;
	return r < 0 ? r : 1;
}

static int question_make(const struct bitcode_span *modules, size_t n, bool *retasked, struct buffer *ret,
			 struct fault *reterr)
{
	for (size_t i = 0; i < n; i++) {
		enum strip_debug how;
		int r = module_judge(&modules[i], &how, reterr);

		if (r < 0)
			return r;
		retasked[i] = r > 0;
		if (!retasked[i])
			continue;
		buffer_u8(ret, (uint8_t)how);
		buffer_u64(ret, modules[i].size);
		buffer_bytes(ret, modules[i].bytes, modules[i].size);
	}
	return ret->bad ? fault_errno(reterr, -ENOMEM, "modules without debug information") : 0;
}

/* @question: freed, for the copy that the tool reads is as large */
static int tool_run(struct buffer *question, struct buffer *retanswer, struct fault *reterr)
{
	struct child_options options = { .retout = retanswer };
	_clean_(fd_closep) int fd = -1;
	char tool[PATH_MAX], path[64];
	int r = tool_own("morph-strip-debug", tool, sizeof(tool), reterr);

	if (r == 0)
		r = tool_input(question->data, question->size, &fd, reterr);
	buffer_done(question);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (r == 0)
		r = child_check((char *[]){ tool, path, NULL }, &options, reterr);
	return r == 0 && retanswer->bad ? fault_errno(reterr, -ENOMEM, "modules without debug information") :
					  r;
}

static int answer_read(struct reader *answer, struct buffer *ret, struct fault *reterr)
{
	enum stripped_debug what = reader_u8(answer);
	struct reader module;

	if (what == STRIPPED_DEBUG_DEPENDS && !answer->bad)
		return 0;
	module = reader_sub(answer, reader_u64(answer));
	if (what != STRIPPED_DEBUG_DONE || answer->bad || !bitcode_is(module.start, reader_left(&module)))
		return fault_set(reterr, -EIO, "morph-strip-debug: wrote no module");
	buffer_bytes(ret, module.start, reader_left(&module));
	return ret->bad ? fault_errno(reterr, -ENOMEM, "modules without debug information") : 0;
}

static int answers_read(const struct buffer *answer, const bool *asked, size_t n, struct buffer *ret,
			struct fault *reterr)
{
	struct reader reader = reader_of(answer->data, answer->size);
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = asked[i] ? answer_read(&reader, &ret[i], reterr) : 0;
	for (size_t i = 0; i < n && r < 0; i++)
		buffer_done(&ret[i]);
	return r;
}

int debug_info_strip(const struct bitcode_span *modules, size_t n, struct buffer *ret, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer question = { 0 }, answer = { 0 };
	_clean_(freep) bool *asked = calloc(MAX(n, (size_t)1), sizeof(*asked));
	int r = asked ? question_make(modules, n, asked, &question, reterr) :
			fault_errno(reterr, -ENOMEM, "modules without debug information");

	if (r < 0 || !question.size)
		return r;
	r = tool_run(&question, &answer, reterr);
	return r < 0 ? r : answers_read(&answer, asked, n, ret, reterr);
}

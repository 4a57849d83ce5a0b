/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morph-strip-debug FILE: modules of IR without their debug information, on standard output; all modules of a link in one
 * process, for loading LLVM takes longer than stripping most of them. What is asked and answered is in module/strip_debug.h.
 */

#include <errno.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/BitWriter.h>
#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/file.h"
#include "base/log.h"
#include "base/standard_output.h"
#include "editor/code/pipeline.h"
#include "module/strip_debug.h"

/* A module in a context of its own: in a shared one, types of the same name would get others. */
struct ir {
	LLVMContextRef context;
	LLVMModuleRef module;
};

static void diagnostic_keep(LLVMDiagnosticInfoRef info, void *userdata)
{
	char *text = LLVMGetDiagInfoDescription(info);

	fault_set(userdata, -EBADMSG, "%s", text);
	LLVMDisposeMessage(text);
}

static int ir_open(const struct reader *bitcode, struct ir *ret, struct fault *reterr)
{
	LLVMMemoryBufferRef memory = LLVMCreateMemoryBufferWithMemoryRangeCopy(
		(const char *)bitcode->start, reader_left(bitcode), "module");
	LLVMBool failed;

	*ret = (struct ir){ .context = LLVMContextCreate() };
	fault_set(reterr, -EBADMSG, "a module that is none");
	LLVMContextSetDiagnosticHandler(ret->context, diagnostic_keep, reterr);
	failed = LLVMParseBitcodeInContext2(ret->context, memory, &ret->module);
	LLVMDisposeMemoryBuffer(memory);
	return failed ? -EBADMSG : 0;
}

static void ir_close(struct ir *ir)
{
	if (ir->module)
		LLVMDisposeModule(ir->module);
	if (ir->context)
		LLVMContextDispose(ir->context);
}

/* What loop strength reduction makes of a module, as text without debug information; owned by the caller. NULL with @reterr */
static char *loops_reduced(const struct ir *ir, struct fault *reterr)
{
	static const char passes[] = "function(loop-simplify,loop(canon-freeze,loop-reduce)),strip";
	LLVMTargetMachineRef machine = pipeline_machine(ir->module, NULL, reterr);
	LLVMPassBuilderOptionsRef tuning;
	int r;

	if (!machine)
		return NULL;
	tuning = LLVMCreatePassBuilderOptions();
	r = pipeline_passes(ir->module, passes, machine, tuning, reterr);
	LLVMDisposePassBuilderOptions(tuning);
	LLVMDisposeTargetMachine(machine);
	return r == 0 ? LLVMPrintModuleToString(ir->module) : NULL;
}

/*
 * Loop strength reduction asks for the values of variables that debug information describes, finds them again later, and then
 * computes them no second time (llvm-project issue 56030, LLVM 22): do the loops become others without?
 * @stripped: changed
 */
static int loops_compare(const struct reader *bitcode, const struct ir *stripped, bool *retsame,
			 struct fault *reterr)
{
	struct ir whole;
	char *with = NULL, *without = NULL;
	int r = ir_open(bitcode, &whole, reterr);

	if (r == 0) {
		with = loops_reduced(&whole, reterr);
		without = with ? loops_reduced(stripped, reterr) : NULL;
		*retsame = without && strcmp(with, without) == 0;
		r = without ? 0 : -EBADMSG;
	}
	if (with)
		LLVMDisposeMessage(with);
	if (without)
		LLVMDisposeMessage(without);
	ir_close(&whole);
	return r;
}

static int module_strip(enum strip_debug asked, const struct reader *bitcode, struct buffer *ret,
			struct fault *reterr)
{
	LLVMMemoryBufferRef memory;
	bool same = true;
	struct ir ir;
	int r = ir_open(bitcode, &ir, reterr);

	if (r < 0) {
		ir_close(&ir);
		return r;
	}
	LLVMStripModuleDebugInfo(ir.module);
	memory = LLVMWriteBitcodeToMemoryBuffer(ir.module);
	if (asked == STRIP_DEBUG_IF_LOOPS)
		r = loops_compare(bitcode, &ir, &same, reterr);
	buffer_u8(ret, same ? STRIPPED_DEBUG_DONE : STRIPPED_DEBUG_DEPENDS);
	if (same) {
		buffer_u64(ret, LLVMGetBufferSize(memory));
		buffer_bytes(ret, LLVMGetBufferStart(memory), LLVMGetBufferSize(memory));
	}
	LLVMDisposeMemoryBuffer(memory);
	ir_close(&ir);
	return r == 0 && ret->bad ? fault_errno(reterr, -ENOMEM, "a module") : r;
}

static int modules_strip(struct reader *asked, struct fault *reterr)
{
	int r = 0;

	while (r == 0 && reader_left(asked)) {
		_clean_(buffer_donep) struct buffer answer = { 0 };
		enum strip_debug how = reader_u8(asked);
		struct reader bitcode = reader_sub(asked, reader_u64(asked));

		if (asked->bad)
			return fault_set(reterr, -EBADMSG, "ends within a module");
		r = module_strip(how, &bitcode, &answer, reterr);
		if (r == 0)
			fwrite(answer.data, 1, answer.size,
			       stdout); /* standard_output_end() says if it fails */
	}
	return r;
}

int main(int argc, char **argv)
{
	_clean_(file_map_donep) struct file_map map = { 0 };
	struct fault fault = { "" };
	struct reader asked;
	int r;

	log_init("morph-strip-debug", LOG_LEVEL_INFO);
	if (argc != 2) {
		log_error("usage: morph-strip-debug FILE; the linker runs it");
		return 2;
	}
	pipeline_init();
	r = file_map_open(argv[1], &map, &fault);
	asked = reader_of(map.data, map.size);
	if (r == 0)
		r = modules_strip(&asked, &fault);
	if (r < 0)
		log_error("%s: error: %s", argv[1], fault.text);
	return standard_output_end("morph-strip-debug", r < 0);
}

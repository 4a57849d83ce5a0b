/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/code/pipeline.h"

#include <errno.h>
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/macro.h"

void pipeline_init(void)
{
	/* IR that is written keeps the order of its uses: code depends on it. */
	static const char *const options[] = { "morph", "-preserve-bc-uselistorder" };
	static bool is_done;

	if (!is_done)
		LLVMParseCommandLineOptions((int)ARRAY_SIZE(options), options, NULL);
	is_done = true;
	LLVMInitializeAllTargetInfos();
	LLVMInitializeAllTargets();
	LLVMInitializeAllTargetMCs();
	LLVMInitializeAllAsmParsers();
	LLVMInitializeAllAsmPrinters();
}

/*
 * LLVM's link-time pipeline removes blocks that only go back to a loop's head, and runs loop passes after that: they take the
 * instructions of an interpreter that leave a variable alone for an inner loop (docs/decisions/0018-loops-keep-their-latch.md).
 * And it copies blocks of up to six instructions to save a jump, a second time here
 * (docs/decisions/0019-jumps-are-threaded-through-small-blocks-only.md). It makes what is not hot small only in programs that it
 * takes for large, and unrolls a loop up to as many instructions as a CPU's model says, 512 for Zen
 * (docs/decisions/0026-what-is-not-hot-stays-small.md).
 * Code generation takes no notice (edit.c turns off the one that it would). LLVM takes an option once in a process.
 */
static void options_take(void)
{
	static const char *const options[] = { "morph-edit",
					       "-keep-loops",
					       "-jump-threading-threshold=2",
					       "-pgso-lwss-only=false",
					       "-partial-unrolling-threshold=50",
					       PIPELINE_LOOP_COUNTS };
	static bool is_done;

	if (!is_done)
		LLVMParseCommandLineOptions((int)ARRAY_SIZE(options), options, NULL);
	is_done = true;
}

LLVMTargetMachineRef pipeline_machine(LLVMModuleRef module, const char *cpu, struct fault *reterr)
{
	const char *triple = LLVMGetTarget(module);
	LLVMTargetMachineRef machine = NULL;
	LLVMTargetRef target;
	char *error = NULL;

	if (LLVMGetTargetFromTriple(triple, &target, &error)) {
		fault_set(reterr, -EBADMSG, "no code generator for \"%s\": %s", triple, error);
		LLVMDisposeMessage(error);
		return NULL;
	}
	machine = LLVMCreateTargetMachine(target, triple, cpu ? cpu : "", "", LLVMCodeGenLevelDefault,
					  LLVMRelocPIC, LLVMCodeModelDefault);
	if (!machine)
		fault_set(reterr, -EBADMSG, "no target machine for \"%s\"", triple);
	return machine;
}

int pipeline_passes(LLVMModuleRef module, const char *passes, LLVMTargetMachineRef machine,
		    LLVMPassBuilderOptionsRef tuning, struct fault *reterr)
{
	LLVMErrorRef error = LLVMRunPasses(module, passes, machine, tuning);
	char *text;

	if (!error)
		return 0;
	text = LLVMGetErrorMessage(error);
	fault_set(reterr, -EBADMSG, "pass pipeline %s: %s", passes, text);
	LLVMDisposeErrorMessage(text);
	return -EBADMSG;
}

int pipeline_run(LLVMModuleRef module, const struct pipeline_options *options, struct fault *reterr)
{
	LLVMTargetMachineRef machine = pipeline_machine(module, options->cpu, reterr);
	LLVMPassBuilderOptionsRef tuning;
	char passes[64];
	int r;

	if (!machine)
		return -EBADMSG;
	tuning = LLVMCreatePassBuilderOptions();
	LLVMPassBuilderOptionsSetLoopInterleaving(tuning, options->opt_level > 1);
	LLVMPassBuilderOptionsSetLoopVectorization(tuning, options->opt_level > 1 && !options->no_vectors);
	LLVMPassBuilderOptionsSetSLPVectorization(tuning, options->opt_level > 1 && !options->no_vectors);
	LLVMPassBuilderOptionsSetLoopUnrolling(tuning, !options->no_unroll);
	snprintf(passes, sizeof(passes), "lto<O%u>", MAX(1u, MIN(options->opt_level, 3u)));
	options_take();
	r = pipeline_passes(module, passes, machine, tuning, reterr);
	LLVMDisposeTargetMachine(machine);
	LLVMDisposePassBuilderOptions(tuning);
	return r;
}

int pipeline_promote(LLVMModuleRef module, struct fault *reterr)
{
	LLVMPassBuilderOptionsRef tuning = LLVMCreatePassBuilderOptions();
	int r;

	options_take();
	r = pipeline_passes(module, "pgo-icall-prom", NULL, tuning, reterr);
	LLVMDisposePassBuilderOptions(tuning);
	return r;
}

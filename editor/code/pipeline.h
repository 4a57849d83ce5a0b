/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * pipeline.h - the profile-guided middle end on the shipped IR
 *
 * The shipped IR is already optimized; running the pass pipeline once more on it, now with counts
 * (annotate.h), gains as much as starting before link-time optimization
 * (docs/decisions/0001-optimize-the-optimized-ir.md).
 */

#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <llvm-c/Types.h>
#include <stdbool.h>

#include "base/fault.h"

/*
 * LLVM's options by which counts of loops with several heads are solved for, to a billionth of a function's executions; the passes
 * and the code generator take the same (docs/decisions/0037-counts-of-loops-with-several-heads.md).
 */
#define PIPELINE_LOOP_COUNTS "-use-iterative-bfi-inference", "-iterative-bfi-precision=1e-9"

struct pipeline_options {
	unsigned opt_level; /* 1..3 */
	const char *cpu;    /* tune for this CPU; NULL: as the IR's functions say */
	bool no_unroll;	    /* only where the source asks for it */
	bool no_vectors;
};

/**
 * pipeline_init() - register LLVM's targets; before the first pass runs. Sets no LLVM option but
 * that IR is written with the order of its uses: children that generate code inherit this process, and must find the
 * defaults of the shipped build (pipeline_run() sets some that code generation does not read).
 */
void pipeline_init(void);

/** pipeline_machine() - of the module's target, for @cpu, NULL: any; owned by the caller; NULL with @reterr */
LLVMTargetMachineRef pipeline_machine(LLVMModuleRef module, const char *cpu, struct fault *reterr);

/** pipeline_passes() - run @passes alone, as LLVM's `opt` names them, in place; sets no option. @machine: may be NULL; -EBADMSG */
int pipeline_passes(LLVMModuleRef module, const char *passes, LLVMTargetMachineRef machine,
		    LLVMPassBuilderOptionsRef tuning, struct fault *reterr);

/** pipeline_run() - in place; -EBADMSG with @reterr when a pass refuses the module */
int pipeline_run(LLVMModuleRef module, const struct pipeline_options *options, struct fault *reterr);

/** pipeline_promote() - calls with value profiles (indirect.h) call those targets directly, after a comparison; -EBADMSG */
int pipeline_promote(LLVMModuleRef module, struct fault *reterr);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * proofs.h - which functions of several modules hang on facts (editor/trust/facts.h), found by one code generation
 *
 * A code generation is a process of its own, which costs as much as the code of a small module. So modules are collected, and
 * proven together.
 */

#include "editor/steps/state.h"

#define PROOFS_MAX 64u /* modules at a time */

struct proofs;

struct proofs *proofs_new(void);	 /* NULL: no memory */
void proofs_free(struct proofs *proofs); /* accepts NULL */

/**
 * proofs_add() - @wanted of @module are to be proven, too
 * @wanted, @unproven: borrowed until proofs_run(), which adds to @unproven what it finds; @module is only read here
 * Return: 0; -EBADMSG, -ENOMEM with @reterr.
 */
int proofs_add(struct proofs *proofs, LLVMModuleRef module, const struct name_set *wanted,
	       struct name_set *unproven, struct fault *reterr);

/** proofs_are_many() - so much was added that waiting for more gains nothing, and only takes memory */
bool proofs_are_many(const struct proofs *proofs);

/** proofs_run() - prove what was added, and forget it; 0, -EBADMSG, -ENOMEM, or what code generation says, with @reterr */
int proofs_run(struct proofs *proofs, struct edit *edit, struct fault *reterr);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * recall.h - what an edit takes from a memo, and what it leaves there for the next one (memo.h)
 *
 * All of these do nothing where options->keeps_memo is not set. What is not in the memo, or does not fit, is made.
 */

#include "editor/steps/memo.h"
#include "editor/steps/state.h"

#define EDIT_MEMO "memo" /* in options->directory: the new one, where there is something new */

/**
 * recall_begin() - read the memo that was given; the program's Morph data is loaded
 * Its key has the program, its Morph data, Morph, LLVM, and the build IDs of all code in this process. Return: 0 or -ENOMEM
 */
int recall_begin(struct edit *edit, struct fault *reterr);

/** recall_ir() - the program's IR; unpacked where it cannot be had. As morph_data_unpack() */
int recall_ir(struct edit *edit, struct fault *reterr);

/** recall_code() - the objects of the modules as shipped, where pass_regenerate() leaves them, and which had lost something. Return: 1; 0: there are none; -errno */
int recall_code(struct edit *edit, struct fault *reterr);
/** recall_code_keep() - they are the shipped file; 0 or -errno with @reterr */
int recall_code_keep(struct edit *edit, struct fault *reterr);

/**
 * recall_proof() - which of @wanted of the @i-th module are not proven?
 * @retkey: for recall_proof_keep(). @unproven: these are added
 * Return: 1; 0: it is not known; -ENOMEM with @reterr
 */
int recall_proof(struct edit *edit, size_t i, LLVMModuleRef module, const struct name_set *wanted,
		 uint8_t retkey[MEMO_KEY_BYTES], struct name_set *unproven, struct fault *reterr);
/** recall_proof_keep() - @unproven was found out; 0 or -ENOMEM with @reterr */
int recall_proof_keep(struct edit *edit, const uint8_t key[MEMO_KEY_BYTES], LLVMModuleRef module,
		      const struct name_set *unproven, struct fault *reterr);

/** recall_half_key() - @cold is what is left of the @i-th module; 0 or -ENOMEM with @reterr */
int recall_half_key(struct edit *edit, size_t i, LLVMModuleRef cold, struct fault *reterr);
/** recall_half() - its code, as generated with counts, becomes the file @path. Return: 1; 0: it is not known; -errno with @reterr */
int recall_half(struct edit *edit, size_t i, const char *path, struct fault *reterr);
/** recall_half_keep() - @path is its code; 0 or -errno with @reterr */
int recall_half_keep(struct edit *edit, size_t i, const char *path, struct fault *reterr);

/** recall_end() - the edit has succeeded: write EDIT_MEMO, if there is something new; 0 or -errno with @reterr */
int recall_end(struct edit *edit, struct fault *reterr);

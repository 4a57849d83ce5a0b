/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * tools.h - where the programs are that the backend runs
 */

#include <stddef.h>

#include "base/fault.h"

/**
 * tool_llvm() - a program of LLVM 22: "clang", "ld.lld", "llvm-objcopy"
 * Looked for in $MORPH_LLVM_DIR/bin, else where the build was told (base/config.h).
 * Return: 0; -ENOENT with @reterr, which names the package to install.
 */
int tool_llvm(const char *name, char *ret, size_t size, struct fault *reterr);

/**
 * tool_own() - a program of Morph that is no command: "morph-ld"
 * Looked for in the libexec directory of the installation, or of the build tree (base/prefix.h).
 */
int tool_own(const char *name, char *ret, size_t size, struct fault *reterr);

/**
 * tool_directory() - a new directory for what @name needs while it runs, in $TMPDIR or /tmp, for its owner alone
 * @ret: owned by the caller, who removes the directory. Return: 0 or -errno with @reterr
 */
int tool_directory(const char *name, char **ret, struct fault *reterr);

/**
 * tool_input() - a file without a name that a program we start inherits, as /proc/self/fd/@retfd
 * @retfd: the caller's. Return: 0 or -errno with @reterr
 */
int tool_input(const void *bytes, size_t size, int *retfd, struct fault *reterr);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * probes.h - code generation that keeps the probes' effect on code but does not write them
 */

#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"

/**
 * probes_hide() - rename the metadata without which LLVM writes no .pseudo_probe, in @bitcode itself
 * The probes stay in the code as what they are, instructions without bytes, so blocks keep their IDs.
 * Return: 0, also when there is nothing to hide; -EBADMSG when the name is there more than once.
 */
int probes_hide(uint8_t *bitcode, size_t size, struct fault *reterr);

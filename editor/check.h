/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * check.h - may this file stand where that one stood?
 *
 * Run by the editor's parent, outside the sandbox, on what came out of it. Compared: file type, machine
 * and interpreter; needed libraries, soname, run path, hardening flags (stack, RELRO, BIND_NOW, PIE, CET
 * property note); exported symbols with version, type, visibility, and size where it is part of the ABI
 * (objects, thread-locals); kinds of dynamic relocations; constructor and destructor arrays; thread-local
 * segment; the search table of the unwind information. Nothing is executed.
 */

#include "base/fault.h"
#include "module/image.h"

/** check_images() - Return: 0; -EBADMSG with @reterr naming the first difference; -ENOMEM */
int check_images(const struct image *shipped, const struct image *result, struct fault *reterr);

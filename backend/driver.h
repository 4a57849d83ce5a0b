/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * driver.h - `morph cc`: clang with flags, nothing clever at compile time
 *
 * Compiling adds -flto=thin -ffat-lto-objects, so that objects are ordinary ELF files that carry IR
 * besides; linking adds our linker (linker.c), which is ld.lld and then packing. What compiles or links
 * nothing (-E, -S, -M, --version, -print-...), and what asks for -fno-lto, is clang's alone.
 */

#include <stdbool.h>

#include "base/fault.h"

/**
 * driver_exec() - become clang; @argv[0] is ignored
 * Return: only on failure, -errno with @reterr.
 */
int driver_exec(bool cxx, int argc, char **argv, struct fault *reterr);

#define DRIVER_SELFTEST_ENV "MORPH_SELFTEST" /* how the packager's self-test reaches the linker */

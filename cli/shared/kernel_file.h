/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * kernel_file.h - samples of the kernel in terms of its file with code and symbols, vmlinux
 *
 * Samples of the kernel are told from its symbol _text on, wherever it was loaded (sample_log.h). What it patched into its
 * code since it started (alternatives, static keys, tracing) is not in the file.
 */

#include "module/image.h"
#include "profiles/samples/sample_log.h"

/** kernel_file_is() - is @image the vmlinux of the kernel, no module of it, that @module's samples are of? */
bool kernel_file_is(const struct sample_module *module, const struct image *image);

/**
 * kernel_file_find() - the path of that vmlinux, where packages of debug files put it; freed by the caller
 * @directory: of debug files; NULL: DEBUG_DIRECTORY. Return: NULL: it is not there
 */
char *kernel_file_find(const struct sample_module *module, const char *directory);

/**
 * kernel_file_samples() - @module as if the file had been sampled, with offsets in it
 * Samples outside of its segments are in its total alone. Return: freed by kernel_samples_free(); NULL: no memory
 */
struct sample_module *kernel_file_samples(const struct sample_module *module, const struct image *image);
void kernel_samples_free(struct sample_module *samples); /* accepts NULL */

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * benchmark_of.h - the packager's benchmark command that a program carries
 */

#include "base/fault.h"

/**
 * benchmark_of() - of the shipped file at @path: generations carry none
 * @sidecar_dir: NULL: the usual ones
 * @ret: owned by the caller
 * Return: 0; -ENODATA: it has none; as morph_data_load(); with @reterr
 */
int benchmark_of(const char *path, const char *sidecar_dir, char **ret, struct fault *reterr);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * sidecars.h - Morph data outside of its program: what packages installed, and what morphd fetched
 *
 * Fetched sidecars (act/fetch.h) have a directory of their own below the state, named like that of packages. Neither
 * place is trusted: a program names the SHA-256 of its sidecar.
 */

#include "manager/keep/settings.h"

/**
 * sidecars_directory() - which of the two has the sidecar of build @build_id; when neither has: the one of packages
 * Return: @ret; NULL: too long
 */
const char *sidecars_directory(const struct settings *settings, const char *build_id, char ret[PATH_MAX]);

/** sidecars_fetched() - the directory of those that were fetched. Return: @ret; NULL: too long */
const char *sidecars_fetched(const struct settings *settings, char ret[PATH_MAX]);

/** sidecars_file() - DIRECTORY/ab/cdef....morph. Return: @ret; NULL: too long, or not a build ID */
const char *sidecars_file(const char *directory, const char *build_id, char ret[PATH_MAX]);

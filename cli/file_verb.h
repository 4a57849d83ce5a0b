/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * file_verb.h - verbs that show one file: `morph VERB [--json] [--sidecar-dir DIR] FILE`
 */

#include <stdbool.h>

#include "base/fault.h"

/** Shows the file at @path on standard output; @dir: of sidecars, or NULL for the usual places. -errno */
typedef int file_verb_show(const char *path, const char *dir, bool as_json, struct fault *reterr);

/** file_verb_run() - all of such a verb: its options, its work, its exit code */
int file_verb_run(const char *verb, file_verb_show *show, int argc, char **argv);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * demangle_child.h - the process that reads mangled names, for demangle.h
 *
 * Takes a name as one message, and answers with one: the name as it was written, or a NUL when it is none. When an answer would
 * be longer than DEMANGLE_BYTES, or the name is a trap, the process ends without a word.
 */

#include <sys/types.h>

#define DEMANGLE_BYTES 4096u /* of a name, before and after */

/**
 * demangle_child_run() - in a new child of @parent: talk over the socket @fd until it is closed; does not return
 * It may read and write there, and nothing else. With the parent it ends, too.
 */
void demangle_child_run(int fd, pid_t parent);

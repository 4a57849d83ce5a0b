/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * show.h - the IR of one function of a program, as it was shipped
 */

#include "base/fault.h"
#include "editor/steps/edit_options.h"
#include "module/image.h"

/**
 * show_ir() - a module for each definition of options->ir_of, into a file of options->directory whose path becomes @retpath
 * Nothing of the program is checked against its IR: it is what the file says. To be called in the sandbox.
 * Return: 0; -ENOENT: there is no such function; other -errno; with @reterr
 */
int show_ir(const struct image *program, const struct edit_options *options, char *retpath,
	    struct fault *reterr);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * user_place.h - where one user's own files are: the XDG base directories
 *
 * Source: XDG Base Directory Specification 0.8. A variable that is not an absolute path does not count.
 */

#include <limits.h>

#include "base/fault.h"

enum user_place {
	USER_STATE,   /* $XDG_STATE_HOME, ~/.local/state */
	USER_RUNTIME, /* $XDG_RUNTIME_DIR, which goes with the last session; else ~/.cache */
	USER_CONFIG,  /* $XDG_CONFIG_HOME, ~/.config */
	USER_HOME,    /* $HOME */
};

/**
 * user_place() - "PLACE/@name"; "PLACE" for the name ""
 * Return: 0; -ENOENT when neither the variable nor HOME is set; -ENAMETOOLONG. @ret is "" then.
 */
int user_place(enum user_place place, const char *name, char ret[PATH_MAX], struct fault *reterr);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * stranger.h - why morphd knows nothing of a file: looked up by whoever asks, with his own rights
 *
 * morphd opens no file for somebody who only asks. Its rules are public (manager/place/place.h), so they can be tried
 * here; what the caller may not see is not said.
 */

#include "cli/daemon.h"

/** stranger_explain() - one sentence about @path, which morphd said it does not know, into @ret */
void stranger_explain(const struct daemon_options *options, const char *path, struct fault *ret);

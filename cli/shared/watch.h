/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * watch.h - sampling here and now whatever this user may watch
 */

#include "monitor/record/recorder.h"

/**
 * watch_open() - the processes of @options, its cgroup, or without either the whole machine; where that is not permitted,
 * all of this user's processes
 * Return: as recorder_open(), recorder_add_own()
 */
int watch_open(const struct recorder_options *options, struct recorder **ret, struct fault *reterr);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * self.h - this very `morph`, for verbs that others are made of
 */

#include "base/fault.h"

/** self_find() - its path into @ret (PATH_MAX bytes); -errno */
int self_find(char *ret, struct fault *reterr);

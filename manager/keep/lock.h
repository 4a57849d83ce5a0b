/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * lock.h - a directory that one morphd has for itself
 */

#include "base/fault.h"

/**
 * lock_take() - until the descriptor is closed, or morphd is gone, however it ends
 * @setting: that names the directory, for messages
 * Return: a descriptor, of the caller's; -EBUSY: another morphd works there; -errno; @reterr filled.
 */
int lock_take(const char *directory, const char *setting, struct fault *reterr);

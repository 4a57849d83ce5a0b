/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * shipped.h - a copy of the shipped file in the store, before anything else is done to a module
 */

#include "manager/keep/catalog.h"
#include "manager/keep/context.h"

/**
 * shipped_keep() - take it from a path where it still stands, unless the store has it already
 * Return: 0; -ENOENT when it is neither in the store nor installed; -ENOSPC, ...
 */
int shipped_keep(struct manager *manager, const struct module_row *module, struct fault *reterr);

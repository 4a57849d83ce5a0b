/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * name_order.h - the order in which a link heard of its dynamic symbols
 *
 * ld.lld numbers dynamic symbols, their versions, and slots of the GOT and the PLT in the order in which it first
 * hears of each name. A link of IR hears of them in another order than a link of the objects that were made of the
 * IR. So a link plan begins with an object of names only: undefined symbols, in the order of the symbol table that
 * ld.lld wrote, which is that order. Functions that are chosen at start (IFUNC) have slots, too, also in static files,
 * and so may a program's own variables and functions; these names are weak.
 * With the names the plan gives the same file, to the byte.
 */

#include "backend/used_inputs.h"
#include "base/bytes.h"
#include "module/image.h"

/**
 * name_order_make() - the object into @ret, which stays empty when @output has no such symbols
 * @output: as ld.lld wrote it, with its symbol table and the modules that it embedded; @used: what it was made of
 * Return: 0 or -ENOMEM. Cost: O(symbols log symbols).
 */
int name_order_make(const struct image *output, const struct used_inputs *used, struct buffer *ret);

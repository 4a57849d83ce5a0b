/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * moment.h - points in time on the command line
 *
 *	now  today  yesterday		midnight, local time
 *	90s  30min  2h  3d  1w		so long ago
 *	2026-11-25[ 08:00[:30]]		local time; also with a T between
 *	@1764028800			seconds since 1970
 */

#include <stdbool.h>
#include <stdint.h>

/** moment_parse() - @text, seen at @now_ns (CLOCK_REALTIME), into @ret, ns since 1970; false, and @ret as it was: none */
bool moment_parse(const char *text, uint64_t now_ns, uint64_t *ret);

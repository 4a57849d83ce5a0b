/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * synopsis.h - how verbs are used that are programs of their own: `morph` and the program say the same
 */

#define SYNOPSIS_OPTIMIZE                                                                                   \
	"PROGRAM --profile FILE -o FILE [--report FILE] [--cpu NAME|native|shipped] [--tune NAME]\n"        \
	"                      [--layout-only] [--no-fallback] [--rebase] [--trust-facts] [--force] "       \
	"[--jobs N] [--user NAME]\n"                                                                        \
	"                      [--memory MIB] [--timeout SECONDS] [--sidecar-dir DIR] [--work-dir DIR] "    \
	"[--keep-work-dir]\n"                                                                               \
	"                      [--memo FILE]\n"                                                             \
	"                      [--selftest | --no-selftest] [--selftest-timeout SECONDS] [--json]\n"        \
	"                      [--as-shipped FUNCTION]... [--as-shipped-if HASH:FUNCTION]... "              \
	"[--as-shipped-from FILE]\n"                                                                        \
	"                      [--without PASS]... [--copies FACTOR] [--no-unroll] [--vector-width BITS]\n" \
	"                      [--library SONAME=FILE]...\n"                                                \
	"       morph optimize PROGRAM --check [-o FILE] [--json] [--library SONAME=FILE]...\n"             \
	"                      [--code-cache DIR]\n"                                                        \
	"       morph optimize PROGRAM --ir FUNCTION -o FILE [--sidecar-dir DIR]\n"                         \
	"       morph optimize --passes [--json]"

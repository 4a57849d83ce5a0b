/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * build_report.h - what became of a build, for whoever started it: $MORPH_REPORT names a file
 *
 * One line an event, appended at once, so that compilers that run side by side share the file:
 *	gcc\tFILE\tREASON		compiled or linked by GCC; carries no IR
 *	inline\tFILE\tREASON	compiled once more, without the C library's inline functions
 *	dropped\tOPTION\tREASON	left out of a command line
 *	plain\tFILE\tREASON	linked as without Morph, because it was asked for
 *	unpacked\tFILE\tREASON	linked with LTO, but carries no Morph data
 *	module\tFILE\tMODULE: FUNCTION...	linked by its machine code, for its IR does not regenerate
 *	verified\tFILE\tSENTENCE	regenerates
 */

/** build_report_add() - tabs and line ends in the texts become spaces; without $MORPH_REPORT nothing happens */
void build_report_add(const char *kind, const char *subject, const char *text);

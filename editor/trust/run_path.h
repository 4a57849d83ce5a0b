/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * run_path.h - what installing changes in a linked file: where the loader looks for libraries
 *
 * A build system gives a program a run path (DT_RUNPATH, DT_RPATH) that leads into the build tree, and takes it away, or puts
 * another into its place, when the program is installed: `cmake --install`, libtool, chrpath(1), patchelf(1). The text is in
 * .dynstr, whose size stays; the entry of the dynamic section goes, and those behind it move up.
 */

#include <stddef.h>

#include "module/image.h"

/* Bytes of the file that may differ, for they are the run path's alone; all 0: none may. */
struct run_path_change {
	size_t text, text_end; /* its letters in .dynstr, without the NUL */
	size_t entries,
		entries_end; /* of the dynamic section: from its entry on, where that is gone in the installed file */
};

/**
 * run_path_change_find() - how @installed's run path may differ from that of @linked, which was made by our own link
 *
 * Both have the same program headers. Nothing may differ if a name of anything else lies in that text, or if more of the dynamic
 * section differs than the one entry. What @installed has instead, dynamic_run_path() says.
 */
struct run_path_change run_path_change_find(const struct image *installed, const struct image *linked);

/** run_path_change_end() - the end of the bytes around @at of the file that may differ; 0: it may not */
size_t run_path_change_end(const struct run_path_change *change, size_t at);

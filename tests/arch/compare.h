/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * compare.h - words of aarch64 as the decoder reads them and as LLVM does (oracle.h); says which word disagrees, and in what
 */

#include <stdbool.h>
#include <stdint.h>

/** compare_begin() - forget what was compared */
void compare_begin(void);

/** compare_word() - @is_exact: of a group of which every word that is not allocated is to be unknown here, too */
void compare_word(uint32_t word, bool is_exact);

/** compare_end() - print @what was compared; return how many words disagreed */
uint64_t compare_end(const char *what);

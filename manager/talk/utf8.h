/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * utf8.h - D-Bus strings are UTF-8, path names are not always
 */

/** utf8_clean() - a copy with U+FFFD for every byte that is not part of UTF-8; NULL: no memory */
char *utf8_clean(const char *text);

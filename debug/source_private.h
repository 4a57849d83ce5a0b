/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * source_private.h - what the reader's files share; the only ones that include libdw
 */

#include <elfutils/libdw.h>

#include "debug/source.h"

/** source_unit_read() - rows and scopes of one unit, appended. 0, -ENOMEM */
int source_rows_read(struct source *source, Dwarf_Die *unit);
int source_scopes_read(struct source *source, Dwarf_Die *unit, uint32_t unit_index);

/** source_text() - a copy that lives as long as @source; NULL for NULL, or no memory */
const char *source_text(struct source *source, const char *text);
/** source_file() - the place of @name in files[]; SOURCE_NONE for NULL, or no memory */
uint32_t source_file(struct source *source, const char *name);

/* SPDX-License-Identifier: Apache-2.0 */

/* A static library from elsewhere: every member that is found lies within it, or is named by a thin archive. */

#include "backend/archive.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_clean_(archive_donep) struct archive archive = { 0 };
	struct fault fault;

	if (archive_read("/nowhere/lib.a", data, size, &archive, &fault) < 0)
		return 0;
	for (size_t i = 0; i < archive.n_members; i++) {
		const struct archive_member *m = &archive.members[i];

		if (!m->name || (!m->bytes && !m->path) ||
		    (m->bytes && (m->bytes < data || m->size > size - (size_t)(m->bytes - data))))
			abort();
	}
	return 0;
}

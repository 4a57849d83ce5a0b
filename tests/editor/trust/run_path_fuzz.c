/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The dynamic section of any file, and how the run path of one may differ from that of another: of a file, and of the same with
 * the byte that the last four name altered.
 */

#include "editor/trust/run_path.h"

#include <stdlib.h>
#include <string.h>

#include "module/dynamic.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every string is read to its end. */
static void dynamic_read(const struct image *image)
{
	struct dynamic dynamic;
	struct fault fault;
	size_t entry;

	if (dynamic_open(image, &dynamic, &fault) < 0)
		return;
	const char *const texts[] = { dynamic_run_path(&dynamic, &entry), dynamic_soname(&dynamic),
				      dynamic_version_base(&dynamic),
				      dynamic_string(&dynamic, dynamic_at(&dynamic, 1).d_un.d_val) };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (texts[i] && strlen(texts[i]) >= dynamic.n_strings && texts[i][0])
			abort();
}

static void change_check(const struct image *installed, const struct image *linked, size_t size)
{
	struct run_path_change change = run_path_change_find(installed, linked);

	if (change.text > change.text_end || change.text_end > size || change.entries > change.entries_end ||
	    change.entries_end > size)
		abort();
	for (size_t at = 0; at < size; at += 7) {
		size_t end = run_path_change_end(&change, at);

		if (end && (end <= at || end > size))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_clean_(image_freep) struct image *linked = NULL, *installed = NULL;
	_clean_(freep) uint8_t *copy = NULL;
	struct fault fault;
	uint32_t place;

	if (size <= sizeof(place))
		return 0;
	size -= sizeof(place);
	memcpy(&place, data + size, sizeof(place));
	copy = malloc(size);
	if (!copy || image_open_bytes(data, size, "linked", &linked, &fault) < 0)
		return 0;
	dynamic_read(linked);
	memcpy(copy, data, size);
	copy[(place & 0xffffff) % size] ^= (uint8_t)(place >> 24);
	if (image_open_bytes(copy, size, "installed", &installed, &fault) < 0)
		return 0;
	dynamic_read(installed);
	change_check(installed, linked, size);
	return 0;
}

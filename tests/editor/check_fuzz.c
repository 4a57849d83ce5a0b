/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What came out of the sandbox, as its parent compares it with the shipped file: the file may stand where itself stood, and
 * a file that differs in the byte that the last four name is compared, whatever it has become.
 */

#include "editor/check.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_clean_(image_freep) struct image *shipped = NULL, *made = NULL;
	_clean_(freep) uint8_t *copy = NULL;
	struct fault fault;
	uint32_t place;

	if (size < sizeof(place))
		return 0;
	size -= sizeof(place);
	memcpy(&place, data + size, sizeof(place));
	copy = malloc(size ? size : 1);
	if (!copy || image_open_bytes(data, size, "shipped", &shipped, &fault) < 0)
		return 0;
	memcpy(copy, data, size);
	copy[(place & 0xffffff) % size] ^= (uint8_t)(place >> 24);
	if (image_open_bytes(copy, size, "made", &made, &fault) < 0)
		return 0;
	check_images(shipped, made, &fault);
	check_images(made, shipped, &fault);
	if (check_images(shipped, shipped, &fault) == 0 && place >> 24 == 0 &&
	    check_images(shipped, made, &fault) < 0)
		abort();
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */

/* A linked file, and the same bytes as an object of its link: what lists the names is an object, as large as its names are many. */

#include "backend/name_order.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_clean_(image_freep) struct image *output = NULL, *names = NULL;
	_clean_(buffer_donep) struct buffer object = { 0 };
	struct used_input input = { .kind = USED_OBJECT, .name = "input.o", .bytes = data, .size = size };
	const struct used_inputs used = { .inputs = &input, .n_inputs = 1 };

	if (image_open_bytes(data, size, "output", &output, NULL) < 0 ||
	    name_order_make(output, &used, &object) < 0 || !object.size)
		return 0;
	if (image_open_bytes(object.data, object.size, "names.o", &names, NULL) < 0)
		abort();
	for (size_t i = 0; i < image_n_symbols(names); i++)
		if (!image_symbol_at(names, i)->name)
			abort();
	return 0;
}

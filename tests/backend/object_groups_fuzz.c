/* SPDX-License-Identifier: Apache-2.0 */

/* An object that carries IR, and is also linked behind that IR: its copy is as large, and can be copied again. */

#include "backend/object_groups.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_clean_(object_groups_donep) struct object_groups groups = { 0 };
	_clean_(buffer_donep) struct buffer copy = { 0 }, again = { 0 };
	const char *names[] = { "main", "weak" };
	const struct function_names taken = { names, 2 };
	struct used_input input = { .kind = USED_IR, .name = "input.o", .bytes = data, .size = size };

	if (object_groups_add(&groups, &input) < 0 ||
	    object_groups_leave_out(&groups, &taken, &input, &copy) < 0 || !copy.size)
		return 0;
	input.bytes = copy.data;
	if (copy.size != size || object_groups_leave_out(&groups, &taken, &input, &again) < 0)
		abort();
	return 0;
}

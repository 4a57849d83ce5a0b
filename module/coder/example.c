/* SPDX-License-Identifier: Apache-2.0 */

#include "module/coder/example.h"

#include <threads.h>

#include "base/container.h"

extern const unsigned char example_bytes[]; /* example.bin, by embed.cmake */
extern const size_t example_size;

static struct example example;
static bool is_there;
static once_flag made = ONCE_FLAG_INIT;

static void part_read(struct reader *in, struct buffer *ret)
{
	size_t size;
	const char *bytes = reader_string(in, &size);

	if (bytes)
		buffer_bytes(ret, bytes, size);
}

static void example_make(void)
{
	_clean_(buffer_donep) struct buffer payload = { 0 };
	struct reader in;

	if (container_unpack(example_bytes, example_size, CONTAINER_MORPH, EXAMPLE_VERSION, &payload, NULL) <
	    0)
		return;
	in = reader_of(payload.data, payload.size);
	part_read(&in, &example.fields);
	part_read(&in, &example.map);
	part_read(&in, &example.ir);
	is_there = !in.bad && !example.fields.bad && !example.map.bad && !example.ir.bad;
}

const struct example *example_get(void)
{
	call_once(&made, example_make);
	return is_there ? &example : NULL;
}

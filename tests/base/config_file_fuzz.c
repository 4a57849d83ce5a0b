/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Any text is read or refused, and what was read prints as text that reads back.
 */

#include <stdint.h>

#include "base/config_file.h"

struct settings {
	char *text, *path;
	bool flag;
	uint64_t number, bytes, seconds;
	double real;
};

#define KEY(name, type, field, ...) { name, type, offsetof(struct settings, field), __VA_ARGS__ }
static const struct config_key keys[] = {
	KEY("text", CONFIG_TEXT, text, 0),	 KEY("path", CONFIG_PATH, path, 0),
	KEY("flag", CONFIG_BOOL, flag, 0),	 KEY("number", CONFIG_UINT, number, 0, 1e18),
	KEY("bytes", CONFIG_BYTES, bytes, 0),	 KEY("seconds", CONFIG_DURATION, seconds, 0),
	KEY("real", CONFIG_REAL, real, -10, 10), { NULL },
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_clean_(buffer_donep) struct buffer text = { 0 };
	struct settings first = { 0 }, again = { 0 };
	struct fault fault;

	if (config_parse((const char *)data, size, "input", keys, &first, &fault) == 0) {
		config_print(keys, &first, &text);
		if (config_parse((const char *)text.data, text.size, "printed", keys, &again, &fault) < 0)
			abort();
	}
	config_done(keys, &first);
	config_done(keys, &again);
	return 0;
}

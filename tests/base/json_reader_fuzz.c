/* SPDX-License-Identifier: Apache-2.0 */

/* JSON that others wrote: an answer, a report, a status file. Whatever it is, a number is finite and a text is ended. */

#include "base/json_reader.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const queries[] = { "$",    "$.pid", "$.source",	    "$.samples.lost.race",
					       "$[0]", "$.a.b", "$.predicted_gain", "$.a[1].b" };
	struct json_reader *reader = json_reader_of((const char *)data, size);

	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
		double number = 0;
		char *text = json_reader_text(reader, queries[i]);

		if (json_reader_number(reader, queries[i], &number) && (!isfinite(number) || text))
			abort();
		if (text && strlen(text) > size)
			abort();
		free(text);
	}
	json_reader_free(reader);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */

#include "profiles/export/export.h"

#include <string.h>

#define ROW(name) &exporter_##name,

static const struct exporter *const exporters[] = { EXPORTERS(ROW) };

struct named exporter_at(size_t i)
{
	return i < ARRAY_SIZE(exporters) ? (struct named){ exporters[i]->name, exporters[i]->title } :
					   (struct named){ NULL, NULL };
}

const struct exporter *exporter_find(const char *name, struct fault *reterr)
{
	for (size_t i = 0; i < ARRAY_SIZE(exporters); i++)
		if (strcmp(name, exporters[i]->name) == 0)
			return exporters[i];
	names_refuse("format", name, exporter_at, reterr);
	return NULL;
}

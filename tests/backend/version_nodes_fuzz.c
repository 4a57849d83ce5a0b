/* SPDX-License-Identifier: Apache-2.0 */

/* A version script from a package's build: names lie within it, and the object defines as many symbols. */

#include "backend/version_nodes.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_clean_(version_nodes_donep) struct version_nodes nodes = { 0 };
	_clean_(symbol_object_donep) struct symbol_object object = { 0 };
	const char *text = (const char *)data;

	if (version_nodes_read(text, size, &nodes) < 0)
		return 0;
	for (size_t i = 0; i < nodes.n; i++)
		if (!nodes.nodes[i].size || nodes.nodes[i].name < text ||
		    nodes.nodes[i].size > size - (size_t)(nodes.nodes[i].name - text))
			abort();
	if (version_nodes_define(&nodes, &object) == 0 && nodes.n &&
	    object.symbols.size != (nodes.n + 1) * sizeof(Elf64_Sym))
		abort();
	return 0;
}

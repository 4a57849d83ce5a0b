/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * version_nodes.h - the versions that a linker's version script defines, as symbols
 *
 * GNU ld gives a shared library one absolute symbol for each of its versions, named as the version is
 * (`ZLIB_1.2.9@@ZLIB_1.2.9`), and Debian's symbols files list them. ld.lld 22 makes none: an object
 * that defines them makes up for it.
 */

#include "backend/symbol_object.h"

struct version_nodes {
	struct version_node {
		const char *name; /* borrowed from the script, not terminated */
		size_t size;
	} *nodes; /* owned */
	size_t n, capacity;
};

/**
 * version_nodes_read() - the names of the nodes, in the script's order; a node without a name is no version
 * @text: a version script. Of what is none, those names that look like a node's; a linker says what is wrong with it.
 * Return: 0 or -ENOMEM. Cost: O(size).
 */
int version_nodes_read(const char *text, size_t size, struct version_nodes *ret);
void version_nodes_done(struct version_nodes *nodes);
static inline void version_nodes_donep(struct version_nodes *nodes)
{
	version_nodes_done(nodes);
}

/** version_nodes_define() - add to @object what GNU ld defines for @nodes; 0 or -ENOMEM */
int version_nodes_define(const struct version_nodes *nodes, struct symbol_object *object);

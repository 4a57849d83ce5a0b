/* SPDX-License-Identifier: Apache-2.0 */

/*
 *	script: (node)*
 *	node:   [name] { ... } [parent] ;
 *
 * Between the braces, which nest, nothing is of interest. A name is a word of other characters than white space,
 * braces, semicolons, quotes; comments are C's, and `#` to the end of the line.
 */

#define _GNU_SOURCE
#include "backend/version_nodes.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "module/array.h"

struct token {
	const char *text;
	size_t size; /* 1 of a brace or a semicolon; 0: the end */
};

/* Behind white space and comments. */
static const char *blanks_skip(const char *p, const char *end)
{
	for (;;) {
		const char *stop = NULL;

		while (p < end && isspace((unsigned char)*p))
			p++;
		if (p < end && *p == '#')
			stop = memchr(p, '\n', (size_t)(end - p));
		else if (end - p >= 2 && p[0] == '/' && p[1] == '*')
			stop = memmem(p + 2, (size_t)(end - p - 2), "*/", 2);
		else
			return p;
		p = !stop ? end : stop + (*stop == '*' ? 2 : 1);
	}
}

static bool is_word(char c)
{
	return !isspace((unsigned char)c) && !strchr("{};\"", c);
}

static struct token token_next(const char **at, const char *end)
{
	const char *p = blanks_skip(*at, end), *start = p;

	if (p < end && *p == '"') {
		const char *quote = memchr(p + 1, '"', (size_t)(end - p - 1));

		p = quote ? quote + 1 : end;
	} else if (p < end && !is_word(*p)) {
		p++;
	} else {
		while (p < end && is_word(*p) && !(end - p >= 2 && p[0] == '/' && p[1] == '*'))
			p++;
	}
	*at = p;
	return (struct token){ start, (size_t)(p - start) };
}

static bool token_is(struct token token, char c)
{
	return token.size == 1 && *token.text == c;
}

static int node_add(struct version_nodes *nodes, struct token name)
{
	if (!array_reserve(nodes->nodes, nodes->n, &nodes->capacity))
		return -ENOMEM;
	nodes->nodes[nodes->n++] = (struct version_node){ name.text, name.size };
	return 0;
}

int version_nodes_read(const char *text, size_t size, struct version_nodes *ret)
{
	const char *at = text, *end = text + size;
	struct token token, name = { 0 };
	size_t depth = 0;
	int r = 0;

	*ret = (struct version_nodes){ 0 };
	while (r == 0 && (token = token_next(&at, end)).size) {
		if (token_is(token, '{')) {
			if (depth++ == 0 && name.size)
				r = node_add(ret, name);
		} else if (token_is(token, '}')) {
			depth -= depth > 0;
		}
		if (depth == 0)
			name = is_word(*token.text) ? token : (struct token){ 0 };
	}
	if (r < 0)
		version_nodes_done(ret);
	return r;
}

void version_nodes_done(struct version_nodes *nodes)
{
	free(nodes->nodes);
	*nodes = (struct version_nodes){ 0 };
}

int version_nodes_define(const struct version_nodes *nodes, struct symbol_object *object)
{
	const Elf64_Sym symbol = { .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), .st_shndx = SHN_ABS };

	for (size_t i = 0; i < nodes->n; i++) {
		_clean_(freep) char *name = NULL;
		int size = (int)nodes->nodes[i].size;
		int n = asprintf(&name, "%.*s@@%.*s", size, nodes->nodes[i].name, size, nodes->nodes[i].name);

		if (n < 0) {
			name = NULL;
			return -ENOMEM;
		}
		symbol_object_add(object, name, (size_t)n, symbol);
	}
	return 0;
}

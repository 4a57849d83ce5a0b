/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Two passes over the lines: the first counts how many lines of each kind there are, so that every
 * array is allocated once; the second fills them. A function's blocks and edges are slices of two
 * arrays that hold all functions'.
 */

#include "layout/text.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define MAX_WORDS 16u
#define MAX_NUMBER 63u /* characters */

struct word {
	const char *at;
	size_t n;
};

struct parser {
	struct arena *arena;
	const char *at, *end;
	size_t line;
	struct word words[MAX_WORDS];
	size_t n_words;
	size_t n_functions, n_blocks, n_edges, n_nodes, n_calls; /* of the first pass */
	struct layout_block *blocks;
	struct layout_edge *edges;
	struct layout_named *function; /* the one whose lines follow, or NULL */
	bool has_program, in_program;
	struct layout_text *text;
	struct fault *reterr;
};

static const struct {
	const char *name;
	uint8_t flag;
} flag_names[] = {
	{ "pad", LAYOUT_EH_PAD },
	{ "sticky", LAYOUT_STICKY },
	{ "keep", LAYOUT_KEEP },
	{ "indirect", LAYOUT_INDIRECT },
};

static const char *const kind_names[] = {
	[LAYOUT_JUMP] = "jump",
	[LAYOUT_BRANCH] = "branch",
	[LAYOUT_SWITCH] = "switch",
	[LAYOUT_UNWIND] = "unwind",
};

static int bad(const struct parser *p, const char *what)
{
	return fault_set(p->reterr, -EBADMSG, "layout graph: line %zu: %s", p->line, what);
}

static bool word_is(const struct word *word, const char *s)
{
	return word->n == strlen(s) && memcmp(word->at, s, word->n) == 0;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* The words of the next line; false at the end of the text. n_words may exceed MAX_WORDS. */
static bool parser_next(struct parser *p)
{
	const char *newline;

	p->n_words = 0;
	if (p->at == p->end)
		return false;
	newline = memchr(p->at, '\n', (size_t)(p->end - p->at));
	newline = newline ? newline : p->end;
	p->line++;
	while (p->at < newline && *p->at != '#') {
		const char *start = p->at;

		while (p->at < newline && !is_blank(*p->at) && *p->at != '#')
			p->at++;
		if (p->at > start && p->n_words++ < MAX_WORDS)
			p->words[p->n_words - 1] = (struct word){ start, (size_t)(p->at - start) };
		while (p->at < newline && is_blank(*p->at))
			p->at++;
	}
	p->at = newline < p->end ? newline + 1 : newline;
	return true;
}

static int parse_double(const struct parser *p, const struct word *word, double *ret)
{
	char copy[MAX_NUMBER + 1], *end;

	if (word->n > MAX_NUMBER)
		return bad(p, "a number is not a number");
	memcpy(copy, word->at, word->n);
	copy[word->n] = '\0';
	*ret = strtod(copy, &end);
	return *end || end == copy ? bad(p, "a number is not a number") : 0;
}

static int parse_u32(const struct parser *p, const struct word *word, uint32_t *ret)
{
	uint64_t value = 0;

	for (size_t i = 0; i < word->n; i++) {
		if (word->at[i] < '0' || word->at[i] > '9' || value > UINT32_MAX / 10)
			return bad(p, "a size or an index is not a number below 2^32");
		value = value * 10 + (uint64_t)(word->at[i] - '0');
	}
	*ret = (uint32_t)value;
	return value > UINT32_MAX ? bad(p, "a size or an index is not a number below 2^32") : 0;
}

/* "NAME=VALUE" with a value of at most @max: 1 if it is that, 0 if another word, or an error. */
static int parse_setting(const struct parser *p, const struct word *word, const char *name, uint32_t max,
			 uint8_t *ret)
{
	struct word value = { word->at + strlen(name), word->n - strlen(name) };
	uint32_t number;

	if (word->n <= strlen(name) || memcmp(word->at, name, strlen(name)) != 0)
		return 0;
	if (parse_u32(p, &value, &number) < 0 || number > max)
		return bad(p, "conf= is at most 255, align= at most 12");
	*ret = (uint8_t)number;
	return 1;
}

static int parse_block_word(const struct parser *p, const struct word *word, struct layout_block *block)
{
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(flag_names); i++)
		if (word_is(word, flag_names[i].name)) {
			block->flags |= flag_names[i].flag;
			return 0;
		}
	r = parse_setting(p, word, "conf=", 255, &block->confidence);
	if (r == 0)
		r = parse_setting(p, word, "align=", 12, &block->align_log2);
	return r == 0 ? bad(p, "unknown word behind a block") : MIN(r, 0);
}

static int parse_block(struct parser *p)
{
	struct layout_block *block;
	int r = 0;

	if (!p->function || p->n_words < 3)
		return bad(p, "expected 'block SIZE COUNT' in a function");
	block = &p->function->graph.blocks[p->function->graph.n_blocks++];
	block->confidence = 255;
	if (parse_u32(p, &p->words[1], &block->size) < 0 || parse_double(p, &p->words[2], &block->count) < 0)
		return -EBADMSG;
	for (size_t i = 3; i < p->n_words && r == 0; i++)
		r = parse_block_word(p, &p->words[i], block);
	return r;
}

static int parse_edge(struct parser *p)
{
	struct layout_edge *edge;

	if (!p->function || p->n_words != 5)
		return bad(p, "expected 'edge FROM TO COUNT KIND' in a function");
	edge = &p->function->graph.edges[p->function->graph.n_edges++];
	if (parse_u32(p, &p->words[1], &edge->from) < 0 || parse_u32(p, &p->words[2], &edge->to) < 0 ||
	    parse_double(p, &p->words[3], &edge->count) < 0)
		return -EBADMSG;
	while (edge->kind < LAYOUT_KIND_END && !word_is(&p->words[4], kind_names[edge->kind]))
		edge->kind++;
	return edge->kind == LAYOUT_KIND_END ? bad(p, "unknown kind of edge") : 0;
}

static int parse_part(struct parser *p)
{
	struct layout_program *program = &p->text->program;
	struct layout_node *node;
	const char *name = "";

	if (!p->in_program || p->n_words < 3 || p->n_words > 4)
		return bad(p, "expected 'part SIZE COUNT [NAME]' in the program");
	if (p->n_words == 4)
		name = arena_strndup(p->arena, p->words[3].at, p->words[3].n);
	if (!name)
		return -ENOMEM;
	p->text->part_names[program->n_nodes] = name;
	node = &program->nodes[program->n_nodes++];
	if (parse_u32(p, &p->words[1], &node->size) < 0)
		return -EBADMSG;
	return parse_double(p, &p->words[2], &node->count);
}

static int parse_call(struct parser *p)
{
	struct layout_program *program = &p->text->program;
	struct layout_call *call;

	if (!p->in_program || p->n_words < 4 || p->n_words > 5)
		return bad(p, "expected 'call FROM TO COUNT [OFFSET]' in the program");
	call = &program->calls[program->n_calls++];
	call->offset = LAYOUT_NONE;
	if (parse_u32(p, &p->words[1], &call->from) < 0 || parse_u32(p, &p->words[2], &call->to) < 0 ||
	    parse_double(p, &p->words[3], &call->count) < 0)
		return -EBADMSG;
	return p->n_words == 5 ? parse_u32(p, &p->words[4], &call->offset) : 0;
}

static int parse_function(struct parser *p)
{
	struct layout_named *last = p->function;

	if (p->n_words != 2 || p->in_program)
		return bad(p, "expected 'function NAME', before the program");
	p->function = &p->text->functions[p->text->n_functions++];
	p->function->graph.blocks = last ? last->graph.blocks + last->graph.n_blocks : p->blocks;
	p->function->graph.edges = last ? last->graph.edges + last->graph.n_edges : p->edges;
	p->function->name = arena_strndup(p->arena, p->words[1].at, p->words[1].n);
	return p->function->name ? 0 : -ENOMEM;
}

static int parse_program(struct parser *p)
{
	if (p->n_words != 1 || p->in_program)
		return bad(p, "expected 'program' alone, and once");
	p->in_program = true;
	p->function = NULL;
	return 0;
}

/* What a line's first word means: how to read it, and which counter of the first pass it moves. */
static const struct {
	const char *word;
	int (*parse)(struct parser *p);
	size_t counter;
} lines[] = {
	{ "function", parse_function, offsetof(struct parser, n_functions) },
	{ "block", parse_block, offsetof(struct parser, n_blocks) },
	{ "edge", parse_edge, offsetof(struct parser, n_edges) },
	{ "program", parse_program, offsetof(struct parser, has_program) },
	{ "part", parse_part, offsetof(struct parser, n_nodes) },
	{ "call", parse_call, offsetof(struct parser, n_calls) },
};

static size_t line_kind(const struct parser *p)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(lines) && !word_is(&p->words[0], lines[i].word))
		i++;
	return i;
}

static int parser_count(struct parser *p)
{
	while (parser_next(p)) {
		size_t kind = p->n_words ? line_kind(p) : 0;

		if (!p->n_words)
			continue;
		if (p->n_words > MAX_WORDS)
			return bad(p, "too many words");
		if (kind == ARRAY_SIZE(lines))
			return bad(p, "begins with none of function, block, edge, program, part, call");
		if (lines[kind].parse == parse_program)
			p->has_program = true;
		else
			++*(size_t *)((char *)p + lines[kind].counter);
	}
	return 0;
}

static int parser_allocate(struct parser *p)
{
	struct layout_text *text = p->text;

	p->blocks = arena_array(p->arena, struct layout_block, p->n_blocks);
	p->edges = arena_array(p->arena, struct layout_edge, p->n_edges);
	text->functions = arena_array(p->arena, struct layout_named, p->n_functions);
	text->program.nodes = arena_array(p->arena, struct layout_node, p->n_nodes);
	text->program.calls = arena_array(p->arena, struct layout_call, p->n_calls);
	text->part_names = arena_array(p->arena, const char *, p->n_nodes);
	return p->blocks && p->edges && text->functions && text->program.nodes && text->program.calls &&
			       text->part_names ?
		       0 :
		       -ENOMEM;
}

static int parser_fill(struct parser *p)
{
	while (parser_next(p)) {
		int r = p->n_words ? lines[line_kind(p)].parse(p) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

int layout_text_parse(struct arena *arena, const char *bytes, size_t size, struct layout_text *ret,
		      struct fault *reterr)
{
	struct layout_text text = { 0 };
	struct parser p = { .arena = arena,
			    .at = bytes,
			    .end = size ? bytes + size : bytes,
			    .text = &text,
			    .reterr = reterr };
	int r;

	if (size && memchr(bytes, '\0', size))
		return fault_set(reterr, -EBADMSG, "layout graph: not a text, it holds a NUL byte");
	r = parser_count(&p);
	if (r == 0)
		r = parser_allocate(&p);
	p.at = bytes;
	p.line = 0;
	if (r == 0)
		r = parser_fill(&p);
	if (r == -ENOMEM)
		return fault_set(reterr, r, "layout graph: out of memory");
	if (r == 0)
		*ret = text;
	return r;
}

static void dump_function(const struct layout_named *function, struct buffer *ret)
{
	const struct layout_graph *graph = &function->graph;

	buffer_printf(ret, "function %s\n", function->name);
	for (size_t i = 0; i < graph->n_blocks; i++) {
		const struct layout_block *block = &graph->blocks[i];

		buffer_printf(ret, "block %u %.17g", block->size, block->count);
		for (size_t k = 0; k < ARRAY_SIZE(flag_names); k++)
			if (block->flags & flag_names[k].flag)
				buffer_printf(ret, " %s", flag_names[k].name);
		if (block->confidence != 255)
			buffer_printf(ret, " conf=%u", block->confidence);
		if (block->align_log2)
			buffer_printf(ret, " align=%u", block->align_log2);
		buffer_printf(ret, "\n");
	}
	for (size_t i = 0; i < graph->n_edges; i++) {
		const struct layout_edge *edge = &graph->edges[i];
		uint32_t kind = edge->kind < LAYOUT_KIND_END ? edge->kind : LAYOUT_SWITCH;

		buffer_printf(ret, "edge %u %u %.17g %s\n", edge->from, edge->to, edge->count,
			      kind_names[kind]);
	}
}

void layout_text_dump(const struct layout_text *text, struct buffer *ret)
{
	const struct layout_program *program = &text->program;

	for (size_t i = 0; i < text->n_functions; i++)
		dump_function(&text->functions[i], ret);
	if (program->n_nodes || program->n_calls)
		buffer_printf(ret, "program\n");
	for (size_t i = 0; i < program->n_nodes; i++)
		buffer_printf(ret, "part %u %.17g%s%s\n", program->nodes[i].size, program->nodes[i].count,
			      *text->part_names[i] ? " " : "", text->part_names[i]);
	for (size_t i = 0; i < program->n_calls; i++) {
		const struct layout_call *call = &program->calls[i];

		buffer_printf(ret, "call %u %u %.17g", call->from, call->to, call->count);
		if (call->offset != LAYOUT_NONE)
			buffer_printf(ret, " %u", call->offset);
		buffer_printf(ret, "\n");
	}
}

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A line is a name ("ob=(3) /bin/x", "fn=(7)"), a jump ("jump=N TARGET", "jcnd=TAKEN/N TARGET", followed by a line
 * with its source), a call ("calls=N TARGET", followed by a line with its inclusive cost, to be ignored), or
 * costs ("ADDRESS LINE COUNT"). Addresses are hexadecimal, or relative to the last cost line: "+N", "-N", "*".
 */

#define _GNU_SOURCE
#include "bench/measure/callgrind.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/search.h"

#define MAX_OBJECTS 4096

enum next_line { LINE_COST, LINE_CALL, LINE_JUMP };

struct parser {
	struct callgrind *into;
	const char *object;
	bool is_object[MAX_OBJECTS], is_unknown[MAX_OBJECTS]; /* by callgrind's number of the object file */
	bool inside;					      /* costs belong to the object */
	bool unknown;					      /* to none that valgrind knows */
	bool is_program;  /* the object is the program that ran, so what is in none is taken for its */
	uint64_t address; /* of the last position */
	enum next_line next;
	struct callgrind_jump jump;
	bool bad;
};

static void *grow(void *array, size_t n, size_t *capacity, size_t size, bool *bad)
{
	void *more;

	if (n < *capacity)
		return array;
	more = realloc(array, (*capacity * 2 + 64) * size);
	if (!more) {
		*bad = true;
		return array;
	}
	*capacity = *capacity * 2 + 64;
	return more;
}

/* What valgrind knows no object of stands at the address where it ran. */
static uint64_t shift(const struct parser *p)
{
	return p->unknown ? p->into->base : 0;
}

static bool is_counted(struct parser *p, uint64_t count)
{
	if (!p->unknown || !p->is_program)
		return p->inside;
	if (!p->into->base)
		p->into->n_lost += count;
	return p->into->base && p->address >= p->into->base;
}

static void count_add(struct parser *p, uint64_t count)
{
	struct callgrind *c = p->into;

	if (!is_counted(p, count))
		return;
	c->counts = grow(c->counts, c->n_counts, &c->counts_capacity, sizeof(*c->counts), &p->bad);
	if (!p->bad)
		c->counts[c->n_counts++] = (struct callgrind_count){ p->address - shift(p), count };
}

static void jump_add(struct parser *p)
{
	struct callgrind *c = p->into;

	if (!is_counted(p, 0))
		return;
	p->jump.from -= shift(p);
	p->jump.to -= shift(p);
	c->jumps = grow(c->jumps, c->n_jumps, &c->jumps_capacity, sizeof(*c->jumps), &p->bad);
	if (!p->bad && p->jump.taken)
		c->jumps[c->n_jumps++] = p->jump;
}

static uint64_t position(const struct parser *p, const char **at)
{
	char *end;
	uint64_t value;

	if (**at == '*') {
		(*at)++;
		return p->address;
	}
	if (**at == '+' || **at == '-') {
		bool back = **at == '-';

		value = strtoull(*at + 1, &end, 10);
		*at = end;
		return back ? p->address - value : p->address + value;
	}
	value = strtoull(*at, &end, 0);
	*at = end;
	return value;
}

static void object_read(struct parser *p, const char *s)
{
	const char *name = strchr(s, ')');
	unsigned long number = *s == '(' ? strtoul(s + 1, NULL, 10) : 0;
	size_t n = strlen(p->object), length;

	if (number >= MAX_OBJECTS || !name) {
		p->bad = true;
		return;
	}
	if (name[1] == ' ') {
		length = strlen(name + 2);
		p->is_object[number] = length >= n && strcmp(name + 2 + length - n, p->object) == 0 &&
				       (length == n || name[2 + length - n - 1] == '/');
		p->is_unknown[number] = strcmp(name + 2, "???") == 0;
	}
	p->inside = p->is_object[number];
	p->unknown = p->is_unknown[number];
}

/* "cmd:  ./gen -x": is it the object? Its path may be relative. */
static void command_read(struct parser *p, const char *s)
{
	size_t n = strlen(p->object), length;

	s += strspn(s, " ");
	length = strcspn(s, " ");
	for (; length > 2 && s[0] == '.' && s[1] == '/'; length -= 2)
		s += 2;
	for (; length && *s == '/'; length--)
		s++;
	p->is_program = length && length <= n && strncmp(p->object + n - length, s, length) == 0 &&
			(length == n || p->object[n - length - 1] == '/');
}

/* "ob=" of a callee only names the file. */
static void object_name(struct parser *p, const char *s)
{
	bool inside = p->inside, unknown = p->unknown;

	object_read(p, s);
	p->inside = inside;
	p->unknown = unknown;
}

static void cost_line(struct parser *p, const char *line)
{
	uint64_t address = position(p, &line);
	unsigned long long count;

	if (p->next == LINE_JUMP) {
		p->jump.from = address;
		p->address = address;
		jump_add(p);
	}
	p->address = address;
	if (p->next == LINE_COST && sscanf(line, "%*s %llu", &count) == 1)
		count_add(p, count);
	p->next = LINE_COST;
}

static void jump_line(struct parser *p, const char *line)
{
	const char *target = strchr(line, ' ');

	p->next = LINE_JUMP;
	p->jump.taken = strtoull(line, NULL, 10);
	if (!target) {
		p->bad = true;
		return;
	}
	target++;
	p->jump.to = position(p, &target);
}

static void line_read(struct parser *p, const char *line)
{
	if (strchr("+-*0123456789", *line) && *line)
		cost_line(p, line);
	else if (strncmp(line, "ob=", 3) == 0)
		object_read(p, line + 3);
	else if (strncmp(line, "cob=", 4) == 0)
		object_name(p, line + 4);
	else if (strncmp(line, "cmd:", 4) == 0)
		command_read(p, line + 4);
	else if (strncmp(line, "calls=", 6) == 0)
		p->next = LINE_CALL;
	else if (strncmp(line, "jump=", 5) == 0 || strncmp(line, "jcnd=", 5) == 0)
		jump_line(p, line + 5);
}

static int count_compare(const void *a, const void *b)
{
	const struct callgrind_count *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static int jump_compare(const void *a, const void *b)
{
	const struct callgrind_jump *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

static void unite(struct callgrind *c)
{
	size_t n = 0;

	if (c->n_counts)
		qsort(c->counts, c->n_counts, sizeof(*c->counts), count_compare);
	for (size_t i = 0; i < c->n_counts; i++) {
		if (n && c->counts[n - 1].address == c->counts[i].address)
			c->counts[n - 1].count += c->counts[i].count;
		else
			c->counts[n++] = c->counts[i];
	}
	c->n_counts = n;
	if (c->n_jumps)
		qsort(c->jumps, c->n_jumps, sizeof(*c->jumps), jump_compare);
	n = 0;
	for (size_t i = 0; i < c->n_jumps; i++) {
		if (n && jump_compare(&c->jumps[n - 1], &c->jumps[i]) == 0)
			c->jumps[n - 1].taken += c->jumps[i].taken;
		else
			c->jumps[n++] = c->jumps[i];
	}
	c->n_jumps = n;
}

int callgrind_read(struct callgrind *into, const char *path, const char *object, struct fault *reterr)
{
	struct parser *p = calloc(1, sizeof(*p));
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t capacity = 0, n_lines = 0;
	ssize_t n;
	int r = 0;

	if (!p || !file) {
		r = fault_errno(reterr, p ? -errno : -ENOMEM, "%s", path);
		goto out;
	}
	p->into = into;
	p->object = object;
	while (!p->bad && (n = getline(&line, &capacity, file)) > 0) {
		if (line[n - 1] == '\n')
			line[n - 1] = '\0';
		if (n_lines++ == 0 && strcmp(line, "# callgrind format") != 0)
			p->bad = true;
		line_read(p, line);
	}
	if (p->bad || n_lines == 0)
		r = fault_set(reterr, -EBADMSG, "%s: line %zu is not what callgrind writes", path, n_lines);
	unite(into);
out:
	free(line);
	free(p);
	if (file)
		fclose(file);
	return r;
}

void callgrind_done(struct callgrind *callgrind)
{
	free(callgrind->counts);
	free(callgrind->jumps);
	*callgrind = (struct callgrind){ 0 };
}

uint64_t callgrind_count_of(const struct callgrind *callgrind, uint64_t address)
{
	size_t low = LOWER_BOUND(0, callgrind->n_counts, middle, callgrind->counts[middle].address < address);

	return low < callgrind->n_counts && callgrind->counts[low].address == address ?
		       callgrind->counts[low].count :
		       0;
}

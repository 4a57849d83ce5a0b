/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "editor/count/indirect.h"

#include <errno.h>
#include <llvm-c/Core.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "editor/ir/function_index.h"
#include "editor/ir/ir.h"
#include "module/md5.h"

/* How likely a function is a target whose pointer is not known to be kept where the call finds it ... */
#define ELSEWHERE 0.02
/* ... and how likely a call goes to, or comes from, what the module does not have. */
#define OUTSIDE 0.02
#define ROUNDS 60
/* Of all calls of one type, times all functions; larger tables are left alone. */
#define MAX_TABLE (1u << 20)
/*
 * Targets are told when so much of a call is explained (counts of short functions are often too low), up to so many, each of
 * them so much of what the others left.
 */
#define MIN_EXPLAINED 0.25
#define MAX_TARGETS 2
#define MIN_SHARE 0.5

struct target {
	LLVMTypeRef type;
	uint64_t guid;
	bool is_pointed_to;
	double entered; /* times that no direct call explains */
};

struct site {
	LLVMValueRef call;
	LLVMTypeRef type;
	struct slot slot;
	double executions;
	size_t number;
};

struct indirect {
	struct arena *arena;
	LLVMModuleRef module;
	const struct slots *slots;
	struct function_index index;
	struct target *targets; /* by index */
	struct site *sites;
	size_t n_sites, capacity;
};

struct indirect *indirect_new(LLVMModuleRef module, const struct slots *slots)
{
	struct indirect *indirect = calloc(1, sizeof(*indirect));

	if (!indirect)
		return NULL;
	indirect->module = module;
	indirect->slots = slots;
	indirect->arena = arena_new();
	if (indirect->arena && function_index_build(module, indirect->arena, &indirect->index) == 0)
		indirect->targets = arena_array(indirect->arena, struct target, indirect->index.n);
	if (!indirect->targets) {
		indirect_free(indirect);
		return NULL;
	}
	for (uint32_t f = 0; f < indirect->index.n; f++) {
		struct target *target = &indirect->targets[f];

		target->type = LLVMGlobalGetValueType(indirect->index.functions[f]);
		target->guid = slots_guid(module, indirect->index.functions[f]);
		target->is_pointed_to = slots_has(slots, target->guid);
	}
	return indirect;
}

void indirect_free(struct indirect *indirect)
{
	if (!indirect)
		return;
	arena_free(indirect->arena);
	free(indirect->sites);
	free(indirect);
}

static int site_add(struct indirect *indirect, LLVMValueRef call, uint64_t executions)
{
	if (indirect->n_sites == indirect->capacity) {
		size_t capacity = indirect->capacity ? indirect->capacity * 2 : 64;
		struct site *sites = reallocarray(indirect->sites, capacity, sizeof(*sites));

		if (!sites)
			return -ENOMEM;
		indirect->sites = sites;
		indirect->capacity = capacity;
	}
	indirect->sites[indirect->n_sites] = (struct site){
		.call = call,
		.type = LLVMGetCalledFunctionType(call),
		.slot = slot_of_call(indirect->module, call),
		.executions = (double)executions,
		.number = indirect->n_sites,
	};
	indirect->n_sites++;
	return 0;
}

int indirect_note(LLVMBasicBlockRef block, uint64_t executions, void *user)
{
	struct indirect *indirect = user;
	LLVMValueRef function = LLVMGetBasicBlockParent(block);
	uint32_t f = function_index_find(&indirect->index, function);
	int r = 0;

	if (!executions || f == FUNCTION_NONE)
		return 0;
	if (block == LLVMGetEntryBasicBlock(function))
		indirect->targets[f].entered += (double)executions;
	for (LLVMValueRef i = LLVMGetFirstInstruction(block); i && r == 0; i = LLVMGetNextInstruction(i)) {
		LLVMValueRef callee = is_call(i) ? LLVMGetCalledValue(i) : NULL;
		uint32_t target = callee ? function_index_find(&indirect->index, callee) : FUNCTION_NONE;

		if (target != FUNCTION_NONE)
			indirect->targets[target].entered -= (double)executions;
		else if (callee && !LLVMIsAConstant(callee) && !LLVMIsAInlineAsm(callee))
			r = site_add(indirect, i, executions);
	}
	return r;
}

/* ---- the table of calls ---- */

/* Calls and functions of one type. */
struct table {
	const struct site *sites; /* rows */
	size_t n_sites;
	uint32_t *targets; /* columns: functions by index */
	size_t n_targets;
	double *calls; /* row by row */
};

static int table_build(const struct indirect *indirect, const struct site *sites, size_t n_sites,
		       struct arena *arena, struct table *ret)
{
	struct table table = { .sites = sites, .n_sites = n_sites };

	table.targets = arena_array(arena, uint32_t, indirect->index.n);
	if (!table.targets)
		return -ENOMEM;
	for (uint32_t f = 0; f < indirect->index.n; f++) {
		const struct target *target = &indirect->targets[f];

		if (target->is_pointed_to && target->type == sites->type && target->entered > 0)
			table.targets[table.n_targets++] = f;
	}
	if (table.n_targets > MAX_TABLE / n_sites)
		table.n_targets = 0;
	table.calls = arena_array(arena, double, n_sites *table.n_targets);
	if (!table.calls)
		return -ENOMEM;
	for (size_t s = 0; s < n_sites; s++)
		for (size_t t = 0; t < table.n_targets; t++) {
			uint64_t guid = indirect->targets[table.targets[t]].guid;
			bool is_likely = sites[s].slot.field == SLOT_UNKNOWN ||
					 slots_keeps(indirect->slots, guid, sites[s].slot);

			table.calls[s * table.n_targets + t] = is_likely ? 1 : ELSEWHERE;
		}
	*ret = table;
	return 0;
}

/*
 * calls[s][t] = likelihood[s][t] * row[s] * column[t], with rows and columns found in turns so that the sums hold. Both have
 * one cell more, for what the module does not have, whose other factor is 1.
 */
static int table_fit(const struct indirect *indirect, struct table *table, struct arena *arena)
{
	double *row = arena_array(arena, double, table->n_sites),
	       *column = arena_array(arena, double, table->n_targets);
	size_t n = table->n_targets;

	if (!row || !column)
		return -ENOMEM;
	for (size_t t = 0; t < n; t++)
		column[t] = sqrt(indirect->targets[table->targets[t]].entered);
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (size_t s = 0; s < table->n_sites; s++) {
			double sum = OUTSIDE;

			for (size_t t = 0; t < n; t++)
				sum += table->calls[s * n + t] * column[t];
			row[s] = table->sites[s].executions / sum;
		}
		for (size_t t = 0; t < n; t++) {
			double sum = OUTSIDE;

			for (size_t s = 0; s < table->n_sites; s++)
				sum += table->calls[s * n + t] * row[s];
			column[t] = indirect->targets[table->targets[t]].entered / sum;
		}
	}
	for (size_t s = 0; s < table->n_sites; s++)
		for (size_t t = 0; t < n; t++)
			table->calls[s * n + t] *= row[s] * column[t];
	return 0;
}

/* ---- what LLVM is told ---- */

/* By which LLVM's pass finds a function (getPGOFuncName()): MD5 of the name, with the file's before it when it is local. */
static int value_of(const struct indirect *indirect, LLVMValueRef function, uint64_t *ret)
{
	LLVMLinkage linkage = LLVMGetLinkage(function);
	bool is_local = linkage == LLVMInternalLinkage || linkage == LLVMPrivateLinkage;
	size_t size, file_size;
	const char *name = LLVMGetValueName2(function, &size);
	const char *file = LLVMGetSourceFileName(indirect->module, &file_size);
	char *whole;
	int n = asprintf(&whole, "%.*s%s%.*s", is_local ? (int)file_size : 0, file, is_local ? ";" : "",
			 (int)size, name);

	if (n < 0)
		return -ENOMEM;
	*ret = md5_guid(whole, (size_t)n);
	free(whole);
	return 0;
}

/*
 * The column with most calls that pays; its calls become 0, so that it is not found again. A function that calls itself by a
 * guess has no copies any more, so that is none to make.
 */
static bool best_take(const struct indirect *indirect, const struct inlining *inlining,
		      const struct table *table, size_t s, double scale, double min, uint32_t *retfunction,
		      double *retcalls)
{
	LLVMValueRef call = table->sites[s].call,
		     caller = LLVMGetBasicBlockParent(LLVMGetInstructionParent(call));
	double *calls = &table->calls[s * table->n_targets], most = min / scale;
	size_t best = SIZE_MAX;

	for (size_t t = 0; t < table->n_targets; t++) {
		LLVMValueRef callee = indirect->index.functions[table->targets[t]];

		if (calls[t] < most || callee == caller ||
		    !inlining_pays(inlining, call, callee, (uint64_t)(calls[t] * scale)))
			continue;
		most = calls[t];
		best = t;
	}
	if (best == SIZE_MAX)
		return false;
	*retfunction = table->targets[best];
	*retcalls = calls[best] * scale;
	calls[best] = 0;
	return true;
}

static int site_mark(const struct indirect *indirect, const struct inlining *inlining,
		     const struct table *table, size_t s, struct indirect_stats *stats)
{
	LLVMContextRef context = ir_context();
	LLVMTypeRef i32 = LLVMInt32TypeInContext(context), i64 = LLVMInt64TypeInContext(context);
	const struct site *site = &table->sites[s];
	LLVMMetadataRef operands[3 + 2 * MAX_TARGETS];
	double explained = 0, rest = site->executions, calls;
	size_t n = 3;
	uint32_t f;

	for (size_t t = 0; t < table->n_targets; t++)
		explained += table->calls[s * table->n_targets + t];
	if (explained < MIN_EXPLAINED * site->executions)
		return 0;
	while (n < ARRAY_SIZE(operands) && rest >= 1 &&
	       best_take(indirect, inlining, table, s, site->executions / explained, MIN_SHARE * rest, &f,
			 &calls)) {
		uint64_t value;

		if (value_of(indirect, indirect->index.functions[f], &value) < 0)
			return -ENOMEM;
		operands[n++] = ir_md_int(i64, value);
		operands[n++] = ir_md_int(i64, (uint64_t)calls);
		rest -= calls;
		stats->n_targets++;
		stats->direct += floor(calls);
	}
	if (n == 3)
		return 0;
	operands[0] = LLVMMDStringInContext2(context, "VP", 2);
	operands[1] = ir_md_int(i32, 0); /* IPVK_IndirectCallTarget */
	operands[2] = ir_md_int(i64, (uint64_t)site->executions);
	LLVMSetMetadata(site->call, LLVMGetMDKindIDInContext(context, "prof", 4),
			LLVMMetadataAsValue(context, LLVMMDNodeInContext2(context, operands, n)));
	return 0;
}

static int by_type(const void *a, const void *b)
{
	const struct site *x = a, *y = b;

	if (x->type != y->type)
		return (uintptr_t)x->type < (uintptr_t)y->type ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

int indirect_mark(struct indirect *indirect, const struct inlining *inlining, struct indirect_stats *ret)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	int r = arena ? 0 : -ENOMEM;

	*ret = (struct indirect_stats){ .n_calls = indirect->n_sites };
	if (indirect->n_sites)
		qsort(indirect->sites, indirect->n_sites, sizeof(struct site), by_type);
	for (size_t s = 0, n; s < indirect->n_sites && r == 0; s += n) {
		struct table table;

		for (n = 1;
		     s + n < indirect->n_sites && indirect->sites[s + n].type == indirect->sites[s].type;)
			n++;
		r = table_build(indirect, &indirect->sites[s], n, arena, &table);
		if (r == 0)
			r = table_fit(indirect, &table, arena);
		for (size_t i = 0; i < n && r == 0; i++) {
			ret->executed += table.sites[i].executions;
			r = site_mark(indirect, inlining, &table, i, ret);
		}
		arena_reset(arena);
	}
	return r;
}

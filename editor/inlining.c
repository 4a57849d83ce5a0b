/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "editor/inlining.h"

#include <errno.h>
#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/macro.h"
#include "layout/heap.h"

/* Instructions that a call costs beyond its callee's: call, return, saving registers, keeping the frame. */
#define CALL_COST 12.0
#define ARGUMENT_COST 2.0
/* What the callee's own code loses beside more live values, as a share of what it executes. */
#define PRESSURE 0.02
/* A copy must save this share of all instructions executed, per instruction of its size ... */
#define MIN_DENSITY 2e-6
/* ... and all copies together may be this share of the module. */
#define GROWTH_BUDGET 0.5
/* Frames of callees become part of their callers', which may be deep in a recursion. */
#define MAX_FRAME_BYTES 512

struct function {
	LLVMValueRef value;
	uint64_t size;	 /* instructions, with the copies chosen so far */
	uint64_t copies; /* of it, in others */
	double executed, entered; /* instructions; times */
	bool takes_copies, gives_copies;
	uint32_t first_chosen; /* of its calls, a site; UINT32_MAX: none */
	uint32_t seen;	       /* by the search of this number */
};

struct site {
	LLVMValueRef call;
	uint32_t caller, callee;
	uint32_t next_chosen; /* of the caller's */
	uint64_t executions;
	double saved; /* instructions per execution, of the call alone */
};

struct candidate {
	struct heap_key key; /* a: the site */
};

struct inlining {
	struct arena *arena;
	LLVMModuleRef module;
	struct function *functions; /* in the module's order */
	uint32_t *by_value;	    /* the same, sorted by address */
	uint32_t n_functions;
	struct site *sites;
	size_t n_sites, capacity;
	uint32_t n_searches, *stack;
	double executed;
};

/* ---- functions ---- */

static bool is_free(LLVMValueRef instruction)
{
	LLVMValueRef callee;
	const char *name;
	size_t size;

	if (LLVMGetInstructionOpcode(instruction) == LLVMPHI)
		return true;
	if (!LLVMIsAIntrinsicInst(instruction))
		return false;
	callee = LLVMGetCalledValue(instruction);
	name = LLVMGetValueName2(callee, &size);
	return strncmp(name, "llvm.pseudoprobe", size) == 0 || strncmp(name, "llvm.dbg.", 9) == 0 ||
	       strncmp(name, "llvm.lifetime.", 14) == 0 || strncmp(name, "llvm.assume", size) == 0;
}

static uint64_t block_size(LLVMBasicBlockRef block)
{
	uint64_t n = 0;

	for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i))
		n += !is_free(i);
	return n;
}

static bool has_attribute(LLVMValueRef function, const char *name)
{
	unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));

	return LLVMGetEnumAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, kind);
}

/* What LLVM's cost analysis would refuse; `alwaysinline` goes round it. */
static bool may_be_copied(LLVMModuleRef module, LLVMValueRef function)
{
	LLVMTargetDataRef layout = LLVMGetModuleDataLayout(module);
	uint64_t frame = 0;

	switch (LLVMGetLinkage(function)) {
	case LLVMInternalLinkage:
	case LLVMPrivateLinkage:
	case LLVMLinkOnceODRLinkage:
	case LLVMWeakODRLinkage:
		break;
	case LLVMExternalLinkage:
		/* Another definition may take its place when the program is loaded. */
		if (LLVMGetModuleFlag(module, "SemanticInterposition", strlen("SemanticInterposition")))
			return false;
		break;
	default:
		return false;
	}
	if (has_attribute(function, "noinline") || has_attribute(function, "optnone") ||
	    has_attribute(function, "naked") || has_attribute(function, "returns_twice") ||
	    has_attribute(function, "presplitcoroutine") || has_attribute(function, "strictfp"))
		return false;
	if (LLVMIsFunctionVarArg(LLVMGlobalGetValueType(function)))
		return false;
	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b)) {
		if (LLVMGetInstructionOpcode(LLVMGetBasicBlockTerminator(b)) == LLVMIndirectBr)
			return false;
		for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
			if (LLVMGetInstructionOpcode(i) != LLVMAlloca)
				continue;
			if (!LLVMIsAConstantInt(LLVMGetOperand(i, 0)))
				return false;
			frame += LLVMABISizeOfType(layout, LLVMGetAllocatedType(i)) *
				 LLVMConstIntGetZExtValue(LLVMGetOperand(i, 0));
		}
	}
	return frame <= MAX_FRAME_BYTES;
}

static int by_address(const void *a, const void *b, void *user)
{
	const struct function *functions = user;
	const char *x = (const char *)functions[*(const uint32_t *)a].value;
	const char *y = (const char *)functions[*(const uint32_t *)b].value;

	return (x > y) - (x < y);
}

static uint32_t function_find(const struct inlining *inlining, LLVMValueRef value)
{
	uint32_t low = 0, high = inlining->n_functions;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		uint32_t f = inlining->by_value[middle];

		if (inlining->functions[f].value == value)
			return f;
		if ((const char *)inlining->functions[f].value < (const char *)value)
			low = middle + 1;
		else
			high = middle;
	}
	return UINT32_MAX;
}

static bool is_call(LLVMValueRef instruction)
{
	LLVMOpcode opcode = LLVMGetInstructionOpcode(instruction);

	return opcode == LLVMCall || opcode == LLVMInvoke;
}

/* ---- calls ---- */

struct inlining *inlining_new(LLVMModuleRef module)
{
	struct inlining *inlining = calloc(1, sizeof(*inlining));
	uint32_t n = 0;

	if (!inlining)
		return NULL;
	inlining->module = module;
	inlining->arena = arena_new();
	for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
		n += !LLVMIsDeclaration(f);
	if (inlining->arena) {
		inlining->functions = arena_array(inlining->arena, struct function, n);
		inlining->by_value = arena_array(inlining->arena, uint32_t, n);
		inlining->stack = arena_array(inlining->arena, uint32_t, n);
	}
	if (!inlining->functions || !inlining->by_value || !inlining->stack) {
		inlining_free(inlining);
		return NULL;
	}
	for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
		struct function *function = &inlining->functions[inlining->n_functions];

		if (LLVMIsDeclaration(f))
			continue;
		function->value = f;
		function->first_chosen = UINT32_MAX;
		function->gives_copies = may_be_copied(module, f);
		function->takes_copies = !has_attribute(f, "optnone") && !has_attribute(f, "naked") &&
					 !has_attribute(f, "strictfp");
		for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
			function->size += block_size(b);
		inlining->by_value[inlining->n_functions] = inlining->n_functions;
		inlining->n_functions++;
	}
	qsort_r(inlining->by_value, inlining->n_functions, sizeof(uint32_t), by_address, inlining->functions);
	return inlining;
}

void inlining_free(struct inlining *inlining)
{
	if (!inlining)
		return;
	arena_free(inlining->arena);
	free(inlining->sites);
	free(inlining);
}

/* Code for another CPU, or of another language's exceptions, must stay in a function of its own. */
static bool are_alike(LLVMValueRef a, LLVMValueRef b)
{
	static const char *const names[] = { "target-cpu", "target-features", "probe-stack", "null-pointer-is-valid" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		unsigned size = (unsigned)strlen(names[i]), x_size = 0, y_size = 0;
		LLVMAttributeIndex index = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;
		LLVMAttributeRef x = LLVMGetStringAttributeAtIndex(a, index, names[i], size);
		LLVMAttributeRef y = LLVMGetStringAttributeAtIndex(b, index, names[i], size);
		const char *x_value = x ? LLVMGetStringAttributeValue(x, &x_size) : "";
		const char *y_value = y ? LLVMGetStringAttributeValue(y, &y_size) : "";

		if (x_size != y_size || memcmp(x_value, y_value, x_size) != 0)
			return false;
	}
	if (has_attribute(a, "null_pointer_is_valid") != has_attribute(b, "null_pointer_is_valid") ||
	    has_attribute(a, "sanitize_address") != has_attribute(b, "sanitize_address") ||
	    has_attribute(a, "shadowcallstack") != has_attribute(b, "shadowcallstack"))
		return false;
	return !LLVMHasPersonalityFn(b) || !LLVMHasPersonalityFn(a) ||
	       LLVMGetPersonalityFn(a) == LLVMGetPersonalityFn(b);
}

static int site_add(struct inlining *inlining, const struct site *site)
{
	if (inlining->n_sites == inlining->capacity) {
		size_t capacity = inlining->capacity ? inlining->capacity * 2 : 256;
		struct site *sites = reallocarray(inlining->sites, capacity, sizeof(*sites));

		if (!sites)
			return -ENOMEM;
		inlining->sites = sites;
		inlining->capacity = capacity;
	}
	inlining->sites[inlining->n_sites++] = *site;
	return 0;
}

int inlining_note(LLVMBasicBlockRef block, uint64_t executions, void *user)
{
	struct inlining *inlining = user;
	uint32_t caller = function_find(inlining, LLVMGetBasicBlockParent(block));
	unsigned noinline = LLVMGetEnumAttributeKindForName("noinline", 8);
	int r = 0;

	if (!executions || caller == UINT32_MAX)
		return 0;
	inlining->executed += (double)executions * (double)block_size(block);
	inlining->functions[caller].executed += (double)executions * (double)block_size(block);
	if (block == LLVMGetEntryBasicBlock(LLVMGetBasicBlockParent(block)))
		inlining->functions[caller].entered = (double)executions;
	for (LLVMValueRef i = LLVMGetFirstInstruction(block); i && r == 0; i = LLVMGetNextInstruction(i)) {
		struct site site = { .call = i, .caller = caller, .executions = executions };

		if (!is_call(i))
			continue;
		site.callee = function_find(inlining, LLVMGetCalledValue(i));
		if (site.callee == UINT32_MAX || !inlining->functions[site.callee].gives_copies ||
		    !inlining->functions[caller].takes_copies ||
		    LLVMGetCalledFunctionType(i) != LLVMGlobalGetValueType(inlining->functions[site.callee].value) ||
		    LLVMGetCallSiteEnumAttribute(i, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, noinline) ||
		    !are_alike(inlining->functions[caller].value, inlining->functions[site.callee].value))
			continue;
		site.saved = CALL_COST + ARGUMENT_COST * LLVMGetNumArgOperands(i);
		r = site_add(inlining, &site);
	}
	return r;
}

/* ---- the choice ---- */

static double site_size(const struct inlining *inlining, const struct site *site)
{
	/* A copy in a function of which there are copies is there as many times. */
	return (double)inlining->functions[site->callee].size *
	       (double)(1 + inlining->functions[site->caller].copies);
}

/* Instructions that a copy here would save in all. */
static double site_saved(const struct inlining *inlining, const struct site *site)
{
	const struct function *callee = &inlining->functions[site->callee];

	return (double)site->executions * (site->saved - PRESSURE * callee->executed / MAX(callee->entered, 1.0));
}

static double site_density(const struct inlining *inlining, const struct site *site)
{
	return site_saved(inlining, site) / inlining->executed / MAX(site_size(inlining, site), 1.0);
}

/* Would a copy of @callee in @caller bring a copy of @caller with it? */
static bool is_cycle(struct inlining *inlining, uint32_t caller, uint32_t callee)
{
	uint32_t search = ++inlining->n_searches, n = 0;

	inlining->functions[callee].seen = search;
	inlining->stack[n++] = callee;
	while (n) {
		const struct function *function = &inlining->functions[inlining->stack[--n]];

		if (function == &inlining->functions[caller])
			return true;
		for (uint32_t s = function->first_chosen; s != UINT32_MAX; s = inlining->sites[s].next_chosen) {
			uint32_t g = inlining->sites[s].callee;

			if (inlining->functions[g].seen == search)
				continue;
			inlining->functions[g].seen = search;
			inlining->stack[n++] = g;
		}
	}
	return false;
}

static void site_choose(struct inlining *inlining, struct site *site, struct inlining_stats *stats)
{
	LLVMContextRef context = LLVMGetModuleContext(inlining->module);
	struct function *caller = &inlining->functions[site->caller], *callee = &inlining->functions[site->callee];
	unsigned kind = LLVMGetEnumAttributeKindForName("alwaysinline", strlen("alwaysinline"));

	LLVMAddCallSiteAttribute(site->call, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
				 LLVMCreateEnumAttribute(context, kind, 0));
	stats->n_chosen++;
	stats->growth += (uint64_t)site_size(inlining, site);
	stats->saved += site_saved(inlining, site);
	site->next_chosen = caller->first_chosen;
	caller->first_chosen = (uint32_t)(site - inlining->sites);
	callee->copies += 1 + caller->copies;
	caller->size += callee->size;
}

int inlining_choose(struct inlining *inlining, struct inlining_stats *ret)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	struct candidate best;
	struct heap heap;

	*ret = (struct inlining_stats){ .n_calls = inlining->n_sites, .executed = inlining->executed };
	if (!arena)
		return -ENOMEM;
	for (uint32_t f = 0; f < inlining->n_functions; f++)
		ret->size += inlining->functions[f].size;
	heap = heap_of(arena, sizeof(struct candidate));
	for (uint32_t s = 0; s < inlining->n_sites; s++) {
		const struct site *site = &inlining->sites[s];
		struct candidate candidate = { .key = { .gain = site_density(inlining, site), .a = s } };

		heap_push(&heap, &candidate);
	}
	while (heap_pop(&heap, &best) && best.key.gain >= MIN_DENSITY) {
		struct site *site = &inlining->sites[best.key.a];
		double density = site_density(inlining, site);

		if (density < best.key.gain) { /* what was chosen since made it dearer: it queues again */
			best.key.gain = density;
			heap_push(&heap, &best);
		} else if ((double)ret->growth + site_size(inlining, site) <= GROWTH_BUDGET * (double)ret->size &&
			   !is_cycle(inlining, site->caller, site->callee)) {
			site_choose(inlining, site, ret);
		}
	}
	return heap.no_memory ? -ENOMEM : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/count/inlining.h"

#include <errno.h>
#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/macro.h"
#include "editor/ir/function_index.h"
#include "layout/heap.h"

/*
 * Instructions that a call costs beyond its callee's: call, return, keeping the frame; saving and restoring registers, of which
 * a callee needs one in so many of its instructions; passing arguments.
 */
#define CALL_COST 6.0
#define REGISTER_COST 2.0
#define REGISTER_EVERY 10.0
#define MAX_REGISTERS 6.0
#define ARGUMENT_COST 2.0
/* What a copy's caller knows folds: a test of a constant and the jump after it; a load or store of the caller's own variable. */
#define TEST_COST 2.0
#define ACCESS_COST 1.0
/* A call through a pointer that is known becomes one that may be inlined. */
#define POINTER_COST 6.0
/* What the callee's own code loses beside more live values, as a share of what it executes. */
#define PRESSURE 0.05
/* Of a copy's size, what seldom runs counts for little: it goes out of line. Seldom: once in so many calls. */
#define SELDOM 20.0
#define SELDOM_COST 0.1
/*
 * What a copy takes of the room that there is for all of them, per instruction: it is four bytes long or so, and half of what is
 * copied folds, or was the callee's last and leaves as much room as it takes.
 */
#define COPY_BYTES 2.1
/* Frames of callees become part of their callers', which may be deep in a recursion. */
#define MAX_FRAME_BYTES 512

struct function {
	uint64_t size; /* instructions, with the copies chosen so far */
	double often; /* of them those that run at least once in SELDOM calls, the others by how often they do */
	uint64_t copies;	  /* of it, in others */
	double executed, entered; /* instructions; times */
	double *tested,
		*accessed; /* by parameter: instructions that fold when it is a constant; the address of a variable */
	unsigned n_parameters;
	bool takes_copies, gives_copies;
	uint32_t first_chosen; /* of its calls, a site; UINT32_MAX: none */
	uint32_t seen;	       /* by the search of this number */
};

struct site {
	LLVMValueRef call;
	uint32_t caller, callee;
	uint32_t next_chosen; /* of the caller's */
	uint64_t executions;
	double saved; /* instructions per execution */
	bool is_chosen;
};

struct candidate {
	struct heap_key key; /* a: the site */
};

struct inlining {
	struct arena *arena;
	LLVMModuleRef module;
	struct function_index index;
	struct function *functions; /* by index */
	struct site *sites;
	size_t n_sites, capacity;
	uint32_t n_searches, *stack;
	double executed, price;
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

/* What LLVM's cost analysis would refuse; `alwaysinline` goes round it. */
static bool may_be_copied(LLVMModuleRef module, LLVMValueRef function)
{
	LLVMTargetDataRef layout = LLVMGetModuleDataLayout(module);
	uint64_t frame = 0;

	switch (LLVMGetLinkage(function)) {
	case LLVMInternalLinkage:
	case LLVMPrivateLinkage:
	case LLVMLinkOnceODRLinkage:
	case LLVMWeakODRLinkage: break;
	case LLVMExternalLinkage:
		/* Another definition may take its place when the program is loaded. */
		if (LLVMGetModuleFlag(module, "SemanticInterposition", strlen("SemanticInterposition")))
			return false;
		break;
	default: return false;
	}
	if (function_has(function, "noinline") || function_has(function, "optnone") ||
	    function_has(function, "naked") || function_has(function, "returns_twice") ||
	    function_has(function, "presplitcoroutine") || function_has(function, "strictfp"))
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

/* ---- calls ---- */

struct inlining *inlining_new(LLVMModuleRef module, double price)
{
	struct inlining *inlining = calloc(1, sizeof(*inlining));

	if (!inlining)
		return NULL;
	inlining->module = module;
	inlining->price = price;
	inlining->arena = arena_new();
	if (inlining->arena && function_index_build(module, inlining->arena, &inlining->index) == 0) {
		inlining->functions = arena_array(inlining->arena, struct function, inlining->index.n);
		inlining->stack = arena_array(inlining->arena, uint32_t, inlining->index.n);
	}
	if (!inlining->functions || !inlining->stack) {
		inlining_free(inlining);
		return NULL;
	}
	for (uint32_t i = 0; i < inlining->index.n; i++) {
		struct function *function = &inlining->functions[i];
		LLVMValueRef f = inlining->index.functions[i];

		function->first_chosen = UINT32_MAX;
		function->n_parameters = LLVMCountParams(f);
		function->tested = arena_array(inlining->arena, double, function->n_parameters);
		function->accessed = arena_array(inlining->arena, double, function->n_parameters);
		if (!function->tested || !function->accessed) {
			inlining_free(inlining);
			return NULL;
		}
		function->gives_copies = may_be_copied(module, f);
		function->takes_copies = !function_has(f, "optnone") && !function_has(f, "naked") &&
					 !function_has(f, "strictfp");
		for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
			function->size += block_size(b);
	}
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
	static const char *const names[] = { "target-cpu", "target-features", "probe-stack",
					     "null-pointer-is-valid" };

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
	if (function_has(a, "null_pointer_is_valid") != function_has(b, "null_pointer_is_valid") ||
	    function_has(a, "sanitize_address") != function_has(b, "sanitize_address") ||
	    function_has(a, "shadowcallstack") != function_has(b, "shadowcallstack"))
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

/* ---- what a copy saves ---- */

/* The parameter that @pointer points into, at a place that is known; or @pointer, when it is none. */
static LLVMValueRef base_of(LLVMValueRef pointer)
{
	while (LLVMIsAGetElementPtrInst(pointer)) {
		for (int i = 1; i < LLVMGetNumOperands(pointer); i++)
			if (!LLVMIsAConstantInt(LLVMGetOperand(pointer, (unsigned)i)))
				return pointer;
		pointer = LLVMGetOperand(pointer, 0);
	}
	return pointer;
}

static void parameter_add(struct function *function, LLVMValueRef value, double *sums, double saved)
{
	unsigned k = LLVMIsAArgument(value) ? parameter_number(value) : function->n_parameters;

	if (k < function->n_parameters)
		sums[k] += saved;
}

/* What would fold in a copy of @function when its caller knows the parameters. */
static void folding_note(struct function *function, LLVMValueRef i, double executions)
{
	LLVMOpcode opcode = LLVMGetInstructionOpcode(i);

	if (opcode == LLVMLoad || opcode == LLVMStore) {
		LLVMValueRef pointer = LLVMGetOperand(i, opcode == LLVMStore);

		parameter_add(function, base_of(pointer), function->accessed, ACCESS_COST * executions);
	} else if (is_call(i)) {
		parameter_add(function, LLVMGetCalledValue(i), function->tested, POINTER_COST * executions);
	} else if (opcode == LLVMSwitch) {
		parameter_add(function, LLVMGetOperand(i, 0), function->tested, TEST_COST * executions);
	} else if (opcode == LLVMICmp) {
		for (unsigned k = 0; k < 2; k++)
			if (LLVMIsAConstant(LLVMGetOperand(i, 1 - k)))
				parameter_add(function, LLVMGetOperand(i, k), function->tested,
					      TEST_COST * executions);
	} else if (LLVMIsABinaryOperator(i)) {
		for (unsigned k = 0; k < 2; k++)
			parameter_add(function, LLVMGetOperand(i, k), function->tested, executions);
	}
}

static double call_saves(const struct function *callee, LLVMValueRef call)
{
	unsigned n = MIN(LLVMGetNumArgOperands(call), callee->n_parameters);
	double per_call = 1 / fmax(callee->entered, 1);
	double saved = CALL_COST + ARGUMENT_COST * LLVMGetNumArgOperands(call) +
		       REGISTER_COST * fmin((double)callee->size / REGISTER_EVERY, MAX_REGISTERS);

	for (unsigned k = 0; k < n; k++) {
		LLVMValueRef argument = LLVMGetOperand(call, k);

		if (LLVMIsAConstant(argument))
			saved += callee->tested[k] * per_call;
		else if (LLVMIsAAllocaInst(base_of(argument)))
			saved += callee->accessed[k] * per_call;
	}
	return saved - PRESSURE * callee->executed * per_call;
}

static bool is_possible(const struct inlining *inlining, const struct site *site)
{
	return inlining->functions[site->callee].gives_copies &&
	       inlining->functions[site->caller].takes_copies &&
	       are_alike(inlining->index.functions[site->caller], inlining->index.functions[site->callee]);
}

/* How much of a block that runs so often counts, 0..1. */
static double often(const struct function *function, double executions)
{
	return fmin(1, SELDOM * executions / fmax(function->entered, 1));
}

int inlining_note(LLVMBasicBlockRef block, uint64_t executions, void *user)
{
	struct inlining *inlining = user;
	uint32_t caller = function_index_find(&inlining->index, LLVMGetBasicBlockParent(block));
	double size = (double)block_size(block), executed = (double)executions * size;
	struct function *function;
	unsigned noinline = LLVMGetEnumAttributeKindForName("noinline", 8);
	int r = 0;

	if (!executions || caller == FUNCTION_NONE)
		return 0;
	function = &inlining->functions[caller];
	if (block == LLVMGetEntryBasicBlock(LLVMGetBasicBlockParent(block)))
		function->entered = (double)executions;
	inlining->executed += executed;
	function->executed += executed;
	function->often += often(function, (double)executions) * size;
	for (LLVMValueRef i = LLVMGetFirstInstruction(block); i && r == 0; i = LLVMGetNextInstruction(i)) {
		struct site site = { .call = i, .caller = caller, .executions = executions };

		folding_note(function, i, (double)executions);
		if (!is_call(i))
			continue;
		site.callee = function_index_find(&inlining->index, LLVMGetCalledValue(i));
		if (site.callee == FUNCTION_NONE || !is_possible(inlining, &site) ||
		    LLVMGetCalledFunctionType(i) !=
			    LLVMGlobalGetValueType(inlining->index.functions[site.callee]) ||
		    LLVMGetCallSiteEnumAttribute(i, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, noinline))
			continue;
		r = site_add(inlining, &site);
	}
	return r;
}

/* ---- the choice ---- */

/* Of what a copy brings, instructions that count; a copy in a function of which there are copies is there as many times. */
static double site_size(const struct inlining *inlining, const struct site *site)
{
	const struct function *callee = &inlining->functions[site->callee];
	double size = SELDOM_COST * (double)callee->size + (1 - SELDOM_COST) * callee->often;

	return size * (double)(1 + inlining->functions[site->caller].copies);
}

static double site_density(const struct inlining *inlining, const struct site *site)
{
	return (double)site->executions * site->saved / inlining->executed /
	       MAX(site_size(inlining, site), 1.0);
}

bool inlining_pays(const struct inlining *inlining, LLVMValueRef call, LLVMValueRef callee,
		   uint64_t executions)
{
	LLVMValueRef caller = LLVMGetBasicBlockParent(LLVMGetInstructionParent(call));
	struct site site = { .call = call,
			     .caller = function_index_find(&inlining->index, caller),
			     .callee = function_index_find(&inlining->index, callee),
			     .executions = executions };

	if (site.caller == FUNCTION_NONE || site.callee == FUNCTION_NONE || !is_possible(inlining, &site))
		return false;
	site.saved = call_saves(&inlining->functions[site.callee], call);
	return site_density(inlining, &site) >= inlining->price;
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
		for (uint32_t s = function->first_chosen; s != UINT32_MAX;
		     s = inlining->sites[s].next_chosen) {
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
	struct function *caller = &inlining->functions[site->caller],
			*callee = &inlining->functions[site->callee];

	site->is_chosen = true;
	stats->n_chosen++;
	stats->growth += (uint64_t)site_size(inlining, site);
	stats->saved += (double)site->executions * site->saved;
	site->next_chosen = caller->first_chosen;
	caller->first_chosen = (uint32_t)(site - inlining->sites);
	callee->copies += 1 + caller->copies;
	caller->size += callee->size;
	caller->often += often(caller, (double)site->executions) * callee->often;
}

/* LLVM's inliner is left no choice among the candidates: it would copy where that saves next to nothing. */
static void site_mark(const struct inlining *inlining, const struct site *site)
{
	const char *name = site->is_chosen ? "alwaysinline" : "noinline";
	unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));

	LLVMAddCallSiteAttribute(site->call, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
				 LLVMCreateEnumAttribute(LLVMGetModuleContext(inlining->module), kind, 0));
}

int inlining_choose(struct inlining *inlining, double room, struct inlining_stats *ret)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	struct candidate best;
	struct heap heap;

	*ret = (struct inlining_stats){ .n_calls = inlining->n_sites,
					.room = room / COPY_BYTES,
					.executed = inlining->executed };
	if (!arena)
		return -ENOMEM;
	for (uint32_t f = 0; f < inlining->index.n; f++)
		ret->size += inlining->functions[f].size;
	heap = heap_of(arena, sizeof(struct candidate));
	for (uint32_t s = 0; s < inlining->n_sites; s++) {
		struct site *site = &inlining->sites[s];
		struct candidate candidate = { .key.a = s };

		site->saved = call_saves(&inlining->functions[site->callee], site->call);
		candidate.key.gain = site_density(inlining, site);
		heap_push(&heap, &candidate);
	}
	while (heap_pop(&heap, &best) && best.key.gain >= inlining->price) {
		struct site *site = &inlining->sites[best.key.a];
		double density = site_density(inlining, site);

		if (density < best.key.gain) { /* what was chosen since made it dearer: it queues again */
			best.key.gain = density;
			heap_push(&heap, &best);
		} else if ((double)ret->growth + site_size(inlining, site) <= ret->room &&
			   !is_cycle(inlining, site->caller, site->callee)) {
			site_choose(inlining, site, ret);
		}
	}
	for (uint32_t s = 0; s < inlining->n_sites; s++)
		site_mark(inlining, &inlining->sites[s]);
	return heap.no_memory ? -ENOMEM : 0;
}

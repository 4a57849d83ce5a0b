/* SPDX-License-Identifier: Apache-2.0 */

/* Which assumptions the code itself shows: cases by hand, and random programs, in which none that is said to be shown is ever false. */

#include "editor/trust/facts.h"

#include <llvm-c/Core.h>
#include <stdint.h>
#include <string.h>

#include "tests/editor/ir_text.h"

static bool is_assume(LLVMValueRef i)
{
	size_t size;
	LLVMValueRef callee = LLVMIsACallInst(i) ? LLVMGetCalledValue(i) : NULL;

	return callee && strcmp(LLVMGetValueName2(callee, &size), "llvm.assume") == 0;
}

static LLVMValueRef first_assume(LLVMValueRef function)
{
	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b))
		for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
			if (is_assume(i))
				return i;
	return NULL;
}

/* ---- by hand ---- */

#define DECLARED "declare void @llvm.assume(i1)\ndeclare i64 @next()\n"
#define UNROLLED(guard, rounds)                                                                           \
	DECLARED "define void @f(i64 %n, i8 %c) {\n"                                                      \
		 "entry:\n  " rounds "  %left = and i64 %m, 7\n  %few = " guard                           \
		 "\n  br i1 %few, label %last, label %many\n"                                             \
		 "many:\n  %x = call i64 @next()\n  %more = icmp eq i64 %x, 0\n"                          \
		 "  br i1 %more, label %done, label %many\n"                                              \
		 "done:\n  %none = icmp eq i64 %left, 0\n  br i1 %none, label %end, label %last\n"        \
		 "last:\n  %some = icmp ne i64 %left, 0\n  call void @llvm.assume(i1 %some)\n  br label " \
		 "%end\n"                                                                                 \
		 "end:\n  ret void\n}\n"

static const struct {
	const char *why, *text;
	bool is_shown;
} cases[] = {
	{ "fewer than eight, and one at least: what is counted is one less",
	  UNROLLED("icmp ult i64 %less, 7", "%m = add i64 %n, 0\n  %less = add i64 %n, -1\n"), true },
	{ "fewer than nine: eight leaves nothing over",
	  UNROLLED("icmp ult i64 %less, 8", "%m = add i64 %n, 0\n  %less = add i64 %n, -1\n"), false },
	{ "fewer than eight, and perhaps none", UNROLLED("icmp ult i64 %m, 8", "%m = add i64 %n, 0\n"),
	  false },
	{ "one of a byte's numbers", UNROLLED("icmp eq i8 %c, 3", "%m = zext i8 %c to i64\n"), true },
	{ "of another number than was asked", UNROLLED("icmp eq i64 %n, 3", "%m = zext i8 %c to i64\n"),
	  false },
	{ "there are too many numbers below 2 to try them all",
	  UNROLLED("icmp slt i64 %m, 2", "%m = or i64 %n, 1\n"), false },
	{ "the branch asked the same",
	  DECLARED
	  "define void @f(i64 %n) {\n  %a = icmp ult i64 %n, 1000000\n  br i1 %a, label %yes, label %no\n"
	  "yes:\n  %b = icmp ult i64 %n, 1000000\n  call void @llvm.assume(i1 %b)\n  br label %no\n"
	  "no:\n  ret void\n}\n",
	  true },
	{ "the branch asked the same, and the answer was no",
	  DECLARED
	  "define void @f(i64 %n) {\n  %a = icmp ult i64 %n, 1000000\n  br i1 %a, label %no, label %yes\n"
	  "yes:\n  %b = icmp ult i64 %n, 1000000\n  call void @llvm.assume(i1 %b)\n  br label %no\n"
	  "no:\n  ret void\n}\n",
	  false },
	{ "the branch asked whether not",
	  DECLARED "define void @f(i64 %n) {\n  %a = icmp uge i64 %n, 77\n  br i1 %a, label %no, label %yes\n"
		   "yes:\n  %b = icmp ult i64 %n, 77\n  call void @llvm.assume(i1 %b)\n  br label %no\n"
		   "no:\n  ret void\n}\n",
	  true },
	{ "both ways lead here",
	  DECLARED "define void @f(i64 %n) {\n  %a = icmp ult i64 %n, 9\n  br i1 %a, label %yes, label %yes\n"
		   "yes:\n  call void @llvm.assume(i1 %a)\n  ret void\n}\n",
	  false },
	{ "what was asked was the round before",
	  DECLARED
	  "define void @f() {\nentry:\n  br label %loop\n"
	  "loop:\n  %n = call i64 @next()\n  %a = icmp ult i64 %n, 5\n  call void @llvm.assume(i1 %a)\n"
	  "  br i1 %a, label %loop, label %end\nend:\n  ret void\n}\n",
	  false },
	{ "what was asked was made anew on the way",
	  DECLARED
	  "define void @f() {\nentry:\n  br label %loop\n"
	  "loop:\n  %p = phi i64 [ 0, %entry ], [ %n, %next ]\n  %b = icmp ult i64 %p, 5\n"
	  "  br i1 %b, label %body, label %end\n"
	  "body:\n  %n = call i64 @next()\n  %a = icmp ult i64 %n, 5\n  br i1 %a, label %next, label %end\n"
	  "next:\n  %again = icmp ult i64 %p, 5\n  call void @llvm.assume(i1 %again)\n  br label %loop\n"
	  "end:\n  ret void\n}\n",
	  true },
	{ "nobody asked",
	  DECLARED "define void @f(i64 %n) {\n  %a = icmp eq i64 %n, 0\n  call void @llvm.assume(i1 %a)\n  "
		   "ret void\n}\n",
	  false },
	{ "a lie that says so",
	  DECLARED
	  "define void @f() {\n  br label %on\non:\n  call void @llvm.assume(i1 false)\n  ret void\n}\n",
	  false },
	{ "who comes by an address was not asked",
	  DECLARED
	  "define void @f(i64 %n, ptr %to) {\n  %a = icmp eq i64 %n, 0\n  br i1 %a, label %yes, label %no\n"
	  "no:\n  indirectbr ptr %to, [label %yes]\n"
	  "yes:\n  call void @llvm.assume(i1 %a)\n  ret void\n}\n@at = global ptr blockaddress(@f, %yes)\n",
	  false },
	{ "of more bits than are counted with",
	  DECLARED
	  "define void @f(i128 %n) {\n  %a = icmp ult i128 %n, 3\n  br i1 %a, label %yes, label %no\n"
	  "yes:\n  %m = add i128 %n, 1\n  %b = icmp ult i128 %m, 4\n  call void @llvm.assume(i1 %b)\n  br "
	  "label %no\n"
	  "no:\n  ret void\n}\n",
	  false },
};

TEST(what_branches_have_asked_is_shown_and_nothing_else)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		LLVMModuleRef module = module_of(cases[i].text);

		if (facts_assumption_is_shown(first_assume(LLVMGetNamedFunction(module, "f"))) !=
		    cases[i].is_shown)
			FAIL("%s: it is%s", cases[i].why, cases[i].is_shown ? " not shown" : " shown");
		LLVMDisposeModule(module);
	}
}

/* ---- at random ---- */

#define BLOCKS_MAX 6
#define VALUES_MAX 64
#define TEXT_MAX 16384

static uint64_t seed = 1;

static unsigned any(unsigned n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % n;
}

struct program {
	char text[TEXT_MAX];
	size_t n_text;
	unsigned n_blocks, n_values;
	unsigned to[BLOCKS_MAX][2], n_to[BLOCKS_MAX], dominators[BLOCKS_MAX];
	unsigned of[VALUES_MAX]; /* the block of each value; values 0 and 1 are the parameters */
};

#define SAY(p, ...) \
	((p)->n_text += (size_t)snprintf((p)->text + (p)->n_text, TEXT_MAX - (p)->n_text, __VA_ARGS__))

static void shape_choose(struct program *p)
{
	bool changes = true;

	p->n_blocks = 3 + any(BLOCKS_MAX - 2);
	for (unsigned b = 0; b < p->n_blocks; b++) {
		p->n_to[b] = b == 0 ? 1 + any(2) : any(8) ? 1 + (any(3) > 0) : 0;
		for (unsigned k = 0; k < p->n_to[b]; k++)
			p->to[b][k] = b + 1 < p->n_blocks && any(3) ? b + 1 + any(p->n_blocks - b - 1) :
								      1 + any(p->n_blocks - 1);
		p->dominators[b] = b ? (1u << BLOCKS_MAX) - 1 : 1;
	}
	while (changes) {
		changes = false;
		for (unsigned b = 1; b < p->n_blocks; b++) {
			unsigned all = (1u << BLOCKS_MAX) - 1;

			for (unsigned a = 0; a < p->n_blocks; a++)
				for (unsigned k = 0; k < p->n_to[a]; k++)
					all &= p->to[a][k] == b ? p->dominators[a] : ~0u;
			all |= 1u << b;
			changes |= all != p->dominators[b];
			p->dominators[b] = all;
		}
	}
}

/* A value that is there at the end of what is written of @block. */
static unsigned value_at(const struct program *p, unsigned block)
{
	for (;;) {
		unsigned v = any(p->n_values);

		if (v < 2 || (p->of[v] < BLOCKS_MAX && p->dominators[block] >> p->of[v] & 1))
			return v;
	}
}

static void compare_say(struct program *p, const char *name, unsigned number, unsigned block)
{
	static const char *const predicates[] = { "eq", "ne", "ult", "ule", "ugt", "uge", "slt", "sge" };

	SAY(p, "  %%%s%u = icmp %s i16 %%v%u, %u\n", name, number, predicates[any(ARRAY_SIZE(predicates))],
	    value_at(p, block), any(3) ? any(3) : any(10));
}

static void block_say(struct program *p, unsigned b)
{
	for (unsigned n = 1 + any(3); n && p->n_values < VALUES_MAX; n--) {
		unsigned x = value_at(p, b);

		SAY(p, "  %%v%u = ", p->n_values);
		switch (any(4)) {
		case 0: SAY(p, "add i16 %%v%u, %d\n", x, (int)any(5) - 2); break;
		case 1: SAY(p, "and i16 %%v%u, %u\n", x, (2u << any(3)) - 1); break;
		case 2: SAY(p, "xor i16 %%v%u, %u\n", x, any(4)); break;
		case 3: SAY(p, "lshr i16 %%v%u, %u\n", x, any(3)); break;
		}
		p->of[p->n_values++] = b;
	}
	if (any(4)) {
		compare_say(p, "claim", b, b);
		SAY(p, "  call void @llvm.assume(i1 %%claim%u)\n", b);
	}
	if (p->n_to[b] == 2) {
		compare_say(p, "asked", b, b);
		SAY(p, "  br i1 %%asked%u, label %%b%u, label %%b%u\n", b, p->to[b][0], p->to[b][1]);
	} else if (p->n_to[b]) {
		SAY(p, "  br label %%b%u\n", p->to[b][0]);
	} else {
		SAY(p, "  ret void\n");
	}
}

/* Numbers of phis are given first, for blocks are written in order and a phi may name what comes later. */
static void program_make(struct program *p)
{
	unsigned phi[BLOCKS_MAX] = { 0 };
	char *bodies[BLOCKS_MAX];

	*p = (struct program){ .n_values = 2 };
	shape_choose(p);
	for (unsigned b = 1; b < p->n_blocks; b++)
		if (any(2)) {
			phi[b] = p->n_values;
			p->of[p->n_values++] = b;
		}
	for (unsigned b = 0; b < p->n_blocks; b++) {
		p->n_text = 0;
		block_say(p, b);
		bodies[b] = strdup(p->text);
	}
	p->n_text = 0;
	SAY(p, "declare void @llvm.assume(i1)\ndefine void @f(i16 %%v0, i8 %%c) {\nb0:\n  %%v1 = zext i8 %%c "
	       "to i16\n");
	for (unsigned b = 0; b < p->n_blocks; b++) {
		unsigned n = 0;

		if (b)
			SAY(p, "b%u:\n", b);
		for (unsigned a = 0; phi[b] && a < p->n_blocks; a++)
			for (unsigned k = 0; k < p->n_to[a]; k++)
				n += p->to[a][k] == b;
		if (phi[b] && !n)
			SAY(p, "  %%v%u = add i16 0, 0\n", phi[b]);
		else if (phi[b])
			SAY(p, "  %%v%u = phi i16 ", phi[b]);
		for (unsigned a = 0; phi[b] && a < p->n_blocks; a++) {
			char from[16];

			snprintf(from, sizeof(from), any(2) ? "%%v%u" : "%u", any(2) ? 0 : any(6));
			if (from[0] == '%')
				snprintf(from, sizeof(from), "%%v%u", value_at(p, a));
			for (unsigned k = 0; k < p->n_to[a]; k++)
				if (p->to[a][k] == b)
					SAY(p, "[ %s, %%b%u ]%s", from, a, --n ? ", " : "\n");
		}
		SAY(p, "%s", bodies[b]);
		free(bodies[b]);
	}
	SAY(p, "}\n");
}

struct run {
	uint64_t values[VALUES_MAX], asked[BLOCKS_MAX], claims[BLOCKS_MAX];
	uint64_t first, byte;
};

static uint64_t *place_of(struct run *run, LLVMValueRef value)
{
	size_t size;
	const char *name = LLVMGetValueName2(value, &size);

	if (strcmp(name, "c") == 0)
		return &run->byte;
	return name[0] == 'v' ? &run->values[atoi(name + 1)] :
	       name[0] == 'a' ? &run->asked[atoi(name + 5)] :
				&run->claims[atoi(name + 5)];
}

static uint64_t value_of(struct run *run, LLVMValueRef value)
{
	return LLVMIsAConstantInt(value) ? LLVMConstIntGetZExtValue(value) : *place_of(run, value);
}

static bool answer(LLVMIntPredicate predicate, uint16_t a, uint16_t b)
{
	switch (predicate) {
	case LLVMIntEQ: return a == b;
	case LLVMIntNE: return a != b;
	case LLVMIntUGT: return a > b;
	case LLVMIntUGE: return a >= b;
	case LLVMIntULT: return a < b;
	case LLVMIntULE: return a <= b;
	case LLVMIntSLT: return (int16_t)a < (int16_t)b;
	case LLVMIntSGE: return (int16_t)a >= (int16_t)b;
	default: FAIL("predicate %d", (int)predicate);
	}
}

static uint64_t result_of(struct run *run, LLVMValueRef i)
{
	uint64_t a = value_of(run, LLVMGetOperand(i, 0)),
		 b = LLVMGetNumOperands(i) > 1 ? value_of(run, LLVMGetOperand(i, 1)) : 0;

	switch (LLVMGetInstructionOpcode(i)) {
	case LLVMAdd: return (uint16_t)(a + b);
	case LLVMAnd: return a & b;
	case LLVMXor: return a ^ b;
	case LLVMLShr: return a >> b;
	case LLVMZExt: return a;
	case LLVMICmp: return answer(LLVMGetICmpPredicate(i), (uint16_t)a, (uint16_t)b);
	default: FAIL("opcode %d", (int)LLVMGetInstructionOpcode(i));
	}
}

static uint64_t phi_of(struct run *run, LLVMValueRef i, LLVMBasicBlockRef from)
{
	for (unsigned k = 0; k < LLVMCountIncoming(i); k++)
		if (LLVMGetIncomingBlock(i, k) == from)
			return value_of(run, LLVMGetIncomingValue(i, k));
	FAIL("a phi without its block");
}

/* How many of the assumptions in @shown were met, none of which may be false. */
static unsigned program_run(LLVMValueRef f, struct run *run, const bool shown[BLOCKS_MAX], const char *text)
{
	LLVMBasicBlockRef block = LLVMGetEntryBasicBlock(f), from = NULL;
	unsigned met = 0;

	run->values[0] = run->first;
	for (unsigned steps = 0; block && steps < 40; steps++) {
		LLVMBasicBlockRef next = NULL;

		for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i)) {
			if (LLVMIsAPHINode(i)) {
				*place_of(run, i) = phi_of(run, i, from);
			} else if (is_assume(i)) {
				LLVMValueRef claim = LLVMGetOperand(i, 0);
				size_t size;
				bool is_shown = shown[atoi(LLVMGetValueName2(claim, &size) + 5)];

				if (is_shown && !value_of(run, claim))
					FAIL("called with %u and %u, this shows what is false:\n%s",
					     (unsigned)run->first, (unsigned)run->byte, text);
				met += is_shown;
			} else if (LLVMIsABranchInst(i)) {
				bool second = LLVMIsConditional(i) && !value_of(run, LLVMGetCondition(i));

				next = LLVMGetSuccessor(i, second);
			} else if (!LLVMIsAReturnInst(i)) {
				*place_of(run, i) = result_of(run, i);
			}
		}
		from = block;
		block = next;
	}
	return met;
}

TEST(nothing_that_is_shown_is_false_in_random_programs)
{
	static struct program p;
	unsigned n_shown = 0, n_met = 0, n_claims = 0;

	for (unsigned n = 0; n < 6000; n++) {
		bool shown[BLOCKS_MAX] = { false };
		LLVMModuleRef module;
		LLVMValueRef f;

		seed = n + 1;
		program_make(&p);
		module = module_of(p.text);
		f = LLVMGetNamedFunction(module, "f");
		for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
			for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
				if (is_assume(i)) {
					size_t size;
					const char *name = LLVMGetValueName2(LLVMGetOperand(i, 0), &size);

					n_claims++;
					shown[atoi(name + 5)] = facts_assumption_is_shown(i);
					n_shown += shown[atoi(name + 5)];
				}
		for (unsigned k = 0; k < 40; k++) {
			struct run run = { .first = k < 20 ? k :
						    k < 24 ? 65536 - 24 + k :
							     any(65536),
					   .byte = any(2) ? k % 12 : any(256) };

			n_met += program_run(f, &run, shown, p.text);
		}
		LLVMDisposeModule(module);
	}
	printf("  %u of %u assumptions are shown, and were met %u times\n", n_shown, n_claims, n_met);
	CHECK(n_shown >= 300 && n_shown < n_claims / 2 && n_met > 1000);
}

TEST_MAIN()

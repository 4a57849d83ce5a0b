/* SPDX-License-Identifier: Apache-2.0 */

#include "arch/insn.h"

/* Latencies: the middle of what Fog's tables (2024) give for Zen 4, Golden Cove and Neoverse V1. */
#define LOAD_LATENCY 4

static const struct {
	const char *name;
	unsigned latency;
} classes[INSN_CLASS_END] = {
	[INSN_ALU] = { "alu", 1 },
	[INSN_MOVE] = { "move", 0 },
	[INSN_SHIFT] = { "shift", 1 },
	[INSN_SELECT] = { "select", 1 },
	[INSN_MULTIPLY] = { "multiply", 3 },
	[INSN_DIVIDE] = { "divide", 14 },
	[INSN_JUMP] = { "jump", 1 },
	[INSN_BRANCH] = { "branch", 1 },
	[INSN_CALL] = { "call", 1 },
	[INSN_RETURN] = { "return", 1 },
	[INSN_STACK] = { "stack", 1 },
	[INSN_FLOAT] = { "float", 4 },
	[INSN_FLOAT_DIVIDE] = { "float-divide", 13 },
	[INSN_VECTOR] = { "vector", 2 },
	[INSN_STRING] = { "string", 20 },
	[INSN_SYSTEM] = { "system", 50 },
	[INSN_NOP] = { "nop", 0 },
	[INSN_OTHER] = { "other", 2 },
};

static const char *const flows[] = {
	[INSN_UNKNOWN] = "unknown",   [INSN_FALLS] = "falls", [INSN_JUMPS] = "jumps",
	[INSN_BRANCHES] = "branches", [INSN_CALLS] = "calls", [INSN_RETURNS] = "returns",
	[INSN_TRAPS] = "traps",
};

const char *insn_class_name(enum insn_class class)
{
	return (unsigned)class < INSN_CLASS_END ? classes[class].name : "?";
}

const char *insn_flow_name(enum insn_flow flow)
{
	return (unsigned)flow <= INSN_TRAPS ? flows[flow] : "?";
}

unsigned insn_latency(const struct insn *insn)
{
	return classes[insn->class].latency + (insn->flags & INSN_LOADS ? LOAD_LATENCY : 0) +
	       (insn->flags & INSN_LOCKED ? 16 : 0) + insn->more;
}

/* SPDX-License-Identifier: Apache-2.0 */

/*
 *	1. mnemonic -> flow, loads, stores
 *	2. the last address in brackets -> base, index, offset, is the base written
 *	3. the registers before it -> width, what is written
 */

#define _GNU_SOURCE
#include "tests/arch/oracle.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macro.h"

#define MAX_REGISTERS 8
#define N_SLOTS 16384 /* LLVM 22 has some 4,000 mnemonics */

static void must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "oracle: %s\n", what);
	abort();
}

struct registers {
	char kind[MAX_REGISTERS];  /* w, x, b, h, s, d, q; v: of a list */
	int number[MAX_REGISTERS]; /* 31: zero or the stack pointer, of w and x */
	size_t n;
	bool is_list;
	unsigned list_bytes; /* of one vector, or one element of it */
	unsigned element_bytes;
};

static bool matches(const char *text, const char *const *patterns)
{
	for (; *patterns; patterns++)
		if (fnmatch(*patterns, text, 0) == 0)
			return true;
	return false;
}
#define MATCHES(text, ...) matches(text, (const char *const[]){ __VA_ARGS__, NULL })

/* ---- step 1 ---- */

/* What a mnemonic says; found out once for each. */
struct traits {
	char mnemonic[32];
	enum insn_flow flow;
	bool is_indirect, is_direct;
	bool is_load, is_store, is_atomic, is_exclusive; /* the last three: with an address in brackets */
	bool has_no_result, keeps_result, sets_flags, reads_flags;
	bool is_copy, is_pair, is_tag, is_cas, is_64, is_64v, repeats, says_store;
	unsigned general_bytes; /* of an element in a general register; 0: the register's */
};

static enum insn_flow flow_of(const char *m, bool *is_indirect)
{
	static const struct {
		const char *mnemonic;
		enum insn_flow flow;
		bool is_indirect;
	} flows[] = {
		{ "b", INSN_JUMPS, false },	    { "b.*", INSN_BRANCHES, false },
		{ "bc.*", INSN_BRANCHES, false },   { "cb*", INSN_BRANCHES, false },
		{ "tbz", INSN_BRANCHES, false },    { "tbnz", INSN_BRANCHES, false },
		{ "bl", INSN_CALLS, false },	    { "blr*", INSN_CALLS, true },
		{ "br", INSN_JUMPS, true },	    { "braa*", INSN_JUMPS, true },
		{ "brab*", INSN_JUMPS, true },	    { "ret*", INSN_RETURNS, false },
		{ "eret*", INSN_RETURNS, false },   { "drps", INSN_RETURNS, false },
		{ "texit", INSN_RETURNS, false },   { "brk", INSN_TRAPS, false },
		{ "hlt", INSN_TRAPS, false },	    { "udf", INSN_TRAPS, false },
		{ "dcps[123]", INSN_TRAPS, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(flows); i++)
		if (fnmatch(flows[i].mnemonic, m, 0) == 0) {
			*is_indirect = flows[i].is_indirect;
			return flows[i].flow;
		}
	return INSN_FALLS;
}

/* Integer arithmetic: no other mnemonics are in its groups. */
static void arithmetic_find(const char *m, struct traits *t)
{
	t->has_no_result = MATCHES(m, "cmp", "cmn", "tst", "ccmp", "ccmn", "rmif", "setf8", "setf16", "cmpp",
				   "auti?sppcr", "fcmp", "fcmpe", "fccmp", "fccmpe");
	t->keeps_result = MATCHES(m, "movk", "bfi", "bfxil", "bfc", "bfm", "pac[id][ab]*", "pac[id]z[ab]",
				  "aut[id][ab]*", "aut[id]z[ab]", "xpac[id]");
	t->sets_flags = MATCHES(m, "adds", "subs", "ands", "bics", "adcs", "sbcs", "negs", "ngcs", "subps",
				"cmp", "cmn", "tst", "ccmp", "ccmn", "rmif", "setf8", "setf16", "cmpp",
				"fcmp", "fcmpe", "fccmp", "fccmpe");
	t->reads_flags =
		MATCHES(m, "csel", "csinc", "csinv", "csneg", "cset", "csetm", "cinc", "cinv", "cneg", "ccmp",
			"ccmn", "adc", "adcs", "sbc", "sbcs", "ngc", "ngcs", "fcsel", "fccmp", "fccmpe");
}

static void traits_find(const char *m, struct traits *t)
{
	snprintf(t->mnemonic, sizeof(t->mnemonic), "%s", m);
	t->flow = flow_of(m, &t->is_indirect);
	t->is_direct = !t->is_indirect &&
		       (t->flow == INSN_JUMPS || t->flow == INSN_BRANCHES || t->flow == INSN_CALLS);
	t->is_load = MATCHES(m, "ld*");
	t->says_store = MATCHES(m, "st*") && !MATCHES(m, "stmop*");
	t->is_copy = MATCHES(m, "cpy*", "set[pmeg]*");
	t->is_store = t->says_store || t->is_copy || MATCHES(m, "gcsstr", "gcssttr");
	t->is_atomic = MATCHES(m, "swp*", "cas*", "rcw*", "ldadd*", "ldclr*", "ldeor*", "ldset*", "ldsmax*",
			       "ldsmin*", "ldumax*", "ldumin*", "ldtadd*", "ldtclr*", "ldtset*", "ldfadd*",
			       "ldfmax*", "ldfmin*", "ldbf*", "stadd*", "stclr*", "steor*", "stset*",
			       "stsmax*", "stsmin*", "stumax*", "stumin*", "sttadd*", "sttclr*", "sttset*",
			       "stfadd*", "stfmax*", "stfmin*", "stbf*");
	t->is_exclusive = MATCHES(m, "ldx[rp]*", "ldax[rp]*", "stx[rp]*", "stlx[rp]*", "ldtxr", "ldatxr",
				  "sttxr", "stltxr");
	t->is_pair = MATCHES(m, "ldp", "ldpsw", "stp", "ldnp", "stnp", "ldtp", "sttp", "ldtnp", "sttnp",
			     "ldxp", "ldaxp", "stxp", "stlxp", "ldiapp", "stilp", "ldap", "ldapp", "stlp",
			     "stgp", "casp*", "ldclrp*", "ldsetp*", "swpp*", "rcwcasp*", "rcwscasp*",
			     "rcwclrp*", "rcwsclrp*", "rcwsetp*", "rcwssetp*", "rcwswpp*", "rcwsswpp*");
	arithmetic_find(m, t);
	t->is_tag = MATCHES(m, "ldg*", "stg", "stgm", "stzg*", "st2g", "stz2g");
	t->is_cas = MATCHES(m, "cas*", "rcwcas*", "rcwscas*");
	t->is_64 = MATCHES(m, "ld64b", "st64b*");
	t->is_64v = MATCHES(m, "st64bv*");
	t->repeats = MATCHES(m, "ld[1234]r");
	t->general_bytes = MATCHES(m, "*sw")			    ? 4 :
			   MATCHES(m, "*b") && !MATCHES(m, "ldrab") ? 1 :
			   MATCHES(m, "*h")			    ? 2 :
								      0;
}

static const struct traits *traits_of(const char *m)
{
	static struct traits slots[N_SLOTS];
	static size_t n_used;
	size_t at = 0;

	for (const char *p = m; *p; p++)
		at = at * 31 + (unsigned char)*p;
	for (at %= N_SLOTS; *slots[at].mnemonic; at = (at + 1) % N_SLOTS)
		if (strcmp(slots[at].mnemonic, m) == 0)
			return &slots[at];
	must(++n_used < N_SLOTS, "too many mnemonics");
	traits_find(m, &slots[at]);
	return &slots[at];
}

static void flow_tell(const struct traits *t, struct oracle *o)
{
	const char *number = strrchr(o->text, '#');

	o->flow = t->flow;
	o->flags |= t->is_indirect ? INSN_INDIRECT : 0;
	o->target = t->is_direct && number ? o->target + (uint64_t)strtoll(number + 1, NULL, 0) : 0;
}

static void memory_tell(const struct traits *t, struct oracle *o)
{
	bool has_brackets = strchr(o->text, '[');

	if (has_brackets && t->is_atomic)
		o->flags |= INSN_LOADS | INSN_STORES | INSN_LOCKED;
	else if (t->is_load)
		o->flags |= INSN_LOADS;
	else if (has_brackets && t->is_store)
		o->flags |= INSN_STORES | (t->mnemonic[0] == 'c' ? INSN_LOADS : 0);
	o->flags |= t->is_exclusive ? INSN_LOCKED : 0;
}

/* ---- step 2 ---- */

static int number_of(const char *name)
{
	return strncmp(name, "sp", 2) == 0 || strncmp(name, "wsp", 3) == 0 ||
			       strncmp(name + 1, "zr", 2) == 0 ?
		       31 :
		       atoi(name + 1);
}

/* Return: is the base written? */
static bool address_tell(struct oracle *o, char *brackets)
{
	char *end = strchr(brackets, ']'), *comma;

	must(end, "an address without an end");
	o->has_address = true;
	o->base = number_of(brackets + 1);
	comma = strchr(brackets, ',');
	if (comma && comma < end && comma[2] == '#')
		o->offset = strtoll(comma + 3, NULL, 0);
	else if (comma && comma < end)
		o->index = number_of(comma + 2);
	return end[1] == '!' || end[1] == ',';
}

/* ---- step 3 ---- */

static bool is_register(const char *name)
{
	return (strchr("wxbhsdqv", *name) && name[1] >= '0' && name[1] <= '9') ||
	       MATCHES(name, "[wx]zr*", "sp*", "wsp*");
}

static void registers_read(const char *from, const char *end, struct registers *ret)
{
	while (from < end && ret->n < MAX_REGISTERS) {
		const char *suffix;

		if (strchr(" \t,{}", *from)) {
			ret->is_list |= *from++ == '{';
			continue;
		}
		if (!is_register(from))
			break;
		ret->kind[ret->n] = MATCHES(from, "sp*", "wsp*") ? 'x' : *from;
		ret->number[ret->n++] = number_of(from);
		suffix = strchr(from, '.');
		if (*from == 'v' && suffix) {
			unsigned lanes = (unsigned)strtoul(suffix + 1, (char **)&suffix, 10);

			ret->element_bytes = *suffix == 'b' ? 1 : *suffix == 'h' ? 2 : *suffix == 's' ? 4 : 8;
			ret->list_bytes = ret->element_bytes * MAX(lanes, 1u);
		}
		from += strcspn(from, " ,}");
	}
}

static unsigned element_bytes(const struct traits *t, char kind)
{
	static const struct {
		char kind;
		unsigned bytes;
	} sizes[] = { { 'w', 4 }, { 'x', 8 }, { 'b', 1 }, { 'h', 2 }, { 's', 4 }, { 'd', 8 }, { 'q', 16 } };

	if (t->is_64)
		return 64;
	if (t->general_bytes && (kind == 'w' || kind == 'x'))
		return t->general_bytes;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		if (sizes[i].kind == kind)
			return sizes[i].bytes;
	return 0;
}

static uint64_t bit_of(const struct registers *r, size_t i)
{
	if (r->kind[i] == 'w' || r->kind[i] == 'x')
		return r->number[i] == 31 ? 0 : 1ull << r->number[i];
	return 1ull << (32 + r->number[i]);
}

/* Which of the registers named are written: [first, end). */
static void written(const struct traits *t, const struct registers *r, size_t *first, size_t *end)
{
	*first = t->is_atomic && !t->is_cas && !t->is_pair ? r->n - 1 : 0;
	*end = t->is_cas		     ? r->n / 2 :
	       t->is_atomic && t->says_store ? *first :
	       t->is_atomic || t->is_load    ? r->n :
	       t->is_exclusive || t->is_64v  ? 1 :
					       0;
}

static void registers_tell(const struct traits *t, const struct registers *r, struct oracle *o)
{
	size_t first, end, data = (t->is_exclusive && t->says_store) || t->is_64v;

	must(r->n > data, o->text);
	o->has_registers = !t->is_tag;
	if (r->is_list)
		o->width = (unsigned)r->n * (t->repeats ? r->element_bytes : r->list_bytes);
	else
		o->width = element_bytes(t, r->kind[data]) * (t->is_pair ? 2 : 1);
	written(t, r, &first, &end);
	for (size_t i = first; i < end; i++)
		o->writes |= bit_of(r, i);
	for (int i = 0; t->is_64 && t->is_load && i < 8; i++)
		o->writes |= 1ull << (r->number[0] + i);
}

/* Steps 2 and 3. SVE's and SME's registers are not told. */
static void operands_tell(const struct traits *t, struct oracle *o)
{
	char *operands = o->text + strcspn(o->text, " \t"), *last = strrchr(operands, '[');
	struct registers r = { 0 };
	bool writes_base = false;

	operands += strspn(operands, " \t");
	if (!(o->flags & (INSN_LOADS | INSN_STORES)) || t->is_copy || *operands == 'z' ||
	    strstr(operands, "{ z") || strstr(operands, "{z") || *operands == 'p')
		return;
	o->base = o->index = -1;
	if (last) {
		writes_base = address_tell(o, last);
	} else {
		o->has_address = true;
		o->offset = strtoll(strrchr(operands, '#') + 1, NULL, 0);
	}
	registers_read(operands, last ? last : strchr(operands, '#'), &r);
	registers_tell(t, &r, o);
	if (writes_base && o->base != 31)
		o->writes |= 1ull << o->base;
}

/*
 * Integer arithmetic: the first register is the result, the others are read; some keep a part of the result.
 * (Zero and the stack pointer have no bit.)
 */
static void arithmetic_tell(const struct traits *t, struct oracle *o)
{
	const char *operands = o->text + strcspn(o->text, " \t");
	struct registers r = { 0 };
	size_t first = t->has_no_result ? 0 : 1;
	bool keeps;

	registers_read(operands, o->text + strlen(o->text), &r);
	o->has_operands = true;
	o->writes = t->sets_flags ? INSN_FLAGS_REGISTER : 0;
	o->reads = t->reads_flags ? INSN_FLAGS_REGISTER : 0;
	if (first && r.n)
		o->writes |= bit_of(&r, 0);
	keeps = t->keeps_result || (r.n && r.kind[0] == 'v'); /* half of a vector */
	for (size_t i = keeps ? 0 : first; i < r.n; i++)
		o->reads |= bit_of(&r, i);
}

static LLVMDisasmContextRef disassembler(void)
{
	static LLVMDisasmContextRef context;

	if (!context) {
		LLVMInitializeAArch64TargetInfo();
		LLVMInitializeAArch64TargetMC();
		LLVMInitializeAArch64Disassembler();
		context = LLVMCreateDisasmCPUFeatures("aarch64-linux-gnu", "", "+all", NULL, 0, NULL, NULL);
		must(context, "LLVM has no aarch64");
	}
	return context;
}

void oracle_ask(uint32_t word, uint64_t address, bool is_arithmetic, struct oracle *ret)
{
	uint8_t bytes[4] = { (uint8_t)word, (uint8_t)(word >> 8), (uint8_t)(word >> 16),
			     (uint8_t)(word >> 24) };
	const struct traits *traits;
	char text[160], *comment;

	*ret = (struct oracle){ .target = address };
	if (LLVMDisasmInstruction(disassembler(), bytes, sizeof(bytes), address, text, sizeof(text)) != 4)
		return;
	comment = strstr(text, "//");
	if (comment)
		*comment = '\0';
	snprintf(ret->text, sizeof(ret->text), "%s", text + strspn(text, " \t"));
	snprintf(ret->mnemonic, sizeof(ret->mnemonic), "%.*s", (int)strcspn(ret->text, " \t"), ret->text);
	ret->known = true;
	traits = traits_of(ret->mnemonic);
	flow_tell(traits, ret);
	memory_tell(traits, ret);
	if (is_arithmetic)
		arithmetic_tell(traits, ret);
	else
		operands_tell(traits, ret);
}

/* llvm-mc's warnings about the words in the file @from, into @to. */
static void warnings_write(const char *from, int to)
{
	char *argv[] = { "llvm-mc", "--disassemble", "--triple=aarch64", "--mattr=+all", (char *)from, NULL };
	posix_spawn_file_actions_t actions;
	int status = -1;
	pid_t pid;

	must(posix_spawn_file_actions_init(&actions) == 0 &&
		     posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0) == 0 &&
		     posix_spawn_file_actions_adddup2(&actions, to, 2) == 0,
	     "no memory");
	must(posix_spawn(&pid, MORPH_LLVM_DIR "/bin/llvm-mc", &actions, NULL, argv, environ) == 0 &&
		     waitpid(pid, &status, 0) == pid && WIFEXITED(status),
	     "llvm-mc cannot be run");
	posix_spawn_file_actions_destroy(&actions);
}

void oracle_undefined(const uint32_t *words, size_t n, bool *ret)
{
	char path[] = "/tmp/morph-oracle.XXXXXX", line[512];
	int fd = mkstemp(path);
	FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL, *said = tmpfile();

	must(file && said, "no temporary file");
	for (size_t i = 0; i < n; i++) {
		ret[i] = false;
		fprintf(file, "0x%x 0x%x 0x%x 0x%x\n", words[i] & 255, words[i] >> 8 & 255,
			words[i] >> 16 & 255, words[i] >> 24);
	}
	must(fclose(file) == 0, "the temporary file cannot be written");
	warnings_write(path, fileno(said));
	must(fseek(said, 0, SEEK_SET) == 0, "what llvm-mc said cannot be read");
	while (fgets(line, sizeof(line), said)) {
		const char *what = strstr(line, "warning: potentially undefined");
		size_t number = what ? strtoul(line + strlen(path) + 1, NULL, 10) : 0;

		if (number && number <= n)
			ret[number - 1] = true;
	}
	fclose(said);
	unlink(path);
}

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The module is generated twice, with facts and without, the functions that nobody asked for being left out of both. A function
 * is proven when its sections hold the same bytes, whose relocations lead to the same symbols or to the same contents.
 */

#include "editor/trust/facts.h"

#include <elf.h>
#include <errno.h>
#include <llvm-c/Comdat.h>
#include <llvm-c/Core.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/macro.h"

struct object {
	struct file_map map;
	const Elf64_Shdr *sections;
	uint64_t n_sections;
	uint32_t *relocations; /* per section: the one with its relocations, or 0; owned */
	const Elf64_Sym *symbols;
	uint64_t n_symbols;
	const Elf32_Word *wide;
	const char *strings, *section_strings;
	uint64_t n_strings, n_section_strings;
};

static void object_done(struct object *object)
{
	free(object->relocations);
	file_map_done(&object->map);
}

static const void *bytes_at(const struct object *o, uint64_t offset, uint64_t size)
{
	return offset <= o->map.size && size <= o->map.size - offset ? (const uint8_t *)o->map.data + offset :
								       NULL;
}

static const void *section_bytes(const struct object *o, uint64_t i)
{
	return i && i < o->n_sections ? bytes_at(o, o->sections[i].sh_offset, o->sections[i].sh_size) : NULL;
}

static const char *string_at(const char *strings, uint64_t n, uint64_t at)
{
	return strings && at < n && memchr(strings + at, 0, n - at) ? strings + at : "";
}

static int tables_find(struct object *o)
{
	uint64_t names = 0;

	for (uint64_t i = 1; i < o->n_sections; i++) {
		const Elf64_Shdr *s = &o->sections[i];

		if (s->sh_type == SHT_SYMTAB && section_bytes(o, i)) {
			o->symbols = section_bytes(o, i);
			o->n_symbols = s->sh_size / sizeof(Elf64_Sym);
			o->strings = section_bytes(o, s->sh_link);
			o->n_strings = o->strings ? o->sections[s->sh_link].sh_size : 0;
		} else if (s->sh_type == SHT_SYMTAB_SHNDX) {
			o->wide = section_bytes(o, i);
		} else if (s->sh_type == SHT_RELA && s->sh_info < o->n_sections) {
			o->relocations[s->sh_info] = (uint32_t)i;
		}
	}
	names = ((const Elf64_Ehdr *)o->map.data)->e_shstrndx;
	names = names == SHN_XINDEX ? o->sections[0].sh_link : names;
	o->section_strings = section_bytes(o, names);
	o->n_section_strings = o->section_strings ? o->sections[names].sh_size : 0;
	return o->symbols && o->strings && o->section_strings ? 0 : -EBADMSG;
}

static int object_open(const char *path, struct object *o, struct fault *reterr)
{
	const Elf64_Ehdr *header;
	int r = file_map_open(path, &o->map, reterr);

	if (r < 0)
		return r;
	header = bytes_at(o, 0, sizeof(*header));
	if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_shoff % 8 ||
	    !(o->sections = bytes_at(o, header->e_shoff, sizeof(Elf64_Shdr))))
		return fault_set(reterr, -EBADMSG, "%s: no object as LLVM writes them", path);
	o->n_sections = header->e_shnum ? header->e_shnum : o->sections[0].sh_size;
	if (o->n_sections > o->map.size / sizeof(Elf64_Shdr) ||
	    !bytes_at(o, header->e_shoff, o->n_sections * sizeof(Elf64_Shdr)))
		return fault_set(reterr, -EBADMSG, "%s: no object as LLVM writes them", path);
	o->relocations = calloc(o->n_sections + 1, sizeof(*o->relocations));
	if (!o->relocations)
		return fault_errno(reterr, -ENOMEM, "%s", path);
	r = tables_find(o);
	return r < 0 ? fault_set(reterr, r, "%s: no object as LLVM writes them", path) : 0;
}

static uint64_t section_of(const struct object *o, uint64_t symbol)
{
	uint64_t section = o->symbols[symbol].st_shndx;

	if (section == SHN_XINDEX && o->wide)
		section = o->wide[symbol];
	return section < o->n_sections &&
			       (section < SHN_LORESERVE || o->symbols[symbol].st_shndx == SHN_XINDEX) ?
		       section :
		       0;
}

static const char *symbol_name(const struct object *o, uint64_t symbol)
{
	return string_at(o->strings, o->n_strings, o->symbols[symbol].st_name);
}

static const char *section_name(const struct object *o, uint64_t section)
{
	return string_at(o->section_strings, o->n_section_strings, o->sections[section].sh_name);
}

static bool is_section_same(const struct object *a, uint64_t i, const struct object *b, uint64_t k,
			    unsigned depth);

/* Where a string is kept depends on whether somebody may compare its address; its bytes are what the code sees. */
static bool is_string_same(const struct object *a, uint64_t i, uint64_t x, const struct object *b, uint64_t k,
			   uint64_t y)
{
	const Elf64_Shdr *s = &a->sections[i], *t = &b->sections[k];
	const uint8_t *p = section_bytes(a, i), *q = section_bytes(b, k), *end;

	if (!p || !q || s->sh_flags & (SHF_WRITE | SHF_EXECINSTR) ||
	    t->sh_flags & (SHF_WRITE | SHF_EXECINSTR) || !(s->sh_flags & SHF_STRINGS) || s->sh_entsize != 1 ||
	    x >= s->sh_size || y >= t->sh_size || b->relocations[k])
		return false;
	end = memchr(p + x, 0, s->sh_size - x);
	return end && (uint64_t)(end + 1 - (p + x)) <= t->sh_size - y &&
	       memcmp(p + x, q + y, (size_t)(end + 1 - (p + x))) == 0;
}

/* A place without a name: a constant among others, a table of jumps. */
static bool is_place_same(const struct object *a, uint64_t i, uint64_t x, const struct object *b, uint64_t k,
			  uint64_t y, unsigned depth)
{
	const Elf64_Shdr *s = &a->sections[i], *t = &b->sections[k];
	const uint8_t *p = section_bytes(a, i), *q = section_bytes(b, k);

	if (is_string_same(a, i, x, b, k, y))
		return true;
	if (strcmp(section_name(a, i), section_name(b, k)) != 0 || s->sh_flags != t->sh_flags ||
	    s->sh_entsize != t->sh_entsize)
		return false;
	if (s->sh_flags & SHF_MERGE && !(s->sh_flags & SHF_STRINGS))
		return p && q && s->sh_entsize <= s->sh_size && x <= s->sh_size - s->sh_entsize &&
		       t->sh_entsize <= t->sh_size && y <= t->sh_size - t->sh_entsize &&
		       memcmp(p + x, q + y, s->sh_entsize) == 0;
	if (x != y)
		return false;
	if (s->sh_flags & SHF_EXECINSTR || s->sh_type == SHT_NOBITS || depth == 0)
		return true;
	return is_section_same(a, i, b, k, depth - 1);
}

static bool is_target_same(const struct object *a, uint64_t x, const struct object *b, uint64_t y,
			   unsigned depth)
{
	const char *name;
	uint64_t i, k;

	if (x >= a->n_symbols || y >= b->n_symbols)
		return false;
	name = symbol_name(a, x);
	i = section_of(a, x);
	k = section_of(b, y);
	if ((name[0] && strncmp(name, ".L", 2) != 0) || !i || !k)
		return strcmp(name, symbol_name(b, y)) == 0;
	return is_place_same(a, i, a->symbols[x].st_value, b, k, b->symbols[y].st_value, depth);
}

static bool is_section_same(const struct object *a, uint64_t i, const struct object *b, uint64_t k,
			    unsigned depth)
{
	uint64_t m = a->relocations[i], n = b->relocations[k],
		 n_entries = m ? a->sections[m].sh_size / sizeof(Elf64_Rela) : 0;
	const uint8_t *p = section_bytes(a, i), *q = section_bytes(b, k);
	const Elf64_Rela *x = m ? section_bytes(a, m) : NULL, *y = n ? section_bytes(b, n) : NULL;

	if (a->sections[i].sh_size != b->sections[k].sh_size || !p || !q ||
	    memcmp(p, q, a->sections[i].sh_size) != 0)
		return false;
	if ((n ? b->sections[n].sh_size / sizeof(Elf64_Rela) : 0) != n_entries || (n_entries && (!x || !y)))
		return false;
	for (uint64_t e = 0; e < n_entries; e++)
		if (x[e].r_offset != y[e].r_offset ||
		    ELF64_R_TYPE(x[e].r_info) != ELF64_R_TYPE(y[e].r_info) ||
		    x[e].r_addend != y[e].r_addend ||
		    !is_target_same(a, ELF64_R_SYM(x[e].r_info), b, ELF64_R_SYM(y[e].r_info), depth))
			return false;
	return true;
}

/* Symbols stand in the same order in both, as a rule: the search begins where the last one ended. */
static uint64_t function_find(const struct object *o, const char *name, uint64_t from)
{
	for (uint64_t n = 0; n < o->n_symbols; n++) {
		uint64_t i = (from + n) % o->n_symbols;

		if (ELF64_ST_TYPE(o->symbols[i].st_info) == STT_FUNC && section_of(o, i) &&
		    strcmp(symbol_name(o, i), name) == 0)
			return i;
	}
	return 0;
}

int facts_proof_compare(const char *with, const char *without, const struct name_set *wanted,
			struct name_set *retbound, struct fault *reterr)
{
	struct object a = { 0 }, b = { 0 };
	int r = object_open(with, &a, reterr);
	uint64_t at = 0;

	if (r == 0)
		r = object_open(without, &b, reterr);
	for (uint64_t i = 1; i < a.n_symbols && r == 0; i++) {
		const char *name = symbol_name(&a, i);
		uint64_t section = section_of(&a, i);

		if (ELF64_ST_TYPE(a.symbols[i].st_info) != STT_FUNC || !section ||
		    !name_set_has(wanted, name, strlen(name)))
			continue;
		at = function_find(&b, name, at);
		if (!at || !is_section_same(&a, section, &b, section_of(&b, at), 2))
			r = name_set_add(retbound, name, strlen(name));
	}
	object_done(&a);
	object_done(&b);
	return r == -ENOMEM ? fault_errno(reterr, r, "comparing code with and without facts") : r;
}

/* ---- what is generated ---- */

static bool is_wanted(LLVMValueRef function, const struct name_set *wanted)
{
	size_t size;
	const char *name = LLVMGetValueName2(function, &size);

	return name_set_has(wanted, name, size);
}

static bool has_body_elsewhere(LLVMValueRef function)
{
	return LLVMIsDeclaration(function) || LLVMGetLinkage(function) == LLVMAvailableExternallyLinkage;
}

/* Code generation is not to spend time on the others, so they lose their bodies. */
static int others_leave(LLVMModuleRef module, const struct name_set *wanted, struct fault *reterr)
{
	for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
		if (has_body_elsewhere(f) || is_wanted(f, wanted))
			continue;
		LLVMSetComdat(f, NULL);
		LLVMSetLinkage(f, LLVMAvailableExternallyLinkage);
	}
	return facts_passes_run(module, "elim-avail-extern", reterr);
}

static int strange_collect(LLVMModuleRef module, const struct name_set *wanted, struct name_set *ret)
{
	int r = 0;
	size_t size;

	for (LLVMValueRef f = LLVMGetFirstFunction(module); f && r == 0; f = LLVMGetNextFunction(f)) {
		const char *name = LLVMGetValueName2(f, &size);

		if (!has_body_elsewhere(f) && is_wanted(f, wanted) && facts_function_is_strange(f))
			r = name_set_add(ret, name, size);
	}
	return r;
}

/* ---- calls that do not come back ---- */

/*
 * Code generation asks two things of a call that is said not to come back and has an end of the text behind it: that, for where
 * blocks go, and whether it may throw, for then the stack protector looks before it. Either is what the text shows, whether true
 * or not, so the second generation gets them again. Passes may drop calls, so what a call was is written on the call.
 */
#define OF_FUNCTION ((LLVMAttributeIndex)LLVMAttributeFunctionIndex)

static bool call_has(LLVMValueRef call, const char *name)
{
	unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
	LLVMValueRef callee = LLVMIsAFunction(LLVMGetCalledValue(call));

	return LLVMGetCallSiteEnumAttribute(call, OF_FUNCTION, kind) ||
	       (callee && LLVMGetEnumAttributeAtIndex(callee, OF_FUNCTION, kind));
}

static void call_give(LLVMValueRef call, const char *name)
{
	unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));

	LLVMAddCallSiteAttribute(call, OF_FUNCTION, LLVMCreateEnumAttribute(ir_context(), kind, 0));
}

/* Whatever a module brings along of that name goes. */
static void last_call_note(LLVMValueRef call)
{
	const char *value = call_has(call, "nounwind") ? "quiet" : "";

	LLVMRemoveCallSiteStringAttribute(call, OF_FUNCTION, FACTS_LAST_CALL, strlen(FACTS_LAST_CALL));
	if (LLVMIsACallInst(call) && call_has(call, "noreturn") && facts_is_last_call(call))
		LLVMAddCallSiteAttribute(call, OF_FUNCTION,
					 LLVMCreateStringAttribute(ir_context(), FACTS_LAST_CALL,
								   strlen(FACTS_LAST_CALL), value,
								   (unsigned)strlen(value)));
}

static void last_call_mark(LLVMValueRef call)
{
	LLVMAttributeRef note =
		LLVMGetCallSiteStringAttribute(call, OF_FUNCTION, FACTS_LAST_CALL, strlen(FACTS_LAST_CALL));
	unsigned size = 0;

	if (!note)
		return;
	LLVMGetStringAttributeValue(note, &size);
	LLVMRemoveCallSiteStringAttribute(call, OF_FUNCTION, FACTS_LAST_CALL, strlen(FACTS_LAST_CALL));
	if (!facts_is_last_call(call))
		return;
	call_give(call, "noreturn");
	if (size)
		call_give(call, "nounwind");
}

static void calls_visit(LLVMModuleRef module, void (*visit)(LLVMValueRef call))
{
	for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
		for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
			for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
				if ((LLVMIsACallInst(i) || LLVMIsAInvokeInst(i)) && !LLVMIsAIntrinsicInst(i))
					visit(i);
}

/* The second generation: bodies go last, for what their code shows of the functions is asked of them, too. */
static int without_make(LLVMModuleRef copy, const struct name_set *wanted, struct fault *reterr)
{
	_clean_(facts_returned_freep) struct facts_returned *returned = facts_returned_find(copy);
	int r;

	if (!returned)
		return -ENOMEM;
	calls_visit(copy, last_call_note);
	r = facts_strip(copy, FACTS_PROVED, reterr);
	if (r == 0)
		r = facts_rederive(copy, reterr);
	if (r == 0)
		r = others_leave(copy, wanted, reterr);
	if (r == 0) {
		facts_returned_give(copy, returned);
		calls_visit(copy, last_call_mark);
	}
	return r;
}

int facts_proof_make(LLVMModuleRef module, const struct name_set *wanted, struct buffer ret[2],
		     struct name_set *retbound, struct fault *reterr)
{
	LLVMModuleRef copy = LLVMCloneModule(module);
	int r = strange_collect(copy, wanted, retbound);

	if (r == 0)
		r = others_leave(copy, wanted, reterr);
	if (r == 0)
		r = ir_write(copy, &ret[0]);
	LLVMDisposeModule(copy);
	copy = LLVMCloneModule(module);
	if (r == 0)
		r = without_make(copy, wanted, reterr);
	if (r == 0)
		r = ir_write(copy, &ret[1]);
	LLVMDisposeModule(copy);
	return r == -ENOMEM ? fault_errno(reterr, r, "writing code with and without facts") : r;
}

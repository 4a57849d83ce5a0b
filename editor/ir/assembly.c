/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A statement ends with a line or with ";". Its first word is an instruction or a directive, unless
 * ":" follows: then it is a label. "@" ends a symbol's name (foo@PLT, foo@VERSION), and "$" begins an operand.
 */

#include "editor/ir/assembly.h"

#include <ctype.h>
#include <llvm-c/Core.h>
#include <stdlib.h>
#include <string.h>

static bool is_symbol_character(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.';
}

/* Calls @word for words that may be symbols until it returns other than 0, and returns that. */
static int words_visit(const char *text, size_t size, int (*word)(const char *, size_t, void *), void *user)
{
	bool opens = true; /* a statement */
	int r = 0;

	for (size_t i = 0, n; i < size && r == 0; i += n) {
		for (n = 0; i + n < size && is_symbol_character(text[i + n]);)
			n++;
		if (n) {
			if (!opens || (i + n < size && text[i + n] == ':'))
				r = word(text + i, n, user);
			opens = false;
		} else {
			n = 1;
			opens |= text[i] == '\n' || text[i] == ';' || text[i] == ':';
		}
	}
	return r;
}

static int function_words_visit(LLVMValueRef function, int (*word)(const char *, size_t, void *), void *user)
{
	int r = 0;

	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b))
		for (LLVMValueRef i = LLVMGetFirstInstruction(b); i && r == 0;
		     i = LLVMGetNextInstruction(i)) {
			LLVMOpcode opcode = LLVMGetInstructionOpcode(i);
			LLVMValueRef called =
				opcode == LLVMCall || opcode == LLVMInvoke || opcode == LLVMCallBr ?
					LLVMIsAInlineAsm(LLVMGetCalledValue(i)) :
					NULL;
			size_t size;
			const char *text = called ? LLVMGetInlineAsmAsmString(called, &size) : NULL;

			if (text)
				r = words_visit(text, size, word, user);
		}
	return r;
}

static int word_add(const char *word, size_t size, void *user)
{
	return name_set_add(user, word, size);
}

int assembly_names(LLVMModuleRef module, struct name_set *ret)
{
	size_t size;
	const char *text = LLVMGetModuleInlineAsm(module, &size);
	int r = words_visit(text, size, word_add, ret);

	for (LLVMValueRef f = LLVMGetFirstFunction(module); f && r == 0; f = LLVMGetNextFunction(f))
		r = function_words_visit(f, word_add, ret);
	return r;
}

static int word_is_in(const char *word, size_t size, void *user)
{
	return name_set_has(user, word, size);
}

bool assembly_names_any(LLVMValueRef function, const struct name_set *names)
{
	return function_words_visit(function, word_is_in, (void *)names);
}

static bool is_defined(LLVMModuleRef module, const char *name, size_t size)
{
	LLVMValueRef found = LLVMGetNamedFunctionWithLength(module, name, size);

	if (!found)
		found = LLVMGetNamedGlobalWithLength(module, name, size);
	if (found)
		return !LLVMIsDeclaration(found);
	return LLVMGetNamedGlobalAlias(module, name, size);
}

/* The symbol of ".symver NAME, ..."; false: the line is something else. */
static bool version_read(const char *line, size_t size, const char **retname, size_t *retsize)
{
	static const char directive[] = ".symver";
	size_t at = 0, n = 0;

	while (at < size && isspace((unsigned char)line[at]))
		at++;
	if (size - at <= sizeof(directive) || memcmp(line + at, directive, sizeof(directive) - 1) != 0 ||
	    memchr(line, ';', size))
		return false;
	for (at += sizeof(directive) - 1; at < size && isspace((unsigned char)line[at]);)
		at++;
	while (at + n < size && is_symbol_character(line[at + n]))
		n++;
	*retname = line + at;
	*retsize = n;
	return true;
}

static bool is_empty(const char *line, size_t size)
{
	while (size && isspace((unsigned char)line[size - 1]))
		size--;
	return !size;
}

static size_t line_size(const char *text, size_t size)
{
	const char *newline = memchr(text, '\n', size);

	return newline ? (size_t)(newline - text) : size;
}

static bool only_gives_versions(LLVMModuleRef module)
{
	size_t size, n, n_name;
	const char *text = LLVMGetModuleInlineAsm(module, &size), *name;

	for (size_t at = 0; at < size; at += n + 1) {
		n = line_size(text + at, size - at);
		if (!is_empty(text + at, n) &&
		    (!version_read(text + at, n, &name, &n_name) || !is_defined(module, name, n_name)))
			return false;
	}
	return true;
}

char *assembly_of_others(LLVMModuleRef module)
{
	size_t size, n, n_name, n_kept = 0;
	const char *text = LLVMGetModuleInlineAsm(module, &size), *name;
	char *kept = calloc(size + 2, 1);

	for (size_t at = 0; kept && at < size; at += n + 1) {
		n = line_size(text + at, size - at);
		if (!version_read(text + at, n, &name, &n_name) || is_defined(module, name, n_name))
			continue;
		memcpy(kept + n_kept, text + at, n);
		kept[n_kept + n] = '\n';
		n_kept += n + 1;
	}
	return kept;
}

static bool is_local_and_named(LLVMValueRef value, const struct name_set *names)
{
	LLVMLinkage linkage = LLVMGetLinkage(value);
	size_t size;
	const char *name = LLVMGetValueName2(value, &size);

	return (linkage == LLVMInternalLinkage || linkage == LLVMPrivateLinkage) &&
	       name_set_has(names, name, size);
}

bool assembly_binds(LLVMModuleRef module, const struct name_set *names)
{
	LLVMValueRef v;

	if (!only_gives_versions(module))
		return true;
	for (v = LLVMGetFirstFunction(module); v; v = LLVMGetNextFunction(v))
		if (is_local_and_named(v, names))
			return true;
	for (v = LLVMGetFirstGlobal(module); v; v = LLVMGetNextGlobal(v))
		if (is_local_and_named(v, names))
			return true;
	return false;
}

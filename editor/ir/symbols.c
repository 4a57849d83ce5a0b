/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "editor/ir/symbols.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"

struct symbol_table {
	const uint8_t *symbols; /* may lie at any address: read by copy */
	size_t n;
	const char *strings;
	size_t n_strings;
};

static Elf64_Sym symbol_at(const struct symbol_table *table, size_t i)
{
	Elf64_Sym symbol;

	memcpy(&symbol, table->symbols + i * sizeof(symbol), sizeof(symbol));
	return symbol;
}

static int name_add(const struct symbol_table *table, const Elf64_Sym *symbol, struct name_set *ret)
{
	const char *name = table->strings + symbol->st_name;

	if (symbol->st_name >= table->n_strings)
		return 0;
	return name_set_add(ret, name, strnlen(name, table->n_strings - symbol->st_name));
}

static int table_collect(const struct symbol_table *table, bool want_defined, struct name_set *ret)
{
	int r = 0;

	for (size_t i = 1; i < table->n && r == 0; i++) {
		Elf64_Sym symbol = symbol_at(table, i);

		if ((symbol.st_shndx != SHN_UNDEF) == want_defined)
			r = name_add(table, &symbol, ret);
	}
	return r;
}

static bool dynamic_table(const struct image *program, struct symbol_table *ret)
{
	const struct image_section *symbols = image_section_find(program, ".dynsym");
	const struct image_section *strings = image_section_find(program, ".dynstr");

	if (!symbols || !strings || !symbols->data || !strings->data)
		return false;
	*ret = (struct symbol_table){ symbols->data, symbols->size / sizeof(Elf64_Sym),
				      (const char *)strings->data, strings->size };
	return true;
}

static int exports_collect(const struct image *program, struct name_set *ret)
{
	struct symbol_table table;

	return dynamic_table(program, &table) ? table_collect(&table, true, ret) : 0;
}

static bool section_read(const uint8_t *bytes, size_t size, const Elf64_Ehdr *header, unsigned index,
			 Elf64_Shdr *ret)
{
	struct reader reader = reader_of(bytes, size);
	const void *at;

	reader_bytes(&reader, header->e_shoff);
	reader_bytes(&reader, (uint64_t)index * sizeof(*ret));
	at = reader_bytes(&reader, sizeof(*ret));
	if (at)
		memcpy(ret, at, sizeof(*ret));
	return at;
}

static const void *section_bytes(const uint8_t *bytes, size_t size, const Elf64_Shdr *section)
{
	struct reader reader = reader_of(bytes, size);

	reader_bytes(&reader, section->sh_offset);
	return reader_bytes(&reader, section->sh_size);
}

/* An ELF64 relocatable object in memory: the names it expects from others. */
static int undefined_collect(const uint8_t *bytes, size_t size, struct name_set *ret)
{
	Elf64_Shdr section, strings;
	Elf64_Ehdr header;
	int r = 0;

	if (size < sizeof(header))
		return -EBADMSG;
	memcpy(&header, bytes, sizeof(header));
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
		return -EBADMSG;
	for (unsigned i = 0; i < header.e_shnum && r == 0; i++) {
		struct symbol_table table;

		if (!section_read(bytes, size, &header, i, &section))
			return -EBADMSG;
		if (section.sh_type != SHT_SYMTAB)
			continue;
		if (!section_read(bytes, size, &header, section.sh_link, &strings))
			return -EBADMSG;
		table = (struct symbol_table){ section_bytes(bytes, size, &section),
					       section.sh_size / sizeof(Elf64_Sym),
					       section_bytes(bytes, size, &strings), strings.sh_size };
		if (!table.symbols || !table.strings)
			return -EBADMSG;
		r = table_collect(&table, false, ret);
	}
	return r;
}

static int words_collect(const char *text, struct name_set *ret)
{
	int r = 0;

	for (const char *p = text; *p && r == 0;) {
		size_t n = strcspn(p, "=,: ");

		if (n)
			r = name_set_add(ret, p, n);
		p += n + (p[n] != '\0');
	}
	return r;
}

static const char *argument_at(const struct link_plan *plan, size_t i)
{
	return i < plan->n_inputs && plan->inputs[i].kind == LINK_ARGUMENT ? plan->inputs[i].text : NULL;
}

/* What the argument at @i wraps: "--wrap=NAME", or the next argument; NULL: nothing */
static const char *wrapped_at(const struct link_plan *plan, size_t i)
{
	static const char option[] = "wrap";
	const char *text = argument_at(plan, i);

	if (!text || text[0] != '-')
		return NULL;
	text += 1 + (text[1] == '-');
	if (strncmp(text, option, strlen(option)) != 0)
		return NULL;
	text += strlen(option);
	return *text == '=' ? text + 1 : *text ? NULL : argument_at(plan, i + 1);
}

int symbols_wrapped(const struct link_plan *plan, struct name_set *ret)
{
	int r = 0;

	for (size_t i = 0; i < plan->n_inputs && r == 0; i++) {
		const char *name = wrapped_at(plan, i);

		if (name)
			r = name_set_add(ret, name, strlen(name));
	}
	return r;
}

static int wrapper_collect(const char *prefix, const char *name, struct name_set *ret)
{
	_clean_(freep) char *wrapper = NULL;

	if (asprintf(&wrapper, "%s%s", prefix, name) < 0)
		return -ENOMEM;
	return name_set_add(ret, wrapper, strlen(wrapper));
}

int symbols_of_options(const struct link_plan *plan, struct name_set *ret)
{
	int r = 0;

	for (size_t i = 0; i < plan->n_inputs && r == 0; i++) {
		const char *wrapped = wrapped_at(plan, i);

		if (argument_at(plan, i))
			r = words_collect(argument_at(plan, i), ret);
		if (r == 0 && wrapped)
			r = wrapper_collect("__wrap_", wrapped, ret);
		if (r == 0 && wrapped)
			r = wrapper_collect("__real_", wrapped, ret);
	}
	return r;
}

int symbols_collect(const struct image *program, const struct link_plan *plan, struct name_set *ret,
		    struct fault *reterr)
{
	static const char *const always[] = { "main", "_start", "_init", "_fini" };
	int r = exports_collect(program, ret);

	if (r == 0)
		r = symbols_of_options(plan, ret);
	for (size_t i = 0; i < ARRAY_SIZE(always) && r == 0; i++)
		r = name_set_add(ret, always[i], strlen(always[i]));
	for (size_t i = 0; i < plan->n_inputs && r == 0; i++) {
		const struct link_input *input = &plan->inputs[i];

		if (input->kind == LINK_OBJECT)
			r = undefined_collect(input->bytes, input->size, ret);
		if (r == -EBADMSG)
			return fault_set(reterr, r, "%s: an object of the link plan is damaged", input->text);
	}
	return r < 0 ? fault_errno(reterr, r, "collecting symbol names") : 0;
}

/* Had the symbol a definition when the program was linked? Versions come from definitions only. */
static bool has_version(const struct image *program, uint64_t index)
{
	const struct image_section *versions = image_section_find(program, ".gnu.version");
	Elf64_Half version;

	if (!versions || !versions->data || (index + 1) * sizeof(version) > versions->size)
		return false;
	memcpy(&version, versions->data + index * sizeof(version), sizeof(version));
	return version > VER_NDX_GLOBAL;
}

static bool is_import(const struct image *program, uint64_t index, const Elf64_Sym *symbol, bool is_library)
{
	unsigned type = ELF64_ST_TYPE(symbol->st_info);

	if (symbol->st_shndx == SHN_UNDEF)
		return (type == STT_FUNC || type == STT_NOTYPE) &&
		       (!is_library || has_version(program, index));
	return is_library && (type == STT_FUNC || type == STT_GNU_IFUNC) &&
	       ELF64_ST_VISIBILITY(symbol->st_other) == STV_DEFAULT;
}

/* What a library expects without having seen a definition may come from one program that loads it, and not from the next. */
int symbols_imports(const struct image *program, struct name_set *ret)
{
	bool is_library = !image_section_find(program, ".interp");
	struct symbol_table table = { 0 };
	int r = 0;

	if (!dynamic_table(program, &table))
		return 0;
	for (size_t i = 1; i < table.n && r == 0; i++) {
		Elf64_Sym symbol = symbol_at(&table, i);

		if (is_import(program, i, &symbol, is_library))
			r = name_add(&table, &symbol, ret);
	}
	return r;
}

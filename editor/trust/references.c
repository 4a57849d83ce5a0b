/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/trust/references.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "module/image.h"

struct names {
	const struct image_section *symbols, *strings;
};

static int object_open(const char *path, struct image **ret, struct names *names, struct fault *reterr)
{
	int r = image_open(path, ret, reterr);

	if (r < 0)
		return r;
	if (image_elf_type(*ret) != ET_REL)
		return fault_set(reterr, -EBADMSG, "%s: not an object", path);
	names->symbols = image_section_find(*ret, ".symtab");
	names->strings = image_section_find(*ret, ".strtab");
	if (!names->symbols || !names->symbols->data || !names->strings || !names->strings->data)
		names->symbols = names->strings = NULL;
	return 0;
}

/* NULL: it has no name. */
static const char *name_at(const struct names *names, size_t i, Elf64_Sym *ret)
{
	if (!names->symbols || (i + 1) * sizeof(*ret) > names->symbols->size)
		return NULL;
	memcpy(ret, names->symbols->data + i * sizeof(*ret), sizeof(*ret));
	if (!ret->st_name || ret->st_name >= names->strings->size ||
	    !memchr(names->strings->data + ret->st_name, 0, names->strings->size - ret->st_name))
		return NULL;
	return (const char *)names->strings->data + ret->st_name;
}

/* ".rela.text.f" is of ".text.f". */
static int used_collect(const struct image *image, const struct names *names, const char *object,
			const struct link_map *known, struct name_set *ret)
{
	for (size_t i = 0; i < image_n_sections(image); i++) {
		const struct image_section *s = image_section_at(image, i);
		Elf64_Rela rela;

		if (s->type != SHT_RELA || !s->data || strncmp(s->name, ".rela", 5) != 0 ||
		    !link_map_has(known, object, s->name + 5))
			continue;
		for (size_t at = 0; at + sizeof(rela) <= s->size; at += sizeof(rela)) {
			const char *name;
			Elf64_Sym symbol;

			memcpy(&rela, s->data + at, sizeof(rela));
			name = name_at(names, ELF64_R_SYM(rela.r_info), &symbol);
			if (name && name_set_add(ret, name, strlen(name)) < 0)
				return -ENOMEM;
		}
	}
	return 0;
}

static size_t symbols_count(const struct names *names)
{
	return names->symbols ? names->symbols->size / sizeof(Elf64_Sym) : 0;
}

static int defined_collect(const struct names *names, struct references *ret)
{
	for (size_t i = 1; i < symbols_count(names); i++) {
		Elf64_Sym symbol;
		const char *name = name_at(names, i, &symbol);
		struct name_set *set;

		if (!name || symbol.st_shndx == SHN_UNDEF || ELF64_ST_BIND(symbol.st_info) == STB_LOCAL)
			continue;
		set = name_set_has(ret->defined, name, strlen(name)) ? ret->contested : ret->defined;
		if (name_set_add(set, name, strlen(name)) < 0)
			return -ENOMEM;
	}
	return 0;
}

int references_collect(const char *path, const char *object, const struct link_map *known,
		       struct references *ret, struct fault *reterr)
{
	_clean_(image_freep) struct image *image = NULL;
	struct names names;
	int r = object_open(path, &image, &names, reterr);

	if (r < 0)
		return r;
	r = used_collect(image, &names, object, known, ret->used);
	if (r == 0)
		r = defined_collect(&names, ret);
	return r < 0 ? fault_errno(reterr, r, "%s", path) : 0;
}

/* Does the name of an input section, "FILE:(.text.NAME)", end in the first @n bytes of @name? */
static bool ends_in(const char *part, const char *name, size_t n)
{
	size_t size = strlen(part);

	return size > n + 2 && part[size - 1] == ')' && part[size - n - 2] == '.' &&
	       strncmp(part + size - n - 1, name, n) == 0;
}

/*
 * LLVM gives each function and variable of IR a section that ends in its name; assembly does as it likes. Names of
 * local symbols got an end (partition.h), some of them before their code was made, others since.
 */
static bool is_of_ir(const char *part, const char *name)
{
	return (strncmp(part, "base-", 5) == 0 || strncmp(part, "cut-", 4) == 0 ||
		strncmp(part, "placed-", 7) == 0) &&
	       (ends_in(part, name, strlen(name)) || ends_in(part, name, link_map_stem(name)));
}

int references_check(const char *path, const struct link_map *made, const struct name_set *known,
		     const struct name_set *words, struct fault *reterr)
{
	_clean_(image_freep) struct image *image = NULL;
	struct names names;
	int r = object_open(path, &image, &names, reterr);

	for (size_t i = 1; r == 0 && i < symbols_count(&names); i++) {
		Elf64_Sym symbol;
		const char *name = name_at(&names, i, &symbol), *part;

		if (!name || symbol.st_shndx != SHN_UNDEF || name_set_has(known, name, strlen(name)))
			continue;
		part = link_map_section(made, name);
		if (name_set_has(words, name, strlen(name)) || (part && !is_of_ir(part, name)))
			r = fault_set(reterr, -EBADMSG,
				      "the result was refused: it uses %s, of %s, which the shipped code "
				      "does not use by that name",
				      name, part ? part : "the linker's options");
	}
	return r;
}

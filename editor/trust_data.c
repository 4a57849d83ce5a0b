/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What the program's code reads must come from the same IR as the code: initialized data, constants, unwind
 * tables, constructor lists, and the relocations that fill pointers in. Everything is compared by place (section
 * and offset), because with other libraries at hand the same link may put a section elsewhere. What the linker
 * makes of its own accord (GOT, PLT, headers, symbol tables) is not compared here.
 */

#include "editor/trust.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/macro.h"

/* A section, or an object that the loader copies there from a library, and the bytes into it; 0: anywhere in it. */
struct place {
	const char *name; /* NULL: none, then offset is the address */
	uint64_t offset;
};

struct relocation {
	struct place at, target;
	uint32_t type;
	const char *symbol; /* "": none */
	int64_t addend;
};

struct copied {
	const char *name; /* of the symbol */
	uint64_t address, size;
};

struct view {
	const struct image *image;
	struct copied *copied; /* where the linker put copies is up to it */
	size_t n_copied;
};

static bool is_linkers(const char *name)
{
	static const char *const names[] = { ".interp", ".eh_frame_hdr", ".relro_padding", ".got", ".got.plt" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static bool is_data(const struct image_section *s)
{
	switch (s->type) {
	case SHT_PROGBITS:
	case SHT_NOBITS:
	case SHT_INIT_ARRAY:
	case SHT_FINI_ARRAY:
	case SHT_PREINIT_ARRAY:
		return (s->flags & SHF_ALLOC) && !(s->flags & SHF_EXECINSTR) && !is_linkers(s->name);
	default:
		return false;
	}
}

static struct place place_of(const struct view *view, uint64_t address)
{
	for (size_t i = 0; i < view->n_copied; i++)
		if (address - view->copied[i].address < view->copied[i].size)
			return (struct place){ view->copied[i].name, address - view->copied[i].address };
	for (size_t i = 0; i < image_n_sections(view->image); i++) {
		const struct image_section *s = image_section_at(view->image, i);

		if ((s->flags & SHF_ALLOC) && !(s->flags & SHF_TLS) && address - s->address < s->size)
			return (struct place){ s->name, address - s->address };
	}
	return (struct place){ NULL, address };
}

static bool is_same_place(struct place a, struct place b)
{
	if (!a.name || !b.name)
		return a.name == b.name && a.offset == b.offset;
	return a.offset == b.offset && strcmp(a.name, b.name) == 0;
}

/* Did a word change by what its target moved, as a distance to it or as its address? */
static bool is_moved(const struct image *a, const struct image *b, uint32_t x, uint32_t y, uint64_t own_shift)
{
	for (size_t i = 0; i < image_n_sections(a); i++) {
		const struct image_section *s = image_section_at(a, i), *t = image_section_find(b, s->name);
		uint64_t shift = t ? t->address - s->address : 0;

		if (t && (s->flags & SHF_ALLOC) && (y - x == (uint32_t)shift || y - x == (uint32_t)(shift - own_shift)))
			return true;
	}
	return false;
}

/* Distances to one place, from places that are the same. */
static bool is_same_distance(const struct view *a, uint64_t x, const struct view *b, uint64_t y)
{
	struct place place = place_of(a, x);

	return place.name && is_same_place(place, place_of(b, y));
}

/* The end of a word around the differing byte @at that names the same place in both; 0: there is none. */
static size_t word_end(const struct view *a, const struct image_section *s, const struct view *b,
		       const struct image_section *t, size_t at)
{
	for (size_t back = 0; back < 8 && back <= at; back++) { /* unwind tables are not aligned */
		size_t start = at - back;
		uint64_t p, q;
		uint32_t x, y;

		if (back < 4 && start + 4 <= s->size) {
			memcpy(&x, s->data + start, 4);
			memcpy(&y, t->data + start, 4);
			if (is_moved(a->image, b->image, x, y, t->address - s->address) ||
			    is_same_distance(a, s->address + start + (int32_t)x, b, t->address + start + (int32_t)y))
				return start + 4;
		}
		if (start + 8 <= s->size) {
			memcpy(&p, s->data + start, 8);
			memcpy(&q, t->data + start, 8);
			if (place_of(a, p).name && is_same_place(place_of(a, p), place_of(b, q)))
				return start + 8;
		}
	}
	return 0;
}

/* Return: offset of the first difference; SIZE_MAX: none. */
static size_t data_compare(const struct view *a, const struct image_section *s, const struct view *b,
			   const struct image_section *t)
{
	if (!s->data || !t->data || memcmp(s->data, t->data, s->size) == 0)
		return SIZE_MAX;
	for (size_t at = 0, end; at < s->size; at = end) {
		end = at + 1;
		if (s->data[at] != t->data[at] && !(end = word_end(a, s, b, t, at)))
			return at;
	}
	return SIZE_MAX;
}

static bool symbol_read(const struct image *image, uint32_t index, Elf64_Sym *ret, const char **retname)
{
	const struct image_section *symbols = image_section_find(image, ".dynsym");
	const struct image_section *strings = image_section_find(image, ".dynstr");

	*retname = "";
	if (!index || !symbols || !strings || !symbols->data || !strings->data ||
	    (index + 1ull) * sizeof(*ret) > symbols->size)
		return false;
	memcpy(ret, symbols->data + (size_t)index * sizeof(*ret), sizeof(*ret));
	if (ret->st_name >= strings->size || !memchr(strings->data + ret->st_name, 0, strings->size - ret->st_name))
		return false;
	*retname = (const char *)strings->data + ret->st_name;
	return true;
}

/* The @i-th dynamic relocation; false behind the last. */
static bool relocation_read(const struct image *image, size_t i, Elf64_Rela *ret)
{
	const struct image_section *rela = image_section_find(image, ".rela.dyn");

	if (!rela || !rela->data || i >= rela->size / sizeof(*ret))
		return false;
	memcpy(ret, rela->data + i * sizeof(*ret), sizeof(*ret));
	return true;
}

static size_t relocations_count(const struct image *image)
{
	const struct image_section *rela = image_section_find(image, ".rela.dyn");

	return rela && rela->data ? rela->size / sizeof(Elf64_Rela) : 0;
}

static int view_open(struct view *view, const struct image *image, struct arena *arena)
{
	uint32_t copy = image_machine(image) == EM_AARCH64 ? R_AARCH64_COPY : R_X86_64_COPY;
	Elf64_Rela entry;

	*view = (struct view){ image, arena_array(arena, struct copied, relocations_count(image)), 0 };
	for (size_t i = 0; view->copied && relocation_read(image, i, &entry); i++) {
		const char *name;
		Elf64_Sym symbol;

		if (ELF64_R_TYPE(entry.r_info) == copy &&
		    symbol_read(image, (uint32_t)ELF64_R_SYM(entry.r_info), &symbol, &name))
			view->copied[view->n_copied++] = (struct copied){ name, entry.r_offset, symbol.st_size };
	}
	return view->copied ? 0 : -ENOMEM;
}

static int by_place(const void *a, const void *b)
{
	const struct relocation *x = a, *y = b;
	int r = strcmp(x->at.name, y->at.name);

	return r ? r : (x->at.offset > y->at.offset) - (x->at.offset < y->at.offset);
}

/* The dynamic relocations of data, by place; NULL: no memory. */
static struct relocation *relocations_of(const struct view *view, struct arena *arena, size_t *retn)
{
	struct relocation *list = arena_array(arena, struct relocation, relocations_count(view->image));
	Elf64_Rela entry;

	*retn = 0;
	for (size_t i = 0; list && relocation_read(view->image, i, &entry); i++) {
		struct relocation r = { .at = place_of(view, entry.r_offset),
					.type = (uint32_t)ELF64_R_TYPE(entry.r_info), .addend = entry.r_addend };
		Elf64_Sym symbol;

		if (!symbol_read(view->image, (uint32_t)ELF64_R_SYM(entry.r_info), &symbol, &r.symbol))
			r.target = place_of(view, (uint64_t)entry.r_addend);
		if (r.at.name && !is_linkers(r.at.name))
			list[(*retn)++] = r;
	}
	if (list)
		qsort(list, *retn, sizeof(*list), by_place);
	return list;
}

static bool is_same_relocation(const struct relocation *x, const struct relocation *y)
{
	return is_same_place(x->at, y->at) && x->type == y->type && strcmp(x->symbol, y->symbol) == 0 &&
	       (x->symbol[0] ? x->addend == y->addend : is_same_place(x->target, y->target));
}

static int relocations_compare(const struct view *shipped, const struct view *again, struct arena *arena,
			       struct fault *reterr)
{
	size_t n = 0, m = 0;
	struct relocation *xs = relocations_of(shipped, arena, &n), *ys = relocations_of(again, arena, &m);

	if (!xs || !ys)
		return fault_errno(reterr, -ENOMEM, "comparing with the shipped data");
	for (size_t i = 0; i < MIN(n, m); i++)
		if (!is_same_relocation(&xs[i], &ys[i]))
			return fault_set(reterr, 1, "a pointer in %s, offset %#llx, does not regenerate",
					 xs[i].at.name, (unsigned long long)xs[i].at.offset);
	if (n != m)
		return fault_set(reterr, 1, "%zu pointers in its data, regenerated %zu", n, m);
	return 0;
}

static int section_compare(const struct view *shipped, const struct image_section *s, const struct view *again,
			   struct fault *reterr)
{
	const struct image_section *t = image_section_find(again->image, s->name);
	size_t at;

	if (!t || t->size != s->size)
		return fault_set(reterr, 1, "its section %s has %llu bytes, regenerated %llu", s->name,
				 (unsigned long long)s->size, t ? (unsigned long long)t->size : 0ull);
	at = data_compare(shipped, s, again, t);
	return at == SIZE_MAX ? 0 : fault_set(reterr, 1, "its section %s differs from offset %#zx on", s->name, at);
}

int trust_compare_data(const struct image *shipped, const struct image *again, struct fault *reterr)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	struct view a, b;
	int r = arena ? view_open(&a, shipped, arena) : -ENOMEM;

	if (r == 0)
		r = view_open(&b, again, arena);
	if (r < 0)
		return fault_errno(reterr, r, "comparing with the shipped data");
	for (size_t i = 0; i < image_n_sections(shipped) && r == 0; i++) {
		const struct image_section *s = image_section_at(shipped, i);

		if (is_data(s) && s->size)
			r = section_compare(&a, s, &b, reterr);
	}
	return r ? r : relocations_compare(&a, &b, arena, reterr);
}

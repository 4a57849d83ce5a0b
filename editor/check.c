/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/bytes.h"

#define GNU_PROPERTY_AND 0xc0000002u /* GNU_PROPERTY_X86_FEATURE_1_AND: bit 0 IBT, bit 1 shadow stack */
#define MAX_RELOCATION_KIND 2048u

/* One file's view of its dynamic section and what hangs on it; everything borrowed from the image. */
struct view {
	const struct image *image;
	const Elf64_Dyn *dynamic;
	size_t n_dynamic;
	const char *strings;
	size_t n_strings;
	const Elf64_Sym *symbols;
	size_t n_symbols;
	const Elf64_Versym *versions;		      /* one per symbol, or NULL */
	const struct image_section *defined, *needed; /* .gnu.version_d, .gnu.version_r, or NULL */
};

static const void *table(const struct image *image, const char *name, size_t entry, size_t *retn)
{
	const struct image_section *section = image_section_find(image, name);

	/* A file may place a table anywhere; what is not aligned is not a table. */
	if (section && ((uintptr_t)section->data & (entry % 8 ? entry - 1 : 7) & 7))
		section = NULL;
	*retn = section && section->data ? section->size / entry : 0;
	return *retn ? section->data : NULL;
}

static void view_open(const struct image *image, struct view *ret)
{
	size_t n_versions;

	*ret = (struct view){ .image = image };
	ret->dynamic = table(image, ".dynamic", sizeof(Elf64_Dyn), &ret->n_dynamic);
	ret->strings = table(image, ".dynstr", 1, &ret->n_strings);
	ret->symbols = table(image, ".dynsym", sizeof(Elf64_Sym), &ret->n_symbols);
	ret->versions = table(image, ".gnu.version", sizeof(Elf64_Versym), &n_versions);
	if (n_versions < ret->n_symbols)
		ret->versions = NULL;
	ret->defined = image_section_find(image, ".gnu.version_d");
}

static const char *string_at(const struct view *view, uint64_t offset)
{
	if (offset >= view->n_strings || !memchr(view->strings + offset, 0, view->n_strings - offset))
		return "";
	return view->strings + offset;
}

static const Elf64_Phdr *segment_find(const struct image *image, uint32_t type)
{
	for (size_t i = 0; i < image_n_segments(image); i++)
		if (image_segment_at(image, i)->p_type == type)
			return image_segment_at(image, i);
	return NULL;
}

static int differ(struct fault *reterr, const char *what)
{
	return fault_set(reterr, -EBADMSG, "the result was refused: its %s differ from the shipped file's",
			 what);
}

/* As the kernel finds it: by the segment, whatever sections say. */
static const uint8_t *interpreter(const struct image *image, size_t *retsize)
{
	const Elf64_Phdr *segment = segment_find(image, PT_INTERP);
	size_t size;
	const uint8_t *bytes = image_bytes(image, &size);

	*retsize = segment && segment->p_offset <= size && segment->p_filesz <= size - segment->p_offset ?
			   segment->p_filesz :
			   0;
	return *retsize ? bytes + segment->p_offset : NULL;
}

static uint64_t dynamic_value(const struct view *view, int64_t tag);

/* Is what the section headers show, and what is compared below, what a loader reads? */
static bool shows_dynamic(const struct view *view)
{
	const Elf64_Phdr *segment = segment_find(view->image, PT_DYNAMIC);
	const struct image_section *dynamic = image_section_find(view->image, ".dynamic");
	const struct image_section *strings = image_section_find(view->image, ".dynstr");
	const struct image_section *symbols = image_section_find(view->image, ".dynsym");

	if (!segment || !dynamic)
		return !segment == !dynamic;
	return segment->p_offset == dynamic->offset && segment->p_vaddr == dynamic->address &&
	       dynamic_value(view, DT_STRTAB) == (strings ? strings->address : 0) &&
	       dynamic_value(view, DT_SYMTAB) == (symbols ? symbols->address : 0);
}

static int compare_headers(const struct image *a, const struct image *b, struct fault *reterr)
{
	const Elf64_Phdr *x, *y;
	const uint8_t *p, *q;
	size_t n, m;

	if (image_machine(a) != image_machine(b) || image_elf_type(a) != image_elf_type(b))
		return differ(reterr, "machine and file type");
	p = interpreter(a, &n);
	q = interpreter(b, &m);
	if (n != m || (n && memcmp(p, q, n) != 0))
		return differ(reterr, "interpreters");
	x = segment_find(a, PT_GNU_STACK);
	y = segment_find(b, PT_GNU_STACK);
	if (!x != !y || (x && x->p_flags != y->p_flags))
		return differ(reterr, "stack permissions");
	if (segment_find(a, PT_GNU_RELRO) && !segment_find(b, PT_GNU_RELRO))
		return differ(reterr, "read-only relocations (RELRO)");
	x = segment_find(a, PT_TLS);
	y = segment_find(b, PT_TLS);
	if (!x != !y)
		return differ(reterr, "thread-local segments");
	for (size_t i = 0; i < image_n_segments(b); i++)
		if ((image_segment_at(b, i)->p_flags & (PF_W | PF_X)) == (PF_W | PF_X))
			return fault_set(reterr, -EBADMSG,
					 "the result was refused: a segment is writable and executable");
	return 0;
}

/* Entries that name a string, in order: needed libraries, soname, run paths. */
static size_t next_string_entry(const struct view *view, size_t from)
{
	for (size_t i = from; i < view->n_dynamic && view->dynamic[i].d_tag != DT_NULL; i++)
		switch (view->dynamic[i].d_tag) {
		case DT_NEEDED:
		case DT_SONAME:
		case DT_RPATH:
		case DT_RUNPATH: return i;
		}
	return SIZE_MAX;
}

static uint64_t dynamic_value(const struct view *view, int64_t tag)
{
	for (size_t i = 0; i < view->n_dynamic && view->dynamic[i].d_tag != DT_NULL; i++)
		if (view->dynamic[i].d_tag == tag)
			return view->dynamic[i].d_un.d_val;
	return 0;
}

static int compare_dynamic(const struct view *a, const struct view *b, struct fault *reterr)
{
	static const struct {
		int64_t tag;
		const char *what;
	} equal[] = {
		{ DT_FLAGS, "dynamic flags" },		{ DT_FLAGS_1, "dynamic flags" },
		{ DT_PREINIT_ARRAYSZ, "constructors" }, { DT_INIT_ARRAYSZ, "constructors" },
		{ DT_FINI_ARRAYSZ, "destructors" },	{ DT_TEXTREL, "text relocations" },
	};
	size_t i = 0, j = 0;

	for (;;) {
		i = next_string_entry(a, i);
		j = next_string_entry(b, j);
		if (i == SIZE_MAX || j == SIZE_MAX)
			break;
		if (a->dynamic[i].d_tag != b->dynamic[j].d_tag ||
		    strcmp(string_at(a, a->dynamic[i].d_un.d_val), string_at(b, b->dynamic[j].d_un.d_val)) !=
			    0)
			return differ(reterr, "needed libraries, soname or run path");
		i++;
		j++;
	}
	if (i != j)
		return differ(reterr, "needed libraries, soname or run path");
	for (size_t k = 0; k < ARRAY_SIZE(equal); k++)
		if (dynamic_value(a, equal[k].tag) != dynamic_value(b, equal[k].tag))
			return differ(reterr, equal[k].what);
	return !dynamic_value(a, DT_INIT) != !dynamic_value(b, DT_INIT) ? differ(reterr, "constructors") : 0;
}

/* Name of version @index as the file itself defines it; "" for local, global, or unknown. */
static const char *version_name(const struct view *view, unsigned index)
{
	struct reader reader;
	uint64_t at = 0;

	if (!view->defined || !view->defined->data || index < 2)
		return "";
	for (unsigned n = 0; n < 65536; n++) {
		reader = reader_of(view->defined->data, view->defined->size);
		reader_bytes(&reader, at);
		const Elf64_Verdef *definition = reader_bytes(&reader, sizeof(Elf64_Verdef));

		if (!definition || (uintptr_t)definition & 3)
			return "";
		if ((definition->vd_ndx & 0x7fff) == index) {
			reader_bytes(&reader, (uint64_t)definition->vd_aux - sizeof(Elf64_Verdef));
			const Elf64_Verdaux *aux = reader_bytes(&reader, sizeof(Elf64_Verdaux));

			return aux && !((uintptr_t)aux & 3) ? string_at(view, aux->vda_name) : "";
		}
		if (!definition->vd_next)
			return "";
		at += definition->vd_next;
	}
	return "";
}

struct export
{
	const char *name, *version;
	uint64_t abi_size; /* of objects; 0 for functions */
	unsigned info, other, hidden_version;
};

static int by_name(const void *a, const void *b)
{
	const struct export *x = a, *y = b;
	int r = strcmp(x->name, y->name);

	return r ? r : strcmp(x->version, y->version);
}

static struct export *exports_of(const struct view *view, struct arena *arena, size_t *retn)
{
	struct export *exports = arena_array(arena, struct export, view->n_symbols + 1);
	size_t n = 0;

	for (size_t i = 1; exports && i < view->n_symbols; i++) {
		const Elf64_Sym *s = &view->symbols[i];
		unsigned type = ELF64_ST_TYPE(s->st_info), version = view->versions ? view->versions[i] : 1;

		if (s->st_shndx == SHN_UNDEF)
			continue;
		exports[n++] = (struct export){
			.name = string_at(view, s->st_name),
			.version = version_name(view, version & 0x7fff),
			.abi_size = type == STT_OBJECT || type == STT_TLS ? s->st_size : 0,
			.info = s->st_info,
			.other = s->st_other,
			.hidden_version = version >> 15,
		};
	}
	if (exports)
		qsort(exports, n, sizeof(*exports), by_name);
	*retn = n;
	return exports;
}

static int compare_exports(const struct view *a, const struct view *b, struct fault *reterr)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	size_t n = 0, m = 0;
	struct export *xs = arena ? exports_of(a, arena, &n) : NULL;
	struct export *ys = arena ? exports_of(b, arena, &m) : NULL;

	if (!xs || !ys)
		return fault_errno(reterr, -ENOMEM, "comparing exported symbols");
	for (size_t i = 0; i < MAX(n, m); i++) {
		const struct export *x = &xs[i], *y = &ys[i];

		if (i >= n || i >= m || by_name(x, y) != 0)
			return fault_set(reterr, -EBADMSG, "the result was refused: exported symbol %s is %s",
					 i < n && (i >= m || by_name(x, y) < 0) ? x->name : y->name,
					 i < n && (i >= m || by_name(x, y) < 0) ? "missing" : "new");
		if (x->info != y->info || x->other != y->other || x->abi_size != y->abi_size ||
		    x->hidden_version != y->hidden_version)
			return fault_set(reterr, -EBADMSG,
					 "the result was refused: exported symbol %s changed its kind",
					 x->name);
	}
	return 0;
}

static void relocation_kinds(const struct image *image, uint8_t ret[MAX_RELOCATION_KIND])
{
	for (size_t i = 0; i < image_n_sections(image); i++) {
		const struct image_section *s = image_section_at(image, i);
		const Elf64_Rela *rela = (const Elf64_Rela *)s->data;

		if (s->type != SHT_RELA || !(s->flags & SHF_ALLOC) || !rela || (uintptr_t)rela & 7)
			continue;
		for (size_t k = 0; k < s->size / sizeof(*rela); k++)
			ret[ELF64_R_TYPE(rela[k].r_info) % MAX_RELOCATION_KIND] = 1;
	}
}

static int compare_relocations(const struct image *a, const struct image *b, struct fault *reterr)
{
	uint8_t shipped[MAX_RELOCATION_KIND] = { 0 }, result[MAX_RELOCATION_KIND] = { 0 };

	relocation_kinds(a, shipped);
	relocation_kinds(b, result);
	for (unsigned kind = 0; kind < MAX_RELOCATION_KIND; kind++)
		if (result[kind] && !shipped[kind])
			return fault_set(reterr, -EBADMSG,
					 "the result was refused: dynamic relocations of kind %u are new",
					 kind);
	return 0;
}

static uint32_t hardening_property(const struct image *image)
{
	const struct image_section *section = image_section_find(image, ".note.gnu.property");
	struct reader reader = reader_of(section ? section->data : NULL, section ? section->size : 0);

	reader_bytes(&reader, 16); /* note header and "GNU" */
	while (!reader.bad && reader_left(&reader)) {
		uint32_t type = reader_u32(&reader), size = reader_u32(&reader);
		struct reader value = reader_sub(&reader, (uint64_t)size + (-size & 7u));

		if (type == GNU_PROPERTY_AND)
			return reader_u32(&value);
	}
	return 0;
}

/* .eh_frame_hdr (LSB 4.1, 10.6.2): version 1, then a table of (function, FDE), both sdata4 relative to it. */
static int unwind_check(const struct image *shipped, const struct image *result, struct fault *reterr)
{
	const struct image_section *had = image_section_find(shipped, ".eh_frame_hdr");
	const struct image_section *has = image_section_find(result, ".eh_frame_hdr");
	struct reader reader;
	int32_t before = INT32_MIN;
	uint32_t n;

	if (!had)
		return 0;
	if (!has || !has->data)
		return differ(reterr, "unwind tables");
	reader = reader_of(has->data, has->size);
	if (reader_u32(&reader) != 0x3b031b01) /* version 1; pcrel sdata4, udata4, datarel sdata4 */
		return fault_set(reterr, -EBADMSG,
				 "the result was refused: unwind table in an unknown encoding");
	reader_u32(&reader);
	n = reader_u32(&reader);
	for (uint32_t i = 0; i < n && !reader.bad; i++) {
		int32_t function = (int32_t)reader_u32(&reader);

		reader_u32(&reader);
		if (function < before)
			reader.bad = true;
		before = function;
	}
	return reader.bad || !n ?
		       fault_set(reterr, -EBADMSG, "the result was refused: its unwind table is damaged") :
		       0;
}

int check_images(const struct image *shipped, const struct image *result, struct fault *reterr)
{
	struct view a, b;
	int r;

	view_open(shipped, &a);
	view_open(result, &b);
	r = compare_headers(shipped, result, reterr);
	if (r == 0 && !shows_dynamic(&a))
		r = fault_set(reterr, -EBADMSG,
			      "the shipped file's section headers do not show what a loader reads");
	if (r == 0 && !shows_dynamic(&b))
		r = fault_set(reterr, -EBADMSG,
			      "the result was refused: its section headers do not show what a loader reads");
	if (r == 0)
		r = compare_dynamic(&a, &b, reterr);
	if (r == 0)
		r = compare_exports(&a, &b, reterr);
	if (r == 0)
		r = compare_relocations(shipped, result, reterr);
	if (r == 0 && hardening_property(shipped) & ~hardening_property(result))
		r = differ(reterr, "control-flow protection properties");
	if (r == 0)
		r = unwind_check(shipped, result, reterr);
	return r;
}

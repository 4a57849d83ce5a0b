/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The order of a plan repeats what ld.lld did:
 *	0. the names that the link heard of, in their order (name_order.h)
 *	1. options that shape the output, in the caller's order, with the contents of the files they name
 *	2. machine-code objects in the order in which they were taken in; what came out of archives is
 *	   taken in unconditionally now, without what the link took from IR before them (object_groups.h)
 *	3. the IR: lld puts the objects of LTO behind all others
 *	4. the libraries of DT_NEEDED in its order, needed or not: it comes out the same
 */

#define _GNU_SOURCE
#include "backend/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/name_order.h"
#include "backend/object_groups.h"
#include "base/file.h"
#include "module/array.h"

void plan_files_done(struct plan_files *files)
{
	for (size_t i = 0; i < files->n_maps; i++)
		file_map_done(&files->maps[i]);
	free(files->maps);
	buffer_done(&files->generated);
	buffer_done(&files->names);
	for (size_t i = 0; i < files->n_objects; i++)
		buffer_done(&files->objects[i]);
	free(files->objects);
	*files = (struct plan_files){ 0 };
}

struct planner {
	const struct ld_line *line;
	const struct used_inputs *used;
	const struct image *output;
	const struct block_map *map;
	struct plan_files *files;
	struct link_plan *plan;
	struct fault *reterr;
};

static int add(struct planner *p, enum link_input_kind kind, const char *text, const void *bytes, size_t size)
{
	int r = link_plan_add(p->plan, kind, text, bytes, size);

	return r < 0 ? fault_errno(p->reterr, r, "link plan") : 0;
}

static int file_add(struct planner *p, const char *option, const char *path)
{
	struct plan_files *files = p->files;
	struct file_map *map;
	int r;

	if (!array_reserve(files->maps, files->n_maps, &files->capacity))
		return fault_errno(p->reterr, -ENOMEM, "link plan");
	map = &files->maps[files->n_maps];
	*map = (struct file_map){ 0 };
	r = file_map_open(path, map, p->reterr);
	if (r < 0)
		return r;
	files->n_maps++;
	return add(p, LINK_FILE, option, map->data, map->size);
}

/* Options with a file: the plan spells them "--NAME=". */
static int file_option_add(struct planner *p, const struct ld_item *item)
{
	_clean_(freep) char *option = NULL;
	const char *name = item->option;

	if (strcmp(name, "T") == 0)
		name = "script";
	if (asprintf(&option, "--%s=", name) < 0) {
		option = NULL;
		return fault_errno(p->reterr, -ENOMEM, "link plan");
	}
	return file_add(p, option, item->value);
}

/* A linker script among the inputs; one that only names inputs has done its work. */
static int script_add(struct planner *p, const char *path)
{
	_clean_(file_map_donep) struct file_map map = { 0 };

	if (file_map_open(path, &map, NULL) < 0 || map.size < 4 || memchr(map.data, 0, map.size) ||
	    memcmp(map.data, "!<", 2) == 0 || memcmp(map.data, ELFMAG, SELFMAG) == 0 ||
	    memmem(map.data, map.size, "INPUT", 5) || memmem(map.data, map.size, "GROUP", 5))
		return 0;
	return file_add(p, "", path);
}

static const struct image_section *section_data(const struct planner *p, const char *name)
{
	const struct image_section *s = image_section_find(p->output, name);

	return s && s->data ? s : NULL;
}

static const char *dynamic_string(const struct planner *p, uint64_t at)
{
	const struct image_section *s = section_data(p, ".dynstr");

	return s && at < s->size && s->data[s->size - 1] == '\0' ? (const char *)s->data + at : NULL;
}

/*
 * --exclude-libs hides what comes from archives, and the plan has none. So the symbols and versions that the
 * link exported become a version script, which takes the place of the caller's.
 */
struct exports {
	const struct planner *p;
	const struct image_section *symbols, *versions,
		*definitions; /* .gnu.version and ..._d: may be NULL */
};

/* Version of symbol @i: 0 local, 1 none, else its index; hidden ones come from .symver in the code. */
static unsigned export_version(const struct exports *e, size_t i)
{
	Elf64_Versym version = VER_NDX_GLOBAL;

	if (e->definitions && e->versions && (i + 1) * sizeof(version) <= e->versions->size)
		memcpy(&version, e->versions->data + i * sizeof(version), sizeof(version));
	return version;
}

/* Prints the exports of one version; how many there are. */
static size_t exports_print(const struct exports *e, unsigned version, struct buffer *text)
{
	size_t n = 0;

	for (size_t i = 1; i < e->symbols->size / sizeof(Elf64_Sym); i++) {
		const char *name;
		Elf64_Sym sym;

		memcpy(&sym, e->symbols->data + i * sizeof(sym), sizeof(sym));
		name = dynamic_string(e->p, sym.st_name);
		if (sym.st_shndx == SHN_UNDEF || sym.st_shndx == SHN_ABS || !name || !*name ||
		    export_version(e, i) != version)
			continue;
		if (text)
			buffer_printf(text, "\t\"%s\";\n", name);
		n++;
	}
	return n;
}

/* The names of one definition and of its parent, from a Verdef at @at; the offset of the next, 0: last. */
static uint32_t definition_read(const struct exports *e, uint32_t at, Elf64_Verdef *ret, const char **retname,
				const char **retparent)
{
	const struct image_section *s = e->definitions;
	Elf64_Verdaux aux, parent;

	*retname = *retparent = NULL;
	if (s->size < sizeof(*ret) || at > s->size - sizeof(*ret))
		return 0;
	memcpy(ret, s->data + at, sizeof(*ret));
	if (ret->vd_aux > s->size - at || s->size - at - ret->vd_aux < sizeof(aux))
		return 0;
	memcpy(&aux, s->data + at + ret->vd_aux, sizeof(aux));
	*retname = dynamic_string(e->p, aux.vda_name);
	if (ret->vd_cnt > 1 && aux.vda_next <= s->size - at - ret->vd_aux &&
	    s->size - at - ret->vd_aux - aux.vda_next >= sizeof(parent)) {
		memcpy(&parent, s->data + at + ret->vd_aux + aux.vda_next, sizeof(parent));
		*retparent = dynamic_string(e->p, parent.vda_name);
	}
	return ret->vd_next ? at + ret->vd_next : 0;
}

/* "LIB_2 { global: ...; } LIB_1;": the first one ("base") is the library itself. */
static void versions_print(const struct exports *e, struct buffer *text)
{
	const char *name, *parent, *hide = "\tlocal: *;\n";
	Elf64_Verdef definition;
	uint32_t at = 0;

	do {
		at = definition_read(e, at, &definition, &name, &parent);
		if (!name || definition.vd_flags & VER_FLG_BASE)
			continue;
		buffer_printf(text, "%s { global:\n", name);
		exports_print(e, definition.vd_ndx, text);
		buffer_printf(text, "%s} %s;\n", hide, parent ? parent : "");
		hide = "";
	} while (at);
}

/* A version script cannot say "and these without a version": then the caller's stays, and the editor compares. */
static bool exports_open(const struct planner *p, struct exports *ret)
{
	*ret = (struct exports){ p, section_data(p, ".dynsym"), section_data(p, ".gnu.version"),
				 section_data(p, ".gnu.version_d") };
	return p->line->excludes_libs && ret->symbols &&
	       (!ret->definitions || !exports_print(ret, VER_NDX_GLOBAL, NULL));
}

static int exports_add(struct planner *p)
{
	struct buffer *text = &p->files->generated;
	struct exports e;
	int r;

	if (text->size || !exports_open(p, &e))
		return 0;
	if (e.definitions) {
		versions_print(&e, text);
	} else {
		buffer_printf(text, "{ global:\n");
		exports_print(&e, VER_NDX_GLOBAL, text);
		buffer_printf(text, "\tlocal: *; };\n");
	}
	r = text->bad ? fault_errno(p->reterr, -ENOMEM, "link plan") :
			add(p, LINK_FILE, "--version-script=", text->data, text->size);
	return r < 0 ? r :
		       add(p, LINK_ARGUMENT, "--undefined-version", NULL,
			   0); /* copies of others' variables */
}

/* The @i-th needed library; NULL behind the last. */
static const char *needed_at(const struct planner *p, size_t i)
{
	const struct image_section *s = section_data(p, ".dynamic");

	for (size_t at = 0; s && at < s->size / sizeof(Elf64_Dyn); at++) {
		Elf64_Dyn d;

		memcpy(&d, s->data + at * sizeof(d), sizeof(d));
		if (d.d_tag == DT_NEEDED && i-- == 0)
			return dynamic_string(p, d.d_un.d_val);
	}
	return NULL;
}

static bool has_needed(const struct planner *p)
{
	return needed_at(p, 0) != NULL;
}

/* "-RDIRECTORY" is -R: as the editor knows it, in two words. */
static int word_add(struct planner *p, const char *word)
{
	bool joined = word[0] == '-' && word[1] == 'R' && word[2];
	int r = joined ? add(p, LINK_ARGUMENT, "-R", NULL, 0) : 0;

	return r < 0 ? r : add(p, LINK_ARGUMENT, joined ? word + 2 : word, NULL, 0);
}

static int item_add(struct planner *p, const struct ld_item *item)
{
	int r = 0;

	switch (item->kind) {
	case LD_FILE:
		if (strcmp(item->option, "version-script") == 0 && exports_open(p, &(struct exports){ 0 }))
			return 0; /* exports_add() */
		return item->value ? file_option_add(p, item) : 0;
	case LD_INPUT: return script_add(p, item->value);
	case LD_EXCLUDE_LIBS: return exports_add(p);
	case LD_STATIC:
		if (has_needed(p))
			return 0;
		break;
	case LD_KEEP: break;
	default: return 0;
	}
	for (size_t i = 0; r == 0 && i < item->n; i++)
		r = word_add(p, p->line->words.v[item->first + i]);
	return r;
}

/* An object of the plan. */
struct object {
	const struct used_input *input;
	const void *bytes; /* the input's, or those of a copy */
};

static int functions_taken(const struct planner *p, struct function_names *ret)
{
	ret->names = calloc(MAX(p->map->n_functions, 1u), sizeof(char *));
	if (!ret->names)
		return -ENOMEM;
	for (size_t i = 0; i < p->map->n_functions; i++)
		if (p->map->functions[i].name)
			ret->names[ret->n++] = p->map->functions[i].name;
	function_names_sort(ret);
	return 0;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int object_copy(struct planner *p, const struct object_groups *groups,
		       const struct function_names *taken, struct object *object)
{
	_clean_(buffer_donep) struct buffer copy = { 0 };
	struct plan_files *files = p->files;
	int r = object_groups_leave_out(groups, taken, object->input, &copy);

	if (r < 0 || !copy.size)
		return r;
	if (!array_reserve(files->objects, files->n_objects, &files->objects_capacity))
		return -ENOMEM;
	object->bytes = copy.data;
	files->objects[files->n_objects++] = copy;
	copy = (struct buffer){ 0 };
	return 0;
}

/* What of each input the plan has. What stands before all IR is as it was. */
static int objects_make(struct planner *p, struct object *objects)
{
	_clean_(object_groups_donep) struct object_groups groups = { 0 };
	_clean_(freep) const char **names = NULL;
	struct function_names taken = { 0 };
	bool behind = false;
	int r = functions_taken(p, &taken);

	names = taken.names;
	for (size_t i = 0; r == 0 && i < p->used->n_inputs; i++) {
		const struct used_input *input = &p->used->inputs[i];

		objects[i] = (struct object){ input, input->bytes };
		behind |= input->kind == USED_IR;
		if (input->kind == USED_IR)
			r = object_groups_add(&groups, input);
		else if (behind && input->kind == USED_OBJECT)
			r = object_copy(p, &groups, &taken, &objects[i]);
	}
	return r < 0 ? fault_errno(p->reterr, r, "link plan") : 0;
}

/* 2 and 3 */
static int objects_add(struct planner *p)
{
	_clean_(freep) struct object *objects = calloc(MAX(p->used->n_inputs, 1u), sizeof(*objects));
	int r = objects ? objects_make(p, objects) : fault_errno(p->reterr, -ENOMEM, "link plan");

	for (size_t i = 0; r == 0 && i < p->used->n_inputs; i++) {
		const struct used_input *input = &p->used->inputs[i];

		if (input->kind == USED_OBJECT)
			r = add(p, LINK_OBJECT, base_name(input->name), objects[i].bytes, input->size);
	}
	return r == 0 ? add(p, LINK_IR, NULL, NULL, 0) : r;
}

/* 4; what they need themselves need not all be there: the program ran with what it names. */
static int libraries_add(struct planner *p)
{
	int r = has_needed(p) ? add(p, LINK_ARGUMENT, "--allow-shlib-undefined", NULL, 0) : 0;
	const char *soname;

	for (size_t i = 0; r == 0 && (soname = needed_at(p, i)); i++)
		r = add(p, LINK_SHARED, soname, NULL, 0);
	return r;
}

/* 0 */
static int names_add(struct planner *p)
{
	struct buffer *names = &p->files->names;
	int r = name_order_make(p->output, p->used, names);

	if (r < 0)
		return fault_errno(p->reterr, r, "link plan");
	return names->size ? add(p, LINK_OBJECT, "names.o", names->data, names->size) : 0;
}

static bool has_version_script(const struct ld_line *line)
{
	for (size_t i = 0; i < line->n_items; i++)
		if (line->items[i].kind == LD_FILE && strcmp(line->items[i].option, "version-script") == 0)
			return true;
	return false;
}

int plan_build(const struct ld_line *line, const struct used_inputs *used, const struct image *output,
	       const struct block_map *map, struct plan_files *files, struct link_plan **ret,
	       struct fault *reterr)
{
	_clean_(link_plan_freep) struct link_plan *plan = calloc(1, sizeof(*plan));
	struct planner p = { line, used, output, map, files, plan, reterr };
	int r = plan ? 0 : fault_errno(reterr, -ENOMEM, "link plan");

	if (r == 0)
		r = names_add(&p);
	if (r == 0 && !line->judges_versions && has_version_script(line)) /* 1, by ld.lld's standard */
		r = add(&p, LINK_ARGUMENT, "--undefined-version", NULL, 0);
	if (r == 0 && ld_line_keeps_started(line))
		r = add(&p, LINK_ARGUMENT, "-z", NULL, 0);
	if (r == 0 && ld_line_keeps_started(line))
		r = add(&p, LINK_ARGUMENT, "nostart-stop-gc", NULL, 0);
	for (size_t i = 0; r == 0 && i < line->n_items; i++) /* 1 */
		r = item_add(&p, &line->items[i]);
	if (r == 0)
		r = objects_add(&p);
	if (r == 0)
		r = libraries_add(&p);
	if (r == 0)
		*ret = TAKE(plan);
	return r;
}

/* SPDX-License-Identifier: Apache-2.0 */

/* Mutants of the link plan: its words, their order, libraries, files, and objects that were not in it. */

#include "bench/security/mutant.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

/* An input of this kind, or of any when @kind is 0; SIZE_MAX: none. */
static size_t input_draw(struct mutant *m, enum link_input_kind kind)
{
	const struct link_plan *plan = m->data->plan;
	size_t start = plan->n_inputs ? mutant_draw(m, plan->n_inputs) : 0;

	for (size_t k = 0; k < plan->n_inputs; k++) {
		size_t i = (start + k) % plan->n_inputs;

		if (!kind || plan->inputs[i].kind == kind)
			return i;
	}
	return SIZE_MAX;
}

static int input_insert(struct mutant *m, size_t at, enum link_input_kind kind, const char *text,
			const void *bytes, size_t size)
{
	struct link_plan *plan = m->data->plan;
	struct link_input added;
	int r = link_plan_add(plan, kind, text, bytes, size);

	if (r < 0)
		return r;
	added = plan->inputs[plan->n_inputs - 1];
	memmove(plan->inputs + at + 1, plan->inputs + at, (plan->n_inputs - 1 - at) * sizeof(added));
	plan->inputs[at] = added;
	return 0;
}

static int text_set(struct mutant *m, size_t i, const char *text)
{
	char **field = &m->data->plan->inputs[i].text;

	mutant_says(m, "%s instead of %s", text, *field);
	free(*field);
	*field = strdup(text);
	return *field ? 0 : -ENOMEM;
}

static size_t place_draw(struct mutant *m)
{
	return mutant_draw(m, m->data->plan->n_inputs + 1);
}

static int argument_more(struct mutant *m)
{
	// clang-format off: a list
	static const char *const words[] = {
		"--defsym=main=_init", "--defsym=_start=main", "--defsym=malloc=0", "--defsym=puts=exit", "--defsym=exit=abort",
		"--defsym=__libc_start_main=exit", "--defsym=printf=puts", "--entry=main", "--entry=_init", "--entry=0", "--init=main", "--fini=main",
		"--init=abort", "--fini=abort", "--wrap=write", "--wrap=main", "--wrap=exit", "--wrap=malloc", "--wrap=strcmp",
		"-zexecstack", "-znorelro", "-zlazy", "-znow", "-ztext", "-znotext", "-zinterpose", "-zinitfirst", "-znodelete", "-zorigin",
		"-zseparate-loadable-segments", "-znoseparate-code", "-zseparate-code", "-zmax-page-size=65536", "-zcommon-page-size=65536",
		"-zrodynamic", "-zforce-ibt", "-zshstk", "-zforce-bti", "-zretpolineplt", "-zwxneeded", "-znognustack", "-zstack-size=4096",
		"-zdead-reloc-in-nonalloc=.debug_*=1", "-zkeep-text-section-prefix", "-zglobal", "-zifunc-noplt", "-zhazardplt",
		"-znostart-stop-gc", "-zstart-stop-visibility=hidden", "-zpack-relative-relocs", "-zundefs", "-zdefs", "-zmuldefs", "-znocopyreloc",
		"--dynamic-linker=/tmp/morph-planted", "--dynamic-linker=/bin/sh", "--no-dynamic-linker", "-rpath=/tmp", "-rpath=$ORIGIN",
		"--enable-new-dtags", "--disable-new-dtags", "--section-start=.text=0x10000000", "--image-base=0x400000", "-Ttext=0x200000",
		"--gc-sections", "--no-gc-sections", "--icf=all", "--icf=safe", "--undefined=abort", "--export-dynamic",
		"--export-dynamic-symbol=main", "-Bsymbolic", "-Bsymbolic-functions", "-Bno-symbolic", "--pack-dyn-relocs=relr", "--pack-dyn-relocs=android",
		"--hash-style=sysv", "--hash-style=both", "--build-id=0x1234", "--filter=planted.so", "--auxiliary=planted.so", "-soname=libc.so.6",
		"-Map=/tmp/morph-planted", "--dependency-file=/tmp/morph-planted", "--reproduce=/tmp/morph-planted", "--cref", "--trace", "--help",
		"--version", "-v", "--verbose", "/etc/passwd", "/etc/shadow", "@/etc/passwd", "-L/tmp", "-lm", "-l:libm.so.6", "--chroot=/tmp", "--script=/etc/passwd",
		"-r", "-shared", "-static", "-pie", "-no-pie", "--relocatable", "--format=binary", "--oformat=binary", "--emit-relocs", "--strip-all",
		"--no-eh-frame-hdr", "--unresolved-symbols=ignore-all", "--warn-unresolved-symbols", "--noinhibit-exec", "--allow-multiple-definition",
		"--no-allow-shlib-undefined", "--as-needed", "--no-as-needed", "-mllvm=-load=/tmp/morph-planted.so", "--lto-O0", "--plugin-opt=O0",
		"--thinlto-cache-dir=/tmp/morph-planted", "--save-temps", "--threads=1", "--shuffle-sections=*=7", "--sort-section=name", "--call-graph-profile-sort=none",
		"--symbol-ordering-file=/etc/passwd", "--orphan-handling=error", "--discard-all", "--discard-none", "--exclude-libs=ALL", "--nostdlib",
		"--fix-cortex-a8", "-m", "-melf_i386", "-maarch64linux", "--no-rosegment", "--execute-only", "--no-relax", "--optimize-bb-jumps", "-O2", "-O0",
		"--no-undefined-version", "--undefined-version", "--print-map", "--output=/tmp/morph-planted", "-o/tmp/morph-planted", "-o", "--", "",
		"--randomize-section-padding=3", "--nmagic", "--omagic", "--no-demangle", "--warn-backrefs", "--fatal-warnings", "--color-diagnostics=always",
		"--error-limit=0", "--error-handling-script=/tmp/morph-planted", "--package-metadata={}", "--remap-inputs=*=/etc/passwd", "--just-symbols=/bin/true",
		"--compress-sections=*=zlib", "--version-script=/etc/passwd", "--dynamic-list=/etc/passwd", "--retain-symbols-file=/etc/passwd", "--why-live=main",
	};
	// clang-format on
	const char *word = words[mutant_draw(m, ARRAY_SIZE(words))];

	mutant_says(m, "%s", word);
	return input_insert(m, place_draw(m), LINK_ARGUMENT, word, NULL, 0);
}

static int argument_changed(struct mutant *m)
{
	size_t i = input_draw(m, LINK_ARGUMENT), n;
	char text[256];

	if (i == SIZE_MAX)
		return MUTANT_NONE;
	snprintf(text, sizeof(text), "%s", m->data->plan->inputs[i].text);
	n = strlen(text);
	if (n && mutant_draw(m, 3))
		text[mutant_draw(m, n)] = (char)(' ' + mutant_draw(m, 95));
	else
		text[n ? mutant_draw(m, n) : 0] = '\0';
	return text_set(m, i, text);
}

static int interpreter(struct mutant *m)
{
	static const char *const paths[] = { "/tmp/ld.so",
					     "/bin/sh",
					     "",
					     "/lib64/ld-linux-x86-64.so.2 ",
					     "/lib64//ld-linux-x86-64.so.2",
					     "lib64/ld-linux-x86-64.so.2",
					     "/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2" };
	const struct link_plan *plan = m->data->plan;

	for (size_t i = 0; i < plan->n_inputs; i++)
		if (strstr(plan->inputs[i].text, "ld-linux"))
			return text_set(m, i, paths[mutant_draw(m, ARRAY_SIZE(paths))]);
	return MUTANT_NONE;
}

static int input_missing(struct mutant *m)
{
	struct link_plan *plan = m->data->plan;
	size_t i = input_draw(m, 0);

	if (i == SIZE_MAX)
		return MUTANT_NONE;
	mutant_says(m, "without input %zu, %s", i, plan->inputs[i].text);
	free(plan->inputs[i].text);
	memmove(plan->inputs + i, plan->inputs + i + 1, (plan->n_inputs - 1 - i) * sizeof(plan->inputs[0]));
	plan->n_inputs--;
	return 0;
}

static int input_twice(struct mutant *m)
{
	size_t i = input_draw(m, 0);
	struct link_input twin;

	if (i == SIZE_MAX)
		return MUTANT_NONE;
	twin = m->data->plan->inputs[i];
	twin.text = arena_strndup(m->arena, twin.text, strlen(twin.text));
	mutant_says(m, "input %zu, %s, twice", i, twin.text);
	return twin.text ? input_insert(m, place_draw(m), twin.kind, twin.text, twin.bytes, twin.size) :
			   -ENOMEM;
}

static int input_order(struct mutant *m)
{
	struct link_plan *plan = m->data->plan;
	size_t a = input_draw(m, mutant_draw(m, 2) ? LINK_OBJECT :
				 mutant_draw(m, 2) ? LINK_IR :
						     LINK_ARGUMENT),
	       b = input_draw(m, 0);
	struct link_input kept;

	if (a == SIZE_MAX || a == b)
		return MUTANT_NONE;
	kept = plan->inputs[a];
	plan->inputs[a] = plan->inputs[b];
	plan->inputs[b] = kept;
	return mutant_says(m, "inputs %zu and %zu swapped", a, b);
}

static int input_kind(struct mutant *m)
{
	struct link_input *input;
	size_t i = input_draw(m, 0);

	if (i == SIZE_MAX)
		return MUTANT_NONE;
	input = &m->data->plan->inputs[i];
	input->kind = 1 + (input->kind + mutant_draw(m, 4)) % 5;
	return mutant_says(m, "input %zu, %s, is of kind %u", i, input->text, (unsigned)input->kind);
}

static int library(struct mutant *m)
{
	static const char *const names[] = { "libm.so.6",
					     "libz.so.1",
					     "libpthread.so.0",
					     "libdl.so.2",
					     "no-such-library.so",
					     "/tmp/morph-planted.so",
					     "../../tmp/morph-planted.so",
					     "",
					     "libc.so.6 ",
					     "ld-linux-x86-64.so.2",
					     "libgcc_s.so.1",
					     "libsqlite3.so.0" };
	const char *name = names[mutant_draw(m, ARRAY_SIZE(names))];
	size_t i = input_draw(m, LINK_SHARED);

	if (i != SIZE_MAX && mutant_draw(m, 3))
		return text_set(m, i, name);
	mutant_says(m, "library %s", name);
	return input_insert(m, place_draw(m), LINK_SHARED, name, NULL, 0);
}

/* Scripts that a link reads: one that is there is damaged, or one is slipped in. */
static int script(struct mutant *m)
{
	static const struct {
		const char *option, *text;
	} scripts[] = {
		{ "--version-script=", "{ local: *; };" },
		{ "--version-script=", "V1 { global: main; local: *; };" },
		{ "--version-script=", "V1 { global: *; };" },
		{ "--dynamic-list=", "{ main; write; malloc; };" },
		{ "--symbol-ordering-file=", "main\n_start\n" },
		{ "--script=", "SECTIONS { .text : { *(.text*) } }" },
		{ "--script=", "SECTIONS { .planted : { QUAD(0) } } INSERT BEFORE .text;" },
		{ "--script=", "ENTRY(main)" },
		{ "--script=", "INPUT(/etc/passwd)" },
		{ "--script=", "OUTPUT(/tmp/morph-planted)" },
		{ "--script=", "PROVIDE(exit = abort); main = _init;" },
		{ "--script=", "SECTIONS { . = 0x1000; .init_array : { QUAD(main) *(.init_array) } }" },
		{ "", "main = _init;" },
		{ "", "!<arch>\n" },
		{ "--default-script=", "PHDRS { all PT_LOAD FLAGS(7); } SECTIONS { .text : { *(*) } :all }" },
		{ "@", "--defsym=main=abort" },
	};
	size_t i = input_draw(m, LINK_FILE), k = mutant_draw(m, ARRAY_SIZE(scripts));
	uint8_t *copy;

	if (i != SIZE_MAX && m->data->plan->inputs[i].size && mutant_draw(m, 2)) {
		struct link_input *input = &m->data->plan->inputs[i];

		copy = arena_array(m->arena, uint8_t, input->size);
		if (!copy)
			return -ENOMEM;
		memcpy(copy, input->bytes, input->size);
		input->bytes = copy;
		mutant_says(m, "%s", input->text);
		mutant_bytes(m, copy, &input->size);
		return 0;
	}
	mutant_says(m, "%s%s", scripts[k].option, scripts[k].text);
	return input_insert(m, place_draw(m), LINK_FILE, scripts[k].option, scripts[k].text,
			    strlen(scripts[k].text));
}

/* An object of another program, or the bytes of one of this under another's name. */
static int object_foreign(struct mutant *m)
{
	size_t i = input_draw(m, LINK_OBJECT), j;
	const struct link_plan *from = m->other && mutant_draw(m, 2) ? m->other->plan : m->data->plan;
	struct link_input *input;

	if (i == SIZE_MAX || !from->n_inputs)
		return MUTANT_NONE;
	j = mutant_draw(m, from->n_inputs);
	if (from->inputs[j].kind != LINK_OBJECT || from->inputs[j].size == 0)
		return MUTANT_NONE;
	mutant_says(m, "%s's bytes for %s", from->inputs[j].text, m->data->plan->inputs[i].text);
	if (mutant_draw(m, 4) == 0)
		return input_insert(m, place_draw(m), LINK_OBJECT, from->inputs[j].text,
				    from->inputs[j].bytes, from->inputs[j].size);
	input = &m->data->plan->inputs[i];
	input->bytes = from->inputs[j].bytes;
	input->size = from->inputs[j].size;
	return 0;
}

/* One that was compiled for this: N.o in the directory of plants. */
static int object_planted(struct mutant *m)
{
	struct fault fault;
	struct file_map map;
	char path[PATH_MAX];
	uint8_t *copy;
	size_t n = 0;

	while (m->plants && snprintf(path, sizeof(path), "%s/%zu.o", m->plants, n) > 0 &&
	       file_map_open(path, &map, &fault) == 0) {
		file_map_done(&map);
		n++;
	}
	if (n == 0)
		return MUTANT_NONE;
	snprintf(path, sizeof(path), "%s/%zu.o", m->plants, (size_t)mutant_draw(m, n));
	if (file_map_open(path, &map, &fault) < 0)
		return -EIO;
	copy = arena_array(m->arena, uint8_t, map.size);
	if (copy)
		memcpy(copy, map.data, map.size);
	n = map.size;
	file_map_done(&map);
	mutant_says(m, "%s", strrchr(path, '/') + 1);
	return copy ? input_insert(m, place_draw(m), LINK_OBJECT, "planted.o", copy, n) : -ENOMEM;
}

const struct mutant_class mutant_plan_classes[] = {
	{ "argument-more", argument_more },
	{ "argument-changed", argument_changed },
	{ "interpreter", interpreter },
	{ "input-missing", input_missing },
	{ "input-twice", input_twice },
	{ "input-order", input_order },
	{ "input-kind", input_kind },
	{ "library", library },
	{ "script", script },
	{ "object-foreign", object_foreign },
	{ "object-planted", object_planted },
	{ NULL, NULL },
};

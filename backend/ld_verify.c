/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "backend/ld_verify.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/build_report.h"
#include "backend/pack.h"
#include "backend/tools.h"
#include "backend/used_inputs.h"
#include "base/child.h"
#include "base/file.h"
#include "base/log.h"
#include "module/array.h"
#include "module/bitcode.h"
#include "module/image.h"

#define ROUNDS 6u
#define EXIT_DIFFERS 3 /* of morph-edit --check */
#define MODULE_NONE SIZE_MAX

/* What morph-edit says about one packed file. */
struct differences {
	struct difference {
		size_t module; /* or MODULE_NONE */
		char *function;
	} *list; /* owned, with the names */
	size_t n, capacity;
	char first[256]; /* the sentence */
};

static void differences_done(struct differences *d)
{
	for (size_t i = 0; i < d->n; i++)
		free(d->list[i].function);
	free(d->list);
	*d = (struct differences){ 0 };
}

/* "MODULE\tFUNCTION" */
static int difference_read(const char *line, size_t n, struct differences *ret, struct fault *reterr)
{
	const char *tab = memchr(line, '\t', n);
	struct difference *d;

	if (!tab)
		return fault_set(reterr, -EBADMSG, "morph-edit --check: a line without a function");
	if (!array_reserve(ret->list, ret->n, &ret->capacity))
		return fault_errno(reterr, -ENOMEM, "verification");
	d = &ret->list[ret->n];
	d->module = *line == '-' ? MODULE_NONE : strtoul(line, NULL, 10);
	d->function = strndup(tab + 1, n - (size_t)(tab + 1 - line));
	if (!d->function)
		return fault_errno(reterr, -ENOMEM, "verification");
	ret->n++;
	return 0;
}

static int differences_read(const char *path, struct differences *ret, struct fault *reterr)
{
	_clean_(file_map_donep) struct file_map map = { 0 };
	int r = file_map_open(path, &map, reterr);
	const char *p = (const char *)map.data, *end = map.size ? p + map.size : p;

	while (r == 0 && p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		size_t n = newline ? (size_t)(newline - p) : (size_t)(end - p);

		r = difference_read(p, n, ret, reterr);
		p += n + 1;
	}
	return r;
}

/* The name that programs know a shared library by: of its dynamic section, else its file's. */
static void library_argument(const struct used_input *input, struct arguments *args)
{
	_clean_(image_freep) struct image *image = NULL;
	const struct image_section *dynamic, *strings;
	const char *slash = strrchr(input->name, '/'), *soname = slash ? slash + 1 : input->name;
	Elf64_Dyn d = { .d_tag = DT_NULL + 1 };

	if (image_open_bytes(input->bytes, input->size, input->name, &image, NULL) < 0)
		return;
	dynamic = image_section_find(image, ".dynamic");
	strings = image_section_find(image, ".dynstr");
	for (size_t at = 0; dynamic && dynamic->data && strings && strings->data && d.d_tag != DT_NULL &&
			    at + sizeof(d) <= dynamic->size;
	     at += sizeof(d)) {
		memcpy(&d, dynamic->data + at, sizeof(d));
		if (d.d_tag == DT_SONAME && d.d_un.d_val < strings->size &&
		    memchr(strings->data + d.d_un.d_val, 0, strings->size - d.d_un.d_val))
			soname = (const char *)strings->data + d.d_un.d_val;
	}
	if (*soname && !strpbrk(soname, "/="))
		arguments_printf(args, "--library=%s=%s", soname, input->name);
}

/* Libraries of the same build are not installed yet, or are older there. */
static int libraries_add(const struct ld_verify *v, struct arguments *args, struct fault *reterr)
{
	_clean_(used_inputs_donep) struct used_inputs used = { 0 };
	_clean_(buffer_donep) struct buffer other = { 0 };
	int r = used_inputs_read(v->trace, &used, &other, reterr);

	for (size_t i = 0; r == 0 && i < used.n_inputs; i++) {
		const struct used_input *input = &used.inputs[i];

		if (input->kind == USED_SHARED && strncmp(input->name, "/lib", 4) != 0 &&
		    strncmp(input->name, "/usr/lib", 8) != 0)
			library_argument(input, args);
	}
	return r == 0 && args->bad ? fault_errno(reterr, -ENOMEM, "verification") : r;
}

/*
 * What a build preloads is not for the check: fakeroot, under which libtool links libraries once more when they are installed, says
 * that anybody may become root. @ret[] is the caller's, with the texts of environ. 0 or -ENOMEM
 */
static int environment_clean(char ***ret)
{
	size_t n = 0, kept = 0;

	while (environ[n])
		n++;
	*ret = calloc(n + 1, sizeof(**ret));
	for (size_t i = 0; *ret && i < n; i++)
		if (strncmp(environ[i], "LD_PRELOAD=", 11) != 0)
			(*ret)[kept++] = environ[i];
	return *ret ? 0 : -ENOMEM;
}

static int check_run(const struct ld_verify *v, const char *list, struct buffer *retsaid, int *retstatus,
		     struct fault *reterr)
{
	_clean_(freep) char **environment = NULL;
	struct child_options options = { .reterrout = retsaid };
	struct arguments args = { 0 };
	char tool[PATH_MAX];
	int r = tool_own("morph-edit", tool, sizeof(tool), reterr);

	if (r == 0 && environment_clean(&environment) < 0)
		r = fault_errno(reterr, -ENOMEM, "verification");
	if (r < 0)
		return r;
	options.environment = environment;
	arguments_add(&args, tool);
	arguments_add(&args, "--check");
	arguments_add(&args, "-o");
	arguments_add(&args, list);
	arguments_add(&args, "--code-cache");
	arguments_add(&args, v->cache);
	r = libraries_add(v, &args, reterr);
	arguments_add(&args, "--");
	arguments_add(&args, v->line->output);
	if (r == 0)
		r = args.bad ? fault_errno(reterr, -ENOMEM, "verification") :
			       child_run(args.v, &options, retstatus, reterr);
	arguments_done(&args);
	return r;
}

/* 0: it regenerates; 1: it does not, @ret says where; -errno: it was not checked */
static int check(struct ld_verify *v, struct differences *ret, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer said = { 0 };
	char list[PATH_MAX];
	int status = 0, r;
	const char *text;

	snprintf(list, sizeof(list), "%s/differences", v->fat->directory);
	r = check_run(v, list, &said, &status, reterr);
	if (r < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0))
		return r;
	text = said.size ? (const char *)said.data : "it says nothing";
	if (strncmp(text, "morph optimize: ", 16) == 0)
		text += 16;
	snprintf(ret->first, sizeof(ret->first), "%.*s", (int)strcspn(text, "\n"), text);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != EXIT_DIFFERS)
		return fault_set(reterr, -EIO, "morph-edit --check: %s", ret->first);
	r = differences_read(list, ret, reterr);
	return r < 0 ? r : 1;
}

/* ---- which input is a module of? ---- */

/* Sources of the modules that the linker embedded, in its order. */
struct sources {
	struct bitcode_facts *facts; /* owned */
	size_t n, capacity;
};

static int sources_read(const char *linked, struct sources *ret, struct fault *reterr)
{
	_clean_(image_freep) struct image *image = NULL;
	int r = image_open(linked, &image, reterr);
	const struct image_section *s = r == 0 ? image_section_find(image, ".llvmbc") : NULL;
	size_t size;

	for (size_t at = 0; r == 0 && s && s->data && at < s->size; at += size) {
		if (!array_reserve(ret->facts, ret->n, &ret->capacity))
			return fault_errno(reterr, -ENOMEM, "verification");
		r = bitcode_size(s->data + at, s->size - at, &size, reterr);
		if (r == 0)
			r = bitcode_facts_read(s->data + at, size, &ret->facts[ret->n++], reterr);
	}
	return r;
}

/* Bitcode of an input with IR. */
static bool input_source(const struct used_input *input, struct bitcode_facts *ret)
{
	_clean_(image_freep) struct image *image = NULL;
	const struct image_section *s;

	if (bitcode_is(input->bytes, input->size))
		return bitcode_facts_read(input->bytes, input->size, ret, NULL) == 0;
	if (image_open_bytes(input->bytes, input->size, input->name, &image, NULL) < 0)
		return false;
	s = image_section_find(image, ".llvm.lto");
	return s && s->data && bitcode_facts_read(s->data, s->size, ret, NULL) == 0;
}

/* The input that module @i was made of: modules are in the order of inputs, one of each. NULL: that is not so. */
static const struct used_input *input_of(const struct used_inputs *used, const struct sources *sources,
					 size_t i)
{
	const struct used_input *found = NULL;
	size_t n = 0;

	for (size_t k = 0; k < used->n_inputs; k++) {
		struct bitcode_facts facts;

		if (used->inputs[k].kind != USED_IR)
			continue;
		if (n >= sources->n || !input_source(&used->inputs[k], &facts) ||
		    strcmp(facts.source, sources->facts[n].source) != 0)
			return NULL;
		if (n++ == i)
			found = &used->inputs[k];
	}
	return n == sources->n ? found : NULL;
}

/* ---- an input without its IR ---- */

/* The word of the link that @path came by: itself, or -lNAME. */
static size_t word_of(const struct ld_verify *v, const char *path)
{
	for (size_t i = 1; i < v->args->n; i++) {
		const char *word = v->args->v[i];
		_clean_(freep) char *library = NULL;

		if (strcmp(word, path) == 0 && strcmp(v->args->v[i - 1], "-o") != 0)
			return i;
		if (strncmp(word, "-l", 2) != 0 || !word[2])
			continue;
		library = ld_line_library(v->line, word + 2, v->line->is_static);
		if (!library || strcmp(library, path) != 0) {
			free(library);
			library = ld_line_library(v->line, word + 2, true);
		}
		if (library && strcmp(library, path) == 0)
			return i;
	}
	return 0;
}

/* Where it is ours to change; the linker prints that path from now on. Of one name as before: --exclude-libs goes by it. */
static int input_copy(struct ld_verify *v, const char *path, char **ret, struct fault *reterr)
{
	const char *slash = strrchr(path, '/');
	_clean_(freep) char *directory = NULL, *copy = NULL;
	size_t word = word_of(v, path);
	int r;

	if (!word)
		return fault_set(reterr, -ENOTSUP, "%s: it is not told how the link comes by it", path);
	if (strncmp(path, v->fat->directory, strlen(v->fat->directory)) == 0) {
		*ret = strdup(path);
		return *ret ? 0 : fault_errno(reterr, -ENOMEM, "verification");
	}
	if (asprintf(&directory, "%s/%u", v->fat->directory, v->fat->n_copies++) < 0 ||
	    asprintf(&copy, "%s/%s", directory, slash ? slash + 1 : path) < 0)
		return fault_errno(reterr, -ENOMEM, "verification");
	r = file_mkdirs(directory, 0700, reterr);
	if (r == 0)
		r = file_copy(path, copy, reterr);
	if (r < 0)
		return r;
	free(v->args->v[word]);
	v->args->v[word] = copy;
	copy = NULL;
	*ret = strdup(v->args->v[word]);
	return *ret ? 0 : fault_errno(reterr, -ENOMEM, "verification");
}

/* ---- rounds ---- */

/* What did not regenerate, of module @module. */
static void module_say(const struct ld_verify *v, const struct differences *d, size_t module,
		       const char *name)
{
	_clean_(buffer_donep) struct buffer text = { 0 };

	buffer_printf(&text, "%s:", name);
	for (size_t i = 0; i < d->n; i++)
		if (d->list[i].module == module)
			buffer_printf(&text, " %s", d->list[i].function);
	buffer_u8(&text, 0);
	if (text.bad)
		return;
	log_warning("%s: carries no IR of %s does not regenerate", v->line->output, (const char *)text.data);
	build_report_add("module", v->line->output, (const char *)text.data);
}

static bool is_first(const struct differences *d, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (d->list[k].module == d->list[i].module)
			return false;
	return true;
}

/* 2 */
static int modules_exclude(struct ld_verify *v, const struct differences *d, struct fault *reterr)
{
	_clean_(used_inputs_donep) struct used_inputs used = { 0 };
	_clean_(buffer_donep) struct buffer other = { 0 };
	struct sources sources = { 0 };
	int r = used_inputs_read(v->trace, &used, &other, reterr);

	if (r == 0)
		r = sources_read(v->linked, &sources, reterr);
	for (size_t i = 0; r == 0 && i < d->n; i++) {
		const struct used_input *input;
		_clean_(freep) char *copy = NULL;

		if (!is_first(d, i))
			continue;
		input = d->list[i].module == MODULE_NONE ? NULL :
							   input_of(&used, &sources, d->list[i].module);
		if (!input || !input->path) {
			r = fault_set(reterr, -ENOTSUP, "%s, whose module cannot be told from others",
				      d->first);
			break;
		}
		r = input_copy(v, input->path, &copy, reterr);
		if (r == 0)
			r = fat_object_hide(copy, input->name, input->at, input->size, reterr);
		if (r == 0)
			module_say(v, d, d->list[i].module, input->name);
	}
	free(sources.facts);
	return r < 0 ? r : v->again(v, reterr);
}

static int pack_again(struct ld_verify *v, const struct pack_choice *choice, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer other = { 0 };
	int r = file_copy(v->linked, v->line->output, reterr);

	if (r == 0)
		r = pack(v->line, v->trace, choice, &other, reterr);
	return r > 0 ? fault_set(reterr, -ENODATA, "no IR is left") : r;
}

/* 1: @keeps: which modules keep their debug information; false: all of these do already */
static bool debug_keep(const struct differences *d, bool *keeps, size_t n)
{
	bool more = false;

	for (size_t i = 0; i < d->n; i++)
		if (d->list[i].module < n && !keeps[d->list[i].module])
			more = keeps[d->list[i].module] = true;
	return more;
}

static bool is_module_of(const struct differences *d, size_t module)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->list[i].module == module)
			return true;
	return false;
}

/*
 * Those of @d are linked without their IR now, and modules behind them stand earlier: what keeps its debug information is known by the
 * new numbers; where others went, too, or came, by none.
 */
static int keeps_follow(const struct ld_verify *v, const struct differences *d, bool *keeps, size_t n,
			struct fault *reterr)
{
	struct sources sources = { 0 };
	int r = sources_read(v->linked, &sources, reterr);
	size_t left = 0;

	for (size_t i = 0; i < n; i++)
		if (!is_module_of(d, i))
			keeps[left++] = keeps[i];
	if (r < 0 || sources.n != left)
		left = 0;
	memset(keeps + left, 0, n - left);
	free(sources.facts);
	return r;
}

static int round_run(struct ld_verify *v, const struct differences *d, struct pack_choice *choice,
		     bool *keeps, struct fault *reterr)
{
	int r = 0;

	if (!d->n)
		return fault_set(reterr, -ENOTSUP, "does not regenerate: %s", d->first);
	if (!debug_keep(d, keeps, choice->n)) {
		r = modules_exclude(v, d, reterr);
		if (r == 0)
			r = keeps_follow(v, d, keeps, choice->n, reterr);
	}
	return r < 0 ? r : pack_again(v, choice, reterr);
}

static int rounds_run(struct ld_verify *v, struct pack_choice *choice, bool *keeps, struct fault *reterr)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct differences d = { 0 };
		int r = check(v, &d, reterr);

		if (r > 0)
			r = round_run(v, &d, choice, keeps, reterr);
		else if (r == 0)
			build_report_add("verified", v->line->output, "what it carries regenerates");
		if (r != 0 || !d.n) {
			differences_done(&d);
			return r;
		}
		differences_done(&d);
	}
	return fault_set(reterr, -ENOTSUP, "does not regenerate, whatever is left out");
}

int ld_verify(struct ld_verify *v, struct fault *reterr)
{
	struct sources sources = { 0 };
	struct pack_choice choice = { 0 };
	_clean_(freep) bool *keeps = NULL;
	struct fault fault;
	int r = sources_read(v->linked, &sources, reterr);

	choice.n = sources.n;
	free(sources.facts);
	choice.keeps_debug = keeps = calloc(choice.n + 1, sizeof(*keeps));
	if (!keeps)
		r = fault_errno(reterr, -ENOMEM, "verification");
	if (r == 0)
		r = rounds_run(v, &choice, keeps, reterr);
	if (r < 0 && (file_copy(v->linked, v->line->output, &fault) < 0 || pack_nothing(v->line, &fault) < 0))
		log_warning("%s: %s", v->line->output, fault.text);
	return r;
}

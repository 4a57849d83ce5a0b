/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "backend/extern_inline.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "backend/arguments.h"
#include "backend/cc_line.h"
#include "backend/tools.h"
#include "base/child.h"
#include "base/file.h"
#include "module/image.h"

static const struct image_symbol *weak_function(const struct image *image, size_t i)
{
	const struct image_symbol *s = image_symbol_at(image, i);

	return s->type == STT_FUNC && s->binding == STB_WEAK ? s : NULL;
}

static bool has_weak(const struct image *image, const char *name)
{
	for (size_t i = 0; i < image_n_symbols(image); i++) {
		const struct image_symbol *s = weak_function(image, i);

		if (s && (!name || strcmp(s->name, name) == 0))
			return true;
	}
	return false;
}

/* The first weak function of @one that @other does not define; NULL: there is none. */
static const char *first_missing(const struct image *one, const struct image *other)
{
	for (size_t i = 0; i < image_n_symbols(one); i++) {
		const struct image_symbol *s = weak_function(one, i);

		if (s && !has_weak(other, s->name))
			return s->name;
	}
	return NULL;
}

/* Other files come of it, named after the object, or may: one that is made elsewhere cannot take its place. */
static bool makes_more(char *const command[])
{
	for (size_t i = 1; command[i]; i++)
		if (command[i][0] == '@' || strncmp(command[i], "-gsplit-dwarf", 13) == 0 ||
		    strncmp(command[i], "-save-temps", 11) == 0 ||
		    strncmp(command[i], "--save-temps", 12) == 0)
			return true;
	return false;
}

/* The same command for @object, without what was written beside the first one. */
static void command_make(char *const command[], const char *object, struct arguments *ret)
{
	for (size_t i = 0; command[i]; i++) {
		const char *word = command[i];
		bool is_output = strcmp(word, "-o") == 0,
		     is_rule = strncmp(word, "-M", 2) == 0 || strncmp(word, "-Wp,-M", 6) == 0;

		if (!is_output && !is_rule)
			arguments_add(ret, word);
		if (!i || !cc_takes_next(word) || !command[i + 1])
			continue;
		i++;
		if (!is_output && !is_rule)
			arguments_add(ret, command[i]);
	}
	arguments_add(ret, "-D__NO_INLINE__");
	arguments_add(ret, "-o");
	arguments_add(ret, object);
}

/* In @directory; Return: 1: there are fewer, and it took the place of @path. */
static int compile(char *const command[], const char *directory, const char *path, const struct image *image,
		   char **retname, struct fault *reterr)
{
	_clean_(image_freep) struct image *other = NULL;
	_clean_(buffer_donep) struct buffer said = { 0 };
	struct child_options options = { .retout = &said, .reterrout = &said };
	struct arguments args = { 0 };
	char *object = NULL;
	const char *name = NULL;
	int status = 0, r = 0;

	if (asprintf(&object, "%s/object.o", directory) < 0)
		return fault_errno(reterr, -ENOMEM, "%s", path);
	command_make(command, object, &args);
	if (args.bad)
		r = fault_errno(reterr, -ENOMEM, "%s", path);
	if (r == 0)
		r = child_run(args.v, &options, &status, reterr);
	if (r == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		r = image_open(object, &other, reterr);
	if (r == 0 && other)
		name = first_missing(image, other);
	if (name && !(*retname = strdup(name)))
		r = fault_errno(reterr, -ENOMEM, "%s", path);
	if (r == 0 && name)
		r = file_copy(object, path, reterr);
	arguments_done(&args);
	free(object);
	return r < 0 ? r : name != NULL;
}

int extern_inline_mend(char *const command[], const char *path, char **retname, struct fault *reterr)
{
	_clean_(image_freep) struct image *image = NULL;
	char *directory = NULL;
	int r;

	*retname = NULL;
	/* What is no ELF object (bitcode, say) has no symbols to tell by. */
	if (makes_more(command) || image_open(path, &image, NULL) < 0 || !has_weak(image, NULL))
		return 0;
	r = tool_directory("morph-cc", &directory, reterr);
	if (r == 0) {
		r = compile(command, directory, path, image, retname, reterr);
		file_remove_tree(directory, NULL);
	}
	free(directory);
	return r;
}

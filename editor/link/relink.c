/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "editor/link/relink.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/config.h"
#include "base/file.h"
#include "editor/trust/plan_check.h"
#include "module/dynamic.h"
#include "module/image.h"
#include "base/library_path.h"

#define LINK_TIMEOUT_S 600u

struct arguments {
	char **list; /* owned, each owned */
	size_t n, capacity;
};

static void arguments_done(struct arguments *arguments)
{
	for (size_t i = 0; i < arguments->n; i++)
		free(arguments->list[i]);
	free(arguments->list);
}

/* Takes @text, which may be NULL when it could not be made. */
static int argument_add(struct arguments *arguments, char *text)
{
	if (!text)
		return -ENOMEM;
	if (arguments->n + 1 >= arguments->capacity) {
		size_t capacity = arguments->capacity ? arguments->capacity * 2 : 128;
		char **list = reallocarray(arguments->list, capacity, sizeof(*list));

		if (!list) {
			free(text);
			return -ENOMEM;
		}
		arguments->list = list;
		arguments->capacity = capacity;
	}
	arguments->list[arguments->n++] = text;
	arguments->list[arguments->n] = NULL;
	return 0;
}

/* Bytes of the plan become a file, once; its name may stand in an option. */
static int bytes_add(const struct relink *relink, size_t i, const char *prefix, struct arguments *arguments,
		     struct fault *reterr)
{
	const struct link_input *input = &relink->plan->inputs[i];
	char path[PATH_MAX], *text = NULL;
	int r = 0;

	snprintf(path, sizeof(path), "%s/plan-%zu%s", relink->directory, i,
		 input->kind == LINK_OBJECT ? ".o" : "");
	if (access(path, F_OK) < 0)
		r = file_write(path, input->bytes, input->size, 0600, reterr);
	if (r == 0 && (asprintf(&text, "%s%s", prefix, path) < 0 || argument_add(arguments, text) < 0))
		r = fault_errno(reterr, -ENOMEM, "linking");
	return r;
}

static bool library_is_given(const struct relink *relink, const char *soname, char path[PATH_MAX])
{
	int n = snprintf(path, PATH_MAX, "%s/" RELINK_LIBRARIES "/%s", relink->directory, soname);

	return n < PATH_MAX && !strchr(soname, '/') && access(path, R_OK) == 0;
}

/* A library without a soname is needed by the name that the linker found it by: by -l, that of its file. */
static bool has_soname(const char *path)
{
	_clean_(image_freep) struct image *image = NULL;
	struct dynamic dynamic;

	return image_open(path, &image, NULL) < 0 || dynamic_open(image, &dynamic, NULL) < 0 ||
	       dynamic_soname(&dynamic);
}

static int unnamed_add(const struct relink *relink, const char *name, const char *path,
		       struct arguments *arguments, struct fault *reterr)
{
	_clean_(freep) char *directory = NULL, *link = NULL;
	char *option = NULL, *word = NULL;
	int r;

	if (asprintf(&directory, "%s/unnamed", relink->directory) < 0 ||
	    asprintf(&link, "%s/unnamed/%s", relink->directory, name) < 0)
		return fault_errno(reterr, -ENOMEM, "linking");
	r = file_mkdirs(directory, 0700, reterr);
	if (r == 0 && symlink(path, link) < 0 && errno != EEXIST)
		r = fault_errno(reterr, -errno, "%s", link);
	if (r == 0 && (asprintf(&option, "-L%s", directory) < 0 || argument_add(arguments, option) < 0 ||
		       asprintf(&word, "-l:%s", name) < 0 || argument_add(arguments, word) < 0))
		r = fault_errno(reterr, -ENOMEM, "linking");
	return r;
}

static int library_add(const struct relink *relink, const char *soname, struct arguments *arguments,
		       struct fault *reterr)
{
	char path[PATH_MAX];
	struct fault fault = { "" };
	int r = library_is_given(relink, soname, path) ? 0 :
							 library_find(soname, &relink->search, path, &fault);

	if (r < 0)
		return fault_set(reterr, r, "%s; morph optimize --library %s=FILE says where it is",
				 fault.text, soname);
	if (r == 0 && !strchr(soname, '/') && !has_soname(path))
		return unnamed_add(relink, soname, path, arguments, reterr);
	if (r == 0 && argument_add(arguments, strdup(path)) < 0)
		r = fault_errno(reterr, -ENOMEM, "linking");
	return r;
}

static int objects_add(const struct relink *relink, struct arguments *arguments)
{
	int r = 0;

	for (const char *const *o = relink->objects; *o && r == 0; o++)
		r = argument_add(arguments, strdup(*o));
	return r;
}

static int input_add(const struct relink *relink, size_t i, struct arguments *arguments, struct fault *reterr)
{
	const struct link_input *input = &relink->plan->inputs[i];

	switch (input->kind) {
	case LINK_ARGUMENT: return argument_add(arguments, strdup(input->text));
	case LINK_OBJECT: return bytes_add(relink, i, "", arguments, reterr);
	case LINK_FILE: return bytes_add(relink, i, input->text, arguments, reterr);
	case LINK_SHARED: return library_add(relink, input->text, arguments, reterr);
	case LINK_IR: return objects_add(relink, arguments);
	}
	return fault_set(reterr, -EBADMSG, "the link plan has an entry of unknown kind %u",
			 (unsigned)input->kind);
}

static bool is_run_path(const char *word)
{
	if (strcmp(word, "-R") == 0)
		return true;
	word += word[0] == '-' && word[1] == '-';
	return strncmp(word, "-rpath", 6) == 0 && (!word[6] || word[6] == '=');
}

/* An option with its value, or another input, from @i on; how many of the plan's words that is. */
static size_t inputs_skip(const struct relink *relink, size_t i, bool *retskips)
{
	const struct link_plan *plan = relink->plan;
	size_t words = 1;

	*retskips = false;
	if (plan->inputs[i].kind == LINK_ARGUMENT) {
		*retskips = relink->run_path && is_run_path(plan->inputs[i].text);
		words = MAX(plan_option_words(plan->inputs[i].text), 1u);
	}
	return MIN(words, plan->n_inputs - i);
}

static int inputs_add(const struct relink *relink, struct arguments *arguments, struct fault *reterr)
{
	char *run_path = NULL;
	int r = 0;

	for (size_t i = 0; i < relink->plan->n_inputs && r == 0;) {
		bool skips;
		size_t end = i + inputs_skip(relink, i, &skips);

		for (; i < end && r == 0; i++)
			r = skips ? 0 : input_add(relink, i, arguments, reterr);
	}
	if (r == 0 && relink->run_path && *relink->run_path &&
	    (asprintf(&run_path, "-rpath=%s", relink->run_path) < 0 || argument_add(arguments, run_path) < 0))
		r = fault_errno(reterr, -ENOMEM, "linking");
	return r;
}

/*
 * What the linker is told to write, so that the file has the name that its versions have; @directory: where from. A name from a
 * file may lead nowhere else; then the caller's is taken, and the result differs.
 */
static int out_place(const struct relink *relink, const char *out, char directory[PATH_MAX],
		     char ret[PATH_MAX], struct fault *reterr)
{
	const char *name = relink->name;
	char parent[PATH_MAX];

	snprintf(directory, PATH_MAX, "%s", relink->directory);
	snprintf(ret, PATH_MAX, "%s", out);
	if (!name || !*name || name[0] == '/' || name[0] == '-' || strstr(name, "..") ||
	    snprintf(parent, sizeof(parent), "%s/named/%s", relink->directory, name) >= PATH_MAX)
		return 0;
	snprintf(directory, PATH_MAX, "%s/named", relink->directory);
	snprintf(ret, PATH_MAX, "%s", name);
	*strrchr(parent, '/') = '\0';
	return file_mkdirs(parent, 0700, reterr);
}

/* What was linked in @directory, as @name, becomes @out. */
static int out_take(const char *directory, const char *name, const char *out, struct fault *reterr)
{
	char path[2 * PATH_MAX];

	if (strcmp(name, out) == 0)
		return 0;
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return rename(path, out) < 0 ? fault_errno(reterr, -errno, "%s", out) : 0;
}

int relink_alone(const char *object, const char *directory, const char *out, struct fault *reterr)
{
	const struct child_options options = { .directory = directory, .timeout_s = LINK_TIMEOUT_S };
	static const char linker[] = MORPH_LLVM_DIR "/bin/ld.lld";
	const char *const argv[] = { linker,
				     "--unresolved-symbols=ignore-all",
				     "--noinhibit-exec",
				     "--entry=0",
				     "--build-id=0x00",
				     object,
				     "-o",
				     out,
				     NULL };

	return child_check((char *const *)argv, &options, reterr);
}

int relink_run(const struct relink *relink, const char *out, struct fault *reterr)
{
	char directory[PATH_MAX], name[PATH_MAX];
	struct child_options options = { .directory = directory,
					 .timeout_s = LINK_TIMEOUT_S,
					 .retout = relink->retsaid };
	_clean_(arguments_done) struct arguments arguments = { 0 };
	const char *const last[] = {
		"--strip-debug", /* what little came with the IR describes nothing well */
		"-o", name, NULL
	};
	int r = out_place(relink, out, directory, name, reterr);

	if (r < 0)
		return r;
	r = argument_add(&arguments, strdup(MORPH_LLVM_DIR "/bin/ld.lld"));
	if (r == 0)
		r = inputs_add(relink, &arguments, reterr);
	for (const char *const *o = relink->options; o && *o && r == 0; o++)
		r = argument_add(&arguments, strdup(*o));
	for (const char *const *o = last; *o && r == 0; o++)
		r = argument_add(&arguments, strdup(*o));
	if (r == -ENOMEM)
		return fault_errno(reterr, r, "linking");
	if (r == 0)
		r = child_check(arguments.list, &options, reterr);
	return r < 0 ? r : out_take(directory, name, out, reterr);
}

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
#include "module/library_path.h"

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

static int library_add(const struct relink *relink, const char *soname, struct arguments *arguments,
		       struct fault *reterr)
{
	char path[PATH_MAX];
	int r = library_is_given(relink, soname, path) ? 0 : library_find(soname, path, reterr);

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

int relink_run(const struct relink *relink, const char *out, struct fault *reterr)
{
	struct child_options options = { .directory = relink->directory,
					 .timeout_s = LINK_TIMEOUT_S,
					 .retout = relink->retsaid };
	_clean_(arguments_done) struct arguments arguments = { 0 };
	int r = argument_add(&arguments, strdup(MORPH_LLVM_DIR "/bin/ld.lld"));

	for (size_t i = 0; i < relink->plan->n_inputs && r == 0; i++)
		r = input_add(relink, i, &arguments, reterr);
	for (const char *const *o = relink->options; o && *o && r == 0; o++)
		r = argument_add(&arguments, strdup(*o));
	if (r == 0) /* what little came with the IR describes nothing well */
		r = argument_add(&arguments, strdup("--strip-debug"));
	if (r == 0)
		r = argument_add(&arguments, strdup("-o"));
	if (r == 0)
		r = argument_add(&arguments, strdup(out));
	if (r == -ENOMEM)
		return fault_errno(reterr, r, "linking");
	if (r < 0)
		return r;
	return child_check(arguments.list, &options, reterr);
}

/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "backend/link_choice.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macro.h"

struct output {
	char path[PATH_MAX]; /* absolute; "." and ".." may stand in it */
	const char *name;
};

static void output_name(const char *path, struct output *ret)
{
	char directory[PATH_MAX] = "";
	const char *slash;

	if (path[0] != '/' && !getcwd(directory, sizeof(directory)))
		directory[0] = '\0';
	while (strncmp(path, "./", 2) == 0)
		path += 2;
	if (snprintf(ret->path, sizeof(ret->path), "%s%s%s", directory, directory[0] ? "/" : "", path) < 0)
		ret->path[0] = '\0';
	slash = strrchr(ret->path, '/');
	ret->name = slash ? slash + 1 : ret->path;
}

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static bool any_fits(const char *patterns, const struct output *output)
{
	_clean_(freep) char *copy = strdup(patterns);
	char *rest = copy;

	for (char *one; copy && (one = strsep(&rest, ":"));)
		if (*one && fnmatch(one, strchr(one, '/') ? output->path : output->name, 0) == 0)
			return true;
	return false;
}

bool link_is_plain(const char *output, bool is_shared, const char **retwhy)
{
	const char *skip = variable("MORPH_SKIP"), *programs = variable(LINK_CHOICE_GUESS),
		   *only = variable("MORPH_ONLY"), *link = variable("MORPH_LINK");
	struct output o;

	output_name(output, &o);
	*retwhy = "MORPH_SKIP";
	if (skip && any_fits(skip, &o))
		return true;
	*retwhy = LINK_CHOICE_GUESS;
	if (programs && !is_shared && any_fits(programs, &o))
		return true;
	*retwhy = only ? "MORPH_ONLY" : "MORPH_LINK";
	return only ? !any_fits(only, &o) : link && strcmp(link, "plain") == 0;
}

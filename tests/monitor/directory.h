/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * directory.h - a directory of the test's own: fresh_directory() ... cleanup()
 */

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "tests/test.h"

static char directory[64];

static inline const char *fresh_directory(void)
{
	snprintf(directory, sizeof(directory), "/tmp/monitor-parts.XXXXXX");
	CHECK(mkdtemp(directory));
	return directory;
}

static inline const char *in(const char *name)
{
	static char path[2][512];
	static unsigned turn;

	turn = !turn;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", directory, name);
	return path[turn];
}

static inline void put(const char *name, const char *text)
{
	CHECK_INT(file_write(in(name), text, strlen(text), 0644, NULL), 0);
}

static inline unsigned n_files(const char *suffix)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;
	unsigned n = 0;

	while (dir && (entry = readdir(dir)))
		n += strlen(entry->d_name) > strlen(suffix) && entry->d_name[0] != '.' &&
		     strcmp(entry->d_name + strlen(entry->d_name) - strlen(suffix), suffix) == 0;
	if (dir)
		closedir(dir);
	return n;
}

static inline void cleanup(void)
{
	file_remove_tree(directory, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * machine_root.h - a directory that stands for the machine's root (`root` in the settings), with files as a test wants them
 */

#include "base/file.h"
#include "manager/keep/path.h"
#include "manager/keep/settings.h"
#include "tests/test.h"

static char root[64];
static struct settings settings;

/* Make the file @path, below the root. */
static inline void give(const char *path, const char *text)
{
	char full[PATH_MAX], *slash;

	path_join(root, path, full);
	slash = strrchr(full, '/');
	*slash = '\0';
	CHECK_INT(file_mkdirs(full, 0755, NULL), 0);
	*slash = '/';
	CHECK_INT(file_write(full, text, strlen(text), 0644, NULL), 0);
}

static inline void setup(void)
{
	strcpy(root, "/tmp/morph-machine.XXXXXX");
	CHECK(mkdtemp(root));
	CHECK_INT(settings_init(&settings), 0);
	CHECK_INT(config_set(settings_keys, "root", root, &settings, NULL), 0);
}

static inline void teardown(void)
{
	settings_done(&settings);
	file_remove_tree(root, NULL);
}

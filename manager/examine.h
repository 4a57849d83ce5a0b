/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * examine.h - what is this file: build ID, content, and does it carry Morph data?
 */

#include "manager/catalog.h"
#include "manager/settings.h"
#include "module/build_id.h"

struct examination {
	struct replacement file; /* open */
	char build_id[BUILD_ID_MAX_TEXT]; /* "" when it has none */
	enum carries carries;
	char note[256];		/* why not CARRIES_YES */
	char llvm_version[64];
};

/**
 * examine_file() - the file at @path, symbolic links followed inside the root
 * @build_id: look for Morph data only if it is this build; NULL: whichever
 *
 * Only files of users in settings->owners are looked into: parsing is done with morphd's rights.
 * Return: 0, also for files that are not ELF (build_id is ""); negative when it cannot be opened.
 */
int examine_file(const struct settings *settings, const char *path, const char *build_id,
		 struct examination *ret, struct fault *reterr);
void examination_done(struct examination *examination);

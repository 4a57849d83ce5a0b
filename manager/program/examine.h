/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * examine.h - what is this file: build ID, and does it carry Morph data?
 *
 * Parsing is done with morphd's rights, so it is the last step, after the place of the file (place.h); and
 * it is a short one: ELF headers, the build ID, the first fields of the Morph data (morph_data_peek()).
 */

#include "manager/place/replace.h"
#include "manager/keep/catalog.h"
#include "manager/keep/settings.h"
#include "base/sha256.h"
#include "module/build_id.h"

struct examination {
	struct replacement file;	  /* open */
	char build_id[BUILD_ID_MAX_TEXT]; /* "" when it has none */
	enum carries carries;
	bool is_misplaced;	       /* place.h refuses it: nothing was read; the note says why */
	char note[256];		       /* why not CARRIES_YES */
	uint8_t sidecar[SHA256_BYTES]; /* of CARRIES_ELSEWHERE: what it must be */
	char llvm_version[64];
};

/**
 * examine_open() - open the file at @path, symbolic links followed inside the root; nothing is read yet
 * Return: 0; negative when it cannot be opened.
 */
int examine_open(const struct settings *settings, const char *path, struct examination *ret,
		 struct fault *reterr);
/**
 * examine_inside() - look into what examine_open() opened
 * @build_id: look for Morph data only if it is this build; NULL: whichever
 * @is_known: it is a target already, and must be recognized also where no new one would be taken: when prefixes
 *	      or mount options have changed, the shipped file must still come back. Who may write there counts always.
 */
void examine_inside(const struct settings *settings, const char *build_id, bool is_known,
		    struct examination *e);

/**
 * examine_file() - both, for a file that is not a target
 * Return: 0, also for files that are not ELF (build_id is ""); -EACCES when @path is under none of the prefixes:
 * then not even its name was looked up; negative when it cannot be opened.
 */
int examine_file(const struct settings *settings, const char *path, const char *build_id,
		 struct examination *ret, struct fault *reterr);
void examination_done(struct examination *examination);

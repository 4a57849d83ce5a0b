/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * generation.h - the identity of an edit's result, and what it carries about itself
 *
 * A generation has a build ID of its own, made of everything that went into it, so that samples of it
 * are never taken for samples of another. It carries .morph with its block map and the build ID it was
 * made from (no IR: the shipped file keeps that), and a note (name "Morph", type 1) whose text
 * `readelf -p .note.morph` shows: origin, profile, LLVM, CPU, options.
 */

#include "base/fault.h"
#include "editor/steps/edit_report.h"
#include "editor/steps/edit_options.h"
#include "module/block_map.h"
#include "module/image.h"
#include "module/morph_data.h"
#include "profiles/store/profile.h"

#define GENERATION_NOTE_SECTION ".note.morph"

/** generation_identify() - fill build ID, LLVM version, CPU and shipped sizes of @ret */
int generation_identify(const struct image *program, const struct morph_data *data,
			const struct profile *profile, const struct edit_options *options,
			struct edit_report *ret, struct fault *reterr);

/** generation_sign() - add both sections to the linked file @path in place of the linker's map, atomically */
int generation_sign(const char *path, struct block_map *map, const struct morph_data *origin,
		    const struct edit_options *options, const struct edit_report *report,
		    struct fault *reterr);

/** generation_text_bytes() - size of all executable sections */
uint64_t generation_text_bytes(const struct image *image);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * plan.h - from one finished link to the plan that repeats it (module/link_plan.h)
 */

#include "backend/ld_line.h"
#include "backend/used_inputs.h"
#include "base/fault.h"
#include "module/block_map.h"
#include "module/image.h"
#include "module/link_plan.h"

/**
 * plan_build() - in this order: names, options, objects and the IR, shared libraries
 * @output: the linked file, @map: its block map
 * @files:  receives what the plan borrows beyond @used; must outlive the plan
 * Return: 0; -errno with @reterr.
 */
struct plan_files {
	struct file_map *maps; /* owned */
	size_t n_maps, capacity;
	struct buffer generated; /* owned; a version script */
	struct buffer names;	 /* owned; an object (name_order.h) */
	struct buffer *objects;	 /* owned; those that were copied (object_groups.h) */
	size_t n_objects, objects_capacity;
};

int plan_build(const struct ld_line *line, const struct used_inputs *used, const struct image *output,
	       const struct block_map *map, struct plan_files *files, struct link_plan **ret,
	       struct fault *reterr);
void plan_files_done(struct plan_files *files);
static inline void plan_files_donep(struct plan_files *files)
{
	plan_files_done(files);
}

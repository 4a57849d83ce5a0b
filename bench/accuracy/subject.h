/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * subject.h - a program whose counts are estimated: its file, a sample log of it, and the truth
 */

#include "bench/accuracy/truth.h"
#include "module/morph_data.h"
#include "profiles/fit/cost.h"

struct subject {
	char *name;
	struct image *image;
	struct morph_data *data;
	struct block_map *map; /* the data's */
	struct sample_log *log;
	const struct sample_module *module;
	struct truth truth;
	float weights[COST_N_FEATURES]; /* learned from the others */
};

/** subject_open() - @spec: NAME=BINARY,SAMPLES,CALLGRIND[,CALLGRIND...]; is changed, and lives as long as @p */
int subject_open(struct subject *p, char *spec, struct fault *reterr);
void subject_done(struct subject *p); /* also of one that could not be opened */

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * watched_jump.h - a loop with a jump that is taken every fourth time, and what a log says of it. x86-64 only.
 */

#include "module/image.h"
#include "profiles/samples/sample_log.h"
#include "tests/test.h"

#ifdef __x86_64__

/** count_up() - from @from to @to by one; the jump at watched_jump is taken every fourth time */
void count_up(unsigned from, unsigned to);
extern const char watched_jump[], __executable_start[];
__asm__(".text\n"
	".globl count_up, watched_jump\n"
	"count_up:\n"
	"1:	add $1, %edi\n"
	"	test $3, %dil\n"
	"watched_jump:\n"
	"	jz 2f\n"
	"	nop\n"
	"	nop\n"
	"2:	cmp %esi, %edi\n"
	"	jne 1b\n"
	"	ret\n");

/** watched_jump_find() - how often @log saw it, in the module whose path has @name in it */
static inline void watched_jump_find(const struct sample_log *log, const char *name, uint64_t *rettaken,
				     uint64_t *retall)
{
	struct image *image = NULL;
	struct fault fault;
	uint64_t offset;

	*rettaken = *retall = 0;
	CHECK_INT(image_open("/proc/self/exe", &image, &fault), 0);
	CHECK(image_address_to_offset(image, (uint64_t)(watched_jump - __executable_start), &offset));
	image_free(image);
	for (size_t i = 0; i < log->n_modules; i++)
		for (size_t k = 0; k < log->modules[i].n_branches; k++) {
			const struct sample_branch *branch = &log->modules[i].branches[k];

			if (!strstr(log->modules[i].path, name) || branch->from != offset)
				continue;
			*retall += branch->count;
			*rettaken += branch->to != offset + 2 ? branch->count : 0;
		}
}

#endif

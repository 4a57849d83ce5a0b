/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What agree.bpf.c counts, per CPU. */
enum {
	AGREE_SAMPLES,	/* in user mode */
	AGREE_COMPARED, /* both had an answer */
	AGREE_SAME,
	AGREE_DIFFERENT,
	AGREE_RACE,		/* the sampler refused: somebody was changing the address space */
	AGREE_FIND_VMA_REFUSED, /* bpf_find_vma did */
	AGREE_COUNTERS
};

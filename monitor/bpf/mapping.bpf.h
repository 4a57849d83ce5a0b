/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

/*
 * mapping.bpf.h - step 2b: which mapping is at this address? The maple tree, read under RCU
 */

#include "monitor/bpf/tables.bpf.h"

/*
 * How can we know that nothing changed meanwhile? Since Linux 6.14 mm_lock_seq is a sequence count, odd
 * while someone writes. Since 6.4 it is an int that counts finished writers; the lock word tells of
 * running ones. In 6.1 to 6.3 it does not exist: then no cache, and lock word and range must do.
 */
static __always_inline bool has_sequence(void)
{
	return bpf_core_field_exists(struct mm_struct___6_14, mm_lock_seq) ||
	       bpf_core_field_exists(struct mm_struct___6_4, mm_lock_seq);
}

static __always_inline u32 sequence_of(struct mm_struct *mm)
{
	if (bpf_core_field_exists(struct mm_struct___6_14, mm_lock_seq))
		return *(volatile u32 *)&((struct mm_struct___6_14 *)mm)->mm_lock_seq.sequence;
	if (bpf_core_field_exists(struct mm_struct___6_4, mm_lock_seq))
		return *(volatile u32 *)&((struct mm_struct___6_4 *)mm)->mm_lock_seq;
	return 0;
}

/* Is someone changing this address space right now? */
static __always_inline bool is_being_written(struct mm_struct *mm, u32 sequence)
{
	if (bpf_core_field_exists(struct mm_struct___6_14, mm_lock_seq))
		return sequence & 1;
	return *(volatile long *)&mm->mmap_lock.count.counter & 1; /* RWSEM_WRITER_LOCKED */
}

/*
 * Slot of the child or mapping for @ip. A node is: the parent, the pivots (the largest index of each slot;
 * a zero ends them early), the slots.
 */
static __always_inline u64 slot_find(u64 node, u32 type, u64 ip)
{
	u32 n_pivots = type == NODE_ARANGE_64 ? 9 : 15, i;

	for (i = 0; i < 15 && i < n_pivots; i++) {
		u64 pivot = kernel_read_u64(node + 8 + 8 * i);

		if (pivot >= ip || (i && !pivot))
			break;
	}
	/* A zero that the verifier cannot know: it need not follow each way out of the loop by itself. */
	i += control.zero;
	return kernel_read_u64(node + 8 + 8 * n_pivots + 8 * i);
}

/*
 * The address of the mapping that should hold @ip, or 0; @entry is the tree's root. Not static, so that the
 * verifier looks at it once and not at every place where it is called.
 */
__noinline u64 mapping_find(u64 entry, u64 ip)
{
	if ((entry & 3) != ROOT_TAG)
		return 0;
	for (int level = 0; level < MAX_LEVELS; level++) {
		u32 type = NODE_TYPE(entry);

		if (entry <= LOWEST_POINTER || type < NODE_LEAF_64 || type > NODE_ARANGE_64)
			return 0;
		entry = slot_find(entry & NODE_MASK, type, ip);
		if (type == NODE_LEAF_64)
			return entry;
	}
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

/*
 * stacks.bpf.h - who called? The addresses are the kernel's helper's, which follows frame pointers in user memory that is
 * there (it waits for no page); which code they are in is looked up at once, as of samples
 */

#include "monitor/bpf/rows.bpf.h"

#define CUT_DEEP 1    /* enum stack_cut of profiles/samples/stacks.h */
#define CUT_NO_CODE 2 /* likewise */

struct walk {
	struct run run;
	struct sampler_stack *to;
	struct raw_stack *raw;
	u32 first; /* of the kernel's: where the clock interrupted it */
	u32 is_over;
};

static __always_inline void frame_put(struct walk *walk, u32 module, u64 offset)
{
	u32 n = walk->to->n;

	if (n >= SAMPLER_FRAMES) {
		walk->to->cut = CUT_DEEP;
		walk->is_over = true;
		return;
	}
	walk->to->offsets[n] = offset;
	walk->to->modules[n] = module;
	walk->to->n = n + 1;
}

static long kernel_frame(u32 i, struct walk *walk)
{
	u32 at = walk->first + i;
	u64 address;

	if (at >= RAW_KERNEL)
		return 1;
	address = walk->raw->kernel[at];
	if (!address)
		return 1;
	frame_put(walk, SAMPLER_KERNEL, address - (i > 0));
	return walk->is_over != 0;
}

/* The first one is where the user's code was left, by a call of the system or by the clock. */
static long user_frame(u32 i, struct walk *walk)
{
	struct sampler_key key = { 0 };
	u64 address;

	if (i >= RAW_USER)
		return 1;
	address = walk->raw->user[i];
	if (!address)
		return 1;
	address -= i > 0;
	if (module_find(&walk->run, address, &key) != SAMPLER_ATTRIBUTED || !walk->run.is_code) {
		walk->to->cut = CUT_NO_CODE;
		return 1;
	}
	if (key.module == SAMPLER_ANONYMOUS || key.module == SAMPLER_UNTOLD)
		key.offset = 0;
	frame_put(walk, key.module, key.offset);
	return walk->is_over != 0;
}

/* Behind the last address a zero. Return: how many there are. */
static __always_inline u32 raw_end(u64 *raw, u32 room, long bytes)
{
	u32 n = bytes > 0 ? (u32)bytes / sizeof(u64) : 0;

	if (n < room)
		raw[n] = 0;
	return n;
}

static __always_inline void kernel_frames(void *context, struct walk *walk, u64 ip)
{
	struct raw_stack *raw = walk->raw;
	u32 n = raw_end(raw->kernel, RAW_KERNEL, bpf_get_stack(context, raw->kernel, sizeof(raw->kernel), 0));
	u32 i;

	for (i = 0; i < RAW_KERNEL && i < n; i++)
		if (raw->kernel[i] == ip)
			break;
	if (i < RAW_KERNEL && i < n) {
		walk->first = i;
		bpf_loop(n - i, kernel_frame, walk, 0);
	} else {
		frame_put(walk, SAMPLER_KERNEL, ip);
	}
}

static __always_inline void user_frames(void *context, struct walk *walk)
{
	struct raw_stack *raw = walk->raw;
	u32 n = raw_end(raw->user, RAW_USER,
			bpf_get_stack(context, raw->user, sizeof(raw->user), BPF_F_USER_STACK));

	bpf_loop(n, user_frame, walk, 0);
}

/* Some samples leave their stack: written front to back, as what is moved. */
static __always_inline void stack_take(struct run *run, void *context, bool is_user, u64 ip)
{
	u32 epoch = run->epoch & (SAMPLER_EPOCHS - 1), zero = 0, at;
	u64 n = run->state->n_stacks[epoch];
	struct walk walk = { .run = *run };

	if ((run->counts->n[SAMPLER_USER_MODE] + run->counts->n[SAMPLER_KERNEL_MODE]) & control.stack_mask)
		return;
	at = control.stack_base[epoch] + bpf_get_smp_processor_id() * control.n_stacks + (u32)n;
	walk.to = n < control.n_stacks ? bpf_map_lookup_elem(&stacks, &at) : NULL;
	walk.raw = bpf_map_lookup_elem(&raw_stacks, &zero);
	if (!walk.to || !walk.raw) {
		run->counts->n[SAMPLER_STACKS_LOST]++;
		return;
	}
	walk.to->n = 0;
	walk.to->cut = 0;
	walk.to->user = user_of(run->task);
	bpf_get_current_comm(walk.to->comm, sizeof(walk.to->comm));
	if (!is_user)
		kernel_frames(context, &walk, ip);
	if (!walk.is_over)
		user_frames(context, &walk);
	run->state->n_stacks[epoch] = n + 1;
}

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * tick_hook.h - where this kernel's scheduler tick is, and where it keeps the interrupted registers
 */

#include <stdint.h>

#include "base/fault.h"

struct tick_hook {
	const char *name;	   /* of the handler */
	uint64_t function;	   /* its address */
	int32_t irq_regs_distance; /* __irq_regs - hrtimer_bases, bytes in the per-CPU area; 0: unknown */
};

/**
 * tick_hook_find() - from /proc/kallsyms and the kernel's BTF
 * @kallsyms, @btf: paths; NULL: the system's own
 * Return: 0; -ENOENT when there is no such handler, -EPERM when addresses are hidden.
 */
int tick_hook_find(const char *kallsyms, const char *btf, struct tick_hook *ret, struct fault *reterr);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * cpu.h - which CPU this is, as one line of text, and whether it runs what was made for another
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/fault.h"
#include "manager/keep/settings.h"

#define CPU_TEXT 1024

/**
 * cpu_describe() - what code compiled for this CPU depends on, as one line of text
 *
 * x86: vendor, family, model and those flags that name instructions; arm64: implementer, part and
 * features. Equal lines: code made for the one runs as well on the other. The kernel's own additions
 * to the flags (mitigations, virtualization), which change with its version, are left out.
 * Return: 0, -ENODATA when /proc/cpuinfo does not say; -errno.
 */
int cpu_describe(const struct settings *settings, char ret[CPU_TEXT], struct fault *reterr);

/**
 * cpu_can_run() - has the CPU of line @here every instruction set of line @made_for?
 * Code for an older model of the family is slower there than it could be, but it runs. @made_for may be NULL: made for none.
 * If not, @retlack gets the first flag that is missing.
 */
bool cpu_can_run(const char *made_for, const char *here, char *retlack, size_t size);

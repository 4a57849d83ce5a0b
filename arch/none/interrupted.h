/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Below arch/interrupted.h: an architecture whose registers nobody interprets, so they are not asked for. */

#include <elf.h>

#define INTERRUPTED_MACHINE EM_NONE
#define INTERRUPTED_GENERAL 1u
#define INTERRUPTED_PERF 0ull
#define INTERRUPTED_PERF_N 0u

static const uint8_t interrupted_perf_places[1] = { INTERRUPTED_IP };

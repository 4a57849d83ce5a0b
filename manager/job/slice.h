/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * slice.h - the slice of systemd's in which its services for edits are (morphedit.slice): frozen and thawed through systemd
 *
 * By systemd's private socket, which needs no message bus and is for root alone.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "manager/keep/context.h"

#define SLICE_NAME "morphedit.slice"

/** slice_can_freeze() - systemd freezes only where /sys/fs/cgroup is of version 2 alone */
bool slice_can_freeze(void);

/** slice_freeze() - with all that runs in it, or let it go on; done when it returns 0; -errno with @reterr */
int slice_freeze(struct manager *manager, bool freeze, struct fault *reterr);

/** slice_cpu_us() - CPU time of all that was in it since it is there, in microseconds; 0 when unknown */
uint64_t slice_cpu_us(void);

/** slice_clean() - let go on what a morphd that was killed has left frozen */
void slice_clean(struct manager *manager);

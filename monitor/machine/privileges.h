/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * privileges.h - give up every capability that the running monitor does not need
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"

/**
 * privileges_drop() - after loading: keep those below, lose the others for good
 *	CAP_BPF			maps, on kernels before 5.19
 *	CAP_PERFMON		an event for a CPU that comes online
 *	CAP_SYSLOG		addresses of kernel modules
 *	CAP_SYS_PTRACE, CAP_CHECKPOINT_RESTORE, CAP_DAC_READ_SEARCH
 *				with @looks_itself, i.e. without the sampler in the kernel: mappings of any process, and
 *				the files they lead to; otherwise finder.h has them
 *	CAP_DAC_OVERRIDE	with @writes_anywhere: the output file may belong to whoever called
 * Also sets no_new_privs. Without any capability to begin with it does nothing.
 */
int privileges_drop(bool looks_itself, bool writes_anywhere, struct fault *reterr);

/** privileges_keep() - lose all but those of this set (bits by number), the same way */
int privileges_keep(uint64_t capabilities, struct fault *reterr);

/** privileges_has() - is the capability (CAP_*) effective? */
bool privileges_has(int capability);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * privileges.h - give up every capability that the running monitor does not need
 */

#include <stdbool.h>

#include "base/fault.h"

/**
 * privileges_drop() - after loading: keep those below, lose the others for good
 *	CAP_BPF			maps, on kernels before 5.19
 *	CAP_PERFMON		an event for a CPU that comes online
 *	CAP_SYS_PTRACE, CAP_CHECKPOINT_RESTORE, CAP_DAC_READ_SEARCH
 *				/proc/PID/map_files of any process, and the files it leads to
 *	CAP_SYSLOG		addresses of kernel modules
 *	CAP_DAC_OVERRIDE	with @writes_anywhere: the output file may belong to whoever called
 * Also sets no_new_privs. Without any capability to begin with it does nothing.
 */
int privileges_drop(bool writes_anywhere, struct fault *reterr);

/** privileges_has() - is the capability (CAP_*) effective? */
bool privileges_has(int capability);

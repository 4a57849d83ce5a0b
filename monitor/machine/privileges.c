/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "monitor/machine/privileges.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/macro.h"

#define BIT(capability) (1ull << (capability))
#define KEPT (BIT(CAP_BPF) | BIT(CAP_PERFMON) | BIT(CAP_SYSLOG))
#define LOOKING (BIT(CAP_SYS_PTRACE) | BIT(CAP_CHECKPOINT_RESTORE) | BIT(CAP_DAC_READ_SEARCH))

static int get(uint64_t *reteffective, uint64_t *retpermitted)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &header, data) < 0)
		return -errno;
	*reteffective = data[0].effective | (uint64_t)data[1].effective << 32;
	*retpermitted = data[0].permitted | (uint64_t)data[1].permitted << 32;
	return 0;
}

static int set(uint64_t capabilities)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {
		{ .effective = (uint32_t)capabilities, .permitted = (uint32_t)capabilities },
		{ .effective = (uint32_t)(capabilities >> 32), .permitted = (uint32_t)(capabilities >> 32) },
	};

	return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}

bool privileges_has(int capability)
{
	uint64_t effective = 0, permitted = 0;

	return get(&effective, &permitted) == 0 && effective >> capability & 1;
}

int privileges_keep(uint64_t keep, struct fault *reterr)
{
	uint64_t effective = 0, permitted = 0;
	int r = get(&effective, &permitted);

	if (r < 0)
		return fault_errno(reterr, r, "capabilities");
	for (int i = 0; i <= CAP_LAST_CAP && permitted; i++)
		if (!(keep >> i & 1) && prctl(PR_CAPBSET_DROP, i, 0, 0, 0) < 0 && errno != EPERM &&
		    errno != EINVAL)
			return fault_errno(reterr, -errno, "cannot drop capability %d", i);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return fault_errno(reterr, -errno, "no_new_privs");
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	r = set(permitted & keep);
	return r < 0 ? fault_errno(reterr, r, "cannot drop capabilities") : 0;
}

int privileges_drop(bool looks_itself, bool writes_anywhere, struct fault *reterr)
{
	return privileges_keep(
		KEPT | (looks_itself ? LOOKING : 0) | (writes_anywhere ? BIT(CAP_DAC_OVERRIDE) : 0), reterr);
}

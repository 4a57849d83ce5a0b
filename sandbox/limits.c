/* SPDX-License-Identifier: Apache-2.0 */

#include "sandbox/limits.h"

#include <errno.h>
#include <sys/resource.h>

static int limit_set(int which, uint64_t value, const char *name, struct fault *reterr)
{
	struct rlimit limit = { value, value }, now;

	if (getrlimit(which, &now) == 0 && now.rlim_max < value)
		limit = (struct rlimit){ now.rlim_max, now.rlim_max };
	if (value && setrlimit(which, &limit) < 0)
		return fault_errno(reterr, -errno, "sandbox: cannot limit %s to %llu", name,
				   (unsigned long long)value);
	return 0;
}

int limits_set(const struct sandbox_limits *limits, struct fault *reterr)
{
	const struct rlimit none = { 0, 0 };
	int r = limit_set(RLIMIT_AS, limits->memory_bytes, "memory", reterr);

	if (r == 0)
		r = limit_set(RLIMIT_FSIZE, limits->file_bytes, "file size", reterr);
	if (r == 0)
		r = limit_set(RLIMIT_CPU, limits->cpu_s, "CPU time", reterr);
	if (r == 0)
		r = limit_set(RLIMIT_NPROC, limits->n_processes, "processes", reterr);
	if (r == 0 && setrlimit(RLIMIT_CORE, &none) < 0)
		r = fault_errno(reterr, -errno, "sandbox: cannot forbid core files");
	return r;
}

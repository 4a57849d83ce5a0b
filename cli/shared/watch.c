/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/shared/watch.h"

#include <errno.h>

int watch_open(const struct recorder_options *asked, struct recorder **ret, struct fault *reterr)
{
	struct recorder_options options = *asked;
	int r;

	options.target = options.n_pids ? RECORDER_TASKS : options.cgroup ? RECORDER_CGROUP : RECORDER_ALL;
	r = recorder_open(&options, ret, reterr);
	if (options.target != RECORDER_ALL || (r != -EACCES && r != -EPERM))
		return r;
	options.target = RECORDER_TASKS;
	r = recorder_open(&options, ret, reterr);
	return r < 0 ? r : recorder_add_own(*ret, reterr);
}

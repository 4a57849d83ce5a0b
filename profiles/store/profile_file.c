/* SPDX-License-Identifier: Apache-2.0 */

#include "profiles/store/profile.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"

int profile_read(const char *path, struct profile **ret, struct fault *reterr)
{
	_clean_(file_map_donep) struct file_map map = { 0 };
	int r = file_map_open(path, &map, reterr);

	if (r < 0)
		return r;
	r = profile_decode(map.data, map.size, ret, reterr);
	return r < 0 ? fault_prefix(reterr, r, "%s", path) : 0;
}

int profile_write(const struct profile *profile, const char *path, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer bytes = { 0 };
	int r = profile_encode(profile, &bytes);

	if (r < 0)
		return fault_errno(reterr, r, "%s: cannot encode the profile", path);
	return file_write(path, bytes.data, bytes.size, 0644, reterr);
}

bool profile_is_damaged(int code)
{
	return code == -EBADMSG || code == -EPROTONOSUPPORT || code == -EXDEV;
}

int profile_quarantine(const char *path, const struct fault *fault, struct fault *reterr)
{
	char bad[PATH_MAX], reason[PATH_MAX], text[sizeof(fault->text) + 2];
	int n;

	if (snprintf(bad, sizeof(bad), "%s.bad", path) >= (int)sizeof(bad) ||
	    snprintf(reason, sizeof(reason), "%s.bad.reason", path) >= (int)sizeof(reason))
		return fault_errno(reterr, -ENAMETOOLONG, "%s", path);
	if (rename(path, bad) < 0)
		return fault_errno(reterr, -errno, "%s: cannot set it aside as %s", path, bad);
	n = snprintf(text, sizeof(text), "%s\n", fault->text);
	return file_write(reason, text, (size_t)n, 0644, reterr);
}

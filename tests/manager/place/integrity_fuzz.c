/* SPDX-License-Identifier: Apache-2.0 */

/* What morph-mount and `morph verify` read: the table of mounts, requests, records' paths, lines of md5sums. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "manager/mount/mount_record.h"
#include "manager/mount/mount_request.h"
#include "manager/place/mount_table.h"
#include "manager/verify/package_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int visit(_unused_ void *userdata, const struct mount_entry *entry)
{
	if (mount_table_is_ours(entry) && strlen(entry->point) >= PATH_MAX)
		abort();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_clean_(freep) char *text = malloc(size + 1);
	char path[PATH_MAX], digest[PACKAGE_DIGEST_TEXT];

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	mount_table_parse(text, size, visit, NULL);
	if (mount_request_parse(text, path) && path[0] && !mount_record_path_is_plain(path))
		abort();
	if (package_line_parse(text, "usr/bin/x", digest) && strlen(digest) != 32)
		abort();
	return 0;
}

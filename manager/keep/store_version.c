/* SPDX-License-Identifier: Apache-2.0 */

#include "manager/keep/store_version.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/config_file.h"
#include "base/file.h"
#include "manager/keep/path.h"

struct header {
	uint64_t version;
};

static const struct config_key keys[] = {
	{ "version", CONFIG_UINT, offsetof(struct header, version), 1, 1e9, NULL },
	{ NULL },
};

int store_check_version(const char *store, struct fault *reterr)
{
	struct header header = { STORE_VERSION };
	char path[PATH_MAX];
	int r = config_file_read(path_join(store, "version", path), keys, &header, reterr);

	if (r == -ENOENT)
		return 0;
	if (r == 0 && header.version > STORE_VERSION)
		r = fault_set(reterr, -EPROTONOSUPPORT,
			      "%s: written by a newer Morph (version %llu of the store, this one knows %d); "
			      "install that "
			      "Morph again; nothing was changed",
			      store, (unsigned long long)header.version, STORE_VERSION);
	return r;
}

int store_put_version(const char *store, struct fault *reterr)
{
	struct header header = { 0 };
	char path[PATH_MAX], text[64];

	if (config_file_read(path_join(store, "version", path), keys, &header, NULL) == 0 &&
	    header.version >= STORE_VERSION)
		return 0;
	snprintf(text, sizeof(text), "version = %d\n", STORE_VERSION);
	return file_write(path, text, strlen(text), 0600, reterr);
}

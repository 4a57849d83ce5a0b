/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "cli/shared/shipped.h"

#include <errno.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/shared/whose.h"
#include "manager/keep/path.h"
#include "manager/keep/settings.h"
#include "manager/keep/store.h"
#include "module/morph_data.h"

int state_find(char ret[PATH_MAX], struct fault *reterr)
{
	struct settings settings = { 0 };
	char config[PATH_MAX];
	int r = whose_settings_init(&settings, reterr);

	if (r < 0) {
		settings_done(&settings);
		return r;
	}
	whose_config(SETTINGS_NAME, config);
	r = config_tree_read(config, settings_keys, &settings, NULL, reterr);
	if (r == -ENOENT || r == -EACCES)
		r = 0;
	if (r == 0 && !settings_path(&settings, settings.state_directory, ret))
		r = fault_errno(reterr, -ENAMETOOLONG, "%s", settings.root);
	settings_done(&settings);
	return r;
}

int store_find(char ret[PATH_MAX], struct fault *reterr)
{
	char state[PATH_MAX];
	int r = state_find(state, reterr);

	if (r == 0 && !path_join(state, "store", ret)[0])
		r = fault_errno(reterr, -ENAMETOOLONG, "%s", state);
	return r;
}

int shipped_find(const char *path, const char *store, char ret[PATH_MAX], struct fault *reterr)
{
	_clean_(image_freep) struct image *image = NULL;
	char configured[PATH_MAX], id[BUILD_ID_MAX_TEXT];
	struct morph_peek peek;
	int r = image_open(path, &image, reterr);

	if (r == 0)
		r = morph_data_peek(image, NULL, &peek, reterr);
	if (r < 0)
		return r;
	if (!peek.origin.size)
		return fault_set(reterr, -EINVAL, "%s: is a shipped file, no generation of one", path);
	if (!store) {
		r = store_find(configured, reterr);
		store = configured;
	}
	if (r < 0)
		return r;
	store_path(store, build_id_text(&peek.origin, id), "original", ret);
	if (access(ret, R_OK) < 0)
		return fault_errno(reterr, -errno, "%s: the shipped file, %s; name it with --shipped=FILE",
				   path, ret);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */

#include "manager/program/sidecars.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *sidecars_file(const char *directory, const char *build_id, char ret[PATH_MAX])
{
	if (strlen(build_id) < 3 || strchr(build_id, '/'))
		return NULL;
	return snprintf(ret, PATH_MAX, "%s/%.2s/%s.morph", directory, build_id, build_id + 2) < PATH_MAX ?
		       ret :
		       NULL;
}

const char *sidecars_fetched(const struct settings *settings, char ret[PATH_MAX])
{
	char state[PATH_MAX];

	if (!settings_path(settings, settings->state_directory, state))
		return NULL;
	return snprintf(ret, PATH_MAX, "%s/sidecars", state) < PATH_MAX ? ret : NULL;
}

const char *sidecars_directory(const struct settings *settings, const char *build_id, char ret[PATH_MAX])
{
	char packaged[PATH_MAX], path[PATH_MAX];

	if (settings_path(settings, settings->sidecar_directory, packaged) &&
	    sidecars_fetched(settings, ret) &&
	    (!sidecars_file(packaged, build_id, path) || access(path, F_OK) < 0) &&
	    sidecars_file(ret, build_id, path) && access(path, F_OK) == 0)
		return ret;
	return settings_path(settings, settings->sidecar_directory, ret);
}

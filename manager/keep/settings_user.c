/* SPDX-License-Identifier: Apache-2.0 */

/* What `morphd --user` has for defaults: nothing of root's, neither to write to nor to talk to. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/macro.h"
#include "base/user_place.h"
#include "manager/keep/settings.h"

#define PATH_OF_NOBODY "/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games"

static const struct {
	const char *key;
	enum user_place place;
	const char *name;
} places[] = {
	{ "state_directory", USER_STATE, "morph" },
	{ "spool_directory", USER_STATE, "morph/spool" },
	{ "runtime_directory", USER_RUNTIME, "morph" },
	{ "shadow_directory", USER_RUNTIME, "morph/bin" },
	{ "watch_file", USER_RUNTIME, "morph/monitor/watch" },
	/* Nobody listens there: jobs are processes of morphd's own. */
	{ "worker_socket", USER_RUNTIME, "morph/worker" },
	{ "fetch_socket", USER_RUNTIME, "morph/fetch" },
	{ "mount_socket", USER_RUNTIME, "morph/mount" },
};

static const char *const values[][2] = {
	{ "activation", "shadow" },
	{ "early_files", "none" },
	{ "store_size", "4G" },
};

static bool path_has(const char *path, const char *directory)
{
	size_t n = strlen(directory);

	for (const char *at = path; *at; at += strcspn(at, ":"), at += *at == ':')
		if (strcspn(at, ":") == n && strncmp(at, directory, n) == 0)
			return true;
	return false;
}

/* PATH, after the two that shells put before it and systemd does not know. */
static int shadow_path_set(struct settings *settings, struct fault *reterr)
{
	static const char *const own[] = { ".local/bin", "bin" };
	const char *path = getenv("PATH");
	_clean_(buffer_donep) struct buffer text = { 0 };
	char directory[PATH_MAX];

	if (!path || !*path)
		path = PATH_OF_NOBODY;
	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		if (user_place(USER_HOME, own[i], directory, NULL) == 0 && !path_has(path, directory))
			buffer_printf(&text, "%s:", directory);
	buffer_printf(&text, "%s", path);
	buffer_u8(&text, '\0');
	return text.bad ? fault_errno(reterr, -ENOMEM, "PATH") :
			  config_set(settings_keys, "shadow_path", (const char *)text.data, settings, reterr);
}

static int prefixes_set(struct settings *settings, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer text = { 0 };
	char home[PATH_MAX];
	int r = user_place(USER_HOME, "", home, reterr);

	if (r < 0)
		return r;
	/* The key's value is words; in a home with a blank in its name nothing but packages' programs is looked at. */
	buffer_printf(&text, "%s%s%s", strpbrk(home, " \t") ? "" : home, strpbrk(home, " \t") ? "" : " ",
		      settings->prefixes);
	buffer_u8(&text, '\0');
	return text.bad ? fault_errno(reterr, -ENOMEM, "prefixes") :
			  config_set(settings_keys, "prefixes", (const char *)text.data, settings, reterr);
}

int settings_init_user(struct settings *settings, struct fault *reterr)
{
	char path[PATH_MAX];
	int r = settings_init(settings);

	if (r < 0)
		return fault_errno(reterr, r, "settings");
	settings->is_user = true;
	if (settings->uid == 0)
		return fault_set(reterr, -EPERM,
				 "--user is for users without privilege; root's is the machine's morphd "
				 "(`systemctl start morphd`)");
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(places); i++) {
		r = user_place(places[i].place, places[i].name, path, reterr);
		if (r == 0)
			r = config_set(settings_keys, places[i].key, path, settings, reterr);
	}
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(values); i++)
		r = config_set(settings_keys, values[i][0], values[i][1], settings, reterr);
	if (r == 0)
		r = prefixes_set(settings, reterr);
	return r < 0 ? r : shadow_path_set(settings, reterr);
}

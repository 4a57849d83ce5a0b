/* SPDX-License-Identifier: Apache-2.0 */

#include "manager/act/wish.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "manager/keep/catalog.h"
#include "manager/keep/path.h"

/* Five seconds of a busy CPU give half of what an edit needs; the monitor takes less when it must. */
#define BURST_HZ 997u
#define BURST_S 5u

/* Where morph-monitor takes requests (morph-monitor(8)); false: none runs here. */
static bool requests_find(struct manager *m, char retlist[PATH_MAX], char retdirectory[PATH_MAX])
{
	if (!settings_path(&m->settings, m->settings.watch_file, retlist))
		return false;
	strcpy(retdirectory, retlist);
	*strrchr(retdirectory, '/') = '\0';
	return access(retdirectory, W_OK) == 0;
}

int wish_list(struct manager *m, struct fault *reterr)
{
	_clean_(paths_freep) char **paths = NULL;
	_clean_(buffer_donep) struct buffer text = { 0 };
	_clean_(file_map_donep) struct file_map old = { 0 };
	char file[PATH_MAX], directory[PATH_MAX];
	int r = target_paths(m->state, 0, &paths, reterr);

	if (r < 0 || !requests_find(m, file, directory))
		return r;
	for (char **path = paths; *path; path++)
		if (!strchr(*path, '\n'))
			buffer_printf(&text, "%s\n", *path);
	if (text.bad)
		return fault_errno(reterr, -ENOMEM, "%s", file);
	if (file_map_open(file, &old, NULL) == 0 && old.size == text.size &&
	    (!text.size || memcmp(old.data, text.data, text.size) == 0))
		return 0;
	return file_write(file, text.data, text.size, 0644, reterr);
}

void wish_look_again(struct manager *m)
{
	char list[PATH_MAX], directory[PATH_MAX];
	_clean_(fd_closep) int fd = requests_find(m, list, directory) ? open(list, O_WRONLY | O_CLOEXEC) : -1;

	/* That it was open for writing is all that the monitor hears. */
	(void)fd;
}

int wish_burst(struct manager *m, const char *path, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer text = { 0 };
	char list[PATH_MAX], directory[PATH_MAX], file[PATH_MAX];

	if (!path || strchr(path, '\n') || !requests_find(m, list, directory) ||
	    access(path_join(directory, "burst", file), F_OK) == 0)
		return 0;
	buffer_printf(&text, "rate = %u\nseconds = %u\nmodule = %s\n", BURST_HZ, BURST_S, path);
	if (text.bad)
		return fault_errno(reterr, -ENOMEM, "%s", file);
	return file_write(file, text.data, text.size, 0644, reterr);
}

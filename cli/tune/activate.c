/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "cli/tune/activate.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "cli/shared/shipped.h"

/* The best generation, its report and its profile, where morphd looks for them. @ret: the directory */
static int generation_leave(const struct tune_result *result, const char *profile, const char *state,
			    char ret[PATH_MAX], struct fault *reterr)
{
	const struct rounds_member *best = &result->rounds->members[result->best];
	char configured[PATH_MAX], from[PATH_MAX + 8], to[PATH_MAX + 16];
	int r = state ? 0 : state_find(configured, reterr);

	if (r < 0)
		return r;
	if (snprintf(ret, PATH_MAX, "%s/tuned.XXXXXX", state ?: configured) >= PATH_MAX || !mkdtemp(ret)) {
		r = fault_errno(reterr, -errno, "%s: the best generation cannot be left there for morphd",
				state ?: configured);
		ret[0] = '\0';
		return r;
	}
	snprintf(to, sizeof(to), "%s/output", ret);
	r = file_copy(best->file, to, reterr);
	snprintf(from, sizeof(from), "%s.json", best->file);
	snprintf(to, sizeof(to), "%s/report.json", ret);
	if (r == 0)
		r = file_copy(from, to, reterr);
	snprintf(to, sizeof(to), "%s/profile", ret);
	return r < 0 ? r : file_copy(profile, to, reterr);
}

/* The generation that stands there already: there is nothing to leave. */
static bool is_active(const struct tune_result *result)
{
	return result->best && strcmp(result->rounds->members[result->best].name, "active") == 0;
}

int activate(const struct client_options *daemon, struct tune_result *result, const char *profile,
	     const char *state, struct fault *reterr)
{
	_clean_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
	_clean_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	char directory[PATH_MAX] = "", measured[sizeof(result->said)];
	const char *slash, *text = "";
	int r = client_open(daemon, &bus, reterr);

	if (r == -ECONNREFUSED)
		return 0;
	if (is_active(result))
		strcpy(directory, "active");
	else if (r == 0 && result->best)
		r = generation_leave(result, profile, state, directory, reterr);
	slash = strrchr(directory, '/'); /* morphd knows where its state is */
	if (r == 0)
		r = client_call(bus, "Tuned", &reply, reterr, "sss", result->program,
				slash ? slash + 1 : directory, result->said);
	if (slash)
		file_remove_tree(directory, NULL);
	if (r < 0)
		return r;
	if (sd_bus_message_read(reply, "s", &text) < 0)
		return fault_set(reterr, -EBADMSG, "morphd's answer cannot be read");
	result->use = result->best ? TUNE_ACTIVATED : TUNE_KEPT;
	strcpy(measured, result->said);
	snprintf(result->said, sizeof(result->said), "%.400s; morphd: %.350s", measured, text);
	return 0;
}

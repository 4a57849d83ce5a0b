/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/program/carryover.h"

#include <errno.h>
#include <stdio.h>

#include "base/file.h"
#include "base/log.h"
#include "manager/keep/path.h"
#include "manager/keep/store.h"
#include "manager/program/sidecars.h"
#include "module/image.h"
#include "module/morph_data.h"
#include "profiles/store/carry.h"

/* A profile of the store; what is damaged is set aside. -ENOENT: there is none to be used. */
static int profile_open(const char *path, struct profile **ret)
{
	struct fault fault = { "" }, ignored;
	int r = profile_read(path, ret, &fault);

	if (r == 0 || r == -ENOENT)
		return r;
	if (profile_is_damaged(r))
		profile_quarantine(path, &fault, &ignored);
	log_warning("%s", fault.text);
	return -ENOENT;
}

int carryover_path(struct manager *m, const char *key, char ret[PATH_MAX], double *retsamples)
{
	_clean_(profile_freep) struct profile *profile = NULL;
	int r = profile_open(store_path(m->store, key, "carried", ret), &profile);

	*retsamples = r == 0 ? profile->samples : 0;
	return r;
}

static int row_fill(struct manager *m, int64_t id, const struct profile *profile, struct fault *reterr)
{
	return state_do(m->state, reterr, "UPDATE module SET carried = ?, left_behind = ? WHERE id = ?",
			"ddi", profile->samples, profile->dropped, id);
}

int carryover_recall(struct manager *m, int64_t id, const char *key, struct fault *reterr)
{
	_clean_(profile_freep) struct profile *profile = NULL;
	char path[PATH_MAX];

	if (profile_open(store_path(m->store, key, "carried", path), &profile) < 0)
		return 0;
	return row_fill(m, id, profile, reterr);
}

/* What is known about the old build, newest first. 0; -ENOENT; the database's fault. */
static int old_profile(struct manager *m, int64_t old, struct profile **ret, struct fault *reterr)
{
	struct module_row module = { 0 };
	char path[PATH_MAX];
	int64_t number = 0;
	int r = module_get(m->state, old, &module, reterr);

	if (r == 0)
		r = state_integer(m->state, &number, reterr,
				  "SELECT coalesce(max(number), 0) FROM generation WHERE module = ? AND "
				  "state <> 'dropped'",
				  "i", old);
	if (r == 0) {
		if (number)
			store_generation_path(m->store, module.key, number, "profile", path);
		else
			store_path(m->store, module.key, "carried", path);
		r = profile_open(path, ret);
	}
	module_row_done(&module);
	return r;
}

static int new_profile(struct manager *m, const struct profile *old, const struct installed *in,
		       struct profile **ret, struct carry_report *retreport, struct fault *reterr)
{
	_clean_(morph_data_freep) struct morph_data *data = NULL;
	_clean_(image_freep) struct image *image = NULL;
	const struct replacement *file = &in->examination.file;
	char sidecars[PATH_MAX];
	int r = image_open_fd(file->fd, file->path, &image, reterr);

	if (r == 0)
		r = morph_data_load(image,
				    sidecars_directory(&m->settings, in->examination.build_id, sidecars),
				    &data, reterr);
	return r < 0 ? r : carry_profile(old, data->map, image_build_id(image), ret, retreport, reterr);
}

static int profile_keep(struct manager *m, const struct profile *profile, const char *key,
			struct fault *reterr)
{
	char path[PATH_MAX];
	int r = file_mkdirs(store_path(m->store, key, "", path), 0700, reterr);

	return r < 0 ? r : profile_write(profile, store_path(m->store, key, "carried", path), reterr);
}

int carryover_make(struct manager *m, int64_t old, const struct installed *in, char *text, size_t size,
		   struct fault *reterr)
{
	_clean_(profile_freep) struct profile *from = NULL, *to = NULL;
	struct carry_report report = { 0 };
	struct fault fault = { "" };
	int r;

	snprintf(text, size, "starting afresh");
	if (in->module.edit_ns || in->module.carried > 0)
		return 0;
	r = old_profile(m, old, &from, reterr);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	r = new_profile(m, from, in, &to, &report, &fault);
	if (r == 0 && report.samples_carried > 0)
		r = profile_keep(m, to, in->module.key, &fault);
	if (r < 0) {
		snprintf(text, size, "starting afresh, for nothing can be carried over: %s", fault.text);
		return 0;
	}
	snprintf(text, size,
		 "%.1f %% of %.0f samples are carried over, in %zu functions; %zu have changed, %zu are gone",
		 100 * report.samples_carried / MAX(report.samples_carried + report.samples_dropped, 1e-9),
		 report.samples_carried + report.samples_dropped, report.n_carried,
		 report.n_changed + report.n_unknown, report.n_gone);
	return report.samples_carried > 0 ? row_fill(m, in->module.id, to, reterr) : 0;
}

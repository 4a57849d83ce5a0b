/* SPDX-License-Identifier: Apache-2.0 */

#include "profiles/store/carry.h"

#include <errno.h>
#include <string.h>

#include "profiles/store/history.h"

/* Does the function of this GUID in the new build have the blocks that @f counts? */
static bool is_carried(const struct profile_function *f, const struct block_map *map,
		       struct carry_report *report)
{
	const struct block_ir_function *now = block_map_ir_function(map, f->guid);

	if (!now)
		report->n_gone++;
	else if (!f->cfg_hash)
		report->n_unknown++;
	else if (now->cfg_hash != f->cfg_hash || (f->name && now->name && strcmp(f->name, now->name) != 0))
		report->n_changed++;
	else
		return true;
	return false;
}

static int function_copy(const struct profile_function *f, struct profile *profile)
{
	struct profile_function *copy = &profile->functions[profile->n_functions];

	*copy = *f;
	copy->name = f->name ? strdup(f->name) : NULL;
	copy->counts = NULL;
	copy->n_counts = 0;
	profile->n_functions++;
	if ((f->name && !copy->name) || profile_function_resize(copy, f->n_counts) < 0)
		return -ENOMEM;
	if (f->n_counts)
		memcpy(copy->counts, f->counts, f->n_counts * sizeof(*f->counts));
	return 0;
}

static int functions_carry(const struct profile *old, const struct block_map *map, struct profile *profile,
			   struct carry_report *report)
{
	profile->functions = calloc(old->n_functions + 1, sizeof(*profile->functions));
	if (!profile->functions)
		return -ENOMEM;
	profile->capacity = old->n_functions + 1;
	for (size_t i = 0; i < old->n_functions; i++) {
		const struct profile_function *f = &old->functions[i];

		if (!is_carried(f, map, report)) {
			report->samples_dropped += f->samples;
			continue;
		}
		if (function_copy(f, profile) < 0)
			return -ENOMEM;
		report->n_carried++;
		report->samples_carried += f->samples;
	}
	return 0;
}

static int text_copy(char **ret, const char *text)
{
	if (text)
		*ret = strdup(text);
	return text && !*ret ? -ENOMEM : 0;
}

int carry_profile(const struct profile *old, const struct block_map *map, const struct build_id *build_id,
		  struct profile **ret, struct carry_report *retreport, struct fault *reterr)
{
	_clean_(profile_freep) struct profile *profile = profile_new();
	struct carry_report report = { 0 };
	char id[BUILD_ID_MAX_TEXT];

	if (build_id_is_equal(&old->build_id, build_id))
		return fault_set(reterr, -EEXIST, "the profile is of build %s already; nothing to carry over",
				 build_id_text(build_id, id));
	if (!profile || functions_carry(old, map, profile, &report) < 0 ||
	    text_copy(&profile->path, old->path) < 0 || text_copy(&profile->estimator, old->estimator) < 0 ||
	    history_merge(old, 1, profile, profile) < 0)
		return fault_errno(reterr, -ENOMEM, "carrying over a profile");
	profile->build_id = *build_id;
	profile->samples = report.samples_carried;
	profile->dropped = report.samples_dropped + old->dropped;
	profile->first_ns = old->first_ns;
	profile->last_ns = old->last_ns;
	profile->activity_ns = old->activity_ns;
	profile->scale = old->scale;
	profile->carried = report.samples_carried > 0;
	*retreport = report;
	*ret = TAKE(profile);
	return 0;
}

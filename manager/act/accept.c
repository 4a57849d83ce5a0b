/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/act/accept.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/json_reader.h"
#include "manager/keep/digest.h"
#include "manager/keep/journal.h"
#include "manager/keep/path.h"
#include "manager/keep/store.h"
#include "manager/program/sidecars.h"
#include "module/build_id.h"

static int open_made(const char *path, struct stat *st, struct fault *reterr)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0)
		return fault_errno(reterr, -errno, "%s", path);
	if (fstat(fd, st) == 0 && S_ISREG(st->st_mode) && st->st_size > 0)
		return fd;
	close(fd);
	return fault_set(reterr, -EBADMSG, "what the editor wrote is not a file of a plausible size");
}

/* What morph-check says, which may have been taken over by what it looked at: only a new ID is believed. */
static int checked_id(struct manager *m, const struct module_row *module, char ret[BUILD_ID_MAX_TEXT],
		      struct fault *reterr)
{
	_clean_(file_map_donep) struct file_map map = { 0 };
	struct build_id id;
	char path[PATH_MAX];
	int r = file_map_open(path_join(m->work, "answer", path), &map, reterr);

	if (r < 0)
		return r;
	if (map.size < 1 || map.size > BUILD_ID_MAX_TEXT || map.data[map.size - 1] != '\n')
		return fault_set(reterr, -EBADMSG, "what the editor wrote could not be checked");
	snprintf(ret, BUILD_ID_MAX_TEXT, "%.*s", (int)map.size - 1, (const char *)map.data);
	if (build_id_parse(ret, &id) < 0)
		return fault_set(reterr, -EBADMSG, "what the editor wrote could not be checked");
	build_id_text(&id, ret);
	if (strcmp(ret, module->key) == 0)
		return fault_set(reterr, -EBADMSG, "what the editor wrote has no build ID of its own");
	return 0;
}

/*
 * A missing report or key leaves the row as it is. An editor that says that it compiled for no CPU in
 * particular made something that runs wherever the shipped file does.
 */
static void report_read(struct manager *m, struct generation_row *row)
{
	char path[PATH_MAX];
	_clean_(json_reader_freep) struct json_reader *report =
		json_reader_open(path_join(m->work, "report.json", path));
	_clean_(freep) char *id = json_reader_text(report, "$.generation_build_id");
	_clean_(freep) char *cpu = json_reader_text(report, "$.cpu");

	row->gain_is_known = json_reader_number(report, "$.predicted_gain", &row->gain);
	row->llvm_version = json_reader_text(report, "$.llvm");
	if (id && !cpu)
		free(TAKE(row->cpu));
}

/* Morph data that the package has in a file of its own may be gone when somebody wants to repeat the edit. */
static int sidecar_keep(struct manager *m, const struct module_row *module, struct fault *reterr)
{
	char directory[PATH_MAX], from[PATH_MAX], to[PATH_MAX];

	if (!sidecars_directory(&m->settings, module->key, directory) ||
	    !sidecars_file(directory, module->key, from) || access(from, R_OK) < 0)
		return 0;
	return file_copy(from, path_join(m->work, "sidecar", to), reterr);
}

/* "" where there are none. */
static const char *others_text(const struct generation_row *row, char *ret, size_t size)
{
	char fleet[48] = "", package[48] = "";

	if (row->fleet_samples > 0)
		snprintf(fleet, sizeof(fleet), ", %.0f of the fleet's", row->fleet_samples);
	if (row->package_samples > 0)
		snprintf(package, sizeof(package), ", %.0f of its packager's", row->package_samples);
	snprintf(ret, size, "%s%s", fleet, package);
	return ret;
}

static int enter(struct manager *m, const struct module_row *module, struct generation_row *row,
		 struct fault *reterr)
{
	const char *files[5] = { "binary" };
	static const char *const optional[] = { "profile", "report.json", "sidecar" };
	struct store_generation description = { .build_id = row->build_id,
						.digest = row->digest,
						.cpu = row->cpu,
						.llvm_version = row->llvm_version,
						.state = row->state,
						.number = (uint64_t)row->number,
						.size = (uint64_t)row->size,
						.created_ns = (uint64_t)row->created_ns,
						.gain = row->gain_is_known ? row->gain : 0,
						.cost_s = row->cost_s,
						.profile_samples = row->profile_samples };
	char from[PATH_MAX], to[PATH_MAX];
	/* What did not regenerate and was accepted; read before the report moves into the store. */
	_clean_(json_reader_freep) struct json_reader *report =
		json_reader_open(path_join(m->work, "report.json", from));
	_clean_(freep) char *rebased = json_reader_text(report, "$.rebased");
	_clean_(freep) char *fallback = json_reader_text(report, "$.fallback");
	char others[128];
	size_t n = 1;
	int r = sidecar_keep(m, module, reterr);

	if (r < 0)
		return r;
	if (rename(path_join(m->work, "output", from), path_join(m->work, "binary", to)) < 0)
		return fault_errno(reterr, -errno, "%s", from);
	for (size_t i = 0; i < ARRAY_SIZE(optional); i++)
		if (access(path_join(m->work, optional[i], from), F_OK) == 0)
			files[n++] = optional[i];
	r = store_put_generation(m->store, module->key, &description, m->work, files, reterr);
	if (r == 0)
		r = state_begin(m->state, reterr);
	if (r < 0)
		return r;
	r = row->id ? generation_set_state(m->state, row->id, row->state, NULL, reterr) :
		      generation_add(m->state, row, &row->id, reterr);
	if (r == 0)
		r = journal_event(
			m->state, module->id, NULL, EVENT_BUILT, reterr,
			"generation %lld, from %.0f samples%s, %.1f s of CPU time%s%s%s%s",
			(long long)row->number, row->profile_samples,
			others_text(row, others, sizeof(others)), row->cost_s,
			fallback ?
				"; its code is as shipped in a new order, for it could not be optimized: " :
				"",
			fallback ? fallback : "", rebased ? "; rebased: " : "", rebased ? rebased : "");
	if (r == 0)
		r = state_commit(m->state, reterr);
	state_undo(m->state);
	return r;
}

/* What was deleted to make room and is made once more has its number again. */
static int enter_again(struct manager *m, const struct module_row *module, struct generation_row *row,
		       struct fault *reterr)
{
	free(row->state);
	row->state = strdup("built");
	return row->state ? enter(m, module, row, reterr) : fault_errno(reterr, -ENOMEM, "generation");
}

static int row_fill(struct manager *m, const struct module_row *module, const char *id, const struct stat *st,
		    struct generation_row *row, struct fault *reterr)
{
	int r = generation_next_number(m->state, module->id, &row->number, reterr);

	if (r < 0)
		return r;
	row->module = module->id;
	row->build_id = strdup(id);
	row->cpu = strdup(m->cpu);
	row->state = strdup("built");
	row->size = (int64_t)st->st_size;
	row->created_ns = journal_now_ns();
	if (!row->build_id || !row->cpu || !row->state)
		return fault_errno(reterr, -ENOMEM, "generation");
	report_read(m, row);
	return 0;
}

int accept_generation(struct manager *m, const struct module_row *module, const struct made_from *from,
		      struct generation_row *ret, struct fault *reterr)
{
	_clean_(fd_closep) int fd = -1;
	char path[PATH_MAX], digest[DIGEST_TEXT], id[BUILD_ID_MAX_TEXT];
	struct stat st;
	int r;

	fd = open_made(path_join(m->work, "output", path), &st, reterr);
	if (fd < 0)
		return fd;
	r = checked_id(m, module, id, reterr);
	if (r == 0)
		r = digest_fd(fd, path, digest, reterr);
	if (r < 0)
		return r;
	r = generation_get_by_build_id(m->state, id, ret, reterr);
	if (r == 0 && ret->module == module->id && strcmp(ret->digest, digest) == 0)
		return strcmp(ret->state, "dropped") == 0 ? enter_again(m, module, ret, reterr) : 0;
	if (r != -ENOENT)
		return r < 0 ? r :
			       fault_set(reterr, -EBADMSG,
					 "what the editor wrote has the build ID of "
					 "another generation (%s), but other bytes",
					 id);
	ret->profile_samples = from->samples;
	ret->fleet_samples = from->fleet_samples;
	ret->package_samples = from->package_samples;
	ret->cost_s = from->cost_s;
	ret->digest = strdup(digest);
	r = row_fill(m, module, id, &st, ret, reterr);
	return r < 0 ? r : enter(m, module, ret, reterr);
}

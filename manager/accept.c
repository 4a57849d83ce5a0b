/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/accept.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "manager/answer.h"
#include "manager/digest.h"
#include "manager/journal.h"
#include "manager/path.h"
#include "manager/store.h"
#include "module/image.h"
#include "module/morph_data.h"

static int open_made(const char *path, const struct settings *settings, struct stat *st,
		     struct fault *reterr)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0 && errno == ENOENT)
		return fault_set(reterr, -EBADMSG, "the editor reported success, but wrote no file");
	if (fd < 0)
		return fault_errno(reterr, -errno, "%s", path);
	if (fstat(fd, st) == 0 && S_ISREG(st->st_mode) && st->st_size > 0 &&
	    (uint64_t)st->st_size <= settings->edit_file_bytes)
		return fd;
	close(fd);
	return fault_set(reterr, -EBADMSG, "what the editor wrote is not a file of a plausible size");
}

static int check_image(const struct image *made, const struct image *shipped, struct fault *reterr)
{
	const struct build_id *id = image_build_id(made);

	if (image_machine(made) != image_machine(shipped) ||
	    image_elf_type(made) != image_elf_type(shipped))
		return fault_set(reterr, -EBADMSG,
				 "what the editor wrote is for another machine or of another ELF type");
	if (!id->size || build_id_is_equal(id, image_build_id(shipped)))
		return fault_set(reterr, -EBADMSG,
				 "what the editor wrote has no build ID of its own");
	return 0;
}

/* Without its block map, samples of the new generation would mean nothing. */
static int check_map(const struct image *made, const struct image *shipped, struct fault *reterr)
{
	_clean_(morph_data_freep) struct morph_data *data = NULL;
	struct fault fault = { "" };
	int r = morph_data_load(made, "/nonexistent", &data, &fault);

	if (r < 0 || !data->map || !data->map->n_blocks)
		return fault_set(reterr, -EBADMSG, "what the editor wrote carries no block map%s%s",
				 r < 0 ? ": " : "", r < 0 ? fault.text : "");
	if (!build_id_is_equal(&data->origin, image_build_id(shipped)))
		return fault_set(reterr, -EBADMSG, "what the editor wrote was made from another file");
	return 0;
}

/*
 * A missing report or key leaves the row as it is. An editor that says that it compiled for no CPU in
 * particular made something that runs wherever the shipped file does.
 */
static void report_read(struct manager *m, struct generation_row *row)
{
	_clean_(freep) char *id = NULL, *cpu = NULL;
	char path[PATH_MAX];

	path_join(m->work, "report.json", path);
	row->gain_is_known = answer_number(m->state, path, "$.predicted_gain", &row->gain);
	row->llvm_version = answer_text(m->state, path, "$.llvm");
	id = answer_text(m->state, path, "$.generation_build_id");
	cpu = answer_text(m->state, path, "$.cpu");
	if (id && !cpu)
		free(TAKE(row->cpu));
}

/* Morph data that the package has in a file of its own may be gone when somebody wants to repeat the edit. */
static int sidecar_keep(struct manager *m, const struct module_row *module, struct fault *reterr)
{
	char name[NAME_MAX + 1], directory[PATH_MAX], from[PATH_MAX], to[PATH_MAX];

	if (snprintf(name, sizeof(name), "%.2s/%s.morph", module->key, module->key + 2) >= (int)sizeof(name) ||
	    !settings_path(&m->settings, m->settings.sidecar_directory, directory) ||
	    access(path_join(directory, name, from), R_OK) < 0)
		return 0;
	return file_copy(from, path_join(m->work, "sidecar", to), reterr);
}

static int enter(struct manager *m, const struct module_row *module, struct generation_row *row,
		 struct fault *reterr)
{
	const char *files[5] = { "binary" };
	static const char *const optional[] = { "profile", "report.json", "sidecar" };
	struct store_generation description = {
		.build_id = row->build_id, .digest = row->digest, .cpu = row->cpu,
		.llvm_version = row->llvm_version, .state = row->state, .number = (uint64_t)row->number,
		.size = (uint64_t)row->size, .created_ns = (uint64_t)row->created_ns,
		.gain = row->gain_is_known ? row->gain : 0, .cost_s = row->cost_s,
		.profile_samples = row->profile_samples
	};
	char from[PATH_MAX], to[PATH_MAX];
	/* What did not regenerate and was accepted; read before the report moves into the store. */
	_clean_(freep) char *rebased = answer_text(m->state, path_join(m->work, "report.json", from), "$.rebased");
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
	r = generation_add(m->state, row, &row->id, reterr);
	if (r == 0)
		r = journal_event(m->state, module->id, NULL, EVENT_BUILT, reterr,
				  "generation %lld, from %.0f samples, %.1f s of CPU time%s%s",
				  (long long)row->number, row->profile_samples, row->cost_s,
				  rebased ? "; rebased: " : "", rebased ? rebased : "");
	if (r == 0)
		r = state_commit(m->state, reterr);
	state_undo(m->state);
	return r;
}

static int row_fill(struct manager *m, const struct module_row *module, const struct image *made,
		    const struct stat *st, struct generation_row *row, struct fault *reterr)
{
	char id[BUILD_ID_MAX_TEXT];
	int r = generation_next_number(m->state, module->id, &row->number, reterr);

	if (r < 0)
		return r;
	row->module = module->id;
	row->build_id = strdup(build_id_text(image_build_id(made), id));
	row->cpu = strdup(m->cpu);
	row->state = strdup("built");
	row->size = (int64_t)st->st_size;
	row->created_ns = journal_now_ns();
	if (!row->build_id || !row->cpu || !row->state)
		return fault_errno(reterr, -ENOMEM, "generation");
	report_read(m, row);
	return 0;
}

static int open_both(struct manager *m, const struct module_row *module, int fd,
		     struct image **retmade, struct image **retshipped, struct fault *reterr)
{
	char path[PATH_MAX];
	int r = image_open_fd(fd, "what the editor wrote", retmade, reterr);

	if (r == 0)
		r = image_open(store_path(m->store, module->key, "original", path), retshipped, reterr);
	if (r == 0)
		r = check_image(*retmade, *retshipped, reterr);
	if (r == 0)
		r = check_map(*retmade, *retshipped, reterr);
	return r == -ENOEXEC ? -EBADMSG : r;
}

int accept_generation(struct manager *m, const struct module_row *module, double profile_samples,
		      double cost_s, struct generation_row *ret, struct fault *reterr)
{
	_clean_(image_freep) struct image *made = NULL, *shipped = NULL;
	_clean_(fd_closep) int fd = -1;
	char path[PATH_MAX], digest[DIGEST_TEXT], id[BUILD_ID_MAX_TEXT];
	struct stat st;
	int r;

	fd = open_made(path_join(m->work, "output", path), &m->settings, &st, reterr);
	if (fd < 0)
		return fd;
	r = open_both(m, module, fd, &made, &shipped, reterr);
	if (r == 0)
		r = digest_fd(fd, path, digest, reterr);
	if (r < 0)
		return r;
	r = generation_get_by_build_id(m->state, build_id_text(image_build_id(made), id), ret, reterr);
	if (r == 0 && ret->module == module->id && strcmp(ret->digest, digest) == 0 &&
	    strcmp(ret->state, "dropped") != 0)
		return 0;
	if (r != -ENOENT)
		return r < 0 ? r : fault_set(reterr, -EBADMSG, "what the editor wrote has the build ID of "
					     "another generation (%s), but other bytes", id);
	ret->profile_samples = profile_samples;
	ret->cost_s = cost_s;
	ret->digest = strdup(digest);
	r = row_fill(m, module, made, &st, ret, reterr);
	return r < 0 ? r : enter(m, module, ret, reterr);
}

/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "cli/bisect/subject.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/child.h"
#include "base/file.h"
#include "cli/shared/shipped.h"
#include "manager/keep/path.h"
#include "manager/keep/store.h"
#include "manager/verify/records.h"
#include "module/build_id.h"
#include "module/morph_data.h"
#include "profiles/store/function_order.h"

/* What the editor says when every function that ran is to stay as shipped (pass_cut()). */
#define NOTHING_LEFT "all functions that ran are to stay as shipped"
#define NAMED_MAX 8192u /* as many as it can be told of (EDIT_KEPT_MAX) */

void subject_done(struct subject *s)
{
	repeat_done(&s->repeat);
	profile_free(s->profile);
	free(s->functions);
	free(s->build_id);
	passes_done(&s->passes);
}

/* ---- which edit ---- */

static int64_t generation_choose(const struct record_program *program, const char *store, int64_t asked)
{
	int64_t last = -1;
	char path[PATH_MAX];

	if (asked >= 0 || program->generation > 0)
		return asked >= 0 ? asked : program->generation;
	for (size_t i = 0; i < program->n_generations; i++) {
		int64_t n = program->generations[i].number;

		if (n > last && n > 0 &&
		    access(store_generation_path(store, program->build_id, n, "profile", path), R_OK) == 0)
			last = n;
	}
	return last;
}

static int recorded_find(const struct subject_options *o, struct subject *s, struct fault *reterr)
{
	struct program_records records = { 0 };
	const struct record_program *program;
	char state[PATH_MAX], store[PATH_MAX];
	int r = o->state ? 0 : state_find(state, reterr);

	if (o->state)
		snprintf(state, sizeof(state), "%s", o->state);
	if (r == 0)
		r = program_records_load(state, &records, reterr);
	if (r < 0)
		return fault_prefix(reterr, r,
				    "what morphd has on record (root may read it; or name "
				    "--shipped and --profile)");
	path_join(state, "store", store);
	program = program_records_find(&records, s->path);
	if (program) {
		s->generation = generation_choose(program, store, o->generation);
		s->build_id = strdup(program->build_id);
	}
	r = !program	       ? fault_set(reterr, -ENOENT,
					   "%s: morphd knows of no such program; name --shipped and "
					   "--profile",
					   s->path) :
	    s->generation <= 0 ? fault_set(reterr, -ENOENT,
					   "%s: there is no generation of it; `morph reoptimize` "
					   "makes one",
					   s->path) :
	    !s->build_id       ? fault_errno(reterr, -ENOMEM, "%s", s->path) :
				 0;
	if (r == 0)
		repeat_of_store(&s->repeat, store, s->build_id, s->generation,
				o->sidecar_dir ? o->sidecar_dir : "");
	program_records_done(&records);
	return r;
}

static int given_find(const struct subject_options *o, struct subject *s, struct fault *reterr)
{
	_clean_(image_freep) struct image *image = NULL;
	char id[BUILD_ID_MAX_TEXT];
	int r;

	if (!realpath(o->shipped ? o->shipped : o->path, s->repeat.original))
		return fault_errno(reterr, -errno, "%s", o->shipped ? o->shipped : o->path);
	if (!realpath(o->profile, s->repeat.profile))
		return fault_errno(reterr, -errno, "%s", o->profile);
	if (o->sidecar_dir && !realpath(o->sidecar_dir, s->repeat.sidecars))
		return fault_errno(reterr, -errno, "%s", o->sidecar_dir);
	r = image_open(s->repeat.original, &image, reterr);
	if (r < 0)
		return r;
	s->build_id = strdup(build_id_text(image_build_id(image), id));
	return s->build_id ? 0 : fault_errno(reterr, -ENOMEM, "%s", s->path);
}

/* ---- what can be left out of it ---- */

static bool is_known(const struct subject *s, const char *name)
{
	for (size_t i = 0; i < s->n_functions; i++)
		if (strcmp(s->functions[i].name, name) == 0)
			return true;
	return false;
}

static bool ran(const struct profile_function *f)
{
	for (uint32_t i = 0; i < f->n_counts; i++)
		if (f->counts[i].executions)
			return true;
	return false;
}

static int functions_find(struct subject *s, struct fault *reterr)
{
	_clean_(freep) const struct profile_function **order = NULL;
	int r = profile_read(s->repeat.profile, &s->profile, reterr);

	if (r < 0)
		return r;
	order = function_order(s->profile);
	s->functions = calloc(s->profile->n_functions + 1, sizeof(*s->functions));
	if (!order || !s->functions)
		return fault_errno(reterr, -ENOMEM, "%s", s->repeat.profile);
	for (size_t i = 0; i < s->profile->n_functions && s->n_functions < NAMED_MAX; i++) {
		const struct profile_function *f = order[i];

		if (f->name && !strchr(f->name, '\n') && ran(f) && !is_known(s, f->name))
			s->functions[s->n_functions++] =
				(struct subject_function){ f->name, f->cfg_hash, f->samples };
	}
	if (!s->n_functions)
		return fault_set(reterr, -ENODATA, "%s: names no function that ran", s->repeat.profile);
	return 0;
}

int subject_open(const struct subject_options *o, struct subject *ret, struct fault *reterr)
{
	int r = 0;

	*ret = (struct subject){ .generation = -1, .cpu = o->cpu };
	if (!realpath(o->path, ret->path))
		return fault_errno(reterr, -errno, "%s", o->path);
	r = o->profile ? given_find(o, ret, reterr) : recorded_find(o, ret, reterr);
	if (r == 0)
		r = repeat_directory(&ret->repeat, ret->build_id, reterr);
	if (r == 0)
		r = functions_find(ret, reterr);
	return r < 0 ? r : passes_read(&ret->passes, reterr);
}

/* ---- variants ---- */

/* The names of all functions that are not @edited, in a file beside @out. */
static int kept_write(struct subject *s, const bool *edited, const char *path, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer names = { 0 };

	for (size_t i = 0; i < s->n_functions; i++)
		if (!edited[i])
			buffer_printf(&names, "%s\n", s->functions[i].name);
	return names.bad ? fault_errno(reterr, -ENOMEM, "%s", path) :
			   file_write(path, names.data, names.size, 0644, reterr);
}

static int variant_words(struct subject *s, const bool *edited, const bool *passes, const char *out,
			 struct fault *reterr)
{
	char kept[PATH_MAX];
	int r = repeat_command(&s->repeat, out, reterr);

	if (r < 0)
		return r;
	if (s->cpu && !s->repeat.made)
		repeat_word(&s->repeat, "--cpu=%s", s->cpu);
	repeat_word(&s->repeat, "--no-selftest");
	repeat_word(&s->repeat, "--memo=%s/memo", s->repeat.directory);
	for (size_t i = 0; passes && i < s->passes.n; i++) {
		if (passes[i])
			continue;
		if (strcmp(s->passes.names[i], PASSES_CPU) == 0)
			repeat_word(&s->repeat, "--cpu=shipped"); /* the last one counts */
		else
			repeat_word(&s->repeat, "--without=%s", s->passes.names[i]);
	}
	if (!edited)
		return 0;
	path_join(s->repeat.directory, "kept", kept);
	r = kept_write(s, edited, kept, reterr);
	if (r == 0)
		repeat_word(&s->repeat, "--as-shipped-from=%s", kept);
	return r;
}

/* As the installed file is: what runs must not depend on who looks. */
static int mode_take(const struct subject *s, const char *out, struct fault *reterr)
{
	struct stat st;

	if (stat(s->path, &st) < 0)
		return fault_errno(reterr, -errno, "%s", s->path);
	if ((geteuid() == 0 && chown(out, st.st_uid, st.st_gid) < 0) || chmod(out, st.st_mode & 07777) < 0)
		return fault_errno(reterr, -errno, "%s", out);
	return 0;
}

int subject_variant(struct subject *s, const bool *edited, const bool *passes, const char *out,
		    struct fault *reterr)
{
	struct fault why = { "" };
	int r;

	unlink(out);
	r = variant_words(s, edited, passes, out, reterr);
	if (r < 0)
		return r;
	s->n_edits++;
	r = repeat_run(&s->repeat, &why);
	if (r == -ECHILD && strstr(why.text, NOTHING_LEFT))
		return VARIANT_SHIPPED;
	if (r == -ECHILD) {
		snprintf(s->unmade, sizeof(s->unmade), "%.250s", why.text);
		return VARIANT_UNMADE;
	}
	if (r < 0)
		return fault_set(reterr, r, "%s", why.text);
	r = mode_take(s, out, reterr);
	return r < 0 ? r : VARIANT_MADE;
}

int subject_ir(struct subject *s, const char *function, const char *out, struct fault *reterr)
{
	char *words[] = {
		s->repeat.words[0], (char *)"optimize", s->repeat.original, NULL, NULL, NULL, NULL
	};
	_clean_(freep) char *ir = NULL, *to = NULL, *sidecars = NULL;
	_clean_(buffer_donep) struct buffer err = { 0 };
	struct child_options options = { .reterrout = &err };

	if (asprintf(&ir, "--ir=%s", function) < 0 || asprintf(&to, "--output=%s", out) < 0 ||
	    asprintf(&sidecars, "--sidecar-dir=%s", s->repeat.sidecars) < 0)
		return fault_errno(reterr, -ENOMEM, "%s", function);
	words[3] = ir;
	words[4] = to;
	words[5] = s->repeat.sidecars[0] ? sidecars : NULL;
	return child_check(words, &options, reterr);
}

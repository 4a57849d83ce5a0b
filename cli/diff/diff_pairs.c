/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <string.h>

#include "cli/diff/diff.h"
#include "module/morph_data.h"

struct candidate {
	struct sampled_file *file; /* borrowed */
	struct build_id origin;	   /* size 0: it carries no Morph data */
	bool taken;
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool same_build(const struct candidate *a, const struct candidate *b)
{
	return a->file->build_id.size && build_id_is_equal(&a->file->build_id, &b->file->build_id);
}

static bool same_origin(const struct candidate *a, const struct candidate *b)
{
	return a->origin.size && build_id_is_equal(&a->origin, &b->origin);
}

static bool same_path(const struct candidate *a, const struct candidate *b)
{
	return strcmp(a->file->path, b->file->path) == 0;
}

static bool same_name(const struct candidate *a, const struct candidate *b)
{
	return strcmp(base_name(a->file->path), base_name(b->file->path)) == 0;
}

static bool any(const struct candidate *a, const struct candidate *b)
{
	(void)a;
	(void)b;
	return true;
}

/* The only free one in @list that is like @of; NULL: none, or several. */
static struct candidate *only(struct candidate *list, size_t n, const struct candidate *of,
			      bool (*alike)(const struct candidate *a, const struct candidate *b))
{
	struct candidate *found = NULL;

	for (size_t i = 0; i < n; i++) {
		if (list[i].taken || !alike(of, &list[i]))
			continue;
		if (found)
			return NULL;
		found = &list[i];
	}
	return found;
}

static struct candidate *candidates_make(const struct sampled_files *files, const char *sidecar_dir)
{
	struct candidate *list = calloc(files->n + 1, sizeof(*list));

	for (size_t i = 0; list && i < files->n; i++) {
		struct morph_peek peek;

		list[i].file = files->list[i];
		if (files->list[i]->image &&
		    morph_data_peek(files->list[i]->image, sidecar_dir, &peek, NULL) == 0)
			list[i].origin = peek.origin.size ? peek.origin : peek.build_id;
	}
	return list;
}

static void pairs_find(struct candidate *a, size_t n_a, struct candidate *b, size_t n_b, bool named,
		       struct diff_pairs *pairs)
{
	static bool (*const rules[])(const struct candidate *a,
				     const struct candidate *b) = { same_build, same_origin, same_path,
								    same_name, any };

	for (size_t rule = 0; rule < ARRAY_SIZE(rules) - !named; rule++)
		for (size_t i = 0; i < n_a; i++) {
			struct candidate *other = a[i].taken ? NULL : only(b, n_b, &a[i], rules[rule]);

			if (!other || only(a, n_a, other, rules[rule]) != &a[i])
				continue;
			a[i].taken = other->taken = true;
			pairs->list[pairs->n++] = (struct diff_pair){ .files = { a[i].file, other->file } };
		}
	for (size_t i = 0; i < n_a; i++)
		if (!a[i].taken)
			pairs->list[pairs->n++] = (struct diff_pair){ .files = { a[i].file, NULL } };
	for (size_t i = 0; i < n_b; i++)
		if (!b[i].taken)
			pairs->list[pairs->n++] = (struct diff_pair){ .files = { NULL, b[i].file } };
}

int diff_pairs_make(const struct sampled_files sets[2], bool named, const struct names_options *options,
		    struct diff_pairs *ret, struct fault *reterr)
{
	_clean_(freep) struct candidate *a = candidates_make(&sets[0], options->sidecar_dir);
	_clean_(freep) struct candidate *b = candidates_make(&sets[1], options->sidecar_dir);
	_clean_(diff_pairs_done) struct diff_pairs pairs = { 0 };

	pairs.list = calloc(sets[0].n + sets[1].n + 1, sizeof(*pairs.list));
	if (!a || !b || !pairs.list)
		return fault_errno(reterr, -ENOMEM, "files");
	pairs_find(a, sets[0].n, b, sets[1].n, named, &pairs);
	for (size_t i = 0; i < pairs.n; i++) {
		const struct sampled_file *files[] = { pairs.list[i].files[0], pairs.list[i].files[1] };
		int r = files[0] && files[1] ? names_open(files, options, &pairs.list[i].names, reterr) : 0;

		if (r < 0)
			return r;
	}
	*ret = pairs;
	pairs = (struct diff_pairs){ 0 };
	return 0;
}

void diff_pairs_done(struct diff_pairs *pairs)
{
	for (size_t i = 0; i < pairs->n; i++)
		names_free(pairs->list[i].names);
	free(pairs->list);
	*pairs = (struct diff_pairs){ 0 };
}

/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/steps/differences.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "editor/steps/objects.h"
#include "editor/trust/trust.h"
#include "module/array.h"

struct names {
	const char **list; /* owned; the names are the map's */
	size_t n, capacity;
	bool bad;
};

static void name_note(void *userdata, const char *name)
{
	struct names *names = userdata;

	if (names->bad || !array_reserve(names->list, names->n, &names->capacity)) {
		names->bad = true;
		return;
	}
	names->list[names->n++] = name;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Prints those that the object of module @i defines, and marks them in @placed. */
static int module_print(struct edit *edit, size_t i, const struct names *names, bool *placed,
			struct buffer *text, struct fault *reterr)
{
	_clean_(image_freep) struct image *object = NULL;
	char path[PATH_MAX];
	int r = image_open(edit_path(edit, path, "base-%zu.o", i), &object, reterr);

	for (size_t k = 0; r == 0 && k < image_n_symbols(object); k++) {
		const struct image_symbol *s = image_symbol_at(object, k);
		const char **found =
			s->type == STT_FUNC && names->n ?
				bsearch(&s->name, names->list, names->n, sizeof(char *), by_name) :
				NULL;

		if (!found)
			continue;
		placed[found - names->list] = true;
		edit->units[i].differs = true;
		buffer_printf(text, "%zu\t%s\n", i, s->name);
	}
	return r;
}

static int names_print(struct edit *edit, const struct names *names, struct buffer *text,
		       struct fault *reterr)
{
	_clean_(freep) bool *placed = calloc(names->n + 1, sizeof(*placed));
	int r = placed ? 0 : fault_errno(reterr, -ENOMEM, "comparing functions");

	for (size_t i = 0; r == 0 && i < edit->data->n_modules; i++)
		r = module_print(edit, i, names, placed, text, reterr);
	for (size_t k = 0; r == 0 && k < names->n; k++)
		if (!placed[k])
			buffer_printf(text, "-\t%s\n", names->list[k]);
	return r;
}

int differences_find(struct edit *edit, const struct image *again, const struct block_map *map,
		     struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer text = { 0 };
	struct names names = { 0 };
	char path[PATH_MAX];
	int r = trust_differences(edit->program, edit->data->map, again, map, name_note, &names);

	if (r < 0 || names.bad)
		r = fault_errno(reterr, -ENOMEM, "comparing functions");
	if (r == 0 && names.n)
		qsort(names.list, names.n, sizeof(*names.list), by_name);
	if (r == 0)
		r = names_print(edit, &names, &text, reterr);
	free(names.list);
	if (r == 0 && text.bad)
		r = fault_errno(reterr, -ENOMEM, "comparing functions");
	return r < 0 || !edit->options->checks_only ?
		       r :
		       file_write(edit_path(edit, path, "%s", EDIT_DIFFERENCES), text.data, text.size, 0600,
				  reterr);
}

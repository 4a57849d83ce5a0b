/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/shared/debug_symbols.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "base/macro.h"

int debug_path(const struct build_id *id, const char *directory, char *ret)
{
	char text[BUILD_ID_MAX_TEXT];
	int n;

	build_id_text(id, text);
	n = snprintf(ret, PATH_MAX, "%s/.build-id/%.2s/%s.debug", directory ? directory : DEBUG_DIRECTORY,
		     text, text[0] ? text + 2 : "");
	return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

struct image *debug_symbols_open(const struct image *image, const char *directory)
{
	_clean_(image_freep) struct image *debug = NULL;
	const struct build_id *id = image_build_id(image);
	char path[PATH_MAX];

	if (image_section_find(image, ".symtab") || id->size < 2)
		return NULL;
	if (debug_path(id, directory, path) < 0 || image_open(path, &debug, NULL) < 0)
		return NULL;
	if (!build_id_is_equal(image_build_id(debug), id) || !image_section_find(debug, ".symtab"))
		return NULL;
	return TAKE(debug);
}

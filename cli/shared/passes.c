/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/shared/passes.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/child.h"
#include "base/macro.h"
#include "cli/shared/self.h"

static int pass_add(struct passes *passes, const char *name, size_t n)
{
	if (passes->n == PASSES_MAX)
		return 0;
	passes->names[passes->n] = strndup(name, n);
	return passes->names[passes->n] ? (passes->n++, 0) : -ENOMEM;
}

int passes_read(struct passes *ret, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer out = { 0 };
	struct child_options options = { .retout = &out };
	char self[PATH_MAX];
	int r = self_find(self, reterr);

	*ret = (struct passes){ 0 };
	if (r == 0)
		r = child_check((char *[]){ self, (char *)"optimize", (char *)"--passes", NULL }, &options,
				reterr);
	if (r < 0)
		return r;
	for (char *line = (char *)out.data, *end; line && *line && r == 0; line = end ? end + 1 : NULL) {
		end = strchr(line, '\n');
		if (end)
			*end = '\0';
		if (strstr(line, "(can be left out)"))
			r = pass_add(ret, line, strcspn(line, " "));
	}
	if (r == 0)
		r = pass_add(ret, PASSES_CPU, strlen(PASSES_CPU));
	return r < 0 ? fault_errno(reterr, r, "passes of the edit") : 0;
}

bool passes_have(const struct passes *passes, const char *name)
{
	for (size_t i = 0; i < passes->n; i++)
		if (strcmp(passes->names[i], name) == 0)
			return true;
	return false;
}

void passes_done(struct passes *passes)
{
	for (size_t i = 0; i < passes->n; i++)
		free(passes->names[i]);
	*passes = (struct passes){ 0 };
}

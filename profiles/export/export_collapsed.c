/* SPDX-License-Identifier: Apache-2.0 */

#include "profiles/export/export.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "profiles/store/function_order.h"

/* A frame's name must not hold what separates frames or lines. */
static void frame_put(struct buffer *out, const char *name)
{
	for (; *name; name++)
		buffer_u8(out, *name == ';' || (uint8_t)*name < 0x20 ? '_' : (uint8_t)*name);
}

int export_collapsed(const struct profile *profile, struct buffer *ret)
{
	_clean_(freep) const struct profile_function **functions = function_order(profile);
	const char *slash = profile->path ? strrchr(profile->path, '/') : NULL;
	const char *program = slash ? slash + 1 : profile->path ? profile->path : "unknown";

	if (!functions)
		return -ENOMEM;
	for (size_t i = 0; i < profile->n_functions; i++) {
		uint64_t samples = (uint64_t)(MIN(functions[i]->samples, 0x1p63) + 0.5);
		char guid[FUNCTION_NAME_BYTES];

		if (!samples)
			continue;
		frame_put(ret, program);
		buffer_u8(ret, ';');
		frame_put(ret, function_name(functions[i], guid));
		buffer_printf(ret, " %" PRIu64 "\n", samples);
	}
	return ret->bad ? -ENOMEM : 0;
}

static int collapsed_run(const struct export_input *input, struct buffer *ret, char *retleft _unused_,
			 struct fault *reterr)
{
	int r = export_collapsed(input->profile, ret);

	return r < 0 ? fault_errno(reterr, r, "exporting") : 0;
}

const struct exporter exporter_collapsed = {
	.name = "collapsed",
	.title = "of a profile: \"program;function samples\", for flame graphs",
	.run = collapsed_run,
};

/* SPDX-License-Identifier: Apache-2.0 */

#include "profiles/export/export.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "profiles/store/function_order.h"

enum export_format export_parse(const char *name)
{
	static const char *const names[] = { [EXPORT_LLVM] = "llvm",
					     [EXPORT_PPROF] = "pprof",
					     [EXPORT_COLLAPSED] = "collapsed",
					     [EXPORT_BOLT] = "bolt" };

	for (size_t i = 1; i < ARRAY_SIZE(names); i++)
		if (strcmp(names[i], name) == 0)
			return (enum export_format)i;
	return 0;
}

static uint64_t counts_sum(const struct profile_function *f)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < f->n_counts; i++)
		if (__builtin_add_overflow(sum, f->counts[i].executions, &sum))
			return UINT64_MAX;
	return sum;
}

/* "NAME:TOTAL:ENTRY", then " PROBE: COUNT" and " !CFGChecksum: HASH". */
static void function_export(const struct profile_function *f, struct buffer *out)
{
	buffer_printf(out, "%s:%" PRIu64 ":%" PRIu64 "\n", f->name, counts_sum(f),
		      f->n_counts ? f->counts[0].executions : 0);
	for (uint32_t i = 0; i < f->n_counts; i++)
		if (f->counts[i].executions || f->counts[i].confidence)
			buffer_printf(out, " %u: %" PRIu64 "\n", i + 1, f->counts[i].executions);
	buffer_printf(out, " !CFGChecksum: %" PRIu64 "\n", f->cfg_hash);
}

int export_llvm(const struct profile *profile, struct buffer *ret, size_t *retn_nameless)
{
	_clean_(freep) const struct profile_function **functions = function_order(profile);
	size_t n_nameless = 0;

	if (!functions)
		return -ENOMEM;
	for (size_t i = 0; i < profile->n_functions; i++) {
		if (functions[i]->name && functions[i]->n_counts)
			function_export(functions[i], ret);
		else
			n_nameless += !functions[i]->name;
	}
	if (retn_nameless)
		*retn_nameless = n_nameless;
	return ret->bad ? -ENOMEM : 0;
}

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

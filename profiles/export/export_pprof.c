/* SPDX-License-Identifier: Apache-2.0 */

/* A profile as profile.proto, in the terms of pprof_private.h. */

#include "profiles/export/export.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "profiles/export/pprof_private.h"
#include "profiles/store/function_order.h"

/* Strings that every profile has, by their number. */
enum {
	STRING_EMPTY,
	STRING_SAMPLES,
	STRING_EXECUTIONS,
	STRING_COUNT,
	STRING_PATH,
	STRING_BUILD_ID,
	STRING_COMMENT,
	STRING_FIRST_NAME
};

struct pprof {
	struct buffer out, message, nested; /* the profile; the message being built; one inside it */
	uint64_t n_locations;
};

static void pprof_done(struct pprof *pprof)
{
	buffer_done(&pprof->out);
	buffer_done(&pprof->message);
	buffer_done(&pprof->nested);
}

static void put_value_type(struct pprof *pprof, uint64_t string)
{
	put_number(&pprof->message, VALUE_TYPE_TYPE, string);
	put_number(&pprof->message, VALUE_TYPE_UNIT, STRING_COUNT);
	put_message(&pprof->out, PROFILE_SAMPLE_TYPE, &pprof->message);
}

/* A location of its own at @line of @function, and a sample there. Values are signed in pprof. */
static void put_sample(struct pprof *pprof, uint64_t function, uint32_t line, uint64_t samples,
		       uint64_t executions)
{
	uint64_t id = ++pprof->n_locations;

	put_number(&pprof->nested, LINE_FUNCTION, function);
	put_number(&pprof->nested, LINE_LINE, line);
	put_number(&pprof->message, LOCATION_ID, id);
	put_number(&pprof->message, LOCATION_MAPPING, 1);
	put_message(&pprof->message, LOCATION_LINE, &pprof->nested);
	put_message(&pprof->out, PROFILE_LOCATION, &pprof->message);

	buffer_uleb(&pprof->nested, id);
	put_message(&pprof->message, SAMPLE_LOCATION, &pprof->nested);
	buffer_uleb(&pprof->nested, MIN(samples, (uint64_t)INT64_MAX));
	buffer_uleb(&pprof->nested, MIN(executions, (uint64_t)INT64_MAX));
	put_message(&pprof->message, SAMPLE_VALUE, &pprof->nested);
	put_message(&pprof->out, PROFILE_SAMPLE, &pprof->message);
}

static void put_function(struct pprof *pprof, const struct profile_function *f, uint64_t id)
{
	put_number(&pprof->message, FUNCTION_ID, id);
	put_number(&pprof->message, FUNCTION_NAME, STRING_FIRST_NAME + id - 1);
	put_number(&pprof->message, FUNCTION_SYSTEM_NAME, STRING_FIRST_NAME + id - 1);
	put_number(&pprof->message, FUNCTION_FILENAME, STRING_PATH);
	put_message(&pprof->out, PROFILE_FUNCTION, &pprof->message);
	if (f->samples >= 0.5)
		put_sample(pprof, id, 0, (uint64_t)(MIN(f->samples, 0x1p62) + 0.5), 0);
	for (uint32_t i = 0; i < f->n_counts; i++)
		if (f->counts[i].executions)
			put_sample(pprof, id, i + 1, 0, f->counts[i].executions);
}

static void put_text(struct buffer *out, const char *text)
{
	put_bytes(out, PROFILE_STRING, text, strlen(text));
}

static void put_strings(struct pprof *pprof, const struct profile *profile,
			const struct profile_function *const *functions)
{
	char id[BUILD_ID_MAX_TEXT], guid[FUNCTION_NAME_BYTES];

	put_text(&pprof->out, "");
	put_text(&pprof->out, "samples");
	put_text(&pprof->out, "executions");
	put_text(&pprof->out, "count");
	put_text(&pprof->out, profile->path ? profile->path : "");
	put_text(&pprof->out, build_id_text(&profile->build_id, id));
	put_text(&pprof->out, "line n of a function is its IR block n, line 0 all of it");
	for (size_t i = 0; i < profile->n_functions; i++)
		put_text(&pprof->out, function_name(functions[i], guid));
}

static void put_profile(struct pprof *pprof, const struct profile *profile,
			const struct profile_function *const *functions)
{
	put_value_type(pprof, STRING_SAMPLES);
	put_value_type(pprof, STRING_EXECUTIONS);
	put_number(&pprof->message, MAPPING_ID, 1);
	put_number(&pprof->message, MAPPING_FILENAME, STRING_PATH);
	put_number(&pprof->message, MAPPING_BUILD_ID, STRING_BUILD_ID);
	put_number(&pprof->message, MAPPING_HAS_FUNCTIONS, 1);
	put_message(&pprof->out, PROFILE_MAPPING, &pprof->message);
	for (size_t i = 0; i < profile->n_functions; i++)
		put_function(pprof, functions[i], i + 1);
	put_strings(pprof, profile, functions);
	put_number(&pprof->out, PROFILE_TIME_NS, profile->first_ns);
	put_number(&pprof->out, PROFILE_DURATION_NS,
		   profile->last_ns > profile->first_ns ? profile->last_ns - profile->first_ns : 0);
	put_number(&pprof->out, PROFILE_COMMENT, STRING_COMMENT);
	put_number(&pprof->out, PROFILE_DEFAULT_SAMPLE_TYPE, STRING_SAMPLES);
}

int pprof_gzip(const struct buffer *in, struct buffer *ret)
{
	z_stream stream = { .next_in = in->data, .avail_in = (uInt)in->size };
	uint8_t *out;
	uLong bound;
	int r;

	if (in->bad || in->size > UINT32_MAX / 2)
		return -ENOMEM;
	if (deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	bound = deflateBound(&stream, in->size);
	out = malloc(bound);
	stream.next_out = out;
	stream.avail_out = (uInt)bound;
	r = out && deflate(&stream, Z_FINISH) == Z_STREAM_END ? 0 : -ENOMEM;
	if (r == 0)
		buffer_bytes(ret, out, stream.total_out);
	deflateEnd(&stream);
	free(out);
	return ret->bad ? -ENOMEM : r;
}

int export_pprof(const struct profile *profile, struct buffer *ret)
{
	_clean_(pprof_done) struct pprof pprof = { 0 };
	_clean_(freep) const struct profile_function **functions = function_order(profile);

	if (!functions)
		return -ENOMEM;
	put_profile(&pprof, profile, functions);
	return pprof_gzip(&pprof.out, ret);
}

static int pprof_run(const struct export_input *input, struct buffer *ret, char *retleft _unused_,
		     struct fault *reterr)
{
	int r = export_pprof(input->profile, ret);

	return r < 0 ? fault_errno(reterr, r, "exporting") : 0;
}

const struct exporter exporter_pprof = {
	.name = "pprof",
	.title = "of a profile: profile.proto, gzipped",
	.is_binary = true,
	.run = pprof_run,
};

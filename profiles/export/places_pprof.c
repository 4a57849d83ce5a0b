/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Each place is a location with its address, so tools with the files at hand can look further; its names stand beside it. An
 * image is a mapping: from address 0, as the addresses are those of the file.
 */

#include <errno.h>
#include <string.h>

#include "base/macro.h"
#include "base/text.h"
#include "profiles/export/places.h"
#include "profiles/export/pprof_private.h"

/* Strings that every profile has, by their number. */
enum {
	STRING_EMPTY,
	STRING_SAMPLES,
	STRING_COUNT,
	STRING_CPU,
	STRING_NANOSECONDS,
	STRING_USER,
	STRING_LOG,
	STRING_PROCESS,
	STRING_FIRST
};
static const char *const strings[STRING_FIRST] = { "",	   "samples", "count",	"cpu", "nanoseconds",
						   "user", "log",     "process" };

struct pprof {
	const struct export_places *places;
	struct buffer out, message, nested, strings; /* the profile; the message being built; one inside it */
	uint64_t n_strings;
	uint64_t *mappings;		   /* owned; by place */
	const struct export_place **order; /* owned; places by image */
};

static void pprof_done(struct pprof *pprof)
{
	buffer_done(&pprof->out);
	buffer_done(&pprof->message);
	buffer_done(&pprof->nested);
	buffer_done(&pprof->strings);
	free(pprof->mappings);
	free(pprof->order);
}

/* The number of a text; one that is not UTF-8, or not for people, is escaped. */
static uint64_t string_put(struct pprof *pprof, const char *text)
{
	_clean_(freep) char *escaped = text ? text_escaped(text) : NULL;

	if (!text || !text[0])
		return STRING_EMPTY;
	if (!escaped)
		pprof->strings.bad = true;
	else
		put_bytes(&pprof->strings, PROFILE_STRING, escaped, strlen(escaped));
	return pprof->n_strings++;
}

static void value_type_put(struct pprof *pprof, uint64_t type, uint64_t unit)
{
	put_number(&pprof->message, VALUE_TYPE_TYPE, type);
	put_number(&pprof->message, VALUE_TYPE_UNIT, unit);
	put_message(&pprof->out, PROFILE_SAMPLE_TYPE, &pprof->message);
}

static int by_image(const void *pa, const void *pb)
{
	const struct export_place *a = *(const struct export_place *const *)pa,
				  *b = *(const struct export_place *const *)pb;
	int order = a->is_process - b->is_process;

	order = order ? order : strcmp(a->image, b->image);
	return order ? order : memcmp(&a->build_id, &b->build_id, sizeof(a->build_id));
}

static int mappings_put(struct pprof *pprof)
{
	const struct export_places *places = pprof->places;
	uint64_t id = 0;

	pprof->mappings = calloc(places->n + 1, sizeof(*pprof->mappings));
	pprof->order = calloc(places->n + 1, sizeof(*pprof->order));
	if (!pprof->mappings || !pprof->order)
		return -ENOMEM;
	for (size_t i = 0; i < places->n; i++)
		pprof->order[i] = &places->list[i];
	if (places->n)
		qsort(pprof->order, places->n, sizeof(*pprof->order), by_image);
	for (size_t i = 0; i < places->n; i++) {
		const struct export_place *place = pprof->order[i];
		char text[BUILD_ID_MAX_TEXT];

		if (place->is_process)
			break; /* they are the last ones */
		if (!i || by_image(&pprof->order[i - 1], &pprof->order[i]) != 0) {
			put_number(&pprof->message, MAPPING_ID, ++id);
			put_number(&pprof->message, MAPPING_LIMIT, INT64_MAX);
			put_number(&pprof->message, MAPPING_FILENAME, string_put(pprof, place->image));
			if (place->build_id.size)
				put_number(&pprof->message, MAPPING_BUILD_ID,
					   string_put(pprof, build_id_text(&place->build_id, text)));
			put_number(&pprof->message, MAPPING_HAS_FUNCTIONS, 1);
			put_message(&pprof->out, PROFILE_MAPPING, &pprof->message);
		}
		pprof->mappings[place - places->list] = id;
	}
	return 0;
}

static void label_put(struct pprof *pprof, uint64_t key, const char *text)
{
	if (!text)
		return;
	put_number(&pprof->nested, LABEL_KEY, key);
	put_number(&pprof->nested, LABEL_STRING, string_put(pprof, text));
	put_message(&pprof->message, SAMPLE_LABEL, &pprof->nested);
}

/* Function and location of one place have its number. */
static void place_put(struct pprof *pprof, size_t i)
{
	const struct export_place *place = &pprof->places->list[i];
	uint64_t id = i + 1, name = string_put(pprof, place_name(place));

	put_number(&pprof->message, FUNCTION_ID, id);
	put_number(&pprof->message, FUNCTION_NAME, name);
	put_number(&pprof->message, FUNCTION_SYSTEM_NAME,
		   place->symbol ? string_put(pprof, place->symbol) : name);
	put_number(&pprof->message, FUNCTION_FILENAME, string_put(pprof, place->file));
	put_message(&pprof->out, PROFILE_FUNCTION, &pprof->message);

	put_number(&pprof->nested, LINE_FUNCTION, id);
	put_number(&pprof->nested, LINE_LINE, place->line);
	put_number(&pprof->message, LOCATION_ID, id);
	put_number(&pprof->message, LOCATION_MAPPING, pprof->mappings[i]);
	put_number(&pprof->message, LOCATION_ADDRESS, place->address);
	put_message(&pprof->message, LOCATION_LINE, &pprof->nested);
	put_message(&pprof->out, PROFILE_LOCATION, &pprof->message);
}

/* What @samples and @seconds belong to is in pprof->nested: locations, innermost first. */
static void sample_put(struct pprof *pprof, uint64_t samples, double seconds)
{
	put_message(&pprof->message, SAMPLE_LOCATION, &pprof->nested);
	buffer_uleb(&pprof->nested, MIN(samples, (uint64_t)INT64_MAX));
	if (pprof->places->has_seconds)
		buffer_uleb(&pprof->nested, (uint64_t)(MIN(seconds * 1e9, 0x1p62) + 0.5));
	put_message(&pprof->message, SAMPLE_VALUE, &pprof->nested);
}

static void place_sample_put(struct pprof *pprof, size_t i)
{
	const struct export_place *place = &pprof->places->list[i];

	buffer_uleb(&pprof->nested, i + 1);
	sample_put(pprof, place->samples, place->seconds);
	label_put(pprof, STRING_USER, place->user);
	label_put(pprof, STRING_LOG, place->log);
	put_message(&pprof->out, PROFILE_SAMPLE, &pprof->message);
}

/* The process is no location, but a label. */
static void call_sample_put(struct pprof *pprof, const struct export_call *call)
{
	const struct export_places *places = pprof->places;
	const char *process = NULL;

	for (const struct export_call *at = call;; at = &places->calls[at->parent]) {
		const struct export_place *place = &places->list[at->place];

		if (place->is_process)
			process = place->image;
		else
			buffer_uleb(&pprof->nested, at->place + 1);
		if (at->parent == EXPORT_OUTERMOST)
			break;
	}
	sample_put(pprof, call->samples, call->seconds);
	label_put(pprof, STRING_PROCESS, process);
	put_message(&pprof->out, PROFILE_SAMPLE, &pprof->message);
}

static int pprof_run(const struct export_places *places, struct buffer *ret)
{
	_clean_(pprof_done) struct pprof pprof = { .places = places, .n_strings = STRING_FIRST };

	for (size_t i = 0; i < STRING_FIRST; i++)
		put_bytes(&pprof.strings, PROFILE_STRING, strings[i], strlen(strings[i]));
	value_type_put(&pprof, STRING_SAMPLES, STRING_COUNT);
	if (places->has_seconds)
		value_type_put(&pprof, STRING_CPU, STRING_NANOSECONDS);
	if (mappings_put(&pprof) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < places->n; i++)
		if (!places->list[i].is_process)
			place_put(&pprof, i);
	for (size_t i = 0; !places->calls && i < places->n; i++)
		place_sample_put(&pprof, i);
	for (size_t i = 0; i < places->n_calls; i++)
		if (places->calls[i].samples)
			call_sample_put(&pprof, &places->calls[i]);
	pprof.out.bad |= pprof.strings.bad;
	buffer_bytes(&pprof.out, pprof.strings.data, pprof.strings.size);
	put_number(&pprof.out, PROFILE_TIME_NS, places->start_ns);
	put_number(&pprof.out, PROFILE_DURATION_NS, places->duration_ns);
	put_number(&pprof.out, PROFILE_DEFAULT_SAMPLE_TYPE,
		   places->has_seconds ? STRING_CPU : STRING_SAMPLES);
	return pprof_gzip(&pprof.out, ret);
}

const struct place_exporter place_exporter_pprof = {
	.name = "pprof",
	.title = "profile.proto, gzipped",
	.is_binary = true,
	.of_addresses = true,
	.run = pprof_run,
};

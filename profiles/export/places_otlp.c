/* SPDX-License-Identifier: Apache-2.0 */

/*
 * As pprof's form has it (places_pprof.c): each place is a location with its address in a mapping from 0, its names stand
 * beside it, and what a stack belongs to is told by attributes. Their keys are those of OpenTelemetry's conventions.
 */

#include <errno.h>
#include <string.h>

#include "base/macro.h"
#include "profiles/export/otlp.h"
#include "profiles/export/places.h"

struct writer {
	const struct export_places *places;
	struct otlp otlp;
	uint32_t *locations; /* owned; by place */
	uint32_t *stack;     /* owned; as deep as the deepest can be */
};

static void writer_done(struct writer *writer)
{
	otlp_done(&writer->otlp);
	free(writer->locations);
	free(writer->stack);
}

static const char *frame_type(const struct export_place *place)
{
	if (place->image[0] == '/')
		return "native";
	return strcmp(place->image, "[kernel]") == 0 ? "kernel" : NULL;
}

static uint32_t location_put(struct otlp *otlp, const struct export_place *place)
{
	struct otlp_line line = { place_name(place), place->symbol, place->file, place->line };
	uint32_t mapping = otlp_mapping(otlp, place->image, &place->build_id);

	return otlp_location(otlp, mapping, place->address, &line,
			     otlp_attribute(otlp, "profile.frame.type", frame_type(place)));
}

static void sample_put(struct writer *writer, size_t depth, const uint32_t *attributes, size_t n_attributes,
		       uint64_t samples, double seconds)
{
	uint64_t ns = (uint64_t)(MIN(seconds * 1e9, 0x1p62) + 0.5);
	uint64_t values[OTLP_MOST_VALUES] = { writer->places->has_seconds ? ns : samples, samples };

	otlp_sample(&writer->otlp, otlp_stack(&writer->otlp, writer->stack, depth), attributes, n_attributes,
		    values);
}

static void place_sample_put(struct writer *writer, size_t i)
{
	const struct export_place *place = &writer->places->list[i];
	uint32_t attributes[] = { otlp_attribute(&writer->otlp, "process.owner", place->user),
				  otlp_attribute(&writer->otlp, "morph.log", place->log) };

	writer->stack[0] = writer->locations[i];
	sample_put(writer, 1, attributes, ARRAY_SIZE(attributes), place->samples, place->seconds);
}

static void call_sample_put(struct writer *writer, const struct export_call *call)
{
	const struct export_places *places = writer->places;
	const char *process = NULL;
	uint32_t attribute;
	size_t depth = 0;

	for (const struct export_call *at = call;; at = &places->calls[at->parent]) {
		if (places->list[at->place].is_process)
			process = places->list[at->place].image;
		else
			writer->stack[depth++] = writer->locations[at->place];
		if (at->parent == EXPORT_OUTERMOST)
			break;
	}
	attribute = otlp_attribute(&writer->otlp, "process.title", process);
	sample_put(writer, depth, &attribute, 1, call->samples, call->seconds);
}

static int otlp_run(const struct export_places *places, struct buffer *ret)
{
	static const struct otlp_type types[] = { { "cpu", "nanoseconds" }, { "samples", "count" } };
	_clean_(writer_done) struct writer writer = { .places = places };

	writer.otlp.n_types = places->has_seconds ? 2 : 1;
	writer.locations = calloc(places->n + 1, sizeof(*writer.locations));
	writer.stack = calloc(places->n_calls + 1, sizeof(*writer.stack));
	if (!writer.locations || !writer.stack)
		return -ENOMEM;
	for (size_t i = 0; i < places->n; i++)
		if (!places->list[i].is_process)
			writer.locations[i] = location_put(&writer.otlp, &places->list[i]);
	for (size_t i = 0; !places->calls && i < places->n; i++)
		place_sample_put(&writer, i);
	for (size_t i = 0; i < places->n_calls; i++)
		if (places->calls[i].samples)
			call_sample_put(&writer, &places->calls[i]);
	return otlp_write(&writer.otlp, places->has_seconds ? types : types + 1, places->start_ns,
			  places->duration_ns, ret);
}

const struct place_exporter place_exporter_otlp = {
	.name = "otlp",
	.title = "OpenTelemetry profiles (v1development of 1.10.0 and 1.11.0), a request body",
	.is_binary = true,
	.of_addresses = true,
	.run = otlp_run,
};

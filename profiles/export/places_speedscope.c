/* SPDX-License-Identifier: Apache-2.0 */

/*
 * speedscope's own format (https://www.speedscope.app/file-format-schema.json): frames, and for each sample a stack of
 * them, outermost first, with a weight. Frames of one name are one frame: images stand apart, as they come sorted. A
 * procedure's caller is its image where there are no stacks.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/config.h"
#include "base/json.h"
#include "base/macro.h"
#include "profiles/export/places.h"

struct frame {
	const char *name, *image, *file; /* image: NULL for one */
	uint32_t line;
	size_t place; /* that has it */
	size_t number;
};

struct frames {
	struct frame *list;
	size_t n;
	size_t *images, *procedures; /* by place: a frame's number */
};

static void frames_done(struct frames *frames)
{
	free(frames->list);
	free(frames->images);
	free(frames->procedures);
}

static int text_compare(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int compare(const void *pa, const void *pb)
{
	const struct frame *a = pa, *b = pb;
	int order = text_compare(a->image, b->image);

	order = order ? order : strcmp(a->name, b->name);
	order = order ? order : text_compare(a->file, b->file);
	return order ? order : a->line < b->line ? -1 : a->line > b->line;
}

static int frames_make(const struct export_places *places, struct frames *ret)
{
	size_t n = 0, kept = 0;

	ret->list = calloc(2 * places->n + 1, sizeof(*ret->list));
	ret->images = calloc(places->n + 1, sizeof(*ret->images));
	ret->procedures = calloc(places->n + 1, sizeof(*ret->procedures));
	if (!ret->list || !ret->images || !ret->procedures)
		return -ENOMEM;
	for (size_t i = 0; i < places->n; i++) {
		const struct export_place *p = &places->list[i];

		if (places->calls) { /* a frame for each place */
			ret->list[n++] = (struct frame){
				place_name(p), p->procedure ? p->image : NULL, p->file, p->line, i, 0
			};
			continue;
		}
		ret->list[n++] = (struct frame){ .name = p->image, .place = i };
		if (p->procedure)
			ret->list[n++] = (struct frame){ p->procedure, p->image, p->file, p->line, i, 0 };
	}
	if (n)
		qsort(ret->list, n, sizeof(*ret->list), compare);
	for (size_t i = 0; i < n; i++) {
		struct frame frame = ret->list[i];

		if (!kept || compare(&ret->list[kept - 1], &frame) != 0)
			ret->list[kept++] = frame;
		(frame.image ? ret->procedures : ret->images)[frame.place] = kept - 1;
	}
	ret->n = kept;
	return 0;
}

static void shared_write(struct json *json, const struct frames *frames)
{
	json_object_begin(json, "shared");
	json_array_begin(json, "frames");
	for (size_t i = 0; i < frames->n; i++) {
		json_object_begin(json, NULL);
		json_string(json, "name", frames->list[i].name);
		if (frames->list[i].file) {
			json_string(json, "file", frames->list[i].file);
			json_u64(json, "line", frames->list[i].line);
		}
		json_object_end(json);
	}
	json_array_end(json);
	json_object_end(json);
}

/* Of place @i, or of call @i where there are calls. */
static double weight_of(const struct export_places *places, size_t i)
{
	uint64_t samples = places->calls ? places->calls[i].samples : places->list[i].samples;

	if (!places->has_seconds)
		return (double)samples;
	return places->calls ? places->calls[i].seconds : places->list[i].seconds;
}

static void callers_write(struct json *json, const struct export_places *places, const struct frames *frames,
			  uint32_t call)
{
	const struct export_call *this = &places->calls[call];
	bool has_procedure = places->list[this->place].procedure;

	if (this->parent != EXPORT_OUTERMOST)
		callers_write(json, places, frames, this->parent);
	json_u64(json, NULL, (has_procedure ? frames->procedures : frames->images)[this->place]);
}

static bool is_sampled(const struct export_places *places, size_t i)
{
	return !places->calls || places->calls[i].samples;
}

static void stack_write(struct json *json, const struct export_places *places, const struct frames *frames,
			size_t i)
{
	json_array_begin(json, NULL);
	if (places->calls) {
		callers_write(json, places, frames, (uint32_t)i);
	} else {
		json_u64(json, NULL, frames->images[i]);
		if (places->list[i].procedure)
			json_u64(json, NULL, frames->procedures[i]);
	}
	json_array_end(json);
}

static void profile_write(struct json *json, const struct export_places *places, const struct frames *frames)
{
	size_t n = places->calls ? places->n_calls : places->n;
	double sum = 0;

	json_object_begin(json, NULL);
	json_string(json, "type", "sampled");
	json_string(json, "name", "morph");
	json_string(json, "unit", places->has_seconds ? "seconds" : "none");
	json_array_begin(json, "samples");
	for (size_t i = 0; i < n; i++)
		if (is_sampled(places, i))
			stack_write(json, places, frames, i);
	json_array_end(json);
	json_array_begin(json, "weights");
	for (size_t i = 0; i < n; i++) {
		if (!is_sampled(places, i))
			continue;
		sum += weight_of(places, i);
		json_double(json, NULL, weight_of(places, i));
	}
	json_array_end(json);
	json_double(json, "startValue", 0);
	json_double(json, "endValue", sum);
	json_object_end(json);
}

static void file_write_json(FILE *out, const struct export_places *places, const struct frames *frames)
{
	struct json json = json_to(out);

	json_object_begin(&json, NULL);
	json_string(&json, "$schema", "https://www.speedscope.app/file-format-schema.json");
	json_string(&json, "exporter", "morph " MORPH_VERSION);
	json_string(&json, "name", "morph report");
	shared_write(&json, frames);
	json_array_begin(&json, "profiles");
	profile_write(&json, places, frames);
	json_array_end(&json);
	json_object_end(&json);
}

static int speedscope_run(const struct export_places *places, struct buffer *ret)
{
	_clean_(frames_done) struct frames frames = { 0 };
	_clean_(freep) char *text = NULL;
	size_t size = 0;
	FILE *out = frames_make(places, &frames) < 0 ? NULL : open_memstream(&text, &size);
	bool is_whole;

	if (!out)
		return -ENOMEM;
	file_write_json(out, places, &frames);
	is_whole = !ferror(out);
	if (fclose(out) != 0 || !is_whole)
		return -ENOMEM;
	buffer_bytes(ret, text, size);
	return ret->bad ? -ENOMEM : 0;
}

const struct place_exporter place_exporter_speedscope = {
	.name = "speedscope",
	.title = "JSON, for speedscope",
	.run = speedscope_run,
};

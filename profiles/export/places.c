/* SPDX-License-Identifier: Apache-2.0 */

#include "profiles/export/places.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/macro.h"
#include "base/text.h"

#define ROW(name) &place_exporter_##name,

static const struct place_exporter *const exporters[] = { PLACE_EXPORTERS(ROW) };

struct named place_exporter_at(size_t i)
{
	return i < ARRAY_SIZE(exporters) ? (struct named){ exporters[i]->name, exporters[i]->title } :
					   (struct named){ NULL, NULL };
}

const struct place_exporter *place_exporter_find(const char *name, struct fault *reterr)
{
	for (size_t i = 0; i < ARRAY_SIZE(exporters); i++)
		if (strcmp(name, exporters[i]->name) == 0)
			return exporters[i];
	names_refuse("format", name, place_exporter_at, reterr);
	return NULL;
}

void place_frame_put(struct buffer *out, const char *name, bool one_word)
{
	for (size_t left = strlen(name), n; left; name += n, left -= n) {
		int32_t code = text_next(name, left, &n);

		if (code == ';' || (one_word && code == ' ') || !text_is_plain(code))
			buffer_u8(out, '_');
		else
			buffer_bytes(out, name, n);
	}
}

const char *place_base(const struct export_place *place)
{
	const char *slash = place->image[0] == '/' ? strrchr(place->image, '/') : NULL;

	return slash && slash[1] ? slash + 1 : place->image;
}

const char *place_name(const struct export_place *place)
{
	return place->procedure ? place->procedure : place_base(place);
}

/* --- folded --------------------------------------------------------------------------------------- */

static void callers_put(const struct export_places *places, uint32_t call, struct buffer *ret)
{
	const struct export_call *this = &places->calls[call];

	if (this->parent != EXPORT_OUTERMOST) {
		callers_put(places, this->parent, ret);
		buffer_u8(ret, ';');
	}
	place_frame_put(ret, place_name(&places->list[this->place]), false);
}

static int folded_run(const struct export_places *places, struct buffer *ret)
{
	for (uint32_t i = 0; i < places->n_calls; i++) {
		if (!places->calls[i].samples)
			continue;
		callers_put(places, i, ret);
		buffer_printf(ret, " %" PRIu64 "\n", places->calls[i].samples);
	}
	if (places->calls)
		return ret->bad ? -ENOMEM : 0;
	for (size_t i = 0; i < places->n; i++) {
		const struct export_place *place = &places->list[i];
		const char *frames[] = { place->log, place->user, place_base(place), place->procedure };
		bool first = true;

		for (size_t k = 0; k < ARRAY_SIZE(frames); k++) {
			if (!frames[k])
				continue;
			if (!first)
				buffer_u8(ret, ';');
			place_frame_put(ret, frames[k], false);
			first = false;
		}
		buffer_printf(ret, " %" PRIu64 "\n", place->samples);
	}
	return ret->bad ? -ENOMEM : 0;
}

const struct place_exporter place_exporter_folded = {
	.name = "folded",
	.title = "\"image;procedure samples\", with stacks \"process;caller;callee samples\": for flame "
		 "graphs",
	.run = folded_run,
};

/* --- script --------------------------------------------------------------------------------------- */

/* The time is that of the first sample; processes have no number. */
static void script_head(const struct export_places *places, const char *process, uint64_t samples,
			struct buffer *ret)
{
	place_frame_put(ret, process, true);
	buffer_printf(ret, "     0/0     [000] %" PRIu64 ".%06u: %10" PRIu64 " %s: \n",
		      places->start_ns / 1000000000u, (unsigned)(places->start_ns % 1000000000u / 1000u),
		      samples, places->has_seconds ? "cpu-clock" : "instructions");
}

static void script_frame(const struct export_place *place, struct buffer *ret)
{
	buffer_printf(ret, "\t%16" PRIx64 " ", place->address);
	if (place->procedure) {
		place_frame_put(ret, place->symbol ? place->symbol : place->procedure, true);
		buffer_printf(ret, "+0x%" PRIx64 " (", place->procedure_offset);
	} else {
		buffer_printf(ret, "[unknown] (");
	}
	place_frame_put(ret, place->image, true);
	buffer_printf(ret, ")\n");
}

static int script_calls(const struct export_places *places, struct buffer *ret)
{
	for (uint32_t i = 0; i < places->n_calls; i++) {
		const struct export_call *call = &places->calls[i], *outermost = call;

		if (!call->samples)
			continue;
		while (outermost->parent != EXPORT_OUTERMOST)
			outermost = &places->calls[outermost->parent];
		script_head(places, place_base(&places->list[outermost->place]), call->samples, ret);
		for (uint32_t k = i; k != EXPORT_OUTERMOST; k = places->calls[k].parent)
			if (!places->list[places->calls[k].place].is_process)
				script_frame(&places->list[places->calls[k].place], ret);
		buffer_u8(ret, '\n');
	}
	return ret->bad ? -ENOMEM : 0;
}

/* Without stacks the process is not known: its name is the image's. */
static int script_run(const struct export_places *places, struct buffer *ret)
{
	if (places->calls)
		return script_calls(places, ret);
	for (size_t i = 0; i < places->n; i++) {
		script_head(places, place_base(&places->list[i]), places->list[i].samples, ret);
		script_frame(&places->list[i], ret);
		buffer_u8(ret, '\n');
	}
	return ret->bad ? -ENOMEM : 0;
}

const struct place_exporter place_exporter_script = {
	.name = "script",
	.title = "text as of `perf script`, the samples of a place as its period",
	.of_addresses = true,
	.run = script_run,
};

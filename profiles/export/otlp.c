/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Field numbers as in opentelemetry/proto/profiles/v1development/profiles.proto, resource.proto and common.proto. Numbers
 * that are 0 and texts that are empty are left out, as the wire format's third version has it: so a thing of which nothing
 * is known is the empty message, number 0 of its table.
 */

#include "profiles/export/otlp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/macro.h"
#include "base/text.h"
#include "profiles/export/protobuf.h"

enum { DATA_RESOURCE_PROFILES = 1, DATA_DICTIONARY = 2 };
enum { RESOURCE_PROFILES_RESOURCE = 1, RESOURCE_PROFILES_SCOPE = 2 };
enum { SCOPE_PROFILES_SCOPE = 1, SCOPE_PROFILES_PROFILE = 2 };
enum { SCOPE_NAME = 1, SCOPE_VERSION = 2 };
enum { PROFILE_TYPE = 1, PROFILE_SAMPLE = 2, PROFILE_TIME = 3, PROFILE_DURATION = 4 };
enum { TYPE_TYPE = 1, TYPE_UNIT = 2 };
enum { SAMPLE_STACK = 1, SAMPLE_ATTRIBUTES = 2, SAMPLE_VALUES = 4 };
enum { MAPPING_LIMIT = 2, MAPPING_FILE = 4, MAPPING_ATTRIBUTES = 5 };
enum { LOCATION_MAPPING = 1, LOCATION_ADDRESS = 2, LOCATION_LINE = 3, LOCATION_ATTRIBUTES = 4 };
enum { LINE_FUNCTION = 1, LINE_LINE = 2 };
enum { FUNCTION_NAME = 1, FUNCTION_SYSTEM_NAME = 2, FUNCTION_FILE = 3 };
enum { LINK_TRACE = 1, LINK_SPAN = 2 };
enum { ATTRIBUTE_KEY = 1, ATTRIBUTE_VALUE = 2, VALUE_STRING = 1 };
enum { STACK_LOCATIONS = 1 };

void otlp_done(struct otlp *otlp)
{
	for (size_t i = 0; i < OTLP_KINDS; i++) {
		buffer_done(&otlp->tables[i].bytes);
		free(otlp->tables[i].ends);
		interned_done(&otlp->tables[i].index);
	}
	buffer_done(&otlp->values);
	buffer_done(&otlp->message);
	buffer_done(&otlp->nested);
}

/* --- tables --------------------------------------------------------------------------------------- */

static struct reader item_at(const struct otlp_table *table, uint32_t i)
{
	size_t start = i ? table->ends[i - 1] : 0;

	return table->bytes.size ? reader_of(table->bytes.data + start, table->ends[i] - start) :
				   reader_of(NULL, 0);
}

static int item_append(struct otlp_table *table, uint64_t hash, const struct buffer *item)
{
	if (table->n == table->capacity) {
		uint32_t capacity = table->capacity ? 2 * table->capacity : 64;
		size_t *ends =
			capacity > INT32_MAX ? NULL : reallocarray(table->ends, capacity, sizeof(*ends));

		if (!ends)
			return -ENOMEM;
		table->ends = ends;
		table->capacity = capacity;
	}
	buffer_bytes(&table->bytes, item->data, item->size);
	if (table->bytes.bad || interned_put(&table->index, hash, table->n) < 0)
		return -ENOMEM;
	table->ends[table->n++] = table->bytes.size;
	return 0;
}

/* Number of the thing in otlp->message, which is then empty again. */
static uint32_t item_put(struct otlp *otlp, enum otlp_kind kind)
{
	struct otlp_table *table = &otlp->tables[kind];
	struct buffer *item = &otlp->message;
	uint64_t hash, at;
	uint32_t i;

	if (!table->n && kind != OTLP_SAMPLE)
		otlp->bad |=
			item_append(table, interned_hash(&table->index, NULL, 0), &(struct buffer){ 0 }) < 0;
	otlp->bad |= item->bad;
	hash = at = interned_hash(&table->index, item->data, item->size);
	while (!otlp->bad && (i = interned_next(&table->index, hash, &at)) != INTERNED_NONE) {
		struct reader there = item_at(table, i);

		if (reader_left(&there) == item->size &&
		    (!item->size || memcmp(there.at, item->data, item->size) == 0)) {
			item->size = 0;
			return i;
		}
	}
	otlp->bad = otlp->bad || item_append(table, hash, item) < 0;
	item->size = 0;
	return otlp->bad ? 0 : table->n - 1;
}

/* --- things --------------------------------------------------------------------------------------- */

static void put_known(struct buffer *out, unsigned field, uint64_t value)
{
	if (value)
		put_number(out, field, value);
}

/* A list of numbers, packed; 0 is none. */
static void put_list(struct otlp *otlp, unsigned field, const uint32_t *numbers, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (numbers[i])
			buffer_uleb(&otlp->nested, numbers[i]);
	if (otlp->nested.size)
		put_message(&otlp->message, field, &otlp->nested);
}

static uint32_t string_put(struct otlp *otlp, const char *text)
{
	_clean_(freep) char *escaped = text_escaped(text ? text : "");

	otlp->bad |= !escaped;
	if (escaped)
		buffer_bytes(&otlp->message, escaped, strlen(escaped));
	return item_put(otlp, OTLP_STRING);
}

uint32_t otlp_attribute(struct otlp *otlp, const char *key, const char *value)
{
	_clean_(freep) char *escaped = value ? text_escaped(value) : NULL;
	uint32_t number;

	if (!value)
		return 0;
	if (!escaped) {
		otlp->bad = true;
		return 0;
	}
	number = string_put(otlp, key);
	put_number(&otlp->message, ATTRIBUTE_KEY, number);
	put_bytes(&otlp->nested, VALUE_STRING, escaped, strlen(escaped));
	put_message(&otlp->message, ATTRIBUTE_VALUE, &otlp->nested);
	return item_put(otlp, OTLP_ATTRIBUTE);
}

uint32_t otlp_mapping(struct otlp *otlp, const char *path, const struct build_id *build_id)
{
	char text[BUILD_ID_MAX_TEXT];
	uint32_t file = string_put(otlp, path),
		 id = otlp_attribute(otlp, "process.executable.build_id.gnu",
				     build_id->size ? build_id_text(build_id, text) : NULL);

	put_number(&otlp->message, MAPPING_LIMIT, INT64_MAX);
	put_known(&otlp->message, MAPPING_FILE, file);
	put_list(otlp, MAPPING_ATTRIBUTES, &id, 1);
	return item_put(otlp, OTLP_MAPPING);
}

static uint32_t function_put(struct otlp *otlp, const struct otlp_line *line)
{
	uint32_t name = string_put(otlp, line->function), file = string_put(otlp, line->file);
	uint32_t symbol = line->symbol ? string_put(otlp, line->symbol) : name;

	put_known(&otlp->message, FUNCTION_NAME, name);
	put_known(&otlp->message, FUNCTION_SYSTEM_NAME, symbol);
	put_known(&otlp->message, FUNCTION_FILE, file);
	return item_put(otlp, OTLP_FUNCTION);
}

uint32_t otlp_location(struct otlp *otlp, uint32_t mapping, uint64_t address, const struct otlp_line *line,
		       uint32_t attribute)
{
	uint32_t function = function_put(otlp, line);

	put_known(&otlp->message, LOCATION_MAPPING, mapping);
	put_known(&otlp->message, LOCATION_ADDRESS, address);
	put_known(&otlp->nested, LINE_FUNCTION, function);
	put_known(&otlp->nested, LINE_LINE, line->line);
	if (otlp->nested.size)
		put_message(&otlp->message, LOCATION_LINE, &otlp->nested);
	put_list(otlp, LOCATION_ATTRIBUTES, &attribute, 1);
	return item_put(otlp, OTLP_LOCATION);
}

uint32_t otlp_stack(struct otlp *otlp, const uint32_t *locations, size_t n)
{
	put_list(otlp, STACK_LOCATIONS, locations, n);
	return item_put(otlp, OTLP_STACK);
}

void otlp_sample(struct otlp *otlp, uint32_t stack, const uint32_t *attributes, size_t n_attributes,
		 const uint64_t *values)
{
	uint32_t n = otlp->tables[OTLP_SAMPLE].n, number;
	uint64_t *sums;

	put_known(&otlp->message, SAMPLE_STACK, stack);
	put_list(otlp, SAMPLE_ATTRIBUTES, attributes, n_attributes);
	number = item_put(otlp, OTLP_SAMPLE);
	if (otlp->bad)
		return;
	if (number == n)
		buffer_bytes(&otlp->values, (uint64_t[OTLP_MOST_VALUES]){ 0 },
			     otlp->n_types * sizeof(uint64_t));
	if (otlp->values.bad)
		return;
	sums = (uint64_t *)(void *)otlp->values.data + (size_t)number * otlp->n_types;
	for (size_t i = 0; i < otlp->n_types; i++)
		sums[i] = MIN(sums[i] + MIN(values[i], (uint64_t)INT64_MAX), (uint64_t)INT64_MAX);
}

/* --- the message ---------------------------------------------------------------------------------- */

static void dictionary_put(struct otlp *otlp, struct buffer *out)
{
	static const uint8_t none[16];

	for (unsigned kind = OTLP_SAMPLE + 1; kind < OTLP_KINDS; kind++) {
		const struct otlp_table *table = &otlp->tables[kind];

		for (uint32_t i = 0; i < MAX(table->n, 1u); i++) {
			struct reader item = table->n ? item_at(table, i) : reader_of(NULL, 0);

			/* The protocol asks for these lengths in the one that is none. */
			if (kind == OTLP_LINK) {
				put_bytes(&otlp->message, LINK_TRACE, none, 16);
				put_bytes(&otlp->message, LINK_SPAN, none, 8);
				put_message(out, kind, &otlp->message);
			} else {
				put_bytes(out, kind, item.at, reader_left(&item));
			}
		}
	}
}

static void profile_put(struct otlp *otlp, size_t type, const uint32_t numbers[2], uint64_t start_ns,
			uint64_t duration_ns, struct buffer *out)
{
	const uint64_t *values = (const uint64_t *)(const void *)otlp->values.data;

	put_known(&otlp->message, TYPE_TYPE, numbers[0]);
	put_known(&otlp->message, TYPE_UNIT, numbers[1]);
	put_message(out, PROFILE_TYPE, &otlp->message);
	for (uint32_t i = 0; i < otlp->tables[OTLP_SAMPLE].n; i++) {
		struct reader sample = item_at(&otlp->tables[OTLP_SAMPLE], i);
		uint64_t value = values[i * otlp->n_types + type];

		if (!value)
			continue;
		buffer_bytes(&otlp->message, sample.at, reader_left(&sample));
		buffer_uleb(&otlp->nested, value);
		put_message(&otlp->message, SAMPLE_VALUES, &otlp->nested);
		put_message(out, PROFILE_SAMPLE, &otlp->message);
	}
	if (start_ns)
		put_fixed64(out, PROFILE_TIME, start_ns);
	put_known(out, PROFILE_DURATION, duration_ns);
}

int otlp_write(struct otlp *otlp, const struct otlp_type *types, uint64_t start_ns, uint64_t duration_ns,
	       struct buffer *ret)
{
	_clean_(buffer_donep) struct buffer profile = { 0 }, scope = { 0 }, resource = { 0 };

	put_bytes(&otlp->message, SCOPE_NAME, "morph", 5);
	put_bytes(&otlp->message, SCOPE_VERSION, MORPH_VERSION, strlen(MORPH_VERSION));
	put_message(&scope, SCOPE_PROFILES_SCOPE, &otlp->message);
	for (size_t i = 0; i < otlp->n_types; i++) {
		uint32_t numbers[2] = { string_put(otlp, types[i].type), string_put(otlp, types[i].unit) };

		if (otlp->bad || otlp->values.bad)
			return -ENOMEM;
		profile_put(otlp, i, numbers, start_ns, duration_ns, &profile);
		put_message(&scope, SCOPE_PROFILES_PROFILE, &profile);
	}
	put_message(&resource, RESOURCE_PROFILES_RESOURCE, &otlp->message); /* it is empty: nothing is told */
	put_message(&resource, RESOURCE_PROFILES_SCOPE, &scope);
	put_message(ret, DATA_RESOURCE_PROFILES, &resource);
	dictionary_put(otlp, &resource);
	put_message(ret, DATA_DICTIONARY, &resource);
	return ret->bad ? -ENOMEM : 0;
}

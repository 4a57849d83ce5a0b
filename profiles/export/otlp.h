/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * otlp.h - profiles as OpenTelemetry's protocol has them, as both writers of it need it
 *
 * The message is opentelemetry.proto.profiles.v1development.ProfilesData as of opentelemetry-proto 1.10.0 and 1.11.0 (alpha;
 * in 1.9.0 a sample's fields had other numbers). It has the fields of the collector's ExportProfilesServiceRequest, so it
 * can be sent as it is.
 *
 * What is said more than once stands in tables of a dictionary, each thing once, and number 0 of each is the empty one:
 * "not known". The otlp_...() that return a number put a thing there, or find it. Texts are foreign bytes; they are
 * escaped (base/text.h), since the protocol has UTF-8 only. Nothing reports an error before otlp_write().
 */

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "module/build_id.h"
#include "profiles/samples/interned.h"

#define OTLP_MOST_VALUES 2u /* of a sample */

/* Number of each is its field in ProfilesDictionary. Samples are no part of it, but each stands once, too. */
enum otlp_kind {
	OTLP_SAMPLE,
	OTLP_MAPPING,
	OTLP_LOCATION,
	OTLP_FUNCTION,
	OTLP_LINK,
	OTLP_STRING,
	OTLP_ATTRIBUTE,
	OTLP_STACK,
	OTLP_KINDS
};

struct otlp_table {
	struct buffer bytes; /* messages, one after the other */
	size_t *ends;	     /* owned; of each in bytes */
	uint32_t n, capacity;
	struct interned index;
};

/* One that is all zeros but for n_types is an empty one. */
struct otlp {
	size_t n_types; /* values of a sample; 1 to OTLP_MOST_VALUES */
	struct otlp_table tables[OTLP_KINDS];
	struct buffer values;	       /* n_types uint64_t for each sample */
	struct buffer message, nested; /* the thing being built; one inside it */
	bool bad;
};

/* What a profile's values are, and of which time. Texts are borrowed. */
struct otlp_type {
	const char *type, *unit;
};

struct otlp_line {
	const char *function, *symbol, *file; /* borrowed; NULL: not known; the symbol: as the function */
	uint32_t line;
};

void otlp_done(struct otlp *otlp);

/** otlp_mapping() - a file from its address 0 on */
uint32_t otlp_mapping(struct otlp *otlp, const char *path, const struct build_id *build_id);
/** otlp_attribute() - @key is ours; @value NULL: none, 0 */
uint32_t otlp_attribute(struct otlp *otlp, const char *key, const char *value);
/** otlp_location() - @attribute: 0 is none */
uint32_t otlp_location(struct otlp *otlp, uint32_t mapping, uint64_t address, const struct otlp_line *line,
		       uint32_t attribute);
/** otlp_stack() - innermost first */
uint32_t otlp_stack(struct otlp *otlp, const uint32_t *locations, size_t n);

/** otlp_sample() - add n_types @values to what this stack with these attributes has; those that are 0 are none */
void otlp_sample(struct otlp *otlp, uint32_t stack, const uint32_t *attributes, size_t n_attributes,
		 const uint64_t *values);

/**
 * otlp_write() - append the message: a profile for each of the n_types @types, in their order
 * What has no value above 0 of a type is not in that profile. The same calls give the same bytes.
 * Return: 0 or -ENOMEM.
 */
int otlp_write(struct otlp *otlp, const struct otlp_type *types, uint64_t start_ns, uint64_t duration_ns,
	       struct buffer *ret);

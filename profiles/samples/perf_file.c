/* SPDX-License-Identifier: Apache-2.0 */

/*
 *	file	  = header, then anywhere: attributes, data, and after the data one section for
 *		    each feature bit
 *	header	  = "PERFILE2", size, attribute size, attributes, data, event types (3 sections),
 *		    256 feature bits
 *	section	  = offset (8), size (8)
 *	attribute = perf_event_attr (attribute size less 16), section of its sample IDs (u64)
 *	data	  = record*; record = type (4), misc (2), size (2), body
 *
 * A body of another type than SAMPLE ends in a sample ID (its time, process, ID) when the events
 * say sample_id_all; the field order is that of linux/perf_event.h.
 */

#include "profiles/samples/perf_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MAGIC "PERFILE2"
#define MAGIC_SWAPPED "2ELIFREP"
#define HEADER_BYTES 104u
#define PIPE_HEADER_BYTES 16u
#define MIN_ATTRIBUTE_BYTES 64u /* PERF_ATTR_SIZE_VER0 */
#define SECTION_BYTES 16u
#define FEATURE_BUILD_ID 2u
#define FEATURE_N_CPUS 7u
#define FEATURE_EVENT_DESC 12u
#define N_FEATURES 256u
#define RECORD_USER_FIRST 64u /* types from here on are perf's own */
#define RECORD_AUXTRACE 71u
#define RECORD_COMPRESSED 81u
#define RECORD_COMPRESSED2 83u
#define BUILD_ID_RECORD_BYTES 36u /* header, pid, 20 bytes of ID, size, padding */

/* Fields of the trailing sample ID, each 8 bytes, in this order. */
static const uint64_t id_fields[] = { PERF_SAMPLE_TID,	     PERF_SAMPLE_TIME, PERF_SAMPLE_ID,
				      PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU,  PERF_SAMPLE_IDENTIFIER };

struct section {
	uint64_t offset, size;
};

struct header {
	uint64_t attribute_size;
	struct section attributes, data;
	uint64_t features[N_FEATURES / 64];
};

static struct section get_section(struct reader *in)
{
	struct section section;

	section.offset = reader_u64(in);
	section.size = reader_u64(in);
	return section;
}

/* Over the bytes of @section; bad when they are not all in the file. */
static struct reader section_reader(const struct perf_file *file, struct section section)
{
	struct reader all = reader_of(file->bytes, file->size);

	reader_bytes(&all, section.offset);
	return reader_sub(&all, section.size);
}

static int header_check(const struct perf_file *file, struct fault *reterr)
{
	if (file->size >= 8 && memcmp(file->bytes, MAGIC_SWAPPED, 8) == 0)
		return fault_set(reterr, -EPROTONOSUPPORT,
				 "recorded on a big-endian machine; Morph reads little-endian only");
	if (file->size >= 8 && memcmp(file->bytes, "PERFFILE", 8) == 0)
		return fault_set(reterr, -EPROTONOSUPPORT,
				 "written by a perf older than 2.6.32; record again with a newer one");
	if (file->size < 8 || memcmp(file->bytes, MAGIC, 8) != 0)
		return fault_set(reterr, -EBADMSG, "not a perf.data file");
	return 0;
}

static int get_header(const struct perf_file *file, struct header *ret, struct fault *reterr)
{
	struct reader in = reader_of(file->bytes, file->size);
	uint64_t size;
	int r = header_check(file, reterr);

	if (r < 0)
		return r;
	reader_bytes(&in, 8);
	size = reader_u64(&in);
	if (size == PIPE_HEADER_BYTES)
		return fault_set(reterr, -EPROTONOSUPPORT,
				 "perf.data in pipe mode (perf record -o -); record to a file instead");
	ret->attribute_size = reader_u64(&in);
	ret->attributes = get_section(&in);
	ret->data = get_section(&in);
	get_section(&in);
	for (size_t i = 0; i < ARRAY_SIZE(ret->features); i++)
		ret->features[i] = reader_u64(&in);
	if (in.bad || size < HEADER_BYTES)
		return fault_set(reterr, -EBADMSG, "damaged: the header is truncated");
	if (ret->data.size == 0)
		return fault_set(reterr, -EBADMSG,
				 "perf record was killed before it finished the file; record again");
	return 0;
}

static const char *builtin_name(uint32_t type, uint64_t config)
{
	static const char *const hardware[] = { "cycles",
						"instructions",
						"cache-references",
						"cache-misses",
						"branches",
						"branch-misses",
						"bus-cycles",
						"stalled-cycles-frontend",
						"stalled-cycles-backend",
						"ref-cycles" };
	static const char *const software[] = {
		"cpu-clock",	    "task-clock",   "page-faults",  "context-switches",
		"cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
		"emulation-faults", "dummy",	    "bpf-output"
	};

	config &= UINT32_MAX; /* above: which PMU, on machines with two kinds of cores */
	if (type == PERF_TYPE_HARDWARE && config < ARRAY_SIZE(hardware))
		return hardware[config];
	if (type == PERF_TYPE_SOFTWARE && config < ARRAY_SIZE(software))
		return software[config];
	return NULL;
}

static void get_event(struct reader in, struct perf_event *event)
{
	uint64_t flags;
	const char *name;

	event->type = reader_u32(&in);
	reader_u32(&in); /* its own size */
	event->config = reader_u64(&in);
	event->period = reader_u64(&in);
	event->sample_type = reader_u64(&in);
	event->read_format = reader_u64(&in);
	flags = reader_u64(&in);
	event->is_frequency = flags >> 10 & 1;
	event->has_sample_ids = flags >> 18 & 1;
	reader_bytes(&in, 24); /* wakeup, breakpoint or config1, config2 */
	event->branch_sample_type = reader_left(&in) >= 8 ? reader_u64(&in) : 0;
	name = builtin_name(event->type, event->config);
	if (name)
		snprintf(event->name, sizeof(event->name), "%s", name);
	else
		snprintf(event->name, sizeof(event->name), "type-%u-config-%#llx", event->type,
			 (unsigned long long)event->config);
}

static int compare_ids(const void *a, const void *b)
{
	const struct perf_id *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static int get_ids(struct perf_file *file, struct section section, uint32_t event)
{
	struct reader in = section_reader(file, section);
	size_t n = reader_left(&in) / 8;
	struct perf_id *ids;

	/* Sections of different events do not overlap: together they fit into the file. */
	if (in.bad || file->n_ids + n > file->size / 8)
		return -EBADMSG;
	if (!n)
		return 0;
	ids = reallocarray(file->ids, file->n_ids + n, sizeof(*ids));
	if (!ids)
		return -ENOMEM;
	file->ids = ids;
	for (size_t i = 0; i < n; i++)
		ids[file->n_ids++] = (struct perf_id){ reader_u64(&in), event };
	return 0;
}

static int get_events(struct perf_file *file, const struct header *header)
{
	struct reader in = section_reader(file, header->attributes);
	uint64_t size = header->attribute_size;
	size_t n;
	int r = 0;

	if (in.bad || size < MIN_ATTRIBUTE_BYTES + SECTION_BYTES)
		return -EBADMSG;
	n = reader_left(&in) / size;
	if (n == 0 || n > PERF_FILE_MAX_EVENTS)
		return -EBADMSG;
	file->events = calloc(n, sizeof(*file->events));
	if (!file->events)
		return -ENOMEM;
	for (; file->n_events < n && r == 0; file->n_events++) {
		get_event(reader_sub(&in, size - SECTION_BYTES), &file->events[file->n_events]);
		r = get_ids(file, get_section(&in), (uint32_t)file->n_events);
	}
	if (file->n_ids)
		qsort(file->ids, file->n_ids, sizeof(*file->ids), compare_ids);
	return r;
}

/* The name field of a build ID record, without what would make it end early or late. */
static void get_build_id(struct reader in, uint16_t misc, struct perf_build_id *ret)
{
	const uint8_t *bytes;
	unsigned size;

	reader_u32(&in); /* pid */
	bytes = reader_bytes(&in, 20);
	size = reader_u8(&in);
	reader_bytes(&in, 3);
	ret->name = (const char *)in.at;
	ret->is_kernel = (misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER;
	ret->id.size = (misc & 1u << 15) && size <= 20 ? (uint8_t)size : 20;
	memcpy(ret->id.bytes, bytes, ret->id.size);
}

static int compare_build_ids(const void *a, const void *b)
{
	const struct perf_build_id *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int get_build_ids(struct perf_file *file, struct reader in)
{
	size_t n = reader_left(&in) / BUILD_ID_RECORD_BYTES;

	file->build_ids = calloc(n + 1, sizeof(*file->build_ids));
	if (!file->build_ids)
		return -ENOMEM;
	while (reader_left(&in) >= BUILD_ID_RECORD_BYTES) {
		struct reader body;
		uint16_t misc, size;

		reader_u32(&in);
		misc = reader_u16(&in);
		size = reader_u16(&in);
		body = reader_sub(&in, size - 8u);
		if (body.bad || size <= BUILD_ID_RECORD_BYTES || body.end[-1] != '\0')
			return -EBADMSG;
		get_build_id(body, misc, &file->build_ids[file->n_build_ids++]);
	}
	qsort(file->build_ids, file->n_build_ids, sizeof(*file->build_ids), compare_build_ids);
	return 0;
}

/* perf's own names of the events; not needed, so anything strange is passed over. */
static void get_event_names(struct perf_file *file, struct reader in)
{
	uint32_t n = reader_u32(&in), size = reader_u32(&in);

	if (n != file->n_events)
		return;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t n_ids, length;
		const char *name;

		reader_bytes(&in, size);
		n_ids = reader_u32(&in);
		length = reader_u32(&in);
		name = reader_bytes(&in, length);
		reader_bytes(&in, (uint64_t)n_ids * 8);
		if (in.bad || strnlen(name, length) == 0)
			return;
		snprintf(file->events[i].name, sizeof(file->events[i].name), "%.*s", (int)strnlen(name, 63),
			 name);
	}
}

static int get_features(struct perf_file *file, const struct header *header)
{
	struct reader in = reader_of(file->bytes, file->size);
	int r = 0;

	reader_bytes(&in, header->data.offset);
	reader_bytes(&in, header->data.size);
	for (unsigned bit = 0; bit < N_FEATURES && r == 0; bit++) {
		struct reader body;

		if (!(header->features[bit / 64] >> bit % 64 & 1))
			continue;
		body = section_reader(file, get_section(&in));
		if (in.bad)
			return -EBADMSG;
		if (body.bad)
			continue;
		if (bit == FEATURE_BUILD_ID)
			r = get_build_ids(file, body);
		else if (bit == FEATURE_N_CPUS)
			file->n_cpus = reader_u32(&body);
		else if (bit == FEATURE_EVENT_DESC)
			get_event_names(file, body);
	}
	return r;
}

static uint32_t event_of_id(const struct perf_file *file, uint64_t id)
{
	struct perf_id key = { .id = id };
	const struct perf_id *found = NULL;

	if (file->n_ids)
		found = bsearch(&key, file->ids, file->n_ids, sizeof(key), compare_ids);
	return found ? found->event : file->n_events == 1 ? 0 : UINT32_MAX;
}

/* Where the time and the ID stand in a sample; the fields before them all have 8 bytes. */
static void sample_peek(const struct perf_file *file, struct perf_record *record, struct reader in)
{
	uint64_t type = file->events[0].sample_type, id = 0;

	if (type & PERF_SAMPLE_IDENTIFIER) {
		id = reader_u64(&in);
		record->event = event_of_id(file, id);
		if (record->event < file->n_events)
			type = file->events[record->event].sample_type;
	}
	if (type & PERF_SAMPLE_IP)
		reader_u64(&in);
	if (type & PERF_SAMPLE_TID)
		reader_u64(&in);
	if (type & PERF_SAMPLE_TIME)
		record->time_ns = reader_u64(&in);
	if (type & PERF_SAMPLE_ADDR)
		reader_u64(&in);
	if (!(type & PERF_SAMPLE_IDENTIFIER)) {
		if (type & PERF_SAMPLE_ID)
			id = reader_u64(&in);
		record->event = event_of_id(file, id);
	}
}

/* Cut the trailing sample ID off any other record, and read the time in it. */
static void trailer_peek(const struct perf_file *file, struct perf_record *record, struct reader in)
{
	const struct perf_event *event = &file->events[0];
	struct reader trailer;
	size_t size = 0;

	if (!event->has_sample_ids)
		return;
	if ((event->sample_type & PERF_SAMPLE_IDENTIFIER) && reader_left(&in) >= 8) {
		struct reader last = reader_of(in.end - 8, 8);
		uint32_t found = event_of_id(file, reader_u64(&last));

		if (found < file->n_events)
			event = &file->events[found];
	}
	for (size_t i = 0; i < ARRAY_SIZE(id_fields); i++)
		size += event->sample_type & id_fields[i] ? 8 : 0;
	if (size > reader_left(&in))
		return;
	trailer = reader_of(in.end - size, size);
	record->size = (uint16_t)(record->size - size);
	if (event->sample_type & PERF_SAMPLE_TID)
		reader_u64(&trailer);
	if (event->sample_type & PERF_SAMPLE_TIME)
		record->time_ns = reader_u64(&trailer);
}

static int compare_records(const void *a, const void *b)
{
	const struct perf_record *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

static int record_add(struct perf_file *file, size_t *capacity, const struct perf_record *record)
{
	if (file->n_records == *capacity) {
		size_t more = MAX(*capacity * 2, 1024u);
		void *records = reallocarray(file->records, more, sizeof(*record));

		if (!records)
			return -ENOMEM;
		file->records = records;
		*capacity = more;
	}
	file->records[file->n_records++] = *record;
	return 0;
}

/* What perf wrote for itself: only its size matters here. */
static int user_record_skip(uint32_t type, struct reader body, struct reader *in, struct fault *reterr)
{
	if (type == RECORD_COMPRESSED || type == RECORD_COMPRESSED2)
		return fault_set(reterr, -EPROTONOSUPPORT,
				 "compressed (perf record -z); record again without -z");
	if (type == RECORD_AUXTRACE)
		reader_bytes(in, reader_u64(&body)); /* the trace follows the record */
	return 0;
}

static int get_records(struct perf_file *file, const struct header *header, struct fault *reterr)
{
	struct reader in = section_reader(file, header->data);
	size_t capacity = 0;
	uint64_t time = 0;
	int r = 0;

	if (in.bad)
		return fault_set(reterr, -EBADMSG, "truncated: %llu bytes of records announced",
				 (unsigned long long)header->data.size);
	while (reader_left(&in) >= 8 && !in.bad && r == 0) {
		struct perf_record record = { .offset = (uint64_t)(in.at - file->bytes),
					      .time_ns = time,
					      .event = UINT32_MAX };
		struct reader body;

		record.type = reader_u32(&in);
		record.misc = reader_u16(&in);
		record.size = reader_u16(&in);
		if (record.size < 8)
			return fault_set(reterr, -EBADMSG, "damaged: a record of %u bytes at byte %llu",
					 record.size, (unsigned long long)record.offset);
		record.size -= 8;
		body = reader_sub(&in, record.size);
		if (body.bad)
			break;
		if (record.type >= RECORD_USER_FIRST) {
			r = user_record_skip(record.type, body, &in, reterr);
			continue;
		}
		if (record.type == PERF_RECORD_SAMPLE)
			sample_peek(file, &record, body);
		else
			trailer_peek(file, &record, body);
		time = record.time_ns;
		r = record_add(file, &capacity, &record);
	}
	if (r == 0 && (in.bad || reader_left(&in)))
		return fault_set(reterr, -EBADMSG, "damaged: the last record is not whole");
	if (file->n_records)
		qsort(file->records, file->n_records, sizeof(*file->records), compare_records);
	return r == -ENOMEM ? fault_errno(reterr, r, "perf.data records") : r;
}

/* Without an identifier in front, one layout must do for all. */
static int layouts_check(const struct perf_file *file, struct fault *reterr)
{
	for (size_t i = 0; i < file->n_events; i++)
		if ((file->events[i].sample_type ^ file->events[0].sample_type) & PERF_SAMPLE_IDENTIFIER ||
		    (file->events[i].sample_type != file->events[0].sample_type &&
		     !(file->events[i].sample_type & PERF_SAMPLE_IDENTIFIER)))
			return fault_set(reterr, -EPROTONOSUPPORT,
					 "events with different sample layouts and no identifier; "
					 "record one event");
	return 0;
}

int perf_file_parse(const void *bytes, size_t size, struct perf_file *ret, struct fault *reterr)
{
	struct perf_file file = { .bytes = bytes, .size = size };
	struct header header = { 0 };
	int r = get_header(&file, &header, reterr);

	if (r < 0)
		return r;
	r = get_events(&file, &header);
	if (r < 0)
		fault_set(reterr, r, "damaged: the events of the file cannot be read");
	if (r == 0)
		r = layouts_check(&file, reterr);
	if (r == 0)
		r = get_records(&file, &header, reterr);
	if (r == 0) {
		r = get_features(&file, &header);
		if (r < 0)
			fault_set(reterr, r, "damaged: the sections after the records cannot be read");
	}
	if (r < 0) {
		perf_file_done(&file);
		return r;
	}
	*ret = file;
	return 0;
}

void perf_file_done(struct perf_file *file)
{
	free(file->events);
	free(file->records);
	free(file->build_ids);
	free(file->ids);
	*file = (struct perf_file){ 0 };
}

struct reader perf_record_reader(const struct perf_file *file, const struct perf_record *record)
{
	return reader_of(file->bytes + record->offset + 8, record->size);
}

const struct build_id *perf_file_build_id(const struct perf_file *file, const char *name)
{
	const struct perf_build_id key = { .name = name };
	const struct perf_build_id *found = NULL;

	if (file->n_build_ids)
		found = bsearch(&key, file->build_ids, file->n_build_ids, sizeof(key), compare_build_ids);
	return found ? &found->id : NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */

/*
 *	file  = "morph-events 2\n" line*
 *	line  = kind " " time " " pid " " count " " value " " build-id " " comm " " path " "
 *		fault-build-id " " fault-offset " " fault-path " "
 *		user " " code " " namespace " " identity " " fault-identity "\n"
 *	identity = device ":" inode ":" changed ":" size
 * In version 1 a line ends after fault-path.
 * Empty fields are "-". In names every byte up to a space, "\", "-" at the start and DEL is "\ooo".
 */

#define _GNU_SOURCE
#include "profiles/samples/lifecycle.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/table.h"

#define N_FIELDS 16
#define N_FIELDS_1 11 /* in version 1 */
#define MAX_FIELD_BYTES 32768u
#define MAX_LINES (LIFECYCLE_MAX_EVENTS + 1)

static const char *const kind_names[] = {
	[LIFECYCLE_EXEC] = "exec",
	[LIFECYCLE_EXIT] = "exit",
	[LIFECYCLE_SIGNAL] = "signal",
	[LIFECYCLE_UNTOLD] = "untold",
};

const char *lifecycle_kind_name(enum lifecycle_kind kind)
{
	return kind < ARRAY_SIZE(kind_names) && kind_names[kind] ? kind_names[kind] : "?";
}

static void event_done(struct lifecycle_event *event)
{
	free(event->path);
	free(event->comm);
	free(event->fault_path);
}

void lifecycle_done(struct lifecycle *lifecycle)
{
	for (size_t i = 0; i < lifecycle->n_events; i++)
		event_done(&lifecycle->events[i]);
	free(lifecycle->events);
	*lifecycle = (struct lifecycle){ 0 };
}

static bool is_equal(const struct lifecycle_event *a, const struct lifecycle_event *b)
{
	return a->kind == b->kind && a->value == b->value && a->user == b->user && a->code == b->code &&
	       a->space == b->space && build_id_is_equal(&a->build_id, &b->build_id) &&
	       file_identity_is_equal(&a->file, &b->file) &&
	       file_identity_is_equal(&a->fault_file, &b->fault_file) &&
	       strcmp(a->path, b->path ? b->path : "") == 0;
}

static int reserve(struct lifecycle *lifecycle)
{
	size_t capacity = lifecycle->capacity ? lifecycle->capacity * 2 : 8;
	void *events;

	if (lifecycle->n_events < lifecycle->capacity)
		return 0;
	events = reallocarray(lifecycle->events, capacity, sizeof(*lifecycle->events));
	if (!events)
		return -ENOMEM;
	lifecycle->events = events;
	lifecycle->capacity = capacity;
	return 0;
}

int lifecycle_add(struct lifecycle *lifecycle, const struct lifecycle_event *event)
{
	struct lifecycle_event copy = *event;

	for (size_t i = 0; i < lifecycle->n_events; i++) {
		struct lifecycle_event *known = &lifecycle->events[i];

		if (!is_equal(known, event) ||
		    __builtin_add_overflow(known->count, event->count, &known->count))
			continue;
		known->time_ns = event->time_ns;
		known->pid = event->pid;
		return 0;
	}
	if (reserve(lifecycle) < 0)
		return -ENOMEM;
	copy.path = strdup(event->path ? event->path : "");
	copy.comm = strdup(event->comm ? event->comm : "");
	copy.fault_path = strdup(event->fault_path ? event->fault_path : "");
	if (!copy.path || !copy.comm || !copy.fault_path) {
		event_done(&copy);
		return -ENOMEM;
	}
	lifecycle->events[lifecycle->n_events++] = copy;
	return 0;
}

static void name_encode(struct buffer *buffer, const char *name)
{
	if (!*name)
		buffer_u8(buffer, '-');
	for (const char *p = name; *p; p++) {
		unsigned char c = (unsigned char)*p;

		if (c <= ' ' || c == '\\' || c == 0x7f || (c == '-' && p == name))
			buffer_printf(buffer, "\\%03o", c);
		else
			buffer_u8(buffer, c);
	}
	buffer_u8(buffer, ' ');
}

static void id_encode(struct buffer *buffer, const struct build_id *id)
{
	char text[BUILD_ID_MAX_TEXT];

	buffer_printf(buffer, "%s ", id->size ? build_id_text(id, text) : "-");
}

static void identity_encode(struct buffer *buffer, const struct file_identity *file)
{
	if (file_identity_is_known(file))
		buffer_printf(buffer, "%" PRIu64 ":%" PRIu64 ":%" PRIu64 ":%" PRIu64 " ", file->device,
			      file->inode, file->changed_ns, file->size);
	else
		buffer_printf(buffer, "- ");
}

static void cause_encode(struct buffer *buffer, const struct lifecycle_event *event)
{
	if (event->user == LIFECYCLE_USER_UNKNOWN)
		buffer_printf(buffer, "- ");
	else
		buffer_printf(buffer, "%" PRIu32 " ", event->user);
	buffer_printf(buffer, "%" PRId32 " %" PRIu32 " ", event->code, event->space);
	identity_encode(buffer, &event->file);
	identity_encode(buffer, &event->fault_file);
}

int lifecycle_encode(const struct lifecycle *lifecycle, struct buffer *ret)
{
	buffer_printf(ret, LIFECYCLE_MAGIC "%u\n", LIFECYCLE_VERSION);
	for (size_t i = 0; i < lifecycle->n_events; i++) {
		const struct lifecycle_event *event = &lifecycle->events[i];

		buffer_printf(ret, "%s %" PRIu64 " %" PRIu32 " %" PRIu32 " %" PRId32 " ",
			      lifecycle_kind_name(event->kind), event->time_ns, event->pid, event->count,
			      event->value);
		id_encode(ret, &event->build_id);
		name_encode(ret, event->comm);
		name_encode(ret, event->path);
		id_encode(ret, &event->fault_build_id);
		buffer_printf(ret, "%" PRIu64 " ", event->fault_offset);
		name_encode(ret, event->fault_path);
		cause_encode(ret, event);
		if (!ret->bad)
			ret->data[ret->size - 1] = '\n';
	}
	return ret->bad ? -ENOMEM : 0;
}

/* --- decoding: fields are NUL-terminated in a copy of the text -------------------------------------- */

static bool number_decode(const char *field, uint64_t max, uint64_t *ret)
{
	uint64_t value = 0;

	if (!*field)
		return false;
	for (; *field; field++) {
		if (*field < '0' || *field > '9' || __builtin_mul_overflow(value, 10u, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*field - '0'), &value))
			return false;
	}
	*ret = value;
	return value <= max;
}

static bool signed_decode(const char *field, int32_t *ret)
{
	uint64_t value;
	bool negative = *field == '-';

	if (!number_decode(field + negative, INT32_MAX, &value))
		return false;
	*ret = negative ? -(int32_t)value : (int32_t)value;
	return true;
}

static bool id_decode(const char *field, struct build_id *ret)
{
	*ret = (struct build_id){ 0 };
	return strcmp(field, "-") == 0 || build_id_parse(field, ret) == 0;
}

/* In place: an escape is longer than what it stands for. */
static bool name_decode(char *field)
{
	char *to = field;

	if (!*field || strlen(field) > MAX_FIELD_BYTES)
		return false;
	if (strcmp(field, "-") == 0) {
		*field = '\0';
		return true;
	}
	for (const char *from = field; *from; from++) {
		unsigned value = 0;

		if (*from != '\\') {
			*to++ = *from;
			continue;
		}
		for (int i = 0; i < 3; i++) {
			from++;
			if (*from < '0' || *from > '7')
				return false;
			value = value * 8 + (unsigned)(*from - '0');
		}
		if (!value || value > 255)
			return false;
		*to++ = (char)value;
	}
	*to = '\0';
	return true;
}

static enum lifecycle_kind kind_decode(const char *field)
{
	for (unsigned i = LIFECYCLE_EXEC; i <= LIFECYCLE_UNTOLD; i++)
		if (strcmp(field, kind_names[i]) == 0)
			return i;
	return 0;
}

static bool identity_decode(char *field, struct file_identity *ret)
{
	uint64_t *numbers[] = { &ret->device, &ret->inode, &ret->changed_ns, &ret->size };

	*ret = (struct file_identity){ 0 };
	if (strcmp(field, "-") == 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		char *number = strsep(&field, ":");

		if (!number || !number_decode(number, UINT64_MAX, numbers[i]))
			return false;
	}
	return !field && file_identity_is_known(ret);
}

/* What version 2 has added. */
static bool cause_decode(char *fields[], struct lifecycle_event *ret)
{
	uint64_t user = LIFECYCLE_USER_UNKNOWN, space;

	if ((strcmp(fields[0], "-") != 0 && !number_decode(fields[0], UINT32_MAX - 1, &user)) ||
	    !signed_decode(fields[1], &ret->code) || !number_decode(fields[2], UINT32_MAX, &space) ||
	    !identity_decode(fields[3], &ret->file) || !identity_decode(fields[4], &ret->fault_file))
		return false;
	ret->user = (uint32_t)user;
	ret->space = (uint32_t)space;
	return true;
}

static bool line_decode(char *line, unsigned version, struct lifecycle_event *ret)
{
	char *fields[N_FIELDS], *at = line;
	uint64_t pid, count;

	for (unsigned i = 0; i < (version == 1 ? N_FIELDS_1 : N_FIELDS); i++) {
		fields[i] = strsep(&at, " ");
		if (!fields[i])
			return false;
	}
	if (at)
		return false;
	*ret = (struct lifecycle_event){ .kind = kind_decode(fields[0]),
					 .comm = fields[6],
					 .path = fields[7],
					 .fault_path = fields[10],
					 .user = LIFECYCLE_USER_UNKNOWN };
	if (!ret->kind || !number_decode(fields[1], UINT64_MAX, &ret->time_ns) ||
	    !number_decode(fields[2], UINT32_MAX, &pid) || !number_decode(fields[3], UINT32_MAX, &count) ||
	    !signed_decode(fields[4], &ret->value) || !id_decode(fields[5], &ret->build_id) ||
	    !name_decode(fields[6]) || !name_decode(fields[7]) ||
	    !id_decode(fields[8], &ret->fault_build_id) ||
	    !number_decode(fields[9], UINT64_MAX, &ret->fault_offset) || !name_decode(fields[10]))
		return false;
	ret->pid = (uint32_t)pid;
	ret->count = (uint32_t)count;
	if (version == 1 ? ret->kind == LIFECYCLE_UNTOLD : !cause_decode(fields + N_FIELDS_1, ret))
		return false;
	return count > 0;
}

static int lines_decode(char *text, unsigned version, struct lifecycle *ret, struct fault *reterr)
{
	unsigned number = 1;

	for (char *line; (line = strsep(&text, "\n")) && (*line || text);) {
		struct lifecycle_event event;

		number++;
		if (number > MAX_LINES || !line_decode(line, version, &event))
			return fault_set(reterr, -EBADMSG, "line %u is not an event", number);
		if (lifecycle_add(ret, &event) < 0)
			return fault_errno(reterr, -ENOMEM, "events");
	}
	return 0;
}

int lifecycle_decode(const char *text, size_t size, struct lifecycle *ret, struct fault *reterr)
{
	_clean_(lifecycle_donep) struct lifecycle lifecycle = { 0 };
	_clean_(freep) char *copy = strndup(text ? text : "", size);
	unsigned version;
	char *rest;
	int r;

	if (!copy)
		return fault_errno(reterr, -ENOMEM, "events");
	rest = strchr(copy, '\n');
	if (!rest || strlen(copy) != size || sscanf(copy, LIFECYCLE_MAGIC "%u\n", &version) != 1)
		return fault_set(reterr, -EBADMSG, "not a file of events, or cut short");
	if (version < 1 || version > LIFECYCLE_VERSION)
		return fault_set(reterr, -EPROTONOSUPPORT,
				 "events of format version %u; this Morph reads "
				 "versions 1 to %u",
				 version, LIFECYCLE_VERSION);
	if (copy[size - 1] != '\n')
		return fault_set(reterr, -EBADMSG, "cut short: the last line has no end");
	r = lines_decode(rest + 1, version, &lifecycle, reterr);
	if (r < 0)
		return r;
	*ret = lifecycle;
	lifecycle = (struct lifecycle){ 0 };
	return 0;
}

int lifecycle_read(const char *path, struct lifecycle *ret, struct fault *reterr)
{
	_clean_(file_map_donep) struct file_map map = { 0 };
	int r = file_map_open(path, &map, reterr);

	if (r < 0)
		return r;
	r = lifecycle_decode((const char *)map.data, map.size, ret, reterr);
	return r < 0 ? fault_prefix(reterr, r, "%s", path) : 0;
}

void lifecycle_dump(const struct lifecycle *lifecycle, FILE *out)
{
	_clean_(table_freep) struct table *table =
		table_new("event|>time|>process|>user|>count|>value|>code|name|program|fault in|>at");

	for (size_t i = 0; table && i < lifecycle->n_events; i++) {
		const struct lifecycle_event *event = &lifecycle->events[i];

		table_cell(table, "%s", lifecycle_kind_name(event->kind));
		table_cell(table, "%" PRIu64, event->time_ns);
		table_cell(table, "%" PRIu32, event->pid);
		if (event->user == LIFECYCLE_USER_UNKNOWN)
			table_cell(table, "-");
		else
			table_cell(table, "%" PRIu32, event->user);
		table_cell(table, "%" PRIu32, event->count);
		table_cell(table, "%" PRId32, event->value);
		table_cell(table, "%" PRId32, event->code);
		table_cell(table, "%s", event->comm);
		table_cell(table, "%s", event->path);
		table_cell(table, "%s", event->fault_path);
		table_cell(table, "%" PRIu64, event->fault_offset);
	}
	if (table)
		table_print(table, out);
}

static void id_json(struct json *json, const char *key, const struct build_id *id)
{
	char text[BUILD_ID_MAX_TEXT];

	json_string(json, key, id->size ? build_id_text(id, text) : NULL);
}

static void identity_json(struct json *json, const char *key, const struct file_identity *file)
{
	if (!file_identity_is_known(file))
		return;
	json_object_begin(json, key);
	json_u64(json, "device", file->device);
	json_u64(json, "inode", file->inode);
	json_u64(json, "changed_ns", file->changed_ns);
	json_u64(json, "size", file->size);
	json_object_end(json);
}

static void event_json(const struct lifecycle_event *event, struct json *json)
{
	json_object_begin(json, NULL);
	json_string(json, "kind", lifecycle_kind_name(event->kind));
	json_u64(json, "time_ns", event->time_ns);
	json_u64(json, "pid", event->pid);
	json_u64(json, "count", event->count);
	json_i64(json, "value", event->value);
	id_json(json, "build_id", &event->build_id);
	json_string(json, "comm", event->comm);
	json_string(json, "path", event->path);
	if (event->user != LIFECYCLE_USER_UNKNOWN)
		json_u64(json, "user", event->user);
	json_u64(json, "mount_namespace", event->space);
	identity_json(json, "file", &event->file);
	if (event->kind == LIFECYCLE_SIGNAL) {
		id_json(json, "fault_build_id", &event->fault_build_id);
		json_string(json, "fault_path", event->fault_path);
		json_u64(json, "fault_offset", event->fault_offset);
		identity_json(json, "fault_file", &event->fault_file);
		json_i64(json, "code", event->code);
	}
	json_object_end(json);
}

void lifecycle_dump_json(const struct lifecycle *lifecycle, FILE *out)
{
	struct json json = json_to(out);

	json_object_begin(&json, NULL);
	json_string(&json, "type", "events");
	json_array_begin(&json, "events");
	for (size_t i = 0; i < lifecycle->n_events; i++)
		event_json(&lifecycle->events[i], &json);
	json_array_end(&json);
	json_object_end(&json);
}

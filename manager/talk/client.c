/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/talk/client.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "manager/talk/address.h"
#include "manager/talk/bus_name.h"

static int unix_open(const char *path, sd_bus **ret)
{
	char address[sizeof("unix:path=") + 3 * sizeof(((struct sockaddr_un *)0)->sun_path)];
	size_t at = strlen("unix:path=");

	if (strlen(path) >= sizeof(((struct sockaddr_un *)0)->sun_path))
		return -ENAMETOOLONG;
	strcpy(address, "unix:path=");
	for (; *path; path++)
		at += (size_t)sprintf(address + at, strchr(",;=%", *path) ? "%%%02x" : "%c",
				      (unsigned char)*path);
	return address_connect(address, false, ret);
}

int client_open(const struct client_options *options, sd_bus **ret, struct fault *reterr)
{
	const char *path = options->socket ? options->socket : getenv("MORPH_SOCKET");
	int r;

	if (options->bus) {
		r = address_open(options->bus, ret);
		return r < 0 ? fault_errno(reterr, r, "cannot reach the message bus \"%s\"", options->bus) :
			       0;
	}
	r = unix_open(path ? path : BUS_SOCKET_DIRECTORY "/" BUS_SOCKET_NAME, ret);
	if (r >= 0)
		return 0;
	if (path) {
		/* No socket there is not what -ENOENT of an answer says. */
		fault_errno(reterr, r, "%s: morphd does not answer there", path);
		return -ECONNREFUSED;
	}
	if (address_open("system", ret) >= 0)
		return 0;
	return fault_set(reterr, -ECONNREFUSED,
			 "morphd is not running; start it (`systemctl start morphd`) or say where it "
			 "listens (--socket=PATH)");
}

int client_call(sd_bus *bus, const char *method, sd_bus_message **retreply, struct fault *reterr,
		const char *types, ...)
{
	_clean_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
	_clean_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
	va_list ap;
	int r = sd_bus_message_new_method_call(bus, &call, BUS_NAME, BUS_PATH, BUS_INTERFACE, method);

	va_start(ap, types);
	if (r >= 0 && *types)
		r = sd_bus_message_appendv(call, types, ap);
	va_end(ap);
	if (r == -EINVAL)
		return fault_set(reterr, r, "a path name that is not UTF-8 cannot be sent to morphd");
	if (r >= 0)
		r = sd_bus_message_set_allow_interactive_authorization(call, 1);
	if (r >= 0)
		r = sd_bus_call(bus, call, UINT64_MAX, &error, retreply);
	if (r >= 0)
		return 0;
	if (sd_bus_error_has_name(&error, BUS_ERROR_NOT_KNOWN))
		return fault_set(reterr, -ENOENT, "not known to morphd");
	if (sd_bus_error_has_name(&error, SD_BUS_ERROR_SERVICE_UNKNOWN) ||
	    sd_bus_error_has_name(&error, SD_BUS_ERROR_NAME_HAS_NO_OWNER))
		return fault_set(reterr, r, "morphd is not running; start it (`systemctl start morphd`)");
	if (r == -ECONNRESET || r == -ENOTCONN)
		return fault_set(reterr, r, "morphd ended before it answered");
	return fault_set(reterr, r, "%s", error.message ? error.message : strerror(-r));
}

/* ---- records ---- */

void record_done(struct record *record)
{
	for (size_t i = 0; i < record->n_entries; i++) {
		free(record->entries[i].key);
		free(record->entries[i].text);
	}
	free(record->entries);
	*record = (struct record){ 0 };
}

void records_done(struct records *records)
{
	for (size_t i = 0; i < records->n_rows; i++)
		record_done(&records->rows[i]);
	free(records->rows);
	*records = (struct records){ 0 };
}

static int value_read(sd_bus_message *reply, struct record_entry *entry)
{
	const char *type, *text = NULL;
	int r = sd_bus_message_peek_type(reply, NULL, &type);

	if (r <= 0)
		return r < 0 ? r : -EBADMSG;
	entry->type = type[0];
	if (strcmp(type, "x") == 0)
		return sd_bus_message_read(reply, "v", "x", &entry->integer);
	if (strcmp(type, "d") == 0)
		return sd_bus_message_read(reply, "v", "d", &entry->real);
	if (strcmp(type, "s") != 0) {
		entry->type = 0; /* of a newer morphd */
		return sd_bus_message_skip(reply, "v");
	}
	r = sd_bus_message_read(reply, "v", "s", &text);
	entry->text = r < 0 ? NULL : strdup(text);
	return r < 0 ? r : entry->text ? 0 : -ENOMEM;
}

static int entry_read(sd_bus_message *reply, struct record *record)
{
	struct record_entry *more = reallocarray(record->entries, record->n_entries + 1, sizeof(*more));
	struct record_entry *entry;
	const char *key;
	int r;

	if (!more)
		return -ENOMEM;
	record->entries = more;
	entry = &more[record->n_entries];
	*entry = (struct record_entry){ 0 };
	r = sd_bus_message_read(reply, "s", &key);
	if (r < 0)
		return r;
	entry->key = strdup(key);
	record->n_entries++;
	r = entry->key ? value_read(reply, entry) : -ENOMEM;
	return r < 0 ? r : sd_bus_message_exit_container(reply);
}

int record_read(sd_bus_message *reply, struct record *ret)
{
	int r = sd_bus_message_enter_container(reply, 'a', "{sv}");

	*ret = (struct record){ 0 };
	while (r >= 0 && (r = sd_bus_message_enter_container(reply, 'e', "sv")) > 0)
		r = entry_read(reply, ret);
	if (r >= 0)
		r = sd_bus_message_exit_container(reply);
	if (r < 0)
		record_done(ret);
	return r < 0 ? r : 0;
}

int records_read(sd_bus_message *reply, struct records *ret)
{
	int r = sd_bus_message_enter_container(reply, 'a', "a{sv}");

	*ret = (struct records){ 0 };
	while (r >= 0 && (r = sd_bus_message_at_end(reply, 0)) == 0) {
		struct record *more = reallocarray(ret->rows, ret->n_rows + 1, sizeof(*more));

		r = more ? 0 : -ENOMEM;
		if (more) {
			ret->rows = more;
			r = record_read(reply, &more[ret->n_rows]);
			ret->n_rows += r >= 0;
		}
	}
	if (r >= 0)
		r = sd_bus_message_exit_container(reply);
	if (r < 0)
		records_done(ret);
	return r < 0 ? r : 0;
}

static const struct record_entry *entry_find(const struct record *record, const char *key)
{
	for (size_t i = 0; i < record->n_entries; i++)
		if (strcmp(record->entries[i].key, key) == 0)
			return &record->entries[i];
	return NULL;
}

bool record_has(const struct record *record, const char *key)
{
	return entry_find(record, key) != NULL;
}

const char *record_text(const struct record *record, const char *key)
{
	const struct record_entry *entry = entry_find(record, key);

	return entry ? entry->text : NULL;
}

int64_t record_integer(const struct record *record, const char *key)
{
	const struct record_entry *entry = entry_find(record, key);

	return entry ? entry->integer : 0;
}

double record_real(const struct record *record, const char *key)
{
	const struct record_entry *entry = entry_find(record, key);

	return entry && entry->type == 'd' ? entry->real : NAN;
}

void record_json(struct json *json, const char *key, const struct record *record)
{
	json_object_begin(json, key);
	for (size_t i = 0; i < record->n_entries; i++) {
		const struct record_entry *entry = &record->entries[i];

		if (entry->type == 'x')
			json_i64(json, entry->key, entry->integer);
		else if (entry->type == 'd')
			json_double(json, entry->key, entry->real);
		else if (entry->type == 's')
			json_string(json, entry->key, entry->text);
	}
	json_object_end(json);
}

void records_json(struct json *json, const char *key, const struct records *records)
{
	json_array_begin(json, key);
	for (size_t i = 0; i < records->n_rows; i++)
		record_json(json, NULL, &records->rows[i]);
	json_array_end(json);
}

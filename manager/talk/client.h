/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * client.h - how `morph` talks to morphd (the interface is described in bus.h)
 *
 * By default the daemon's own socket is tried, then the system bus.
 */

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-bus.h>

#include "base/fault.h"
#include "base/json.h"
#include "base/macro.h"

struct client_options {
	const char *socket; /* path; NULL: $MORPH_SOCKET, else /run/morph/socket */
	const char *bus;    /* "system", "session" or an address: no socket is tried; NULL: see above */
};

/** client_open() - -ECONNREFUSED, with what to do, when no morphd answers */
int client_open(const struct client_options *options, sd_bus **ret, struct fault *reterr);

/**
 * client_call() - call a method and wait for ever; @types and arguments as for sd_bus_message_append()
 * Return: 0; -ENOENT: morphd knows nothing of the path that may be told; another negative code; @reterr says it.
 */
int client_call(sd_bus *bus, const char *method, sd_bus_message **retreply, struct fault *reterr,
		const char *types, ...);

struct record_entry {
	char *key;  /* owned */
	char type;  /* 'x', 'd', 's' */
	char *text; /* owned; 's' only */
	int64_t integer;
	double real;
};

/* One a{sv}. */
struct record {
	struct record_entry *entries; /* owned */
	size_t n_entries;
};

/* One aa{sv}. */
struct records {
	struct record *rows; /* owned */
	size_t n_rows;
};

/** record_read(), records_read() - the next a{sv} or aa{sv} of @reply; owned by the caller */
int record_read(sd_bus_message *reply, struct record *ret);
int records_read(sd_bus_message *reply, struct records *ret);
void record_done(struct record *record);
void records_done(struct records *records);

/* What is not there is NULL, 0, NAN. */
const char *record_text(const struct record *record, const char *key);
int64_t record_integer(const struct record *record, const char *key);
double record_real(const struct record *record, const char *key);
bool record_has(const struct record *record, const char *key);

/** record_json(), records_json() - every entry, under its own name */
void record_json(struct json *json, const char *key, const struct record *record);
void records_json(struct json *json, const char *key, const struct records *records);

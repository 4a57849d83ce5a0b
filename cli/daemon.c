/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "cli/daemon.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/table.h"
#include "cli/shared/whose.h"

int daemon_option(struct daemon_options *options, int option, const char *verb)
{
	switch (option) {
	case 'j': options->json = true; return -1;
	case DAEMON_OPTION_SOCKET: options->client.socket = optarg; return -1;
	case DAEMON_OPTION_ALL_USERS: options->all_users = true; return -1;
	case DAEMON_OPTION_BUS: options->client.bus = optarg; return -1;
	case 'h': return verb_help(verb);
	default: return verb_usage(verb);
	}
}

int daemon_only_options(struct daemon_options *options, int argc, char **argv, const char *verb)
{
	static const struct option table[] = { DAEMON_READER_OPTIONS };
	int option, code;

	while ((option = getopt_long(argc, argv, "h", table, NULL)) != -1) {
		code = daemon_option(options, option, verb);
		if (code >= 0)
			return code;
	}
	return -1;
}

static int bus_open(const struct daemon_options *options, sd_bus **ret, struct fault *reterr)
{
	const struct client_options *client = &options->client;
	int r = client_open(client, ret, reterr);

	if (r < 0 && whose_is_user() && !client->socket && !client->bus)
		return fault_set(reterr, r,
				 "your own morphd is not running; start it (`systemctl --user start morphd`, "
				 "see morphd-user(8))");
	return r;
}

int daemon_call(const struct daemon_options *options, const char *method, sd_bus_message **retreply,
		struct fault *reterr, const char *types, const char *path, const char *text, int64_t number)
{
	_clean_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
	int r = bus_open(options, &bus, reterr);

	if (r < 0)
		return r;
	if (strcmp(types, "sx") == 0)
		return client_call(bus, method, retreply, reterr, types, path, number);
	return client_call(bus, method, retreply, reterr, types, path, text);
}

int daemon_pin_part(const struct daemon_options *options, const struct daemon_part *part, const char *reason,
		    struct fault *reterr)
{
	_clean_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
	_clean_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	int r = bus_open(options, &bus, reterr);

	if (r < 0)
		return r;
	if (!reason)
		return client_call(bus, "UnpinPart", &reply, reterr, "sss", part->path, part->kind,
				   part->name);
	return client_call(bus, "PinPart", &reply, reterr, "sssts", part->path, part->kind, part->name,
			   part->cfg_hash, reason);
}

int daemon_read(const struct daemon_options *options, const char *method, sd_bus_message **retreply,
		struct fault *reterr, const char *path)
{
	_clean_(freep) char *resolved = path && *path ? realpath(path, NULL) : NULL;
	const char *types = path ? "s" : "";
	char name[32];
	int r = -ENOENT;

	snprintf(name, sizeof(name), "%s%s", method, options->all_users ? "All" : "");
	if (resolved)
		r = daemon_call(options, name, retreply, reterr, types, resolved, NULL, 0);
	/* The file may be gone, or morphd may have another root. */
	if (r == -ENOENT && (!resolved || strcmp(resolved, path) != 0))
		r = daemon_call(options, name, retreply, reterr, types, path, NULL, 0);
	return r;
}

int daemon_status(const struct daemon_options *options, sd_bus_message **retreply, struct record *retdaemon,
		  struct records *retmodules, struct fault *reterr)
{
	int r = daemon_read(options, "Status", retreply, reterr, NULL);

	if (r < 0)
		return r;
	r = record_read(*retreply, retdaemon);
	if (r == 0)
		r = records_read(*retreply, retmodules);
	return r < 0 ? fault_errno(reterr, r, "morphd's answer cannot be read") : 0;
}

char *daemon_path(const char *path, struct fault *reterr)
{
	_clean_(freep) char *directory = NULL;
	char *ret = NULL;

	if (path[0] == '/')
		ret = strdup(path);
	else if ((directory = getcwd(NULL, 0)) && asprintf(&ret, "%s/%s", directory, path) < 0)
		ret = NULL;
	if (!ret)
		fault_errno(reterr, directory || path[0] == '/' ? -ENOMEM : -errno, "%s", path);
	return ret;
}

const char *daemon_time(int64_t time_ns, char ret[DAEMON_TIME_TEXT])
{
	time_t seconds = time_ns / 1000000000;
	struct tm tm;

	if (!time_ns || !localtime_r(&seconds, &tm) ||
	    !strftime(ret, DAEMON_TIME_TEXT, "%Y-%m-%d %H:%M:%S", &tm))
		strcpy(ret, "never");
	return ret;
}

const char *daemon_percent(double share, char ret[16])
{
	if (isnan(share))
		strcpy(ret, "-");
	else
		snprintf(ret, 16, "%.1f %%", 100 * share);
	return ret;
}

const char *daemon_measured(const struct record *row, char ret[DAEMON_MEASURED_TEXT])
{
	if (!record_has(row, "measured_gain"))
		strcpy(ret, "-");
	else
		snprintf(ret, DAEMON_MEASURED_TEXT, "%.1f %% (%.1f .. %.1f)",
			 100 * record_real(row, "measured_gain"), 100 * record_real(row, "measured_low"),
			 100 * record_real(row, "measured_high"));
	return ret;
}

int daemon_generations_print(const struct records *generations, int64_t active)
{
	_clean_(table_freep) struct table *table = table_new(
		">generation|state|made|>size|>samples|>crashes|>predicted gain|>measured|build ID");
	char time[DAEMON_TIME_TEXT], gain[16], measured[DAEMON_MEASURED_TEXT];

	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < generations->n_rows; i++) {
		const struct record *row = &generations->rows[i];
		int64_t number = record_integer(row, "generation");
		const char *state = record_text(row, "state"), *id = record_text(row, "build_id");

		table_cell(table, "%lld", (long long)number);
		table_cell(table, "%s%s", state ? state : "", number == active ? ", active" : "");
		table_cell(table, "%s", number ? daemon_time(record_integer(row, "created_ns"), time) : "-");
		table_cell(table, "%lld", (long long)record_integer(row, "size_bytes"));
		table_cell(table, "%lld", (long long)record_integer(row, "samples"));
		table_cell(table, "%lld", (long long)record_integer(row, "crashes"));
		table_cell(table, "%s", daemon_percent(record_real(row, "predicted_gain"), gain));
		table_cell(table, "%s", daemon_measured(row, measured));
		table_cell(table, "%.16s", id ? id : "");
	}
	return table_print(table, stdout);
}

int daemon_events_print(const struct records *events, bool with_path)
{
	_clean_(table_freep) struct table *table =
		table_new(with_path ? "time|event|program|what" : "time|event|what");
	char time[DAEMON_TIME_TEXT];

	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < events->n_rows; i++) {
		const struct record *row = &events->rows[i];
		const char *path = record_text(row, "path");

		table_cell(table, "%s", daemon_time(record_integer(row, "time_ns"), time));
		table_cell(table, "%s", record_text(row, "kind") ?: "");
		if (with_path)
			table_cell(table, "%s", path ? path : "-");
		table_cell(table, "%s", record_text(row, "text") ?: "");
	}
	return table_print(table, stdout);
}

/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "cli/report/generations.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "cli/daemon.h"
#include "cli/shared/shipped.h"
#include "manager/verify/sample_records.h"
#include "module/array.h"

void made_generations_done(struct made_generations *generations)
{
	for (size_t i = 0; i < generations->n; i++) {
		free(generations->list[i].path);
		free(generations->list[i].state);
		free(generations->list[i].reason);
	}
	free(generations->list);
	*generations = (struct made_generations){ 0 };
}

/* A copy of @from, whose texts are borrowed. */
static int add(struct made_generations *generations, const struct made_generation *from)
{
	struct made_generation *to;

	if (!array_reserve(generations->list, generations->n, &generations->capacity))
		return -ENOMEM;
	to = &generations->list[generations->n++];
	*to = *from;
	to->path = strdup(from->path ?: "?");
	to->state = strdup(from->state ?: "?");
	to->reason = from->reason && from->reason[0] ? strdup(from->reason) : NULL;
	return to->path && to->state && (to->reason || !from->reason || !from->reason[0]) ? 0 : -ENOMEM;
}

static int on_generation(void *userdata, const struct generation_record *record)
{
	struct made_generation made = { .path = (char *)record->path,
					.state = (char *)record->state,
					.reason = (char *)record->reason,
					.number = record->number,
					.is_active = record->is_active,
					.created_ns = record->created_ns,
					.samples = record->samples,
					.crashes = record->crashes,
					.gain = record->gain,
					.measured = record->measured,
					.measured_low = record->measured_low,
					.measured_high = record->measured_high };

	return add(userdata, &made);
}

/* --- from morphd ---------------------------------------------------------------------------------- */

static int history_ask(const struct record *module, struct made_generations *ret, struct fault *reterr)
{
	_clean_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	struct daemon_options options = { 0 };
	struct records generations = { 0 };
	const char *path = record_text(module, "path");
	int r;

	if (!path || record_integer(module, "generations") <= 0)
		return 0;
	r = daemon_read(&options, "History", &reply, reterr, path);
	if (r == 0)
		r = records_read(reply, &generations);
	for (size_t i = 0; r == 0 && i < generations.n_rows; i++) {
		const struct record *row = &generations.rows[i];
		struct made_generation made = { .path = (char *)path,
						.state = (char *)record_text(row, "state"),
						.reason = (char *)record_text(row, "reason"),
						.number = record_integer(row, "generation"),
						.is_active = record_integer(row, "generation") ==
							     record_integer(module, "generation"),
						.created_ns = record_integer(row, "created_ns"),
						.samples = record_integer(row, "samples"),
						.crashes = record_integer(row, "crashes"),
						.gain = record_real(row, "predicted_gain"),
						.measured = record_real(row, "measured_gain"),
						.measured_low = record_real(row, "measured_low"),
						.measured_high = record_real(row, "measured_high") };

		r = add(ret, &made);
	}
	records_done(&generations);
	return r;
}

static int morphd_ask(struct made_generations *ret, struct fault *reterr)
{
	_clean_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	struct daemon_options options = { 0 };
	struct record head = { 0 };
	struct records modules = { 0 };
	int r = daemon_read(&options, "Status", &reply, reterr, NULL);

	if (r < 0)
		return r;
	r = record_read(reply, &head);
	if (r == 0)
		r = records_read(reply, &modules);
	for (size_t i = 0; r == 0 && i < modules.n_rows; i++)
		r = history_ask(&modules.rows[i], ret, reterr);
	record_done(&head);
	records_done(&modules);
	return r;
}

int made_generations_read(const char *state_directory, struct made_generations *ret, struct fault *reterr)
{
	struct sample_records_reader reader = { .userdata = ret, .generation = on_generation };
	char configured[PATH_MAX];
	int r = state_directory ? 0 : state_find(configured, reterr);

	if (r == 0)
		r = sample_records_read(state_directory ? state_directory : configured, &reader, reterr);
	if (r < 0 && !state_directory) {
		made_generations_done(ret);
		r = morphd_ask(ret, reterr);
	}
	return r;
}

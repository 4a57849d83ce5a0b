/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morph explain PATH [--json]: what morphd did with one program, on what grounds, and with what result.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "cli/daemon.h"
#include "cli/stranger.h"

struct explanation {
	struct record target;
	struct records generations, decisions, events;
};

static void explanation_done(struct explanation *e)
{
	record_done(&e->target);
	records_done(&e->generations);
	records_done(&e->decisions);
	records_done(&e->events);
}

static int explanation_read(sd_bus_message *reply, struct explanation *ret)
{
	int r = record_read(reply, &ret->target);

	if (r == 0)
		r = records_read(reply, &ret->generations);
	if (r == 0)
		r = records_read(reply, &ret->decisions);
	return r < 0 ? r : records_read(reply, &ret->events);
}

static void explanation_json(const struct explanation *e)
{
	struct json json = json_to(stdout);

	json_object_begin(&json, NULL);
	record_json(&json, "target", &e->target);
	records_json(&json, "generations", &e->generations);
	records_json(&json, "decisions", &e->decisions);
	records_json(&json, "events", &e->events);
	json_object_end(&json);
}

static void line_print(const char *label, const char *text)
{
	if (text)
		printf("  %s%s\n", label, SHOWN(text));
}

/* What others counted of it. */
static void others_print(const struct record *t)
{
	static const struct {
		const char *samples, *before, *who;
	} sources[] = {
		{ "fleet_samples", "fleet_of_before", "the fleet's machines" },
		{ "package_samples", "package_of_before", "its packager" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(sources); i++)
		if (record_has(t, sources[i].samples))
			printf("  %.0f samples counted by %s%s; the next edit uses as many as the samples "
			       "here do "
			       "not contradict\n",
			       record_real(t, sources[i].samples), sources[i].who,
			       record_integer(t, sources[i].before) ? ", in the build before" : "");
}

static void part_print(double part, double all, const char *whose)
{
	if (part > 0)
		printf(", %.0f of %s (%.0f %%)", part, whose, 100 * part / all);
}

static double samples_in(const struct record *generation, const char *key)
{
	return record_has(generation, key) ? record_real(generation, key) : 0;
}

/* How much of a generation's profile came from where. */
static void origin_print(const struct record *generation)
{
	double own = samples_in(generation, "profile_samples"),
	       fleet = samples_in(generation, "fleet_samples"),
	       package = samples_in(generation, "package_samples"), all = own + fleet + package;

	if (!(fleet + package > 0))
		return;
	printf("  made from %.0f samples: %.0f of this machine (%.0f %%)", all, own, 100 * own / all);
	part_print(fleet, all, "the fleet's machines");
	part_print(package, all, "its packager");
	putchar('\n');
}

static void target_print(const struct record *t, const struct records *generations)
{
	char time[DAEMON_TIME_TEXT], share[16], measured[DAEMON_MEASURED_TEXT];
	int64_t generation = record_integer(t, "generation");
	const char *path = record_text(t, "path") ?: record_text(t, "sampled_path");

	printf("%s\n", SHOWN(path ? path : "(its path is not yours to know)"));
	line_print("left alone: ", record_text(t, "refused"));
	if (!record_has(t, "build_id"))
		return;
	printf("  build %s, compiled by LLVM %s\n", SHOWN(record_text(t, "build_id")),
	       SHOWN(record_text(t, "llvm_version") ?: "(version unknown)"));
	printf("  %lld samples (%s of all), %lld of them since the last edit\n",
	       (long long)record_integer(t, "samples"), daemon_percent(record_real(t, "share"), share),
	       (long long)record_integer(t, "new_samples"));
	if (record_has(t, "carried_samples"))
		printf("  %.0f samples carried over from the build before, %s of what it had\n",
		       record_real(t, "carried_samples"),
		       daemon_percent(record_real(t, "carried_share"), share));
	others_print(t);
	if (generation)
		printf("  generation %lld is active since %s\n", (long long)generation,
		       daemon_time(record_integer(t, "activated_ns"), time));
	else if (record_has(t, "path"))
		puts("  the shipped file is active");
	else
		line_print("is not optimized: ",
			   record_text(t, "note") ?: "it is installed nowhere any more");
	for (size_t i = 0; i < generations->n_rows; i++)
		if (generation && record_integer(&generations->rows[i], "generation") == generation)
			origin_print(&generations->rows[i]);
	if (record_has(t, "measured_gain"))
		printf("  measured gain: %s of CPU time a start, by %lld starts; for as long as they use it "
		       "as before\n",
		       daemon_measured(t, measured), (long long)record_integer(t, "measured_starts"));
	if (record_integer(t, "watch_left_s"))
		printf("  crashes are watched for another %lld min; so far %lld\n",
		       (long long)record_integer(t, "watch_left_s") / 60,
		       (long long)record_integer(t, "watch_crashes"));
	line_print("pinned: ", record_text(t, "pinned"));
	line_print("stays as shipped: ", record_text(t, "kept_as_shipped"));
	line_print("not edited again by itself: ", record_text(t, "condemned"));
	if (!record_has(t, "condemned"))
		line_print("now: ", record_text(t, "verdict"));
}

static void decisions_print(const struct records *decisions)
{
	char time[DAEMON_TIME_TEXT];

	if (decisions->n_rows)
		puts("\ndecisions to edit");
	for (size_t i = 0; i < decisions->n_rows; i++) {
		const struct record *d = &decisions->rows[i];

		printf("  %lld  %s  %s: %s\n     -> %s\n", (long long)record_integer(d, "decision"),
		       daemon_time(record_integer(d, "time_ns"), time),
		       SHOWN(record_text(d, "trigger") ?: ""), SHOWN(record_text(d, "reason") ?: ""),
		       SHOWN(record_text(d, "outcome") ?: "under way"));
	}
}

static int explanation_print(const struct explanation *e)
{
	int r;

	target_print(&e->target, &e->generations);
	if (!e->generations.n_rows)
		return 0;
	puts("\ngenerations");
	r = daemon_generations_print(&e->generations, record_integer(&e->target, "generation"));
	decisions_print(&e->decisions);
	if (r < 0 || !e->events.n_rows)
		return r;
	puts("\nevents");
	return daemon_events_print(&e->events, false);
}

int explain_run(int argc, char **argv)
{
	_clean_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	_clean_(explanation_done) struct explanation e = { 0 };
	_clean_(freep) char *path = NULL;
	struct daemon_options options = { 0 };
	struct fault fault = { "" };
	int r = daemon_only_options(&options, argc, argv, "explain");

	if (r >= 0)
		return r;
	if (optind + 1 != argc)
		return verb_usage("explain");
	path = daemon_path(argv[optind], &fault);
	r = path ? daemon_read(&options, "Explain", &reply, &fault, path) : -ENOMEM;
	if (r == -ENOENT)
		stranger_explain(&options, path, &fault);
	if (r < 0)
		return verb_fail("explain", &fault);
	r = explanation_read(reply, &e);
	if (r < 0) {
		fault_errno(&fault, r, "morphd's answer cannot be read");
		return verb_fail("explain", &fault);
	}
	if (options.json)
		explanation_json(&e);
	else if (explanation_print(&e) < 0)
		return VERB_FAILED;
	return VERB_DONE;
}

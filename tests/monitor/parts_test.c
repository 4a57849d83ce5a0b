/* SPDX-License-Identifier: Apache-2.0 */

/* What lies directly in the monitor: spool and outlet, requests, settings, status. */

#include "monitor/control.h"
#include "monitor/machine/support.h"
#include "monitor/outlet.h"
#include "monitor/record/spool.h"
#include "monitor/settings.h"
#include "monitor/status.h"

#include <errno.h>
#include <math.h>

#include "tests/monitor/directory.h"

static struct sample_log *some_log(void)
{
	struct sample_log *log = sample_log_new();
	struct sample_module *module = sample_log_module(log, SAMPLE_MODULE_FILE, NULL, "/x", 1, 1);

	log->source = SAMPLE_SOURCE_TICK;
	for (uint64_t i = 0; i < 500; i++)
		sample_module_add(module, i * 977, i + 1);
	sample_log_normalize(log);
	sample_log_balance(log);
	return log;
}

TEST(a_spool_has_one_owner)
{
	struct spool first, second;
	struct fault fault;

	fresh_directory();
	CHECK_INT(spool_open(directory, 1 << 20, &first, &fault), 0);
	CHECK_INT(spool_open(directory, 1 << 20, &second, &fault), -EBUSY);
	CHECK(strstr(fault.text, "another monitor"));
	spool_close(&first);
	CHECK_INT(spool_open(directory, 1 << 20, &second, &fault), 0);
	spool_close(&second);
	cleanup();
}

TEST(a_spool_nobody_empties_stays_within_its_limit)
{
	_clean_(sample_log_freep) struct sample_log *log = some_log();
	struct spool spool;
	struct fault fault;

	fresh_directory();
	CHECK_INT(spool_open(directory, 20 * 4096, &spool, &fault), 0);
	for (unsigned i = 0; i < 60; i++)
		CHECK_INT(spool_write_log(&spool, log, &fault), 0);
	CHECK(n_files(SPOOL_SUFFIX) >= 10 && n_files(SPOOL_SUFFIX) <= 20);
	CHECK_INT(spool.n_dropped, 60 - n_files(SPOOL_SUFFIX));
	spool_close(&spool);
	cleanup();
}

TEST(names_in_a_spool_go_on_when_the_clock_was_set_back)
{
	_clean_(sample_log_freep) struct sample_log *log = some_log();
	struct spool spool;
	struct fault fault;

	fresh_directory();
	put("009999999998-999999999-000007.samples", "of the year 2286");
	put("999999999999-999999999-000007.samples", "never written by us");
	CHECK_INT(spool_open(directory, 1 << 20, &spool, &fault), 0);
	CHECK_INT(spool_write_log(&spool, log, &fault), 0);
	CHECK_INT(spool_write_log(&spool, log, &fault), 0);
	CHECK(access(in("009999999999-000000000-000000.samples"), F_OK) == 0);
	CHECK(access(in("009999999999-000000001-000001.samples"), F_OK) == 0);
	spool_close(&spool);
	cleanup();
}

TEST(what_cannot_be_written_is_kept_and_comes_with_the_next)
{
	struct monitor_settings settings = { .spool_limit_bytes = 1 << 20 };
	struct outlet outlet;
	struct fault fault;
	char blocked[128];

	fresh_directory();
	snprintf(blocked, sizeof(blocked), "%s/spool", directory);
	settings.spool = blocked;
	CHECK_INT(outlet_open(&settings, &outlet, &fault), 0);
	CHECK_INT(file_remove_tree(blocked, NULL), 0);
	put("spool", "in the way");
	CHECK(outlet_log(&outlet, some_log(), &fault) < 0);
	CHECK(outlet_log(&outlet, some_log(), &fault) < 0);
	CHECK_INT(outlet.n_unwritten, 2);
	unlink(blocked);
	CHECK_INT(outlet_log(&outlet, some_log(), &fault), 0);
	CHECK_INT(outlet.n_unwritten, 0);
	outlet_close(&outlet);
	snprintf(directory, sizeof(directory), "%.50s", blocked);
	CHECK_INT(n_files(SPOOL_SUFFIX), 1);
	directory[strlen(directory) - strlen("/spool")] = '\0';
	cleanup();
}

TEST(a_burst_is_taken_once_and_nonsense_is_removed)
{
	struct control_burst burst = { 0 };
	struct control control;
	struct fault fault;

	fresh_directory();
	CHECK_INT(control_open(directory, &control, &fault), 0);
	CHECK_INT(control_take_burst(&control, &burst, &fault), 0);
	put("burst", "rate = 997\nseconds = 2\nmodule = /usr/bin/x\n");
	CHECK_INT(control_take_burst(&control, &burst, &fault), 1);
	CHECK(burst.rate_hz == 997 && burst.seconds == 2);
	CHECK_STR(burst.module, "/usr/bin/x");
	free(burst.module);
	CHECK_INT(control_take_burst(&control, &burst, &fault), 0);
	put("burst", "rate = 1000000\n");
	CHECK_INT(control_take_burst(&control, &burst, &fault), -EINVAL);
	CHECK(access(in("burst"), F_OK) < 0);
	control_close(&control);
	cleanup();
}

TEST(settings_are_read_over_the_defaults)
{
	_clean_(monitor_settings_donep) struct monitor_settings settings;
	struct fault fault;

	fresh_directory();
	CHECK_INT(monitor_settings_init(&settings), 0);
	put("monitor.conf", "overhead_budget = 0.5 %\nsource = perf\ninterval = 1 min\nreference = no\n");
	CHECK_INT(monitor_settings_read(in("monitor.conf"), false, &settings, &fault), 0);
	CHECK_INT(monitor_settings_finish(&settings, &fault), 0);
	CHECK(fabs(settings.budget - 0.005) < 1e-12);
	CHECK_INT(settings.source, MONITOR_PERF);
	CHECK_INT(settings.interval_s, 60);
	CHECK(!settings.reference && settings.lifecycle);
	CHECK_INT(monitor_settings_read(in("missing"), true, &settings, &fault), 0);
	CHECK_INT(monitor_settings_read(in("missing"), false, &settings, &fault), -ENOENT);
	CHECK_INT(monitor_settings_set(&settings, "source", "sundial", &fault), 0);
	CHECK_INT(monitor_settings_finish(&settings, &fault), -EINVAL);
	cleanup();
}

TEST(what_the_monitor_publishes_is_what_support_reads)
{
	struct monitor_status status = { .source = { MONITOR_TICK, "", "", false },
					 .budget = 0.001,
					 .cost = { .interrupt_ns = 1234, .tick_ns = 56 },
					 .fired = { 7, 3 },
					 .user = 5,
					 .tick_hz = 1000,
					 .n_synchronous = 4,
					 .rates = { .tick_divisor = 8, .reference_hz = 15 } };
	struct support support;
	struct fault fault;

	fresh_directory();
	status.lost[SAMPLE_LOSS_RACE] = 2;
	status.lost[SAMPLE_LOSS_RING_FULL] = 1;
	CHECK_INT(status_write(&status, in("status.json"), &fault), 0);
	support_probe("", &support);
	support_monitor_read(in("status.json"), &support);
	CHECK(support.monitor_runs);
	CHECK_STR(support.monitor_source, "tick");
	CHECK(support.interrupt_ns == 1234 && support.tick_program_ns == 56);
	CHECK(support.main_hz == 125 && support.reference_hz == 15 && support.synchronous == 4);
	CHECK(support.fired == 10 && support.user == 5 && support.lost == 3);
	CHECK(fabs(support.budget_percent - 0.1) < 1e-9);
	support_probe("", &support);
	support_monitor_read(in("missing"), &support);
	CHECK(!support.monitor_runs);
	cleanup();
}

/* The monitor's user may write anything there, and root looks at it. */
TEST(a_hostile_status_file_shows_nothing_that_a_terminal_obeys)
{
	struct support support;

	fresh_directory();
	put("status.json",
	    "{\"pid\": 1, \"source\": \"\\u001b[2Jx\", \"source_reason\": \"\\\"pid\\\": 7, \\u202e\","
	    " \"samples\": {\"user\": 1e999, \"lost\": {\"race\": {}}}}\n");
	support_probe("", &support);
	support_monitor_read(in("status.json"), &support);
	CHECK(support.monitor_runs);
	CHECK_STR(support.monitor_source, "\\x1b[2Jx");
	CHECK_STR(support.monitor_reason, "\"pid\": 7, \\u202e");
	CHECK(support.user == 0 && support.lost == 0);
	put("status.json", "{\"pid\": 1e300}");
	support_monitor_read(in("status.json"), &support);
	CHECK(!support.monitor_runs);
	put("status.json", "{\"pid\": 1,");
	support_monitor_read(in("status.json"), &support);
	CHECK(!support.monitor_runs);
	cleanup();
}

TEST_MAIN()

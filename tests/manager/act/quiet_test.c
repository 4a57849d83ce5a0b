/* SPDX-License-Identifier: Apache-2.0 */

#include "manager/act/quiet.h"

#include "manager/decide/machine.h"

#include "tests/manager/machine_root.h"

static struct manager m;
static unsigned n_known;
static int answer;
static char why[256];

/* CPU time of all CPUs since the start of the machine. */
static void busy_for(unsigned long long seconds)
{
	char stat[128];

	snprintf(stat, sizeof(stat), "cpu  %llu 0 0 77777 8888 0 0 9999 5 5\ncpu0 1 2\n", seconds * 100);
	give("proc/stat", stat);
}

static void on_known(struct manager *manager)
{
	n_known++;
	answer = quiet_ask(manager, on_known, why, sizeof(why), NULL);
	sd_event_exit(manager->event, 0);
}

/* The answer, when the CPUs have done this while it was looked. */
static int ask(unsigned long long before, unsigned long long afterwards)
{
	busy_for(before);
	n_known = 0;
	CHECK_INT(quiet_ask(&m, on_known, why, sizeof(why), NULL), QUIET_LATER);
	busy_for(afterwards);
	CHECK_INT(quiet_ask(&m, on_known, why, sizeof(why), NULL), QUIET_LATER);
	CHECK(sd_event_loop(m.event) >= 0);
	CHECK_INT(n_known, 1);
	return answer;
}

static void begin(void)
{
	setup();
	m = (struct manager){ .settings = settings };
	CHECK(sd_event_new(&m.event) >= 0);
	/* Averages say that nobody is there. */
	give("proc/loadavg", "0.00 0.00 0.00 1/100 4242\n");
	give("proc/pressure/cpu", "some avg10=0.00 avg60=0.57 avg300=0.32 total=11018638\n");
	give("sys/devices/system/cpu/online", "0-1\n");
}

static void end(void)
{
	quiet_free(m.quiet);
	sd_event_unref(m.event);
	teardown();
}

TEST(who_has_just_begun_to_work_is_seen_though_no_average_tells_of_him)
{
	struct machine_load load;
	char text[256];

	begin();
	machine_load_read(&settings, &load);
	CHECK(machine_is_idle(&settings, &load, text, sizeof(text)));
	CHECK_INT(ask(1000, 100000), QUIET_NO);
	CHECK(strstr(why, "others use ") && strstr(why, " % of the CPUs, allowed 50 %"));
	end();
}

TEST(a_machine_that_does_nothing_is_quiet)
{
	begin();
	CHECK_INT(ask(1000, 1000), QUIET_YES);
	CHECK_STR(why, "");
	end();
}

TEST(where_nothing_can_be_known_nothing_is_held_up)
{
	begin();
	give("proc/stat", "nonsense");
	CHECK_INT(quiet_ask(&m, on_known, why, sizeof(why), NULL), QUIET_LATER);
	CHECK(sd_event_loop(m.event) >= 0);
	CHECK_INT(answer, QUIET_YES);
	end();
}

TEST(who_sits_at_the_machine_is_not_disturbed_whatever_he_uses)
{
	begin();
	strcpy(m.used_by, "c2");
	CHECK_INT(ask(1000, 1000), QUIET_NO);
	CHECK_STR(why, "somebody works at the machine (session c2)");
	end();
}

TEST_MAIN()

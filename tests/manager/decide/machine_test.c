/* SPDX-License-Identifier: Apache-2.0 */

#include "manager/decide/presence.h"

#include "tests/manager/machine_root.h"

static void load_is(double pressure, double load, const char *why)
{
	char text[256] = "";
	struct machine_load l;

	machine_load_read(&settings, &l);
	CHECK(l.pressure == pressure);
	CHECK(l.load == load);
	CHECK_INT(machine_is_idle(&settings, &l, text, sizeof(text)), !why);
	if (why)
		CHECK_STR(text, why);
}

TEST(pressure_load_and_battery_are_read_and_judged)
{
	setup();
	give("proc/pressure/cpu", "some avg10=3.50 avg60=0.57 avg300=0.32 total=11018638\nfull avg10=0.00\n");
	give("proc/loadavg", "1.00 0.50 0.20 1/100 4242\n");
	give("sys/devices/system/cpu/online", "0-2,5\n");
	load_is(3.5, 0.25, NULL);
	give("proc/loadavg", "4.00 0.50 0.20 1/100 4242\n");
	load_is(3.5, 1, "the machine is busy (load 1.00 per CPU, allowed 0.50)");
	give("proc/pressure/cpu", "some avg10=12.00 avg60=0.57 avg300=0.32 total=11018638\n");
	load_is(12, 1, "the machine is busy (CPU pressure 12.0 %, allowed 10.0 %)");
	teardown();
}

TEST(what_cannot_be_read_does_not_stop_anything)
{
	setup();
	load_is(-1, -1, NULL);
	give("proc/pressure/cpu", "nonsense");
	give("proc/loadavg", "");
	load_is(-1, -1, NULL);
	teardown();
}

TEST(a_battery_counts_only_without_mains_and_only_the_machines_own)
{
	setup();
	give("sys/class/power_supply/hid-mouse/type", "Battery\n");
	give("sys/class/power_supply/hid-mouse/scope", "Device\n");
	load_is(-1, -1, NULL);
	give("sys/class/power_supply/BAT0/type", "Battery\n");
	load_is(-1, -1, "the machine runs on battery");
	give("sys/class/power_supply/AC/type", "Mains\n");
	give("sys/class/power_supply/AC/online", "0\n");
	load_is(-1, -1, "the machine runs on battery");
	give("sys/class/power_supply/AC/online", "1\n");
	load_is(-1, -1, NULL);
	give("sys/class/power_supply/AC/online", "0\n");
	settings.on_battery = true;
	load_is(-1, -1, NULL);
	teardown();
}

TEST(a_machine_that_saves_power_or_is_hot_is_left_alone)
{
	setup();
	give("sys/firmware/acpi/platform_profile", "balanced\n");
	give("sys/devices/system/cpu/cpufreq/policy0/energy_performance_preference", "balance_power\n");
	load_is(-1, -1, NULL);
	give("sys/firmware/acpi/platform_profile", "low-power\n");
	load_is(-1, -1, "the machine's power profile saves power");
	give("sys/firmware/acpi/platform_profile", "performance\n");
	give("sys/devices/system/cpu/cpufreq/policy0/energy_performance_preference", "power\n");
	load_is(-1, -1, "the machine's power profile saves power");
	settings.on_battery = true;
	load_is(-1, -1, NULL);
	give("sys/class/thermal/cooling_device0/type", "Fan\n");
	give("sys/class/thermal/cooling_device0/cur_state", "3\n");
	give("sys/class/thermal/cooling_device1/type", "Processor\n");
	give("sys/class/thermal/cooling_device1/cur_state", "0\n");
	give("sys/class/thermal/cooling_device2/type", "intel_powerclamp\n");
	give("sys/class/thermal/cooling_device2/cur_state", "-1\n");
	load_is(-1, -1, NULL);
	give("sys/class/thermal/cooling_device1/cur_state", "2\n");
	load_is(-1, -1, "the machine is hot, and slows its CPUs down");
	teardown();
}

/* A look at @ms, when the CPUs had been busy for @busy ms altogether, the edit for @own of them. */
static void look(struct presence *p, unsigned ms, unsigned busy, unsigned own, const char *why)
{
	char text[256] = "", stat[128];
	bool is_busy;

	/* Shares of user, nice, system, interrupts and soft interrupts; what is idle, waits or was stolen does not count. */
	snprintf(stat, sizeof(stat), "cpu  %u %u %u 77777 8888 %u %u 9999 5 5\ncpu0 1 2\n", busy / 50,
		 busy / 50, busy / 50, busy / 50, busy / 10 - 4 * (busy / 50));
	give("proc/stat", stat);
	is_busy = presence_is_busy(&settings, p, 1000000000ull + ms * 1000000ull, own * 1000ull, text,
				   sizeof(text));
	CHECK_INT(is_busy, !!why);
	if (why)
		CHECK_STR(text, why);
}

TEST(others_are_seen_by_the_cpu_time_that_is_not_the_edits)
{
	struct presence p = { 0 };

	setup();
	give("sys/devices/system/cpu/online", "0-1\n");
	give("proc/pressure/cpu", "some avg10=0.00 avg60=0.57 avg300=0.32 total=11018638\n");
	look(&p, 0, 100000, 500, NULL);
	look(&p, 100, 100100, 600, NULL); /* all of it is the edit's */
	look(&p, 200, 100290, 700, NULL); /* of 200 ms, 90 were others' */
	look(&p, 300, 100480, 770, "others use 60 % of the CPUs, allowed 50 %");
	look(&p, 400, 100680, 770, "others use 100 % of the CPUs, allowed 50 %");
	look(&p, 500, 100880, 10, NULL); /* another edit's time: nothing is known until the next look */
	look(&p, 600, 101080, 10, "others use 100 % of the CPUs, allowed 50 %");
	look(&p, 700, 101080, 10, NULL);
	teardown();
}

TEST(pressure_that_nobody_else_makes_is_the_edits_own)
{
	struct presence p = { 0 };

	setup();
	give("sys/devices/system/cpu/online", "0-1\n");
	give("proc/pressure/cpu", "some avg10=40.00 avg60=0.57 avg300=0.32 total=11018638\n");
	look(&p, 0, 100000, 0, "the machine is busy (CPU pressure 40.0 %, allowed 10.0 %)");
	look(&p, 100, 100200, 200, NULL);
	look(&p, 200, 100400, 380, "the machine is busy (CPU pressure 40.0 %, allowed 10.0 %)");
	/* The load average would be the edit's, too. */
	give("proc/loadavg", "9.00 0.50 0.20 1/100 4242\n");
	give("proc/pressure/cpu", "some avg10=0.00 avg60=0.57 avg300=0.32 total=11018638\n");
	look(&p, 3000, 100400, 380, NULL);
	teardown();
}

TEST(who_comes_back_is_let_have_the_machine_and_who_allows_it_is_not_asked)
{
	char session[64] = "";
	struct presence p = { .used_by = session };
	struct machine_load load = { .used_by = session };
	char why[256];

	setup();
	give("sys/devices/system/cpu/online", "0-1\n");
	look(&p, 0, 100000, 500, NULL);
	look(&p, 100, 100100, 600, NULL);
	strcpy(session, "c2");
	CHECK(!machine_is_idle(&settings, &load, why, sizeof(why)));
	look(&p, 200, 100200, 700, "somebody works at the machine (session c2)");
	settings.beside_user = true;
	look(&p, 300, 100300, 800, NULL);
	CHECK(machine_is_idle(&settings, &load, why, sizeof(why)));
	settings.beside_user = false;
	session[0] = '\0';
	look(&p, 400, 100400, 900, NULL);
	teardown();
}

TEST(a_stat_file_that_is_none_says_nothing)
{
	static const char *const texts[] = { "", "cpu", "cpu x", "cpu 1 2 3\n", "intr 1 2 3 4 5 6 7\n" };
	struct presence p = { 0 };
	char why[256];

	setup();
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		give("proc/stat", texts[i]);
		CHECK(!presence_is_busy(&settings, &p, (i + 1) * 100000000ull, 0, why, sizeof(why)));
		CHECK(p.others < 0);
	}
	teardown();
}

TEST_MAIN()

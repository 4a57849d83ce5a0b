/* SPDX-License-Identifier: Apache-2.0 */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "monitor/record/processes.h"
#include "tests/test.h"

static void check_unit(const char *text, const char *unit)
{
	_clean_(freep) char *found = cgroup_unit(text);

	CHECK(found);
	CHECK_STR(found, unit);
}

TEST(the_unit_of_a_process_is_the_one_that_the_system_manager_made)
{
	check_unit("0::/system.slice/nginx.service\n", "nginx.service");
	check_unit("0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-x.scope\n",
		   "user@1000.service/app-x.scope");
	check_unit("0::/system.slice/docker-0123abcd.scope/inner/more\n", "docker-0123abcd.scope");
	check_unit("0::/machine.slice/my.slice\n", "my.slice");
	check_unit("12:cpu:/x.service\n1:name=systemd:/system.slice/cron.service\n0::/\n", "cron.service");
	check_unit("1:name=systemd:/a.service\n0::/system.slice/b.service\n", "b.service");
}

TEST(nobody_passes_for_a_unit_of_the_system_by_a_cgroup_of_his_own)
{
	check_unit("0::/user.slice/user-1000.slice/user@1000.service/nginx.service\n",
		   "user@1000.service/nginx.service");
	check_unit("0::/user.slice/user-1000.slice/session-1.scope/nginx.service\n", "session-1.scope");
	check_unit("0::/system.slice/docker-01ab.scope/system.slice/nginx.service\n", "docker-01ab.scope");
	check_unit("5:memory:/u/:name=systemd:/nginx.service\n0::/\n", "/");
	check_unit("0::/system.slice/docker-01ab.scope/user@0.service/nginx.service\n", "docker-01ab.scope");
}

TEST(where_no_part_is_a_unit_the_path_is_told_and_without_a_path_nothing)
{
	check_unit("0::/\n", "/");
	check_unit("0::/kubepods/pod1\n", "/kubepods/pod1");
	check_unit("5:memory:/deep\n0::/\n", "/");
	check_unit("5:memory:/deep.service\n", "?");
	check_unit("0::/.service\n", "/.service");
	check_unit("0::/a.service", "a.service");
	check_unit("0::/no.service/end\n1:name=systemd:/x.scope", "no.service");
	check_unit("", "?");
	check_unit("nonsense\n\n::::", "?");
}

/* How many samples the group with this name has. */
static uint64_t count_of(struct processes *processes, const char *name)
{
	struct histogram *samples = processes_samples(processes);
	uint64_t count = 0;

	for (size_t i = 0; i < samples->capacity; i++)
		if (samples->entries[i].count &&
		    strcmp(processes_group(processes, samples->entries[i].b)->name, name) == 0)
			count += samples->entries[i].count;
	return count;
}

TEST(processes_of_one_name_are_one_and_a_new_name_counts_from_then_on)
{
	_clean_(processes_freep) struct processes *processes = processes_new();
	pid_t self = getpid(), gone = 0x3ffffff0;

	CHECK(processes);
	CHECK_INT(processes_add(processes, self, "old", 1, 64), 0);
	CHECK_INT(processes_add(processes, self, "ignored: it is known", 1, 64), 0);
	CHECK_INT(processes_add(processes, gone, "old", 1, 128), 0);
	processes_changed(processes, self);
	processes_changed(processes, 1);
	CHECK_INT(processes_add(processes, self, "a name that is longer than the kernel has", 2, 64), 0);
	CHECK_INT(count_of(processes, "old"), 3);
	CHECK_INT(count_of(processes, "a name that is "), 1);
	CHECK(!processes_group(processes, 1000000));
}

TEST(more_names_than_there_is_room_for_are_one)
{
	_clean_(processes_freep) struct processes *processes = processes_new();

	CHECK(processes);
	for (int i = 0; i < 5000; i++) {
		char name[16];

		snprintf(name, sizeof(name), "p%d", i);
		CHECK_INT(processes_add(processes, 0x3ff00000 + i, name, 1, 0), 0);
	}
	CHECK_INT(count_of(processes, "p4094"), 1);
	CHECK_INT(count_of(processes, "others"), 5000 - 4095);
}

TEST_MAIN()

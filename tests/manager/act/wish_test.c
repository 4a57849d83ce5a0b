/* SPDX-License-Identifier: Apache-2.0 */

/* What morph-monitor is told: which programs' starts to report, that another file stands there, that samples are wanted. */

#include "manager/act/wish.h"

#include <sys/inotify.h>

#include "base/file.h"
#include "manager/act/activation.h"
#include "tests/manager/fixture.h"

static struct fixture f;

static void setup(void)
{
	fixture_make(&f);
	fixture_install(&f, "shipped");
	fixture_open(&f);
	fixture_sample(&f, "shipped", 100);
	CHECK_INT(fixture_build(&f, "made"), 1);
}

static void teardown(void)
{
	fixture_done(&f);
}

TEST(the_monitor_learns_what_to_watch)
{
	_clean_(file_map_donep) struct file_map map = { 0 };
	char path[PATH_MAX], expected[PATH_MAX + 2];

	setup();
	path_join(f.dir, "watch", path);
	CHECK_INT(config_set(settings_keys, "watch_file", path, &f.m->settings, NULL), 0);
	CHECK_INT(wish_list(f.m, &f.fault), 0);
	CHECK_INT(file_map_open(path, &map, NULL), 0);
	snprintf(expected, sizeof(expected), "%s\n", f.prog);
	CHECK_INT(map.size, strlen(expected));
	CHECK(memcmp(map.data, expected, map.size) == 0);
	teardown();
}

TEST(the_monitor_hears_of_each_switch)
{
	char directory[PATH_MAX], path[PATH_MAX], events[4096];
	_clean_(fd_closep) int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

	setup();
	CHECK(mkdir(path_join(f.dir, "monitor", directory), 0755) == 0);
	path_join(directory, "watch", path);
	CHECK_INT(config_set(settings_keys, "watch_file", path, &f.m->settings, NULL), 0);
	CHECK_INT(wish_list(f.m, &f.fault), 0);
	/* As monitor/control.c does. */
	CHECK(inotify_add_watch(fd, directory, IN_MOVED_TO | IN_CLOSE_WRITE | IN_DELETE) >= 0);
	CHECK_INT(wish_list(f.m, &f.fault), 0);
	CHECK(read(fd, events, sizeof(events)) < 0); /* nothing new */
	CHECK_INT(activation_switch(f.m, f.prog, 1, EVENT_ACTIVATED, "test", &f.fault), 0);
	CHECK(read(fd, events, sizeof(events)) > 0);
	CHECK(access(path, F_OK) == 0);
	teardown();
}

TEST(the_monitor_is_asked_for_a_burst_and_a_waiting_request_stands)
{
	_clean_(file_map_donep) struct file_map map = { 0 };
	char path[PATH_MAX], expected[PATH_MAX + 64];

	setup();
	CHECK_INT(config_set(settings_keys, "watch_file", path_join(f.dir, "watch", path), &f.m->settings,
			     NULL),
		  0);
	CHECK_INT(wish_burst(f.m, f.prog, &f.fault), 0);
	CHECK_INT(wish_burst(f.m, "/another", &f.fault), 0);
	CHECK_INT(file_map_open(path_join(f.dir, "burst", path), &map, NULL), 0);
	snprintf(expected, sizeof(expected), "rate = 997\nseconds = 5\nmodule = %s\n", f.prog);
	CHECK_INT(map.size, strlen(expected));
	CHECK(memcmp(map.data, expected, map.size) == 0);
	teardown();
}

TEST_MAIN()

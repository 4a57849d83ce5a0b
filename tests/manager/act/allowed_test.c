/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/act/allowed.h"

#include <errno.h>
#include <unistd.h>

#include "base/file.h"
#include "manager/act/activation.h"
#include "manager/act/verdict.h"
#include "manager/keep/catalog.h"
#include "tests/manager/fixture.h"

static struct fixture f;

static void setup(void)
{
	fixture_make(&f);
	fixture_install(&f, "shipped");
	fixture_open(&f);
	fixture_sample(&f, "shipped", 100);
}

static void teardown(void)
{
	fixture_done(&f);
}

/* What is said now, not what is remembered. */
static int asked(const char *path)
{
	const uint64_t interval_s = f.m->settings.decide_interval_s;
	int r;

	f.m->settings.decide_interval_s = 0;
	r = allowed_remembered(f.m, path, &f.fault);
	f.m->settings.decide_interval_s = interval_s;
	return r;
}

TEST(an_answer_holds_for_some_intervals_and_then_is_asked_for_again)
{
	setup();
	f.m->settings.decide_interval_s = 60;
	CHECK_INT(allowed_remembered(f.m, f.prog, &f.fault), 0);
	CHECK(chmod(f.prog, 04755) == 0);
	CHECK_INT(activation_may(f.m, f.prog, &f.fault), -EPERM);
	f.fault.text[0] = '\0';
	CHECK_INT(allowed_remembered(f.m, f.prog, &f.fault), 0);
	CHECK_STR(f.fault.text, "");
	CHECK_INT(asked(f.prog), -EPERM);
	CHECK(chmod(f.prog, 0755) == 0);
	f.fault.text[0] = '\0';
	CHECK_INT(allowed_remembered(f.m, f.prog, &f.fault), -EPERM);
	CHECK(strstr(f.fault.text, "set-ID bit"));
	CHECK_INT(asked(f.prog), 0);
	CHECK_INT(allowed_remembered(f.m, f.prog, NULL), 0);
	teardown();
}

TEST(each_path_has_an_answer_of_its_own)
{
	setup();
	f.m->settings.decide_interval_s = 60;
	for (int i = 0; i < 300; i++) {
		char path[PATH_MAX], name[32];

		snprintf(name, sizeof(name), "absent%d", i * 7 % 300);
		path_join(f.dir, name, path);
		CHECK_INT(allowed_remembered(f.m, path, &f.fault), -ENOENT);
		CHECK(strstr(f.fault.text, name));
		CHECK_INT(allowed_remembered(f.m, f.prog, NULL), 0);
	}
	for (int i = 0; i < 300; i++) {
		char path[PATH_MAX], name[32];

		snprintf(name, sizeof(name), "absent%d", i);
		path_join(f.dir, name, path);
		CHECK(file_write(path, "x", 1, 0644, NULL) == 0);
		CHECK_INT(allowed_remembered(f.m, path, &f.fault), -ENOENT);
		CHECK(strstr(f.fault.text, name));
	}
	teardown();
}

TEST(only_a_verdict_for_which_nobody_begins_anything_is_by_what_is_remembered)
{
	struct machine_load load;
	struct module_row module = { 0 };
	char reason[DECIDE_REASON_MAX];
	enum decision verdict;

	setup();
	f.m->settings.decide_interval_s = 60;
	CHECK_INT(config_set(settings_keys, "minimum_samples", "10", &f.m->settings, NULL), 0);
	CHECK_INT(config_set(settings_keys, "minimum_free", "0", &f.m->settings, NULL), 0);
	CHECK_INT(config_set(settings_keys, "idle_load", "1000", &f.m->settings, NULL), 0);
	CHECK_INT(config_set(settings_keys, "idle_pressure", "100", &f.m->settings, NULL), 0);
	machine_load_read(&f.m->settings, &load);
	CHECK_INT(module_get(f.m->state, 1, &module, &f.fault), 0);
	CHECK_INT(verdict_remembered(f.m, &module, &load, &verdict, reason, &f.fault), 0);
	CHECK_INT(verdict, DECIDE_EDIT);
	CHECK(chmod(f.prog, 04755) == 0);
	CHECK_INT(verdict_remembered(f.m, &module, &load, &verdict, reason, &f.fault), 0);
	CHECK_INT(verdict, DECIDE_EDIT);
	CHECK_INT(verdict_on(f.m, &module, true, &verdict, reason, &f.fault), 0);
	CHECK_INT(verdict, DECIDE_NEVER);
	CHECK(strstr(reason, "set-ID bit"));
	module_row_done(&module);
	teardown();
}

TEST_MAIN()

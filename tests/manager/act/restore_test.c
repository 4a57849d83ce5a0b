/* SPDX-License-Identifier: Apache-2.0 */

/* State of a newer Morph, and backups of which only half came back: said clearly, and nothing is destroyed. */

#define _GNU_SOURCE
#include "manager/act/rebuild.h"

#include "manager/start/start.h"
#include "tests/manager/fixture.h"

static struct fixture f;

/* A program with a generation in place, and morphd not running. */
static void setup(void)
{
	fixture_make(&f);
	fixture_install(&f, "shipped");
	fixture_open(&f);
	fixture_sample(&f, "shipped", 1000);
	CHECK_INT(fixture_build(&f, "made"), 1);
	CHECK_INT(activation_switch(f.m, f.prog, 1, EVENT_ACTIVATED, "test", &f.fault), 0);
	CHECK(file_is_program(f.prog, "made"));
	manager_free(TAKE(f.m));
}

static void teardown(void)
{
	fixture_done(&f);
}

static void run(const char *command)
{
	char text[2 * PATH_MAX];

	snprintf(text, sizeof(text), "cd %s && %s", f.dir, command);
	if (system(text) != 0)
		FAIL("%s", text);
}

/* Every file with its content, but for the lock and what SQLite has beside its file. */
static void picture(char ret[128])
{
	char text[2 * PATH_MAX];
	FILE *out;

	snprintf(text, sizeof(text),
		 "cd %s && find . -type f ! -name morphd.lock ! -name 'state.db-*' -exec sha256sum {} + | "
		 "sort | "
		 "sha256sum",
		 f.dir);
	out = popen(text, "re");
	CHECK(out && fgets(ret, 128, out) && pclose(out) == 0);
}

static int open_again(void)
{
	struct settings settings;
	char path[PATH_MAX];

	CHECK_INT(settings_init(&settings), 0);
	CHECK_INT(config_set(settings_keys, "state_directory", path_join(f.dir, "state", path), &settings,
			     NULL),
		  0);
	CHECK_INT(config_set(settings_keys, "spool_directory", path_join(f.dir, "spool", path), &settings,
			     NULL),
		  0);
	CHECK_INT(config_set(settings_keys, "prefixes", f.dir, &settings, NULL), 0);
	return manager_open(&settings, NULL, &f.m, &f.fault);
}

static void is_refused_and_unchanged(const char *before, const char *why)
{
	char after[128];

	CHECK_INT(open_again(), -EPROTONOSUPPORT);
	if (!strstr(f.fault.text, why))
		FAIL("%s", f.fault.text);
	picture(after);
	CHECK_STR(after, before);
}

static void goes_back(void)
{
	if (activation_switch(f.m, f.prog, 0, EVENT_ROLLED_BACK, "test", &f.fault) != 0)
		FAIL("%s", f.fault.text);
	CHECK(file_is_program(f.prog, "shipped"));
}

TEST(a_database_of_a_newer_morph)
{
	char before[128];

	setup();
	fixture_open(&f);
	CHECK_INT(state_do(f.m->state, &f.fault, "PRAGMA user_version = 99", ""), 0);
	manager_free(TAKE(f.m));
	picture(before);
	is_refused_and_unchanged(before, "written by a newer Morph (version 99, this one knows");
	teardown();
}

TEST(a_store_of_a_newer_morph)
{
	struct start_result result;
	struct settings settings;
	char before[128], after[128], path[PATH_MAX];

	setup();
	run("rm state/cpu && echo 'version = 3' >state/store/version");
	picture(before);
	is_refused_and_unchanged(before,
				 "written by a newer Morph (version 3 of the store, this one knows 2)");
	/* Before other services start, too. */
	CHECK_INT(settings_init(&settings), 0);
	CHECK_INT(config_set(settings_keys, "state_directory", path_join(f.dir, "state", path), &settings,
			     NULL),
		  0);
	CHECK_INT(start_check(&settings, &result, &f.fault), -EPROTONOSUPPORT);
	settings_done(&settings);
	picture(after);
	CHECK_STR(after, before);
	teardown();
}

TEST(a_store_whose_number_cannot_be_read)
{
	char before[128], after[128];

	setup();
	run("echo 'version = many' >state/store/version");
	picture(before);
	CHECK(open_again() < 0);
	CHECK(strstr(f.fault.text, "store/version"));
	picture(after);
	CHECK_STR(after, before);
	teardown();
}

TEST(a_store_of_before_gets_its_number)
{
	setup();
	run("rm state/store/version");
	fixture_open(&f);
	run("grep -qx 'version = 2' state/store/version");
	goes_back();
	teardown();
}

TEST(the_database_without_the_store)
{
	unsigned n = 0;

	setup();
	run("mv state/store kept");
	fixture_open(&f);
	CHECK_INT(rebuild_missing(f.m, &n, &f.fault), 0);
	CHECK_INT(n, 1);
	CHECK(activation_switch(f.m, f.prog, 0, EVENT_ROLLED_BACK, "test", &f.fault) < 0);
	CHECK(strstr(f.fault.text, "original"));
	CHECK(file_is_program(f.prog, "made"));
	CHECK_INT(number_of(f.m, "SELECT generation FROM target"), 1);
	manager_free(TAKE(f.m));
	/* The other half comes back. */
	run("rm -r state/store && mv kept state/store");
	fixture_open(&f);
	CHECK_INT(rebuild_missing(f.m, &n, &f.fault), 0);
	CHECK_INT(n, 0);
	goes_back();
	teardown();
}

TEST(the_database_with_a_store_of_which_files_are_cut_short)
{
	setup();
	run("truncate -s 100 state/store/*/*/original");
	fixture_open(&f);
	CHECK_INT(activation_switch(f.m, f.prog, 0, EVENT_ROLLED_BACK, "test", &f.fault), -EBADMSG);
	CHECK(strstr(f.fault.text, "damaged"));
	CHECK(file_is_program(f.prog, "made"));
	teardown();
}

TEST(the_store_without_the_database)
{
	setup();
	run("rm state/state.db*");
	fixture_open(&f);
	CHECK_INT(number_of(f.m, "SELECT generation FROM target"), 1);
	goes_back();
	CHECK_INT(activation_switch(f.m, f.prog, 1, EVENT_ACTIVATED, "test", &f.fault), 0);
	CHECK(file_is_program(f.prog, "made"));
	teardown();
}

/* The backup of the database is from before the program was known. */
TEST(an_older_database_with_the_store_of_today)
{
	fixture_make(&f);
	fixture_install(&f, "shipped");
	fixture_open(&f);
	manager_free(TAKE(f.m));
	run("cp state/state.db older");
	fixture_open(&f);
	fixture_sample(&f, "shipped", 1000);
	CHECK_INT(fixture_build(&f, "made"), 1);
	CHECK_INT(activation_switch(f.m, f.prog, 1, EVENT_ACTIVATED, "test", &f.fault), 0);
	manager_free(TAKE(f.m));
	run("rm state/state.db* && mv older state/state.db");
	fixture_open(&f);
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM module WHERE carries = 1"), 1);
	CHECK_INT(number_of(f.m, "SELECT generation FROM target"), 1);
	goes_back();
	teardown();
}

/* The backup of the database is from before the edit. */
TEST(an_older_database_that_knows_the_program)
{
	fixture_make(&f);
	fixture_install(&f, "shipped");
	fixture_open(&f);
	fixture_sample(&f, "shipped", 1000);
	manager_free(TAKE(f.m));
	run("cp state/state.db older");
	fixture_open(&f);
	CHECK_INT(fixture_build(&f, "made"), 1);
	CHECK_INT(activation_switch(f.m, f.prog, 1, EVENT_ACTIVATED, "test", &f.fault), 0);
	manager_free(TAKE(f.m));
	run("rm state/state.db* && mv older state/state.db");
	fixture_open(&f);
	CHECK_INT(number_of(f.m, "SELECT generation FROM target"), 1);
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM generation WHERE number = 1"), 1);
	goes_back();
	teardown();
}

/* The machine's programs are from before, the rest is of today. */
TEST(programs_that_were_restored_alone)
{
	setup();
	fixture_install(&f, "shipped");
	fixture_open(&f);
	CHECK_INT(number_of(f.m, "SELECT generation FROM target"), 0);
	CHECK_INT(activation_switch(f.m, f.prog, 1, EVENT_ACTIVATED, "test", &f.fault), 0);
	CHECK(file_is_program(f.prog, "made"));
	teardown();
}

TEST_MAIN()

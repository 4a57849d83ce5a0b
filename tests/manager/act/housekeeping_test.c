/* SPDX-License-Identifier: Apache-2.0 */

#include "manager/act/housekeeping.h"

#include "manager/act/accept.h"
#include "manager/act/rebuild.h"
#include "manager/keep/store.h"
#include "tests/manager/fixture.h"

static struct fixture f;

static void setup(void)
{
	fixture_make(&f);
	fixture_install(&f, "shipped");
	fixture_open(&f);
	fixture_sample(&f, "shipped", 1000);
	CHECK_INT(fixture_build(&f, "made"), 1);
	CHECK_INT(fixture_build(&f, "other"), 2);
	CHECK_INT(fixture_build(&f, "crashing"), 3);
	CHECK_INT(config_set(settings_keys, "keep_generations", "1", &f.m->settings, NULL), 0);
}

static void teardown(void)
{
	fixture_done(&f);
}

static bool in_store(int64_t number)
{
	struct module_row module = { 0 };
	char path[PATH_MAX];
	bool ret;

	CHECK_INT(module_get(f.m->state, 1, &module, NULL), 0);
	ret = access(store_generation_path(f.m->store, module.key, number, "binary", path), F_OK) == 0;
	module_row_done(&module);
	return ret;
}

static void clean(void)
{
	if (housekeeping(f.m, 0, &f.fault) < 0)
		FAIL("%s", f.fault.text);
}

TEST(old_generations_without_samples_go_and_the_newest_stay)
{
	setup();
	clean();
	CHECK(!in_store(1) && !in_store(2) && in_store(3));
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM generation WHERE state = 'dropped'"), 2);
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM event WHERE kind = 'dropped'"), 2);
	CHECK_INT(number_of(f.m, "SELECT max(number) + 1 FROM generation"),
		  4); /* numbers are not used again */
	teardown();
}

TEST(what_was_deleted_and_is_made_again_has_its_number_again)
{
	_clean_(statement_freep) sqlite3_stmt *statement = NULL;
	char from[PATH_MAX], to[PATH_MAX], answer[256];
	struct generation_row made = { 0 };
	struct module_row module = { 0 };
	struct made_from source = { 0 };

	setup();
	clean();
	CHECK_INT(state_prepare(f.m->state, &statement, &f.fault,
				"SELECT build_id FROM generation WHERE number = 1", ""),
		  0);
	CHECK_INT(state_step(f.m->state, statement, &f.fault), 1);
	snprintf(answer, sizeof(answer), "%s\n", (const char *)sqlite3_column_text(statement, 0));
	sqlite3_reset(statement);
	CHECK_INT(file_mkdirs(f.m->work, 0700, &f.fault), 0);
	CHECK_INT(file_copy(program("made", from), path_join(f.m->work, "output", to), &f.fault), 0);
	CHECK_INT(file_write(path_join(f.m->work, "answer", to), answer, strlen(answer), 0600, &f.fault), 0);
	CHECK_INT(module_get(f.m->state, 1, &module, &f.fault), 0);
	if (accept_generation(f.m, &module, &source, &made, &f.fault) < 0)
		FAIL("%s", f.fault.text);
	CHECK_INT(made.number, 1);
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM generation WHERE number = 1 AND state = 'built'"), 1);
	CHECK(in_store(1));
	CHECK_INT(activation_switch(f.m, f.prog, 1, EVENT_ACTIVATED, "test", &f.fault), 0);
	generation_row_done(&made);
	module_row_done(&module);
	teardown();
}

TEST(the_active_generation_stays)
{
	setup();
	CHECK_INT(activation_switch(f.m, f.prog, 1, EVENT_ACTIVATED, "test", &f.fault), 0);
	clean();
	CHECK(in_store(1) && !in_store(2) && in_store(3));
	teardown();
}

TEST(a_generation_with_many_of_the_samples_stays)
{
	setup();
	fixture_sample(&f, "made", 500);
	fixture_sample(&f, "other", 20);
	clean();
	CHECK(in_store(1) && !in_store(2) && in_store(3));
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM sample JOIN generation g ON g.id = generation "
				 "WHERE g.number = 2"),
		  0);
	teardown();
}

TEST(a_module_that_is_gone_is_forgotten_after_a_month)
{
	setup();
	CHECK(unlink(f.prog) == 0);
	CHECK_INT(state_do(f.m->state, &f.fault, "DELETE FROM target", ""), 0);
	clean();
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM module"), 1);
	CHECK_INT(state_do(f.m->state, &f.fault, "UPDATE module SET last_ns = last_ns - 31 * 86400000000000",
			   ""),
		  0);
	clean();
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM module"), 0);
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM generation"), 0);
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM sample"), 0);
	teardown();
}

TEST(what_a_kill_left_between_database_and_store_is_finished)
{
	setup();
	CHECK_INT(state_do(f.m->state, &f.fault, "UPDATE generation SET state = 'dropped' WHERE number = 1",
			   ""),
		  0);
	CHECK_INT(state_do(f.m->state, &f.fault, "DELETE FROM generation WHERE number = 3", ""), 0);
	CHECK_INT(rebuild_agree(f.m, &f.fault), 0);
	CHECK(!in_store(1) && in_store(2) && in_store(3));
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM generation WHERE number = 3 AND state = 'built'"), 1);
	CHECK_INT(number_of(f.m, "SELECT max(number) FROM generation"), 3);
	CHECK_INT(activation_switch(f.m, f.prog, 3, EVENT_ACTIVATED, "test", &f.fault), 0);
	CHECK_INT(rebuild_agree(f.m, &f.fault), 0);
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM generation"), 4);
	teardown();
}

TEST(a_number_that_means_two_files_is_left_alone)
{
	setup();
	CHECK_INT(state_do(f.m->state, &f.fault, "UPDATE generation SET digest = 'another' WHERE number = 2",
			   ""),
		  0);
	CHECK_INT(rebuild_agree(f.m, &f.fault), 0);
	CHECK(in_store(2));
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM generation WHERE digest = 'another'"), 1);
	teardown();
}

TEST(modules_that_are_only_counted_become_one_sum)
{
	setup();
	CHECK_INT(state_do(f.m->state, &f.fault,
			   "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) "
			   "INSERT INTO module(key, kind, path, carries, samples, first_ns, last_ns) "
			   "SELECT 'k' || i, 1, '/x', 2, 10, i, i FROM n",
			   ""),
		  0);
	clean();
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM module WHERE carries <> 1"), 3072);
	CHECK_INT(number_of(f.m, "SELECT value FROM total WHERE key = 'other_modules'"), 10 * (5000 - 3072));
	CHECK_INT(number_of(f.m, "SELECT min(last_ns) FROM module WHERE carries <> 1"), 5000 - 3072 + 1);
	teardown();
}

TEST_MAIN()

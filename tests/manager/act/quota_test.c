/* SPDX-License-Identifier: Apache-2.0 */

/*
 * One user, whose files may be optimized, has hundreds of programs, runs and exchanges them all day, and has them edited. The
 * system's own program beside them loses nothing, and has its turn.
 */

#define _GNU_SOURCE
#include "manager/act/quota.h"

#include "manager/act/housekeeping.h"
#include "manager/act/verdict.h"
#include "tests/attack.h"
#include "tests/manager/fixture.h"

#define ATTACKER 4321u
#define PROGRAMS 140 /* files; programs_per_user is 100 here */
#define STORED 40
#define BINARY_BYTES (100 << 10)

static struct fixture f;

static void set(const char *key, const char *value)
{
	CHECK_INT(config_set(settings_keys, key, value, &f.m->settings, NULL), 0);
}

static void sql(const char *text)
{
	if (state_do(f.m->state, &f.fault, text, "") < 0)
		FAIL("%s", f.fault.text);
}

static void setup(void)
{
	if (geteuid() != 0)
		SKIP("needs root to give files away");
	fixture_make(&f);
	fixture_install(&f, "shipped");
	fixture_open(&f);
	set("owners", "any");
	set("minimum_samples", "1000");
	set("minimum_free", "0");
	set("edit_interval", "0");
	set("idle_load", "1000");
	set("idle_pressure", "100");
	set("on_battery", "yes");
	set("programs_per_user", "100");
	set("store_per_user", "2M");
	fixture_sample(&f, "shipped", 5000);
	CHECK_INT(fixture_build(&f, "made"), 1);
	CHECK_INT(activation_switch(f.m, f.prog, 1, EVENT_ACTIVATED, "test", &f.fault), 0);
	CHECK_INT(fixture_build(&f, "other"), 2);
}

static void teardown(void)
{
	fixture_done(&f);
}

/* The attacker's program @i, as morphd knows it once it has looked at it: a module, its shipped file, where that stands. */
static int64_t attacker_program(unsigned i)
{
	struct target_row target = { .uid = ATTACKER, .gid = ATTACKER, .mode = 0755 };
	struct generation_row shipped = { .state = (char *)"shipped", .digest = (char *)"" };
	char path[PATH_MAX], name[32], key[64];

	snprintf(name, sizeof(name), "theirs-%u", i);
	snprintf(key, sizeof(key), "%032x", i + 1);
	CHECK_INT(file_write(path_join(f.dir, name, path), name, strlen(name), 0755, NULL), 0);
	CHECK(chown(path, ATTACKER, ATTACKER) == 0);
	CHECK_INT(module_add(f.m->state, key, SAMPLE_MODULE_FILE, path, &target.module, &f.fault), 0);
	CHECK_INT(module_set_carries(f.m->state, target.module, CARRIES_YES, NULL, NULL, &f.fault), 0);
	shipped.module = target.module;
	shipped.build_id = key;
	CHECK_INT(generation_add(f.m->state, &shipped, NULL, &f.fault), 0);
	target.path = path;
	CHECK_INT(target_put(f.m->state, &target, &f.fault), 0);
	return target.module;
}

/* Something of @bytes in the store, as if an edit had made it. */
static void keep(int64_t id, int64_t number, size_t bytes)
{
	struct module_row module = { 0 };
	struct generation_row row = {
		.module = id, .number = number, .digest = (char *)"x", .state = (char *)"built"
	};
	char path[PATH_MAX], build_id[64], *slash;
	void *content = calloc(1, bytes);

	CHECK_INT(module_get(f.m->state, id, &module, NULL), 0);
	store_generation_path(f.m->store, module.key, number, "binary", path);
	slash = strrchr(path, '/');
	*slash = '\0';
	CHECK_INT(file_mkdirs(path, 0700, NULL), 0);
	*slash = '/';
	CHECK_INT(file_write(path, content, bytes, 0600, NULL), 0);
	snprintf(build_id, sizeof(build_id), "%08llx%08llx", (long long)id, (long long)number);
	row.build_id = build_id;
	row.created_ns = number;
	CHECK_INT(generation_add(f.m->state, &row, NULL, &f.fault), 0);
	free(content);
	module_row_done(&module);
}

static void clean(void)
{
	if (housekeeping(f.m, 0, &f.fault) < 0)
		FAIL("%s", f.fault.text);
}

static bool ours_is_whole(void)
{
	char path[PATH_MAX];
	struct module_row module = { 0 };
	bool ret = module_get(f.m->state, 1, &module, NULL) == 0 && file_is_program(f.prog, "made");

	for (int64_t i = 1; ret && i <= 2; i++)
		ret = access(store_generation_path(f.m->store, module.key, i, "binary", path), R_OK) == 0;
	ret = ret && access(store_path(f.m->store, module.key, "original", path), R_OK) == 0;
	module_row_done(&module);
	return ret;
}

static enum decision verdict_of(int64_t id, char ret[DECIDE_REASON_MAX])
{
	struct module_row module = { 0 };
	enum decision v;

	CHECK_INT(module_get(f.m->state, id, &module, &f.fault), 0);
	if (verdict_on(f.m, &module, true, &v, ret, &f.fault) < 0)
		FAIL("%s", f.fault.text);
	module_row_done(&module);
	return v;
}

#define THEIRS "(SELECT module FROM owner WHERE uid = 4321)"

TEST(whoever_has_hundreds_of_programs_keeps_a_share_of_rows_and_store)
{
	int64_t samples;

	setup();
	samples = number_of(f.m, "SELECT sum(weight) FROM sample");
	for (unsigned i = 0; i < PROGRAMS; i++) {
		int64_t id = attacker_program(i);

		for (int64_t n = 1; i < STORED && n <= 3; n++)
			keep(id, n, BINARY_BYTES);
	}
	sql("UPDATE module SET samples = 1000000, last_ns = last_ns + 1000 * id WHERE id IN " THEIRS);
	sql("UPDATE target SET generation = 3 WHERE module IN (SELECT module FROM generation WHERE number = "
	    "3 AND "
	    "module IN " THEIRS " LIMIT 10)");
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM " THEIRS), PROGRAMS);
	clean();
	ATTACK("quota-thousands-of-programs-fill-the-database",
	       number_of(f.m, "SELECT count(*) FROM " THEIRS) == 100);
	ATTACK("quota-thousands-of-programs-fill-the-store",
	       number_of(f.m, "SELECT sum(store_bytes) FROM owner WHERE uid = 4321") <= 2 << 20);
	ATTACK("quota-thousands-of-programs-push-out-anothers-generations", ours_is_whole());
	CHECK_INT(
		number_of(
			f.m,
			"SELECT sum(weight) FROM sample WHERE generation IN (SELECT id FROM generation WHERE "
			"module = 1)"),
		samples);
	/* What stands somewhere is never deleted, and what was seen last is known still. */
	CHECK_INT(
		number_of(
			f.m,
			"SELECT count(*) FROM generation WHERE number = 3 AND state = 'built' AND module IN "
			"(SELECT module FROM target WHERE generation = 3)"),
		10);
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM module WHERE id = (SELECT max(id) FROM module)"), 1);
	teardown();
}

TEST(a_store_that_only_holds_what_is_in_use_is_said_to_be_full)
{
	char reason[DECIDE_REASON_MAX];
	int64_t id;

	setup();
	set("store_per_user", "64K");
	id = attacker_program(1);
	keep(id, 1, BINARY_BYTES);
	keep(id, 2, BINARY_BYTES);
	sql("UPDATE target SET generation = 1 WHERE module IN " THEIRS);
	sql("UPDATE module SET samples = 1000000 WHERE id IN " THEIRS);
	clean();
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM generation WHERE state = 'dropped'"), 1);
	CHECK_INT(verdict_of(id, reason), DECIDE_WAIT);
	CHECK(strstr(reason, "programs of user 4321 (store_per_user is 0 MiB)"));
	CHECK_INT(verdict_of(1, reason), DECIDE_EDIT);
	teardown();
}

TEST(one_program_has_a_bound_of_its_own_and_the_oldest_go_first)
{
	int64_t id;

	setup();
	set("store_per_program", "250K");
	set("keep_generations", "10");
	id = attacker_program(1);
	for (int64_t n = 1; n <= 4; n++)
		keep(id, n, BINARY_BYTES);
	clean();
	CHECK_INT(
		number_of(
			f.m,
			"SELECT count(*) FROM generation WHERE state = 'dropped' AND number <= 2 AND module "
			"<> 1"),
		2);
	CHECK_INT(
		number_of(
			f.m,
			"SELECT count(*) FROM generation WHERE state = 'built' AND number >= 3 AND module <> "
			"1"),
		2);
	teardown();
}

TEST(of_all_the_store_the_heaviest_owner_gives_way)
{
	int64_t id;

	setup();
	set("store_size", "700K");
	set("store_per_user", "0");
	set("keep_generations", "10");
	id = attacker_program(1);
	for (int64_t n = 1; n <= 8; n++)
		keep(id, n, BINARY_BYTES);
	clean();
	CHECK(number_of(f.m, "SELECT count(*) FROM generation WHERE state = 'dropped' AND module <> 1") >= 1);
	CHECK(ours_is_whole());
	teardown();
}

TEST(edits_of_one_owner_leave_edits_for_others)
{
	char reason[DECIDE_REASON_MAX];
	int64_t id = 0;

	setup();
	for (unsigned i = 0; i < 22; i++) {
		id = attacker_program(i);
		CHECK_INT(state_do(f.m->state, &f.fault, "UPDATE module SET samples = 1000000 WHERE id = ?",
				   "i", id),
			  0);
		if (verdict_of(id, reason) != DECIDE_EDIT)
			break;
		CHECK_INT(state_do(f.m->state, &f.fault,
				   "INSERT INTO decision(time_ns, module, trigger, samples, new_samples, "
				   "share, reason, "
				   "outcome) VALUES(?, ?, 'automatic', 1, 1, 0, '', 'failed')",
				   "ii", journal_now_ns(), id),
			  0);
	}
	CHECK_STR(reason,
		  "edits of its owner's programs begun in the last 24 hours: 20 (edits_per_user is 20)");
	ATTACK("quota-edits-of-one-owner-take-the-day", verdict_of(1, reason) == DECIDE_EDIT);
	/* Whoever has programs forgotten does not get those edits back. */
	set("programs_per_user", "1");
	clean();
	ATTACK("quota-edits-again-after-programs-were-forgotten",
	       number_of(f.m, "SELECT count(*) FROM decision WHERE module IN " THEIRS) == 20);
	teardown();
}

TEST(a_program_that_is_edited_all_day_leaves_edits_for_others)
{
	char reason[DECIDE_REASON_MAX];

	setup();
	for (int i = 0; i < 8; i++) {
		CHECK_INT(verdict_of(1, reason), DECIDE_EDIT);
		sql("INSERT INTO decision(time_ns, module, trigger, samples, new_samples, share, reason, "
		    "outcome) SELECT "
		    "time_ns, 1, 'automatic', 1, 1, 0, '', 'done' FROM event ORDER BY id DESC LIMIT 1");
	}
	CHECK_INT(verdict_of(1, reason), DECIDE_WAIT);
	CHECK_STR(reason, "edits of this program begun in the last 24 hours: 8 (edits_per_program is 8)");
	teardown();
}

TEST(events_of_hundreds_of_programs_push_out_their_own)
{
	int64_t before;

	setup();
	for (int i = 0; i < 200; i++)
		CHECK_INT(journal_event(f.m->state, 1, NULL, EVENT_CRASHED, &f.fault, "crash %d", i), 0);
	before = number_of(f.m, "SELECT count(*) FROM event WHERE module = 1");
	sql("WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < 2009) INSERT INTO "
	    "module(id, key, "
	    "kind, path, carries, first_ns, last_ns) SELECT i, printf('%016x', i), 0, '', 1, 1, 1 FROM n");
	sql("INSERT INTO owner(module, uid) SELECT id, 4321 FROM module WHERE id >= 10");
	/* Each has a few of each kind, so that no group of them is large. */
	CHECK_INT(state_begin(f.m->state, NULL), 0);
	for (int64_t i = 0; i < 22000; i++)
		CHECK_INT(journal_event(f.m->state, 10 + i % 2000, NULL,
					i % 4000 < 2000 ? EVENT_SEEN : EVENT_FAILED, &f.fault, "x"),
			  0);
	CHECK_INT(state_commit(f.m->state, NULL), 0);
	CHECK(number_of(f.m, "SELECT count(*) FROM event") <= JOURNAL_EVENTS_MAX);
	ATTACK("quota-events-of-many-programs-push-out-anothers",
	       number_of(f.m, "SELECT count(*) FROM event WHERE module = 1") == before);
	clean();
	CHECK(number_of(
		      f.m,
		      "SELECT count(*) FROM event e JOIN owner o ON o.module = e.module WHERE uid = 4321") <=
	      (int64_t)f.m->settings.history_per_user);
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM event WHERE module = 1"), before);
	teardown();
}

TEST(history_of_one_program_has_a_bound)
{
	setup();
	set("history_per_program", "5");
	for (int i = 0; i < 20; i++)
		CHECK_INT(journal_event(f.m->state, 1, NULL, EVENT_CRASHED, &f.fault, "crash %d", i), 0);
	clean();
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM event WHERE module = 1"), 5);
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM event WHERE text = 'crash 19'"), 1);
	teardown();
}

TEST_MAIN()

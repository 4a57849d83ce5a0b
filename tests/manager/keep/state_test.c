/* SPDX-License-Identifier: Apache-2.0 */

#include "manager/keep/state.h"

#include <errno.h>
#include <sys/wait.h>

#include "base/file.h"
#include "manager/keep/catalog.h"
#include "manager/keep/journal.h"
#include "manager/keep/path.h"
#include "tests/attack.h"

static char dir[64];
static struct state *state;
static enum state_origin origin;
static struct fault fault, why;

static void setup(void)
{
	strcpy(dir, "/tmp/morph-state.XXXXXX");
	CHECK(mkdtemp(dir));
	state = NULL;
}

static int open_state(void)
{
	return state_open(dir, &state, &origin, &why, &fault);
}

static void teardown(void)
{
	state_free(TAKE(state));
	file_remove_tree(dir, NULL);
}

static int64_t n_totals(void)
{
	int64_t n = -1;

	CHECK_INT(state_integer(state, &n, &fault, "SELECT count(*) FROM total", ""), 0);
	return n;
}

TEST(a_new_database_is_made_and_found_again)
{
	setup();
	CHECK_INT(open_state(), 0);
	CHECK_INT(origin, STATE_CREATED);
	CHECK_INT(journal_total(state, "x", 5, &fault), 0);
	state_free(TAKE(state));
	CHECK_INT(open_state(), 0);
	CHECK_INT(origin, STATE_OPENED);
	CHECK_INT(n_totals(), 1);
	teardown();
}

TEST(a_second_morphd_is_refused_and_told_who_is_there)
{
	struct state *second = NULL;
	char pid[32];

	setup();
	CHECK_INT(open_state(), 0);
	CHECK_INT(state_open(dir, &second, &origin, &why, &fault), -EBUSY);
	snprintf(pid, sizeof(pid), "(process %d)", getpid());
	CHECK(strstr(fault.text, pid));
	teardown();
}

/* As a morphd that is killed between fork() and exec() of a job. */
TEST(who_was_killed_is_waited_for_while_its_child_keeps_the_lock)
{
	pid_t killed;
	int status;

	setup();
	killed = fork();
	CHECK(killed >= 0);
	if (killed == 0) {
		if (open_state() == 0 && fork() == 0)
			usleep(700 * 1000);
		_exit(0);
	}
	CHECK(waitpid(killed, &status, 0) == killed);
	if (open_state() != 0)
		FAIL("%s", fault.text);
	teardown();
}

TEST(what_was_not_committed_never_happened)
{
	setup();
	CHECK_INT(open_state(), 0);
	CHECK_INT(state_begin(state, &fault), 0);
	CHECK_INT(journal_total(state, "x", 5, &fault), 0);
	state_undo(state);
	CHECK_INT(n_totals(), 0);
	CHECK_INT(state_begin(state, &fault), 0);
	CHECK_INT(journal_total(state, "x", 5, &fault), 0);
	CHECK_INT(state_commit(state, &fault), 0);
	CHECK_INT(n_totals(), 1);
	teardown();
}

static void put_file(const char *name, const char *bytes, size_t size)
{
	char path[PATH_MAX];

	CHECK_INT(file_write(path_join(dir, name, path), bytes, size, 0600, NULL), 0);
}

TEST(a_file_that_is_no_database_is_set_aside)
{
	char path[PATH_MAX];

	setup();
	put_file("state.db", "this is not a database, but long enough to be looked at as one........", 70);
	CHECK_INT(open_state(), 0);
	CHECK_INT(origin, STATE_REPLACED_DAMAGED);
	CHECK(strstr(why.text, "not a database"));
	CHECK(access(path_join(dir, "state.db.damaged-1", path), F_OK) == 0);
	CHECK_INT(n_totals(), 0);
	teardown();
}

TEST(a_database_of_somebody_else_is_set_aside)
{
	char command[256];

	setup();
	snprintf(command, sizeof(command), "sqlite3 %s/state.db 'CREATE TABLE t(x)' 2>/dev/null", dir);
	if (system(command) != 0) {
		teardown();
		SKIP("there is no sqlite3 program");
	}
	CHECK_INT(open_state(), 0);
	CHECK_INT(origin, STATE_REPLACED_DAMAGED);
	teardown();
}

/* Overwrite pages in the middle, as a failing disk would; header and first page stay. */
static void damage(void)
{
	char path[PATH_MAX], garbage[512];
	FILE *file;

	memset(garbage, 0xa5, sizeof(garbage));
	file = fopen(path_join(dir, "state.db", path), "r+");
	CHECK(file);
	for (long at = 4096; at < 20 * 4096; at += 4096) {
		fseek(file, at, SEEK_SET);
		fwrite(garbage, sizeof(garbage), 1, file);
	}
	fclose(file);
}

TEST(damaged_pages_are_found_at_the_next_start)
{
	char key[32];

	setup();
	CHECK_INT(open_state(), 0);
	for (unsigned i = 0; i < 2000; i++) {
		snprintf(key, sizeof(key), "key %u", i);
		CHECK_INT(i % 500 ? 0 : state_begin(state, &fault), 0);
		CHECK_INT(journal_total(state, key, 1, &fault), 0);
		CHECK_INT(i % 500 == 499 ? state_commit(state, &fault) : 0, 0);
	}
	state_free(TAKE(state));
	damage();
	CHECK_INT(open_state(), 0);
	CHECK_INT(origin, STATE_REPLACED_DAMAGED);
	CHECK_INT(n_totals(), 0);
	teardown();
}

TEST(damage_found_in_use_is_remembered)
{
	char path[PATH_MAX];

	setup();
	CHECK_INT(open_state(), 0);
	state_free(TAKE(state));
	put_file("state.suspect", "", 0);
	CHECK_INT(open_state(), 0);
	CHECK_INT(origin, STATE_REPLACED_DAMAGED);
	CHECK(access(path_join(dir, "state.suspect", path), F_OK) < 0);
	teardown();
}

TEST(a_newer_database_is_refused_and_left_alone)
{
	struct fault ignored;
	char path[PATH_MAX];

	setup();
	CHECK_INT(open_state(), 0);
	CHECK_INT(state_do(state, &ignored, "PRAGMA user_version = 99", ""), 0);
	state_free(TAKE(state));
	CHECK_INT(open_state(), -EPROTONOSUPPORT);
	CHECK(strstr(fault.text, "newer Morph"));
	CHECK(access(path_join(dir, "state.db.damaged-1", path), F_OK) < 0);
	teardown();
}

TEST(a_database_of_the_first_version_gets_its_new_columns)
{
	static const char *const new_tables[] = {
		"refusal", "pending_sample", "pending_file", "verified_file", "run",
		"cost",	   "cost_gap",	     "kept",	     "prior",	      "tuned"
	};
	static const char *const new_columns[] = { "measured",	      "measured_low",	"measured_high",
						   "measured_starts", "measured_users", "fleet_samples",
						   "package_samples" };
	struct fault ignored;
	int64_t id = 0, n = 0;

	setup();
	CHECK_INT(open_state(), 0);
	CHECK_INT(module_add(state, "abcd", 0, "/bin/x", &id, &ignored), 0);
	CHECK_INT(state_do(state, &ignored, "ALTER TABLE module DROP COLUMN carried", ""), 0);
	CHECK_INT(state_do(state, &ignored, "ALTER TABLE module DROP COLUMN left_behind", ""), 0);
	CHECK_INT(state_do(state, &ignored, "ALTER TABLE module DROP COLUMN condemned_ns", ""), 0);
	CHECK_INT(state_do(state, &ignored, "ALTER TABLE module DROP COLUMN prior_edit", ""), 0);
	for (size_t i = 0; i < ARRAY_SIZE(new_tables); i++) {
		char sql[64];

		snprintf(sql, sizeof(sql), "DROP TABLE %s", new_tables[i]);
		CHECK_INT(state_do(state, &ignored, sql, ""), 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(new_columns); i++) {
		char sql[64];

		snprintf(sql, sizeof(sql), "ALTER TABLE generation DROP COLUMN %s", new_columns[i]);
		CHECK_INT(state_do(state, &ignored, sql, ""), 0);
	}
	CHECK_INT(state_do(state, &ignored, "PRAGMA user_version = 1", ""), 0);
	state_free(TAKE(state));
	CHECK_INT(open_state(), 0);
	CHECK_INT(origin, STATE_OPENED);
	CHECK_INT(state_integer(state, &n, &fault,
				"SELECT count(*) FROM module WHERE carried = 0 AND left_behind = 0", ""),
		  0);
	CHECK_INT(n, 1);
	state_free(TAKE(state));
	CHECK_INT(open_state(), 0);
	CHECK_INT(state_integer(state, &n, &fault, "PRAGMA user_version", ""), 0);
	CHECK_INT(n, STATE_VERSION);
	teardown();
}

static int64_t number(const char *sql)
{
	int64_t n = -1;

	CHECK_INT(state_integer(state, &n, &fault, sql, ""), 0);
	return n;
}

static void flood(int64_t module, const char *kind, unsigned n)
{
	CHECK_INT(state_begin(state, &fault), 0);
	while (n--)
		CHECK_INT(journal_event(state, module, NULL, kind, &fault, "again"), 0);
	CHECK_INT(state_commit(state, &fault), 0);
}

TEST(a_flood_of_events_pushes_out_its_own_kind_and_module_alone)
{
	setup();
	CHECK_INT(open_state(), 0);
	CHECK_INT(journal_event(state, 1, "/usr/bin/x", EVENT_ACTIVATED, &fault, "of the flooded module"), 0);
	CHECK_INT(journal_event(state, 2, "/usr/bin/y", EVENT_CRASHED, &fault, "of another module"), 0);
	CHECK_INT(journal_event(state, 0, "/usr/bin/z", EVENT_PINNED, &fault, "of none"), 0);
	flood(1, EVENT_CRASHED, JOURNAL_EVENTS_MAX + 1000);
	ATTACK("gate-history-flood-of-one-program",
	       number("SELECT count(*) FROM event WHERE text LIKE 'of %'") == 3);
	CHECK_INT(number("SELECT count(*) FROM event"), JOURNAL_GROUP_MAX + 3);
	teardown();
}

/* Many groups together: the largest gives way, however new its rows are. */
TEST(a_flood_over_many_programs_keeps_the_rows_of_the_quiet_ones)
{
	setup();
	CHECK_INT(open_state(), 0);
	CHECK_INT(journal_event(state, 1000, NULL, EVENT_ACTIVATED, &fault, "of a quiet program"), 0);
	for (int64_t module = 1; module < 200; module++)
		flood(module, EVENT_CRASHED, JOURNAL_GROUP_MAX);
	ATTACK("gate-history-flood-over-many-programs",
	       number("SELECT count(*) FROM event WHERE module = 1000") == 1);
	CHECK(number("SELECT count(*) FROM event") <= JOURNAL_EVENTS_MAX + 64);
	teardown();
}

TEST(totals_saturate)
{
	int64_t value = 0;

	setup();
	CHECK_INT(open_state(), 0);
	for (int i = 0; i < 4; i++)
		CHECK_INT(journal_total(state, "x", UINT64_MAX, &fault), 0);
	CHECK_INT(state_integer(state, &value, &fault, "SELECT value FROM total", ""), 0);
	CHECK(value > INT64_MAX / 2 && value < INT64_MAX);
	teardown();
}

TEST_MAIN()

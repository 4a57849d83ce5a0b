/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/intake/intake.h"

#include <errno.h>
#include <sys/mount.h>

#include "manager/intake/spool_file.h"
#include "tests/manager/fixture.h"

static struct fixture f;

static void setup(void)
{
	fixture_make(&f);
	fixture_install(&f, "shipped");
	fixture_open(&f);
}

static void teardown(void)
{
	fixture_done(&f);
}

static bool in_spool(const char *name)
{
	char path[PATH_MAX];
	struct stat st;

	return lstat(path_join(f.m->spool, name, path), &st) == 0;
}

static void put(const char *name, const void *bytes, size_t size)
{
	char path[PATH_MAX];

	CHECK_INT(file_write(path_join(f.m->spool, name, path), bytes, size, 0600, NULL), 0);
}

static int64_t n_samples(void)
{
	return number_of(f.m, "SELECT coalesce(sum(samples), 0) FROM module");
}

TEST(a_file_is_taken_and_deleted)
{
	setup();
	spool(&f, "1.samples", "shipped", 100, 1);
	CHECK_INT(intake_file(f.m, "1.samples", &f.fault), 0);
	CHECK(!in_spool("1.samples"));
	CHECK_INT(n_samples(), 100);
	CHECK_INT(number_of(f.m, "SELECT carries FROM module"), CARRIES_YES);
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM target"), 1);
	teardown();
}

TEST(a_file_that_comes_back_is_not_counted_again)
{
	setup();
	spool(&f, "1.samples", "shipped", 100, 1);
	CHECK_INT(intake_file(f.m, "1.samples", &f.fault), 0);
	spool(&f, "1.samples", "shipped", 100, 1);
	CHECK_INT(intake_file(f.m, "1.samples", &f.fault), 1);
	CHECK(!in_spool("1.samples"));
	CHECK_INT(n_samples(), 100);
	spool(&f, "1.samples", "shipped", 100, 2); /* same name, another time: another log */
	CHECK_INT(intake_file(f.m, "1.samples", &f.fault), 0);
	CHECK_INT(n_samples(), 200);
	teardown();
}

TEST(samples_of_every_generation_count_for_the_module)
{
	char id[BUILD_ID_MAX_TEXT], path[PATH_MAX];
	_clean_(image_freep) struct image *image = NULL;
	struct generation_row row = {
		.module = 1, .number = 1, .digest = (char *)"x", .state = (char *)"built"
	};

	setup();
	spool(&f, "1.samples", "shipped", 100, 1);
	CHECK_INT(intake_scan(f.m, 100, &f.fault), 1);
	CHECK_INT(image_open(program("made", path), &image, NULL), 0);
	row.build_id = (char *)build_id_text(image_build_id(image), id);
	CHECK_INT(generation_add(f.m->state, &row, NULL, &f.fault), 0);
	fixture_verify(&f, number_of(f.m, "SELECT id FROM generation WHERE number = 1"), path);
	spool(&f, "2.samples", "made", 40, 1);
	CHECK_INT(intake_scan(f.m, 100, &f.fault), 1);
	CHECK_INT(n_samples(), 140);
	CHECK_INT(number_of(f.m, "SELECT samples FROM generation WHERE number = 1"), 40);
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM module"), 1);
	teardown();
}

TEST(truncated_files_are_set_aside_with_the_reason)
{
	_clean_(file_map_donep) struct file_map map = { 0 };
	char path[PATH_MAX], name[32];
	unsigned n = 0;

	setup();
	spool(&f, "whole", "shipped", 100, 1);
	CHECK_INT(file_map_open(path_join(f.m->spool, "whole", path), &map, NULL), 0);
	for (size_t size = 0; size < map.size; size += 7, n++) {
		snprintf(name, sizeof(name), "%03zu.samples", size);
		put(name, map.data, size);
		CHECK_INT(intake_file(f.m, name, &f.fault), -EBADMSG);
		CHECK(!in_spool(name));
	}
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM event WHERE kind = 'damaged'"), n);
	CHECK_INT(number_of(f.m, "SELECT value FROM total WHERE key = 'damaged_files'"), n);
	CHECK_INT(n_samples(), 0);
	CHECK(in_spool("damaged/007.samples"));
	teardown();
}

TEST(only_so_many_damaged_files_are_kept)
{
	char name[32], path[PATH_MAX], command[PATH_MAX + 64];
	unsigned n = 0;
	FILE *out;

	setup();
	for (unsigned i = 0; i < SPOOL_DAMAGED_MAX + 9; i++) {
		snprintf(name, sizeof(name), "%03u.samples", i);
		put(name, "garbage", 7);
	}
	CHECK_INT(intake_scan(f.m, 1000, &f.fault), SPOOL_DAMAGED_MAX + 9);
	snprintf(command, sizeof(command), "ls %s | wc -l", path_join(f.m->spool, SPOOL_DAMAGED, path));
	out = popen(command, "r");
	CHECK(out && fscanf(out, "%u", &n) == 1);
	pclose(out);
	CHECK_INT(n, SPOOL_DAMAGED_MAX);
	teardown();
}

TEST(what_is_not_a_regular_file_is_set_aside)
{
	char path[PATH_MAX];

	setup();
	CHECK(symlink("/etc/passwd", path_join(f.m->spool, "a.samples", path)) == 0);
	CHECK(mkfifo(path_join(f.m->spool, "b.samples", path), 0644) == 0);
	CHECK(mkdir(path_join(f.m->spool, "c.samples", path), 0755) == 0);
	CHECK_INT(intake_scan(f.m, 100, &f.fault), 3);
	CHECK(in_spool("damaged/a.samples") && in_spool("damaged/b.samples") &&
	      in_spool("damaged/c.samples"));
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM event WHERE text LIKE '%not a regular file%'"), 3);
	teardown();
}

/* A log that decodes, but claims what cannot be. */
static void spool_hostile(const char *name, void (*change)(struct sample_log *log))
{
	_clean_(sample_log_freep) struct sample_log *log = log_of("shipped", f.prog, 100, 1);
	char path[PATH_MAX];

	change(log);
	CHECK_INT(sample_log_write(log, path_join(f.m->spool, name, path), NULL), 0);
	CHECK_INT(intake_file(f.m, name, &f.fault), -EBADMSG);
	CHECK_INT(n_samples(), 0);
}

static void claim_execution_counts(struct sample_log *log)
{
	log->source = SAMPLE_SOURCE_EXACT;
}

static void break_the_law(struct sample_log *log)
{
	log->fired++;
}

static void claim_too_many(struct sample_log *log)
{
	log->modules[0].counts[0].count = INTAKE_MAX_SAMPLES;
	sample_log_normalize(log);
	log->fired = log->user = log->attributed = log->modules[0].total;
}

TEST(hostile_logs_are_set_aside)
{
	setup();
	spool_hostile("1.samples", claim_execution_counts);
	CHECK(strstr(f.fault.text, "execution counts"));
	spool_hostile("2.samples", break_the_law);
	spool_hostile("3.samples", claim_too_many);
	CHECK(strstr(f.fault.text, "cannot be"));
	teardown();
}

/* Paths are whatever the program saw: not there, not absolute, not text, a device. */
TEST(strange_paths_are_only_counted)
{
	static const char *const paths[] = { "/nonexistent/prog",
					     "relative",
					     "/\xff\xfe\n'; DROP TABLE module",
					     "/dev/zero",
					     "/proc/self/mem",
					     "[vdso]",
					     "/",
					     "/usr/bin/prog (deleted)" };
	char name[32], file[PATH_MAX];

	setup();
	for (unsigned i = 0; i < ARRAY_SIZE(paths); i++) {
		_clean_(sample_log_freep) struct sample_log *log = log_of("other", paths[i], 10, i);

		log->modules[0].build_id.bytes[0] = (uint8_t)i;
		snprintf(name, sizeof(name), "%u.samples", i);
		CHECK_INT(sample_log_write(log, path_join(f.m->spool, name, file), NULL), 0);
		if (intake_file(f.m, name, &f.fault) < 0)
			FAIL("%s: %s", paths[i], f.fault.text);
	}
	CHECK_INT(n_samples(), 10 * ARRAY_SIZE(paths));
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM module WHERE carries = 1"), 0);
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM target"), 0);
	teardown();
}

TEST(other_names_are_left_alone)
{
	setup();
	put("1.samples.part", "x", 1);
	put(".2.samples", "x", 1);
	put("notes", "x", 1);
	put(".samples", "x", 1);
	CHECK_INT(intake_scan(f.m, 100, &f.fault), 0);
	CHECK(in_spool("1.samples.part") && in_spool(".2.samples") && in_spool("notes"));
	teardown();
}

TEST(a_scan_deals_with_a_limited_number_in_order)
{
	setup();
	for (int i = 0; i < 5; i++) {
		char name[32];

		snprintf(name, sizeof(name), "%d.samples", i);
		spool(&f, name, "shipped", 1, (uint64_t)i);
	}
	CHECK_INT(intake_scan(f.m, 3, &f.fault), 3);
	CHECK(!in_spool("2.samples") && in_spool("3.samples"));
	CHECK_INT(intake_scan(f.m, 3, &f.fault), 2);
	CHECK_INT(n_samples(), 5);
	teardown();
}

TEST(a_full_disk_keeps_the_file_until_there_is_room)
{
	char state[PATH_MAX], filler[PATH_MAX];
	_clean_(freep) char *bytes = NULL;
	int r = 0, taken = 0;

	if (geteuid() != 0)
		SKIP("needs root to mount a small file system");
	fixture_make(&f);
	fixture_install(&f, "shipped");
	CHECK(mkdir(path_join(f.dir, "state", state), 0755) == 0);
	if (mount("tmpfs", state, "tmpfs", 0, "size=1m") < 0) {
		fixture_done(&f);
		SKIP("mounting is not permitted");
	}
	fixture_open(&f);
	spool(&f, "0.samples", "shipped", 1, 0);
	CHECK_INT(intake_file(f.m, "0.samples", &f.fault), 0);
	bytes = calloc(1, 1 << 20);
	for (size_t size = 1 << 20; size >= 1024; size /= 2) { /* fill what is left */
		char name[32];

		snprintf(name, sizeof(name), "filler-%zu", size);
		file_write(path_join(state, name, filler), bytes, size, 0600, NULL);
	}
	for (int i = 1; i < 200 && r == 0; i++) {
		char name[32];

		snprintf(name, sizeof(name), "%d.samples", i);
		spool(&f, name, "shipped", 1, (uint64_t)i);
		r = intake_file(f.m, name, &f.fault);
		taken += r == 0;
		CHECK(r == 0 || in_spool(name));
	}
	CHECK_INT(r, -ENOSPC);
	CHECK_INT(n_samples(), taken + 1);
	CHECK_INT(intake_scan(f.m, 100, &f.fault), 0); /* and nothing is tried for a while */
	CHECK(f.m->full_until_ns > manager_monotonic_ns());
	for (size_t size = 1 << 20; size >= 1024; size /= 2) {
		char name[32];

		snprintf(name, sizeof(name), "filler-%zu", size);
		unlink(path_join(state, name, filler));
	}
	f.m->full_until_ns = 0;
	CHECK_INT(intake_scan(f.m, 100, &f.fault), 1);
	CHECK_INT(n_samples(), taken + 2);
	manager_free(TAKE(f.m));
	CHECK(umount(state) == 0);
	fixture_done(&f);
}

TEST_MAIN()

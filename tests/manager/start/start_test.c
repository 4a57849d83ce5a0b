/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/start/start.h"

#include "manager/act/exceptions.h"
#include "manager/keep/cpu.h"
#include "manager/mount/mount_record.h"
#include "tests/manager/fixture.h"

#define SHIPPED_TIME_NS 1500000000000000000

static struct fixture f;
static struct settings settings;
static struct start_result result;
static char key[BUILD_ID_MAX_TEXT], here[CPU_TEXT];

static void noted_file(char ret[PATH_MAX])
{
	path_join(settings.state_directory, "cpu", ret);
}

/* morphd, which has put a generation into place and ended. */
static void setup(void)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
					   { .tv_sec = SHIPPED_TIME_NS / 1000000000 } };
	struct module_row module = { 0 };
	char path[PATH_MAX];

	fixture_make(&f);
	fixture_install(&f, "shipped");
	CHECK(utimensat(AT_FDCWD, f.prog, times, 0) == 0);
	fixture_open(&f);
	fixture_sample(&f, "shipped", 100);
	CHECK_INT(fixture_build(&f, "made"), 1);
	CHECK_INT(activation_switch(f.m, f.prog, 1, EVENT_ACTIVATED, "test", &f.fault), 0);
	CHECK_INT(module_get(f.m->state, 1, &module, &f.fault), 0);
	snprintf(key, sizeof(key), "%s", module.key);
	module_row_done(&module);
	CHECK_INT(settings_init(&settings), 0);
	CHECK_INT(config_set(settings_keys, "state_directory", path_join(f.dir, "state", path), &settings,
			     NULL),
		  0);
	CHECK_INT(cpu_describe(&settings, here, &f.fault), 0);
}

static void teardown(void)
{
	settings_done(&settings);
	fixture_done(&f);
}

/* As if the generation had been made on a CPU of line @cpu, where morphd ran until now. */
static void made_for(const char *cpu)
{
	struct generation_row row = { 0 };
	struct store_generation description;
	char path[PATH_MAX];

	CHECK_INT(generation_get(f.m->state, 1, 1, &row, &f.fault), 0);
	description = (struct store_generation){ .number = 1,
						 .build_id = row.build_id,
						 .digest = row.digest,
						 .cpu = (char *)cpu,
						 .state = row.state,
						 .size = (uint64_t)row.size };
	CHECK_INT(store_update_generation(f.m->store, key, &description, &f.fault), 0);
	CHECK_INT(state_do(f.m->state, &f.fault, "UPDATE generation SET cpu = ? WHERE number = 1", "t", cpu),
		  0);
	CHECK_INT(state_do(f.m->state, &f.fault, "UPDATE module SET edit_samples = 77", ""), 0);
	generation_row_done(&row);
	manager_free(TAKE(f.m));
	noted_file(path);
	CHECK_INT(file_write(path, cpu, strlen(cpu), 0600, NULL), 0);
}

static void made_for_more(void)
{
	char cpu[CPU_TEXT + 16];

	snprintf(cpu, sizeof(cpu), "%s zz9", here);
	made_for(cpu);
}

static void check(unsigned n_back, unsigned n_failed)
{
	if (start_check(&settings, &result, &f.fault) < 0)
		FAIL("%s", f.fault.text);
	CHECK_INT(result.n_back, n_back);
	CHECK_INT(result.n_failed, n_failed);
}

TEST(what_this_cpu_cannot_run_is_as_shipped_before_morphd_starts)
{
	struct stat st;

	setup();
	CHECK(stat(f.prog, &st) == 0 && file_is_program(f.prog, "made"));
	made_for_more();
	check(1, 0);
	CHECK(!result.is_same_cpu);
	CHECK(file_is_program(f.prog, "shipped"));
	CHECK(stat(f.prog, &st) == 0 && stat_mtime_ns(&st) == SHIPPED_TIME_NS &&
	      (st.st_mode & 07777) == 0755);
	/* From now on nothing is read but the CPU's line. */
	check(0, 0);
	CHECK(result.is_same_cpu);
	/* morphd sees it, says why, and may edit the program at once. */
	fixture_open(&f);
	CHECK_INT(number_of(f.m, "SELECT generation FROM target"), 0);
	CHECK_INT(number_of(f.m, "SELECT edit_samples FROM module WHERE id = 1"), 0);
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM event WHERE kind = 'rolled-back' AND text LIKE "
				 "'%another CPU%'"),
		  1);
	teardown();
}

TEST(what_this_cpu_can_run_stays)
{
	char *flags;

	setup();
	/* Another vendor's, with fewer instructions. */
	flags = strstr(here, " sse");
	CHECK(flags);
	made_for(flags + 1);
	check(0, 0);
	CHECK(file_is_program(f.prog, "made"));
	teardown();
}

TEST(morphd_does_the_same_where_nobody_was_first)
{
	char path[PATH_MAX];

	setup();
	made_for_more();
	fixture_open(&f);
	CHECK(file_is_program(f.prog, "shipped"));
	CHECK_INT(number_of(f.m, "SELECT edit_samples FROM module WHERE id = 1"), 0);
	manager_free(TAKE(f.m));
	check(0, 0);
	CHECK(result.is_same_cpu);
	noted_file(path);
	CHECK(access(path, R_OK) == 0);
	teardown();
}

TEST(without_the_shipped_bytes_the_file_stays_and_it_is_tried_again)
{
	char original[PATH_MAX], path[PATH_MAX];

	setup();
	store_path(f.m->store, key, "original", original);
	made_for_more();
	CHECK_INT(file_write(path_join(f.dir, "other", path), "other bytes", 11, 0600, NULL), 0);
	CHECK(rename(path, original) == 0);
	check(0, 1);
	CHECK(file_is_program(f.prog, "made"));
	check(0, 1);
	CHECK(unlink(original) == 0);
	check(0, 1);
	CHECK(file_is_program(f.prog, "made"));
	teardown();
}

TEST(a_description_that_cannot_be_read_is_said)
{
	char description[PATH_MAX];

	setup();
	store_generation_path(f.m->store, key, 1, "generation", description);
	made_for_more();
	CHECK_INT(file_write(description, "cpu\n", 4, 0600, NULL), 0);
	check(0, 1);
	teardown();
}

TEST(files_of_others_are_left_alone)
{
	struct stat before, after;

	setup();
	made_for_more();
	fixture_install(&f, "upgraded");
	CHECK(stat(f.prog, &before) == 0);
	check(0, 0);
	CHECK(stat(f.prog, &after) == 0 && after.st_ino == before.st_ino);
	CHECK(file_is_program(f.prog, "upgraded"));
	teardown();
}

TEST(a_file_in_a_directory_of_others_is_not_replaced)
{
	setup();
	made_for_more();
	CHECK(chmod(f.dir, 0777) == 0);
	check(0, 1);
	CHECK(file_is_program(f.prog, "made"));
	teardown();
}

TEST(where_morphd_works_it_is_left_to_it)
{
	setup();
	CHECK_INT(start_check(&settings, &result, &f.fault), -EBUSY);
	teardown();
}

TEST(a_machine_without_a_state_directory_has_nothing_to_check)
{
	struct fault fault = { "" };

	CHECK_INT(settings_init(&settings), 0);
	CHECK_INT(config_set(settings_keys, "state_directory", "/nonexistent/morph", &settings, NULL), 0);
	CHECK_INT(start_check(&settings, &result, &fault), 0);
	CHECK_INT(result.n_back + result.n_failed, 0);
	settings_done(&settings);
}

static bool is_portable(void)
{
	struct module_row module = { 0 };
	char **words = NULL;
	bool ret = false;

	CHECK_INT(module_get(f.m->state, 1, &module, &f.fault), 0);
	CHECK_INT(exceptions_words(f.m, &module, NULL, &words, &f.fault), 0);
	for (char **word = words; *word; word++) {
		ret |= strcmp(*word, "--cpu=shipped") == 0;
		free(*word);
	}
	free(words);
	module_row_done(&module);
	return ret;
}

TEST(what_is_used_before_is_made_for_every_cpu)
{
	setup();
	CHECK(!is_portable());
	CHECK_INT(config_set(settings_keys, "early_files", "/elsewhere */prog", &f.m->settings, NULL), 0);
	CHECK(is_portable());
	CHECK(settings_is_early(&settings, "/usr/lib/systemd/systemd-udevd"));
	CHECK(settings_is_early(&settings, "/usr/lib/x86_64-linux-gnu/libzstd.so.1.5.4"));
	CHECK(!settings_is_early(&settings, "/usr/bin/lua5.4"));
	CHECK(!settings_is_early(&settings, "/usr/lib/x86_64-linux-gnu/libcurl.so.4"));
	teardown();
}

TEST(what_was_to_be_mounted_is_not)
{
	char mounts[PATH_MAX];
	struct mount_record record = { .path = (char *)"/usr/bin/mounted",
				       .digest = (char *)"",
				       .number = 1 },
			    other = { .path = (char *)"/usr/bin/other", .number = 2 };
	char digest[DIGEST_TEXT];

	setup();
	digest_bytes("x", 1, digest);
	record.build_id = other.build_id = key;
	record.digest = record.shipped = other.digest = other.shipped = digest;
	path_join(settings.state_directory, "mounts", mounts);
	CHECK_INT(file_mkdirs(mounts, 0700, NULL), 0);
	CHECK_INT(mount_record_write(mounts, &record, &f.fault), 0);
	CHECK_INT(mount_record_write(mounts, &other, &f.fault), 0);
	made_for_more();
	check(2, 0);
	record = (struct mount_record){ 0 };
	CHECK_INT(mount_record_read(mounts, "/usr/bin/mounted", &record, NULL), -ENOENT);
	CHECK_INT(mount_record_read(mounts, "/usr/bin/other", &record, NULL), 0);
	mount_record_done(&record);
	teardown();
}

TEST_MAIN()

/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/act/activation.h"

#include <errno.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/file.h"
#include "manager/act/watch.h"
#include "manager/keep/store.h"
#include "manager/place/replace.h"
#include "manager/program/installed.h"
#include "tests/manager/fixture.h"

static struct fixture f;
static struct stat before;

/* Installed, sampled, and edited once; the shipped file still stands. */
static void setup(void)
{
	struct timespec times[2] = { { 100, 0 }, { 981173106, 789000000 } };

	fixture_make(&f);
	fixture_install(&f, "shipped");
	CHECK(utimensat(AT_FDCWD, f.prog, times, 0) == 0);
	CHECK(stat(f.prog, &before) == 0);
	fixture_open(&f);
	fixture_sample(&f, "shipped", 100);
	CHECK_INT(fixture_build(&f, "made"), 1);
}

static void teardown(void)
{
	fixture_done(&f);
}

static int switch_to(int64_t number)
{
	return activation_switch(f.m, f.prog, number, number ? EVENT_ACTIVATED : EVENT_ROLLED_BACK, "test",
				 &f.fault);
}

static int64_t active(void)
{
	return number_of(f.m, "SELECT generation FROM target");
}

static void is_as_shipped(void)
{
	struct stat st;

	CHECK(file_is_program(f.prog, "shipped"));
	CHECK(stat(f.prog, &st) == 0);
	CHECK(st.st_uid == before.st_uid && st.st_gid == before.st_gid && st.st_mode == before.st_mode);
	CHECK(stat_mtime_ns(&st) == stat_mtime_ns(&before));
	CHECK_INT(active(), 0);
}

TEST(a_generation_goes_in_and_the_shipped_file_comes_back)
{
	setup();
	CHECK_INT(switch_to(1), 0);
	CHECK(file_is_program(f.prog, "made"));
	CHECK_INT(active(), 1);
	CHECK_INT(switch_to(1), 1);
	CHECK_INT(switch_to(0), 0);
	is_as_shipped();
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM swap"), 0);
	teardown();
}

TEST(the_time_of_the_shipped_file_comes_back_even_if_somebody_touched_the_generation)
{
	setup();
	CHECK_INT(switch_to(1), 0);
	CHECK(utimensat(AT_FDCWD, f.prog, NULL, 0) == 0);
	CHECK_INT(switch_to(0), 0);
	is_as_shipped();
	teardown();
}

/* Debian's perl and bzip2 are such files. */
TEST(a_program_of_two_names_has_them_again_when_it_comes_back)
{
	char second[PATH_MAX], path[PATH_MAX];
	struct stat st;

	setup();
	CHECK(link(f.prog, path_join(f.dir, "second", second)) == 0);
	CHECK_INT(switch_to(1), 0);
	CHECK(file_is_program(f.prog, "made") && file_is_program(second, "shipped"));
	CHECK(stat(second, &st) == 0 && st.st_ino == before.st_ino && st.st_nlink == 1);
	/* What it was is known after the database is lost, too. */
	manager_free(TAKE(f.m));
	CHECK(unlink(path_join(f.dir, "state/state.db", path)) == 0);
	fixture_open(&f);
	CHECK_INT(active(), 1);
	CHECK_INT(switch_to(1), 1);
	CHECK_INT(switch_to(0), 0);
	is_as_shipped();
	CHECK(stat(f.prog, &st) == 0 && st.st_ino == before.st_ino && st.st_nlink == 2);
	/* The last that has the shipped bytes goes: a copy comes back. */
	CHECK_INT(switch_to(1), 0);
	CHECK(unlink(second) == 0);
	CHECK_INT(switch_to(0), 0);
	is_as_shipped();
	teardown();
}

TEST(a_damaged_store_replaces_nothing)
{
	char path[PATH_MAX];
	struct module_row module = { 0 };

	setup();
	CHECK_INT(module_get(f.m->state, 1, &module, NULL), 0);
	CHECK(truncate(store_generation_path(f.m->store, module.key, 1, "binary", path), 100) == 0);
	CHECK_INT(switch_to(1), -EBADMSG);
	is_as_shipped();
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM swap"), 0);
	CHECK(truncate(store_path(f.m->store, module.key, "original", path), 100) == 0);
	CHECK_INT(switch_to(1), -EBADMSG); /* without a way back nothing goes in */
	is_as_shipped();
	module_row_done(&module);
	teardown();
}

TEST(a_file_with_the_right_build_id_and_other_bytes_is_left_alone)
{
	int fd;

	setup();
	fd = open(f.prog, O_WRONLY | O_APPEND | O_CLOEXEC);
	CHECK(write(fd, "x", 1) == 1);
	close(fd);
	CHECK_INT(switch_to(1), -ESTALE);
	CHECK(strstr(f.fault.text, "other bytes"));
	teardown();
}

TEST(a_package_upgrade_starts_afresh)
{
	setup();
	CHECK_INT(switch_to(1), 0);
	fixture_install(&f, "upgraded");
	CHECK_INT(installed_refresh(f.m, &f.fault), 0);
	CHECK_INT(active(), 0);
	CHECK_INT(number_of(f.m, "SELECT module FROM target"), 2);
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM event WHERE kind = 'upgraded'"), 1);
	CHECK_INT(switch_to(1), -ENOENT); /* the new module has no generation 1 */
	CHECK(file_is_program(f.prog, "upgraded"));
	teardown();
}

TEST(a_reinstalled_package_is_noticed)
{
	setup();
	CHECK_INT(switch_to(1), 0);
	fixture_install(&f, "shipped");
	CHECK_INT(installed_refresh(f.m, &f.fault), 0);
	CHECK_INT(active(), 0);
	teardown();
}

TEST(a_removed_program_is_forgotten_and_one_without_data_too)
{
	setup();
	CHECK_INT(switch_to(1), 0);
	CHECK(unlink(f.prog) == 0);
	CHECK_INT(installed_refresh(f.m, &f.fault), 0);
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM target"), 0);
	fixture_install(&f, "shipped");
	fixture_sample(&f, "shipped", 1);
	CHECK_INT(active(), 0);
	CHECK_INT(file_copy("/bin/true", f.prog, NULL), 0);
	CHECK_INT(installed_refresh(f.m, &f.fault), 0);
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM target"), 0);
	teardown();
}

/* ---- interrupted replacements: every point at which a kill can fall ---- */

static void swap_row(int64_t from, int64_t to)
{
	char temp[REPLACEMENT_TEMP_MAX];

	replacement_temp("prog", temp);
	CHECK_INT(state_do(f.m->state, &f.fault,
			   "INSERT INTO swap(path, module, from_number, to_number, temp, reason, time_ns) "
			   "VALUES(?, 1, ?, ?, ?, 'test', 0)",
			   "tiit", f.prog, from, to, temp),
		  0);
}

static void restart(void)
{
	manager_free(TAKE(f.m));
	fixture_open(&f);
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM swap"), 0);
}

static void temp_with(const char *name)
{
	char temp[REPLACEMENT_TEMP_MAX], from[PATH_MAX], path[PATH_MAX];

	replacement_temp("prog", temp);
	CHECK_INT(file_copy(program(name, from), path_join(f.dir, temp, path), NULL), 0);
}

static bool temp_is_gone(void)
{
	char temp[REPLACEMENT_TEMP_MAX], path[PATH_MAX];

	replacement_temp("prog", temp);
	return access(path_join(f.dir, temp, path), F_OK) < 0;
}

static bool is_synced; /* the program's directory, without the temporary file in it */

int fsync(int fd)
{
	struct stat a, b;

	if (fstat(fd, &a) == 0 && stat(f.dir, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
		is_synced = temp_is_gone();
	return (int)syscall(SYS_fsync, fd);
}

TEST(killed_before_the_new_file_was_written_nothing_changed)
{
	setup();
	swap_row(0, 1);
	restart();
	is_as_shipped();
	teardown();
}

TEST(killed_while_the_new_file_was_written_it_is_deleted)
{
	setup();
	swap_row(0, 1);
	temp_with("made");
	CHECK(!temp_is_gone());
	is_synced = false;
	restart();
	is_as_shipped();
	CHECK(temp_is_gone());
	CHECK(is_synced); /* a power cut does not bring back what no row names any more */
	teardown();
}

TEST(killed_after_the_exchange_the_new_generation_is_active)
{
	setup();
	swap_row(0, 1);
	temp_with("shipped"); /* the old file, under the temporary name */
	fixture_install(&f, "made");
	restart();
	CHECK_INT(active(), 1);
	CHECK(file_is_program(f.prog, "made"));
	CHECK(temp_is_gone());
	CHECK_INT(number_of(f.m, "SELECT watch_left_s > 0 FROM target"), 1);
	CHECK_INT(switch_to(0), 0);
	CHECK(file_is_program(f.prog, "shipped"));
	teardown();
}

TEST(killed_and_then_upgraded_the_upgrade_stands)
{
	setup();
	swap_row(0, 1);
	temp_with("made");
	fixture_install(&f, "upgraded");
	restart();
	CHECK(file_is_program(f.prog, "upgraded"));
	CHECK(temp_is_gone());
	CHECK_INT(active(), 0);
	teardown();
}

/* Kill a process in the middle of replacing, at any moment, then look and repair. */
TEST(killed_at_any_moment_the_file_is_whole)
{
	setup();
	manager_free(TAKE(f.m));
	for (int i = 0; i < 25; i++) {
		pid_t child = fork();

		if (child == 0) {
			fixture_open(&f);
			for (int64_t number = 1;; number = !number)
				switch_to(number);
		}
		usleep(60000 + (useconds_t)(i * 977 % 30000));
		CHECK(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
		CHECK(file_is_program(f.prog, "made") || file_is_program(f.prog, "shipped"));
		fixture_open(&f);
		CHECK(file_is_program(f.prog, active() ? "made" : "shipped"));
		CHECK(temp_is_gone());
		CHECK_INT(number_of(f.m, "SELECT count(*) FROM swap"), 0);
		manager_free(TAKE(f.m));
	}
	fixture_open(&f);
	CHECK(switch_to(0) >= 0);
	is_as_shipped();
	teardown();
}

/* ---- the database is lost ---- */

TEST(a_lost_database_is_built_again_from_the_store)
{
	char path[PATH_MAX], state[PATH_MAX];
	struct stat st;

	setup();
	CHECK_INT(switch_to(1), 0);
	CHECK(file_is_program(f.prog, "made"));
	manager_free(TAKE(f.m));
	path_join(f.dir, "state", state);
	CHECK(truncate(path_join(state, "state.db", path), 100) == 0);
	fixture_open(&f);
	CHECK(access(path_join(state, "state.db.damaged-1", path), F_OK) == 0);
	CHECK_INT(active(), 1);
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM generation"), 2);
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM event WHERE kind = 'database'"), 1);
	CHECK_INT(switch_to(0), 0);
	CHECK(stat(f.prog, &st) == 0);
	CHECK(stat_mtime_ns(&st) == stat_mtime_ns(&before));
	is_as_shipped();
	teardown();
}

TEST(a_damaged_description_in_the_store_is_left_out)
{
	struct module_row module = { 0 };
	char path[PATH_MAX];

	setup();
	CHECK(switch_to(1) == 0 && switch_to(0) == 0);
	CHECK_INT(module_get(f.m->state, 1, &module, NULL), 0);
	store_generation_path(f.m->store, module.key, 1, "generation", path);
	CHECK_INT(file_write(path, "number = -1\n", 12, 0600, NULL), 0);
	module_row_done(&module);
	manager_free(TAKE(f.m));
	CHECK(unlink(path_join(f.dir, "state/state.db", path)) == 0);
	unlink(path_join(f.dir, "state/state.db-wal", path));
	fixture_open(&f);
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM generation"), 1);
	is_as_shipped();
	teardown();
}

/* ---- watching ---- */

static void event_by(uint32_t user, int code, const char *name, enum lifecycle_kind kind, int value,
		     uint32_t count)
{
	static int serial;
	_clean_(lifecycle_donep) struct lifecycle lifecycle = { 0 };
	_clean_(buffer_donep) struct buffer text = { 0 };
	_clean_(image_freep) struct image *image = NULL;
	struct lifecycle_event e = { .kind = kind,
				     .value = value,
				     .count = count,
				     .pid = 7,
				     .path = f.prog,
				     .comm = (char *)"prog",
				     .user = user,
				     .code = code };
	char path[PATH_MAX], file[32];

	CHECK_INT(image_open(program(name, path), &image, NULL), 0);
	e.build_id = e.fault_build_id = *image_build_id(image);
	e.file = e.fault_file = file_of(&f, name, f.prog, &e.build_id);
	e.time_ns = (uint64_t)++serial;
	CHECK_INT(lifecycle_add(&lifecycle, &e), 0);
	CHECK_INT(lifecycle_encode(&lifecycle, &text), 0);
	snprintf(file, sizeof(file), "%06d.events", serial);
	CHECK_INT(file_write(path_join(f.m->spool, file, path), text.data, text.size, 0600, NULL), 0);
	if (intake_file(f.m, file, &f.fault) != 0)
		FAIL("%s", f.fault.text);
	CHECK(access(path, F_OK) < 0);
}

/* Root's; the kernel raised the signal for a fault. */
static void event(const char *name, enum lifecycle_kind kind, int value, uint32_t count)
{
	event_by(0, kind == LIFECYCLE_SIGNAL ? 1 : 0, name, kind, value, count);
}

TEST(a_crash_of_a_new_generation_brings_the_shipped_file_back)
{
	setup();
	CHECK_INT(switch_to(1), 0);
	event("made", LIFECYCLE_EXEC, 0, 100);
	event("made", LIFECYCLE_SIGNAL, 15, 1); /* SIGTERM says nothing */
	CHECK_INT(active(), 1);
	event("made", LIFECYCLE_SIGNAL, 11, 1);
	is_as_shipped();
	CHECK_INT(number_of(f.m, "SELECT state = 'condemned' FROM generation WHERE number = 1"), 1);
	CHECK_INT(number_of(f.m, "SELECT condemned IS NOT NULL FROM module"), 1);
	teardown();
}

TEST(a_program_that_always_crashed_may_go_on_so)
{
	setup();
	event("shipped", LIFECYCLE_EXEC, 0, 100);
	for (int i = 0; i < 10; i++)
		event("shipped", LIFECYCLE_SIGNAL, 11, 1);
	CHECK_INT(switch_to(1), 0);
	event("made", LIFECYCLE_EXEC, 0, 100);
	for (int i = 0; i < 15; i++)
		event("made", LIFECYCLE_SIGNAL, 11, 1);
	CHECK_INT(active(), 1);
	for (int i = 0; i < 10; i++)
		event("made", LIFECYCLE_SIGNAL, 11, 1);
	CHECK_INT(active(), 0);
	teardown();
}

TEST(after_the_watch_time_crashes_are_only_counted)
{
	setup();
	CHECK_INT(switch_to(1), 0);
	CHECK_INT(watch_tick(f.m, 3600, &f.fault), 0);
	CHECK_INT(number_of(f.m, "SELECT watch_left_s FROM target"), 3600);
	CHECK_INT(watch_tick(f.m, 3600, &f.fault), 0);
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM event WHERE kind = 'watched'"), 1);
	event("made", LIFECYCLE_SIGNAL, 11, 1);
	CHECK_INT(active(), 1);
	CHECK_INT(number_of(f.m, "SELECT crashes FROM generation WHERE number = 1"), 1);
	CHECK_INT(watch_tick(f.m, 3600, &f.fault), 0);
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM event WHERE kind = 'watched'"), 1);
	teardown();
}

TEST(a_damaged_file_of_events_is_set_aside)
{
	char path[PATH_MAX];

	setup();
	CHECK_INT(
		file_write(path_join(f.m->spool, "1.events", path), "morph-events 1\nsignal", 21, 0600, NULL),
		0);
	CHECK_INT(intake_file(f.m, "1.events", &f.fault), -EBADMSG);
	CHECK(access(path, F_OK) < 0);
	teardown();
}

TEST(too_many_is_more_than_chance)
{
	CHECK(!watch_is_worse(0, 0, 0, 0));
	CHECK(watch_is_worse(1, 1000000, 0, 1000000));
	CHECK(!watch_is_worse(1, 10, 1, 1000));
	CHECK(watch_is_worse(3, 10, 1, 1000));
	CHECK(!watch_is_worse(20, 100, 10, 100));
	CHECK(watch_is_worse(21, 100, 10, 100));
	CHECK(!watch_is_worse(1, INT64_MAX, INT64_MAX, 1));
}

TEST(on_another_cpu_the_shipped_file_comes_back)
{
	setup();
	CHECK_INT(switch_to(1), 0);
	CHECK_INT(
		state_do(f.m->state, &f.fault, "UPDATE generation SET cpu = 'another' WHERE number = 1", ""),
		0);
	restart();
	is_as_shipped();
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM event WHERE text LIKE '%another CPU%'"), 1);
	teardown();
}

/* ---- a full disk ---- */

TEST(a_full_disk_leaves_the_shipped_file)
{
	char small[PATH_MAX], filler[PATH_MAX], state[PATH_MAX];
	static char block[4096];

	if (geteuid() != 0)
		SKIP("needs root to mount a small file system");
	fixture_make(&f);
	CHECK(mkdir(path_join(f.dir, "small", small), 0755) == 0);
	if (mount("tmpfs", small, "tmpfs", 0, "size=64k,mode=755") < 0) {
		fixture_done(&f);
		SKIP("mounting is not permitted");
	}
	path_join(small, "prog", f.prog);
	fixture_install(&f, "shipped");
	CHECK(stat(f.prog, &before) == 0);
	fixture_open(&f);
	fixture_sample(&f, "shipped", 100);
	CHECK_INT(fixture_build(&f, "made"), 1);
	for (int i = 0; i < 16; i++) {
		char name[32];

		snprintf(name, sizeof(name), "filler%d", i);
		file_write(path_join(small, name, filler), block, sizeof(block), 0600, NULL);
	}
	CHECK_INT(switch_to(1), -ENOSPC);
	is_as_shipped();
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM swap"), 0);
	for (int i = 0; i < 16; i++) {
		char name[32];

		snprintf(name, sizeof(name), "filler%d", i);
		unlink(path_join(small, name, filler));
	}
	CHECK_INT(switch_to(1), 0);
	CHECK(file_is_program(f.prog, "made"));
	path_join(f.dir, "state", state);
	manager_free(TAKE(f.m));
	CHECK(umount(small) == 0);
	fixture_done(&f);
}

TEST(a_file_that_cannot_be_replaced_could_be_mounted_over)
{
	int fd, flags = FS_IMMUTABLE_FL, refused, allowed;

	setup();
	CHECK_INT(activation_may(f.m, f.prog, &f.fault), 0);
	fd = open(f.prog, O_RDONLY | O_CLOEXEC);
	if (ioctl(fd, FS_IOC_SETFLAGS, &flags) < 0) {
		close(fd);
		teardown();
		SKIP("needs root, and a file system that has immutable files");
	}
	refused = activation_may(f.m, f.prog, &f.fault);
	CHECK_INT(config_set(settings_keys, "activation", "mount", &f.m->settings, NULL), 0);
	allowed = activation_may(f.m, f.prog, NULL);
	flags = 0;
	CHECK(ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0);
	close(fd);
	CHECK_INT(refused, -EPERM);
	CHECK(strstr(f.fault.text, "immutable") && strstr(f.fault.text, "activation = mount"));
	CHECK_INT(allowed, 0);
	CHECK_INT(config_set(settings_keys, "activation", "sideways", &f.m->settings, NULL), 0);
	CHECK_INT(settings_check(&f.m->settings, &f.fault), -EINVAL);
	teardown();
}

TEST(without_the_helper_nothing_is_mounted_and_nothing_is_left)
{
	char path[PATH_MAX];

	setup();
	CHECK_INT(config_set(settings_keys, "activation", "mount", &f.m->settings, NULL), 0);
	CHECK_INT(config_set(settings_keys, "mount_socket", path_join(f.dir, "nobody", path), &f.m->settings,
			     NULL),
		  0);
	CHECK(switch_to(1) < 0);
	CHECK(strstr(f.fault.text, "morph-mount"));
	is_as_shipped();
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM swap"), 0);
	CHECK_INT(config_set(settings_keys, "activation", "replace", &f.m->settings, NULL), 0);
	CHECK_INT(switch_to(1), 0);
	CHECK(file_is_program(f.prog, "made"));
	CHECK_INT(switch_to(0), 0);
	is_as_shipped();
	teardown();
}

TEST(where_ima_appraises_programs_nothing_is_activated)
{
	static const char policy[] = "appraise func=BPRM_CHECK fowner=0\n";
	char path[PATH_MAX], directory[PATH_MAX];

	setup();
	CHECK_INT(config_set(settings_keys, "root", f.dir, &f.m->settings, NULL), 0);
	CHECK_INT(config_set(settings_keys, "prefixes", "/", &f.m->settings, NULL), 0);
	CHECK_INT(activation_may(f.m, "/prog", &f.fault), 0);
	CHECK_INT(file_mkdirs(path_join(f.dir, "sys/kernel/security/ima", directory), 0755, NULL), 0);
	CHECK_INT(file_write(path_join(directory, "policy", path), policy, strlen(policy), 0644, NULL), 0);
	CHECK_INT(activation_may(f.m, "/prog", &f.fault), -EPERM);
	CHECK(strstr(f.fault.text, "IMA") && !strstr(f.fault.text, "activation = mount (morphd.conf)"));
	teardown();
}

TEST_MAIN()

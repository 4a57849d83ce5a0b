/* SPDX-License-Identifier: Apache-2.0 */

/*
 * state-2.tar.gz is what morphd of version 2 of state.db left in /mnt/v2: a program of which generation 1 stands, both
 * files in the store by XXH3, and a spool file that was counted, but not deleted yet.
 */

#define _GNU_SOURCE
#include "tests/manager/fixture.h"

#include "manager/act/request.h"
#include "manager/keep/digest.h"
#include "manager/keep/store.h"
#include "tests/attack.h"

#define KEY "21deb089aba16672b14aeaa6c9cfc7039c7fb366"
#define DIRECTORY "/mnt/v2/state/store/21/deb089aba16672b14aeaa6c9cfc7039c7fb366/"
#define ORIGINAL DIRECTORY "original"
#define BINARY DIRECTORY "generations/1/binary"
#define OLD_DIGESTS "SELECT count(*) FROM generation WHERE length(digest) <> 64"

static struct fixture f;

/* The directory as it was found, open only once @spoil has been at it. */
static void setup(void (*spoil)(void))
{
	char command[PATH_MAX + 64];
	struct settings settings;

	if (geteuid() != 0)
		SKIP("needs root: the state directory is one of /mnt, and owned by root");
	fixture_make(&f); /* mounts /mnt, for this process alone */
	if (strncmp(f.dir, "/mnt/", 5) != 0)
		SKIP("needs a mount namespace of its own");
	CHECK_INT(file_remove_tree("/mnt/v2", NULL), 0);
	snprintf(command, sizeof(command), "tar -xzf '%s/tests/manager/keep/state-2.tar.gz' -C /mnt",
		 getenv("MORPH_SOURCE"));
	CHECK_INT(system(command), 0);
	if (spoil)
		spoil();
	CHECK_INT(settings_init(&settings), 0);
	CHECK_INT(config_set(settings_keys, "state_directory", "/mnt/v2/state", &settings, NULL), 0);
	CHECK_INT(config_set(settings_keys, "spool_directory", "/mnt/v2/spool", &settings, NULL), 0);
	CHECK_INT(config_set(settings_keys, "prefixes", "/mnt/v2", &settings, NULL), 0);
	if (manager_open(&settings, NULL, &f.m, &f.fault) < 0)
		FAIL("%s", f.fault.text);
}

static void damage(const char *path)
{
	int fd = open(path, O_WRONLY);

	CHECK(fd >= 0 && pwrite(fd, "X", 1, 3000) == 1);
	close(fd);
}

static void damage_original(void)
{
	damage(ORIGINAL);
}

static void damage_binary(void)
{
	damage(BINARY);
}

static void drop_database(void)
{
	CHECK(unlink("/mnt/v2/state/state.db") == 0);
}

static void drop_database_and_damage(void)
{
	drop_database();
	damage_original();
}

static bool same(const char *a, const char *b)
{
	_clean_(file_map_donep) struct file_map x = { 0 }, y = { 0 };

	return file_map_open(a, &x, NULL) == 0 && file_map_open(b, &y, NULL) == 0 && x.size == y.size &&
	       memcmp(x.data, y.data, x.size) == 0;
}

static bool row_has_digest_of(const char *path, int64_t number)
{
	struct generation_row row = { 0 };
	bool ret;

	CHECK_INT(generation_get(f.m->state, 1, number, &row, &f.fault), 0);
	ret = store_check_file(path, row.digest, NULL) == 0;
	generation_row_done(&row);
	return ret;
}

static int rollback(void)
{
	char text[PATH_MAX + 64];

	return request_rollback(f.m, "/mnt/v2/bin/prog", 0, text, sizeof(text), &f.fault);
}

static bool description_has(const char *path, const char *word)
{
	_clean_(file_map_donep) struct file_map map = { 0 };

	return file_map_open(path, &map, NULL) == 0 && memmem(map.data, map.size, word, strlen(word));
}

TEST(every_digest_of_version_2_is_renewed_and_rollback_works)
{
	char digest[DIGEST_TEXT], path[PATH_MAX];
	int fd;

	setup(NULL);
	CHECK_INT(number_of(f.m, OLD_DIGESTS), 0);
	CHECK(row_has_digest_of(ORIGINAL, 0));
	CHECK(row_has_digest_of(BINARY, 1));
	fd = open(ORIGINAL, O_RDONLY);
	CHECK_INT(digest_fd(fd, ORIGINAL, digest, &f.fault), 0);
	close(fd);
	CHECK(description_has(DIRECTORY "module", digest));
	digest_bytes("/mnt/v2/bin/prog", strlen("/mnt/v2/bin/prog"), digest);
	CHECK(access(path_join(DIRECTORY "targets", digest, path), F_OK) == 0);
	CHECK(access(DIRECTORY "targets/90ac4d1f98b6362ed8e86f463e3d23d1", F_OK) < 0);
	CHECK_INT(rollback(), 0);
	CHECK(same("/mnt/v2/bin/prog", "/mnt/v2/shipped"));
	fixture_done(&f);
}

TEST(a_spool_file_that_version_2_counted_is_not_counted_again)
{
	setup(NULL);
	CHECK_INT(number_of(f.m, "SELECT value FROM total WHERE key = 'user'"), 3000);
	/* Nobody had verified whose they were, so the program starts afresh. */
	CHECK_INT(number_of(f.m, "SELECT samples FROM module WHERE id = 1"), 0);
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM sample"), 0);
	intake_scan(f.m, 16, &f.fault);
	CHECK_INT(number_of(f.m, "SELECT value FROM total WHERE key = 'user'"), 3000);
	CHECK(access("/mnt/v2/spool/000001.samples", F_OK) < 0);
	fixture_done(&f);
}

TEST(a_store_without_database_is_renewed_before_it_is_read)
{
	setup(drop_database);
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM generation"), 2);
	CHECK_INT(number_of(f.m, OLD_DIGESTS), 0);
	CHECK_INT(rollback(), 0);
	CHECK(same("/mnt/v2/bin/prog", "/mnt/v2/shipped"));
	fixture_done(&f);
}

/* Nobody but root can do that; but what survives the change must not be trusted for it. */
TEST(an_original_that_does_not_match_its_old_digest_never_comes_back)
{
	setup(damage_original);
	CHECK_INT(number_of(f.m, OLD_DIGESTS), 1);
	CHECK(rollback() < 0);
	ATTACK("gate-migration-of-a-changed-original", same("/mnt/v2/bin/prog", BINARY));
	fixture_done(&f);
}

TEST(a_generation_that_does_not_match_its_old_digest_is_not_put_back)
{
	char text[PATH_MAX + 64];

	setup(damage_binary);
	/* The one that stands was not changed: it still has its old digest, and is known by it. */
	CHECK_INT(number_of(f.m, OLD_DIGESTS), 0);
	CHECK_INT(rollback(), 0);
	CHECK(request_rollback(f.m, "/mnt/v2/bin/prog", 1, text, sizeof(text), &f.fault) < 0);
	ATTACK("gate-migration-of-a-changed-generation", same("/mnt/v2/bin/prog", "/mnt/v2/shipped"));
	fixture_done(&f);
}

TEST(a_changed_original_is_left_out_of_a_rebuilt_database)
{
	setup(drop_database_and_damage);
	ATTACK("gate-rebuild-from-a-changed-original",
	       number_of(f.m, "SELECT count(*) FROM module WHERE carries = 1 AND key = '" KEY "'") <= 0);
	fixture_done(&f);
}

TEST_MAIN()

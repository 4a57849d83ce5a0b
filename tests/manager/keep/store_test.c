/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What is not synced may be gone after a power cut, names in directories too. fsync() here is the real one; it is
 * written down first which file it was for.
 */

#define _GNU_SOURCE
#include "manager/keep/store.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "manager/keep/path.h"
#include "tests/test.h"

#define KEY "21deb089aba16672b14aeaa6c9cfc7039c7fb366"

static char synced[64][PATH_MAX];
static size_t n_synced;

int fsync(int fd)
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = n_synced < 64 ? readlink(link, synced[n_synced], PATH_MAX - 1) : -1;
	if (n > 0)
		synced[n_synced++][n] = '\0';
	return (int)syscall(SYS_fsync, fd);
}

/* Where in the order of syncs @path comes, counted from 1; 0: it was not synced. */
static size_t place(const char *path)
{
	for (size_t i = 0; i < n_synced; i++)
		if (strcmp(synced[i], path) == 0)
			return i + 1;
	return 0;
}

TEST(every_directory_above_a_new_original_is_synced_before_it_counts)
{
	char template[] = "/var/tmp/store-test.XXXXXX", dir[PATH_MAX], path[PATH_MAX], digest[DIGEST_TEXT];
	struct store_module module = {
		.build_id = (char *)KEY, .digest = digest, .llvm_version = (char *)"", .size = 5
	};
	struct fault fault = { "" };
	size_t own;
	int fd;

	CHECK(mkdtemp(template) && realpath(template, dir));
	path_join(dir, "shipped", path);
	CHECK_INT(file_write(path, "bytes", 5, 0600, &fault), 0);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	CHECK_INT(digest_fd(fd, path, digest, &fault), 0);
	n_synced = 0;
	CHECK_INT(store_put_original(dir, &module, fd, &fault), 0);
	close(fd);
	store_path(dir, KEY, "module", path);
	*strrchr(path, '/') = '\0'; /* DIR/21/deb0... */
	own = place(path);	    /* with the file's name in it */
	CHECK(own > 0);
	*strrchr(path, '/') = '\0'; /* DIR/21 */
	CHECK(place(path) > 0 && place(path) < own);
	CHECK(place(dir) > 0 && place(dir) < own);
	CHECK(n_synced < 64);
	CHECK_INT(file_remove_tree(dir, NULL), 0);
}

static bool is_broken; /* nothing can be deleted */

int unlinkat(int fd, const char *path, int flags)
{
	if (is_broken) {
		errno = EIO;
		return -1;
	}
	return (int)syscall(SYS_unlinkat, fd, path, flags);
}

static int count_generation(void *userdata, _unused_ const char *build_id,
			    _unused_ const struct store_generation *generation)
{
	++*(unsigned *)userdata;
	return 0;
}

static int count_module(_unused_ void *userdata, _unused_ const struct store_module *module)
{
	return 0;
}

static void count_damaged(void *userdata, _unused_ const char *path, _unused_ const struct fault *why)
{
	*(unsigned *)userdata += 100;
}

/* How many generations there are, and a hundred for each thing that is damaged. */
static unsigned seen(const char *store)
{
	unsigned n = 0;
	struct store_visitor visitor = { count_module, count_generation, NULL, count_damaged, &n };

	CHECK_INT(store_walk(store, &visitor, NULL), 0);
	return n;
}

static void generation_put(const char *dir, const char *digest)
{
	static const char *const files[] = { "binary", NULL };
	struct store_generation generation = {
		.number = 1, .build_id = (char *)KEY, .digest = (char *)digest, .state = (char *)"built"
	};
	struct fault fault = { "" };

	if (store_put_generation(dir, KEY, &generation, dir, files, &fault) < 0)
		FAIL("%s", fault.text);
}

/* An empty store, with the file beside it that is put there. */
static void store_make(char retdir[PATH_MAX])
{
	char template[] = "/var/tmp/store-test.XXXXXX", path[PATH_MAX];

	CHECK(mkdtemp(template) && realpath(template, retdir));
	CHECK_INT(file_write(path_join(retdir, "binary", path), "bytes", 5, 0600, NULL), 0);
}

static void original_put(const char *dir, char retdigest[DIGEST_TEXT])
{
	struct store_module module = {
		.build_id = (char *)KEY, .digest = retdigest, .llvm_version = (char *)"", .size = 5
	};
	char path[PATH_MAX];
	int fd = open(path_join(dir, "binary", path), O_RDONLY | O_CLOEXEC);

	CHECK_INT(digest_fd(fd, path, retdigest, NULL), 0);
	CHECK_INT(store_put_original(dir, &module, fd, NULL), 0);
	close(fd);
}

TEST(a_removal_that_is_interrupted_leaves_nothing_that_is_half_there)
{
	char dir[PATH_MAX], path[PATH_MAX], digest[DIGEST_TEXT];

	store_make(dir);
	original_put(dir, digest);
	generation_put(dir, digest);
	CHECK_INT(seen(dir), 1);

	is_broken = true;
	CHECK(store_drop_generation(dir, KEY, 1, NULL) < 0);
	CHECK_INT(seen(dir), 0);
	is_broken = false;
	generation_put(dir, digest);
	CHECK_INT(seen(dir), 1);
	CHECK_INT(store_drop_generation(dir, KEY, 1, NULL), 0);
	CHECK_INT(store_drop_generation(dir, KEY, 1, NULL), 0);

	is_broken = true;
	CHECK(store_drop_module(dir, KEY, NULL) < 0);
	CHECK(access(store_path(dir, KEY, "", path), F_OK) < 0);
	is_broken = false;
	CHECK_INT(store_clean(dir, NULL), 0);
	*strrchr(path, '/') = '\0';
	CHECK_INT(rmdir(path), 0); /* DIR/21: nothing is left in it */
	CHECK_INT(file_remove_tree(dir, NULL), 0);
}

TEST(a_first_edit_that_is_cut_off_leaves_nothing)
{
	char dir[PATH_MAX], path[PATH_MAX], digest[DIGEST_TEXT];

	store_make(dir);
	original_put(dir, digest);

	/* The power is cut before the copy is described: no damage, and nothing stays. */
	CHECK_INT(unlink(store_path(dir, KEY, "module", path)), 0);
	CHECK_INT(seen(dir), 0);
	CHECK_INT(store_clean(dir, NULL), 0);
	CHECK(access(store_path(dir, KEY, "", path), F_OK) < 0 && errno == ENOENT);

	/* A description that is gone while there are generations is damage, and all of it stays. */
	original_put(dir, digest);
	generation_put(dir, digest);
	CHECK_INT(unlink(store_path(dir, KEY, "module", path)), 0);
	CHECK_INT(seen(dir), 100);
	CHECK_INT(store_clean(dir, NULL), 0);
	CHECK_INT(seen(dir), 100);
	CHECK_INT(access(store_path(dir, KEY, "original", path), F_OK), 0);
	CHECK_INT(file_remove_tree(dir, NULL), 0);
}

TEST_MAIN()

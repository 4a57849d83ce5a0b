/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/attack.h"

#define USER 65534
#define BYTES (1 << 20)
#define ROUNDS 400

static char dir[64], path[96];

static void setup(uid_t owner, mode_t mode)
{
	int fd;

	strcpy(dir, "/tmp/morph-file.XXXXXX");
	CHECK(mkdtemp(dir) && chmod(dir, 0755) == 0);
	snprintf(path, sizeof(path), "%s/file", dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	CHECK(fd >= 0 && ftruncate(fd, BYTES) == 0 && fchmod(fd, mode) == 0);
	CHECK(geteuid() != 0 || fchown(fd, owner, owner) == 0);
	close(fd);
}

static void teardown(void)
{
	file_remove_tree(dir, NULL);
}

TEST(a_file_of_our_own_is_mapped)
{
	_clean_(file_map_donep) struct file_map map = { 0 };

	setup(geteuid(), 0644);
	CHECK_INT(file_map_open(path, &map, NULL), 0);
	CHECK(map.size == BYTES && !map.is_copy);
	teardown();
}

TEST(a_file_that_others_may_write_is_read)
{
	_clean_(file_map_donep) struct file_map map = { 0 };

	setup(geteuid(), 0666);
	CHECK_INT(file_map_open(path, &map, NULL), 0);
	CHECK(map.size == BYTES && map.is_copy);
	teardown();
}

/* Cuts the file to nothing and makes it long again, for ever. */
static pid_t truncator(void)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	if (setgid(USER) < 0 || setuid(USER) < 0)
		_exit(1);
	for (;;)
		if (truncate(path, 0) < 0 || truncate(path, BYTES) < 0)
			_exit(1);
}

/* Reads every page, as a parser would; dies by SIGBUS where the file ends before its map. */
static void reader(void)
{
	unsigned long sum = 0;

	for (unsigned i = 0; i < ROUNDS; i++) {
		_clean_(file_map_donep) struct file_map map = { 0 };

		if (file_map_open(path, &map, NULL) == 0)
			for (size_t at = 0; at < map.size; at += 4096)
				sum += ((volatile const uint8_t *)map.data)[at];
	}
	_exit(sum != 0);
}

TEST(a_file_that_is_cut_short_under_way_kills_nobody)
{
	pid_t attacker, victim;
	int status = 0;

	if (geteuid() != 0)
		SKIP("needs root, to be another user");
	setup(USER, 0644);
	attacker = truncator();
	victim = fork();
	if (victim == 0)
		reader();
	CHECK(waitpid(victim, &status, 0) == victim);
	CHECK(waitpid(attacker, NULL, WNOHANG) == 0);
	kill(attacker, SIGKILL);
	waitpid(attacker, NULL, 0);
	teardown();
	ATTACK("gate-truncate-while-root-reads", WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(what_would_not_fit_is_refused)
{
	struct file_map map;
	struct fault fault;

	setup(geteuid(), 0666);
	CHECK(truncate(path, (off_t)FILE_READ_MAX_BYTES + 1) == 0);
	CHECK_INT(file_map_open(path, &map, &fault), -EFBIG);
	teardown();
}

TEST(a_directory_of_ones_own_is_made_and_is_nobody_elses)
{
	char made[128], link[128];
	struct fault fault;
	struct stat st;

	setup(geteuid(), 0600);
	snprintf(made, sizeof(made), "%s/a/b", dir);
	snprintf(link, sizeof(link), "%s/link", dir);
	CHECK_INT(file_own_directory(made, &fault), 0);
	CHECK(stat(made, &st) == 0 && (st.st_mode & 07777) == 0700);
	CHECK_INT(file_own_directory(made, &fault), 0);
	CHECK(chmod(made, 0770) == 0);
	CHECK_INT(file_own_directory(made, &fault), -EPERM);
	CHECK(chmod(made, 0755) == 0 && symlink(made, link) == 0);
	CHECK_INT(file_own_directory(made, &fault), 0);
	CHECK_INT(file_own_directory(link, &fault), -EPERM);
	CHECK(file_own_directory(path, &fault) < 0);
	if (geteuid() == 0) {
		CHECK(chown(made, USER, USER) == 0);
		CHECK_INT(file_own_directory(made, &fault), -EPERM);
	}
	teardown();
}

/* What stands at @path afterwards, and holds, as text */
static mode_t written(const char *path, char ret[16])
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_NONBLOCK);
	ssize_t n = fd >= 0 ? read(fd, ret, 15) : 0;

	ret[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
	return lstat(path, &st) == 0 ? st.st_mode & S_IFMT : 0;
}

TEST(what_cannot_be_replaced_is_written_to)
{
	char directory[] = "/tmp/morph-file.XXXXXX", text[16];
	struct fault fault;
	int fd;

	CHECK(mkdtemp(directory) && chdir(directory) == 0);
	CHECK(mkfifo("pipe", 0600) == 0);
	fd = open("pipe", O_RDONLY | O_NONBLOCK);
	CHECK(fd >= 0 && file_write("pipe", "text", 4, 0644, &fault) == 0);
	CHECK(read(fd, text, 15) == 4 && memcmp(text, "text", 4) == 0);
	close(fd);
	CHECK(written("pipe", text) == S_IFIFO);
	CHECK(file_write("/dev/null", "text", 4, 0644, &fault) == 0 && written("/dev/null", text) == S_IFCHR);
	CHECK(file_write("/dev/full", "text", 4, 0644, &fault) == -ENOSPC &&
	      written("/dev/full", text) == S_IFCHR);

	CHECK(file_write("to", "old", 3, 0644, &fault) == 0 && symlink("to", "link") == 0);
	CHECK(file_write("link", "new", 3, 0644, &fault) == 0);
	CHECK(written("link", text) == S_IFREG && strcmp(text, "new") == 0);
	CHECK(written("to", text) == S_IFREG && strcmp(text, "old") == 0);
	CHECK(symlink("to", "other") == 0 && file_is_same("to", "other"));
	CHECK(!file_is_same("to", "pipe") && !file_is_same("to", "nothing"));
	CHECK(file_write(".", "text", 4, 0644, &fault) == -EISDIR);
	CHECK(file_write_check(".", &fault) == -EISDIR && file_write_check("/dev/full", &fault) == 0);
	CHECK(file_write_check("link", &fault) == 0 && file_write_check("none/file", &fault) == -ENOENT);

	/* Links lead nowhere, to devices neither: whoever put them there may change them meanwhile. */
	CHECK(symlink("/dev/full", "device") == 0 && file_write("device", "mine", 4, 0644, &fault) == 0);
	CHECK(written("device", text) == S_IFREG && strcmp(text, "mine") == 0);
	/* A pipe of somebody else's would be waited for. */
	CHECK(mkfifo("theirs", 0666) == 0);
	if (chown("theirs", 4321, 4321) == 0) {
		CHECK(file_write("theirs", "mine", 4, 0644, &fault) == 0);
		CHECK(written("theirs", text) == S_IFREG && strcmp(text, "mine") == 0);
	}
	CHECK(chdir("/") == 0 && file_remove_tree(directory, &fault) == 0);
}

TEST_MAIN()

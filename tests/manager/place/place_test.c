/* SPDX-License-Identifier: Apache-2.0 */

/* Files in places that others can reach into, each as it would be if the attack had been prepared. */

#define _GNU_SOURCE
#include "tests/manager/fixture.h"

#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "manager/keep/digest.h"
#include "manager/keep/store.h"
#include "manager/place/place.h"
#include "manager/program/installed.h"
#include "tests/attack.h"

#define USER 65534

static struct fixture f;
static char bin[PATH_MAX];

static void setup(void)
{
	if (geteuid() != 0)
		SKIP("needs root, to make files of several users");
	fixture_make(&f);
	fixture_open(&f);
	CHECK(mkdir(path_join(f.dir, "bin", bin), 0755) == 0);
	path_join(bin, "prog", f.prog);
	fixture_install(&f, "shipped");
	CHECK(chmod(f.prog, 0755) == 0);
}

static int open_it(const char *path)
{
	struct installed in;
	int r = installed_open(f.m, path, &in, &f.fault);

	if (r == 0)
		installed_done(&in);
	return r;
}

/* Refused for its place, and nothing of it is in the database. */
static bool refused(const char *path)
{
	return open_it(path) == -EACCES && number_of(f.m, "SELECT count(*) FROM target") == 0 &&
	       number_of(f.m, "SELECT count(*) FROM module") == 0;
}

/* An ACL: u::rwx, then what is given, m::rwx, o::r-x. */
static bool acl_set(const char *path, uint16_t tag, uint32_t id, uint16_t permissions)
{
	struct {
		uint32_t version;
		struct {
			uint16_t tag, permissions;
			uint32_t id;
		} entries[5];
	} acl = { 2, { { 0x01, 7, ~0u }, { 0x04, 5, ~0u }, { 0x10, 7, ~0u }, { 0x20, 5, ~0u } } };
	unsigned at = tag == 0x02 ? 1 : 2;

	memmove(&acl.entries[at + 1], &acl.entries[at], sizeof(acl.entries[0]) * (4 - at));
	acl.entries[at].tag = tag;
	acl.entries[at].permissions = permissions;
	acl.entries[at].id = id;
	return setxattr(path, "system.posix_acl_access", &acl, sizeof(acl), 0) == 0;
}

TEST(a_program_in_a_trusted_place_is_taken)
{
	setup();
	CHECK_INT(open_it(f.prog), 0);
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM target"), 1);
	fixture_done(&f);
}

TEST(a_file_outside_of_the_prefixes_is_not_even_looked_up)
{
	char there[64], nothing[64];

	setup();
	CHECK_INT(config_set(settings_keys, "prefixes", "/usr /opt", &f.m->settings, NULL), 0);
	CHECK(refused(f.prog));
	snprintf(there, sizeof(there), "%.30s", strrchr(f.fault.text, ':'));
	CHECK_INT(open_it("/mnt/no/such/file"), -EACCES);
	snprintf(nothing, sizeof(nothing), "%.30s", strrchr(f.fault.text, ':'));
	ATTACK("gate-register-outside-of-the-prefixes", strcmp(there, nothing) == 0);
	fixture_done(&f);
}

TEST(prefixes_are_directories_not_beginnings)
{
	struct settings s = { .prefixes = (char *)"/usr/ /opt /mnt/x" };

	CHECK(place_is_listed(&s, "/usr/bin/x"));
	CHECK(place_is_listed(&s, "/mnt/x/y"));
	CHECK(!place_is_listed(&s, "/mnt/x"));
	ATTACK("gate-prefix-that-only-begins-alike",
	       !place_is_listed(&s, "/usrx/bin") && !place_is_listed(&s, "/mnt/xy/z"));
	ATTACK("gate-dots-out-of-a-prefix", !place_is_listed(&s, "/usr/../home/x") &&
						    !place_is_listed(&s, "/usr/..") &&
						    !place_is_listed(&s, "usr/bin/x"));
}

TEST(who_could_change_the_file_is_asked)
{
	setup();
	CHECK(chmod(f.prog, 0666) == 0);
	ATTACK("gate-file-that-anybody-may-write", refused(f.prog));
	CHECK(chmod(f.prog, 0775) == 0 && chown(f.prog, 0, 12) == 0);
	ATTACK("gate-file-that-a-group-may-write", refused(f.prog));
	CHECK(chmod(f.prog, 0755) == 0);
	if (acl_set(f.prog, 0x02, USER, 7)) {
		ATTACK("gate-acl-user-may-write-the-file", refused(f.prog));
		CHECK(acl_set(f.prog, 0x08, 12, 6));
		ATTACK("gate-acl-group-may-write-the-file", refused(f.prog));
		CHECK(removexattr(f.prog, "system.posix_acl_access") == 0);
	}
	CHECK(chmod(f.prog, 0755) == 0 && chown(f.prog, USER, 0) == 0);
	ATTACK("gate-file-of-a-user-who-is-not-listed", refused(f.prog));
	CHECK(chown(f.prog, 0, 0) == 0 && chmod(f.prog, 0775) == 0);
	CHECK_INT(open_it(f.prog), 0); /* root's group is root */
	fixture_done(&f);
}

TEST(who_could_change_a_directory_is_asked_up_to_the_root)
{
	setup();
	CHECK(chmod(bin, 01777) == 0);
	ATTACK("gate-sticky-directory", refused(f.prog));
	CHECK(chmod(bin, 0775) == 0 && chown(bin, 0, 12) == 0);
	ATTACK("gate-group-writable-directory", refused(f.prog));
	CHECK(chmod(bin, 0755) == 0 && chown(bin, USER, 0) == 0);
	ATTACK("gate-directory-of-a-user", refused(f.prog));
	CHECK(chown(bin, 0, 0) == 0 && chmod(f.dir, 0777) == 0);
	ATTACK("gate-writable-directory-further-up", refused(f.prog));
	CHECK(chmod(f.dir, 0755) == 0);
	if (acl_set(bin, 0x02, USER, 7)) {
		ATTACK("gate-acl-on-a-directory", refused(f.prog));
		CHECK(removexattr(bin, "system.posix_acl_access") == 0);
	}
	CHECK(chmod(bin, 0755) == 0);
	CHECK_INT(open_it(f.prog), 0);
	fixture_done(&f);
}

TEST(a_directory_that_only_its_owner_may_enter_is_his)
{
	setup();
	CHECK(chmod(bin, 0700) == 0 && chown(bin, USER, USER) == 0);
	ATTACK("gate-copy-in-a-directory-of-mode-0700", refused(f.prog));
	fixture_done(&f);
}

TEST(a_symbolic_link_leads_to_the_place_that_counts)
{
	char link[PATH_MAX], home[PATH_MAX], copy[PATH_MAX];

	setup();
	CHECK(mkdir(path_join(f.dir, "home", home), 0755) == 0 && chown(home, USER, USER) == 0);
	CHECK(symlink(home, path_join(bin, "there", link)) == 0);
	CHECK_INT(file_copy(f.prog, path_join(home, "prog", copy), NULL), 0);
	ATTACK("gate-link-into-a-users-directory", refused(path_join(link, "prog", copy)));
	fixture_done(&f);
}

/* The other name is in a directory of the user's; the inode is root's, and nobody else can write to it. */
TEST(a_hard_link_in_a_users_directory_is_not_a_way_in)
{
	char home[PATH_MAX], name[PATH_MAX];

	setup();
	CHECK(mkdir(path_join(f.dir, "home", home), 0755) == 0);
	CHECK(link(f.prog, path_join(home, "prog", name)) == 0);
	CHECK(chown(home, USER, USER) == 0);
	ATTACK("gate-hard-link-in-a-users-directory", refused(name));
	fixture_done(&f);
}

static bool mounted(const char *type, const char *source, unsigned long flags, const char *data)
{
	return mount(source, bin, type, flags, data) == 0;
}

TEST(mounts_that_nobody_vouches_for_are_left_alone)
{
	setup();
	if (!mounted("tmpfs", "none", MS_NOSUID | MS_NODEV, "mode=755"))
		SKIP("mounting is not permitted");
	fixture_install(&f, "shipped");
	ATTACK("gate-nosuid-mount", refused(f.prog));
	CHECK(mount(NULL, bin, NULL, MS_REMOUNT | MS_NOEXEC, "mode=755") == 0);
	ATTACK("gate-noexec-mount", refused(f.prog));
	CHECK(mount(NULL, bin, NULL, MS_REMOUNT, "mode=755") == 0);
	CHECK_INT(open_it(f.prog), 0);
	CHECK(umount(bin) == 0);
	fixture_done(&f);
}

/* What udisks would mount for a user: an image file of his. Without nosuid, too: he can write to the image. */
TEST(an_image_file_of_a_users_is_left_alone)
{
	char image[PATH_MAX], command[4 * PATH_MAX + 128];

	setup();
	path_join(f.dir, "image", image);
	snprintf(command, sizeof(command),
		 "truncate -s 4M '%s' && mkfs.ext2 -q -F '%s' && mount -o loop,nosuid,nodev '%s' '%s'", image,
		 image, image, bin);
	if (system("command -v mkfs.ext2 >/dev/null && test -e /dev/loop-control") != 0 ||
	    system(command) != 0) {
		fixture_done(&f);
		SKIP("loop devices cannot be had");
	}
	fixture_install(&f, "shipped");
	ATTACK("gate-nosuid-nodev-loop-mount", refused(f.prog));
	CHECK(mount(NULL, bin, NULL, MS_REMOUNT, NULL) == 0);
	ATTACK("gate-loop-mount", refused(f.prog));
	CHECK(umount(bin) == 0);
	fixture_done(&f);
}

/* ---- races: a user turns a part of the path around, thousands of times ---- */

#define ROUNDS 3000

/* @a and @b change places for ever, as USER. */
static pid_t swapper(const char *a, const char *b)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	if (setgid(USER) < 0 || setuid(USER) < 0)
		_exit(1);
	for (;;)
		if (renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE) < 0)
			_exit(1);
}

static bool is_alive(pid_t pid)
{
	return waitpid(pid, NULL, WNOHANG) == 0;
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* HOME/a is a link to a good directory, HOME/b a directory with the same name in it; they change places. */
TEST(a_path_that_changes_under_way_leads_nowhere_else)
{
	char home[PATH_MAX], a[PATH_MAX], b[PATH_MAX], path[PATH_MAX], inside[PATH_MAX];
	unsigned wrong = 0, good = 0, refusals = 0;
	pid_t pid;

	setup();
	CHECK(mkdir(path_join(f.dir, "home", home), 0755) == 0);
	CHECK(mkdir(path_join(home, "b", b), 0755) == 0);
	CHECK_INT(file_copy(f.prog, path_join(b, "prog", inside), NULL), 0);
	CHECK(symlink(bin, path_join(home, "a", a)) == 0);
	CHECK(lchown(home, USER, USER) == 0 && chown(b, USER, USER) == 0 && lchown(a, USER, USER) == 0);
	path_join(a, "prog", path);
	pid = swapper(a, b);
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct installed in;
		int r = installed_open(f.m, path, &in, &f.fault);

		if (r == 0 && strcmp(in.target.path, f.prog) != 0)
			wrong++;
		good += r == 0;
		refusals += r < 0;
		if (r == 0)
			installed_done(&in);
	}
	CHECK(is_alive(pid));
	stop(pid);
	printf("%u times the good file, %u times refused\n", good, refusals);
	CHECK(good && refusals);
	ATTACK("gate-symlink-swap-race", wrong == 0 && number_of(f.m, "SELECT count(*) FROM target") == 1);
	fixture_done(&f);
}

/*
 * The same while generations are put into place by that path, and taken back. The copy in the user's directory must
 * stay his, and nothing of root's may appear beside it.
 */
TEST(a_replacement_never_lands_in_a_directory_of_the_users)
{
	char home[PATH_MAX], a[PATH_MAX], b[PATH_MAX], path[PATH_MAX], inside[PATH_MAX];
	unsigned switched = 0, others = 0;
	struct dirent **entries = NULL;
	struct stat st;
	bool same;
	pid_t pid;
	int n;

	setup();
	CHECK_INT(open_it(f.prog), 0);
	CHECK_INT(fixture_build(&f, "made"), 1);
	CHECK(mkdir(path_join(f.dir, "home", home), 0755) == 0);
	CHECK(mkdir(path_join(home, "b", b), 0755) == 0);
	CHECK_INT(file_copy(f.prog, path_join(b, "prog", inside), NULL), 0);
	CHECK(symlink(bin, path_join(home, "a", a)) == 0);
	CHECK(lchown(home, USER, USER) == 0 && chown(b, USER, USER) == 0 && lchown(a, USER, USER) == 0);
	path_join(a, "prog", path);
	pid = swapper(a, b);
	for (unsigned i = 0; i < 1000; i++)
		switched += activation_switch(f.m, path, (i + 1) % 2, EVENT_ACTIVATED, "test", &f.fault) == 0;
	CHECK(is_alive(pid));
	stop(pid);
	CHECK(switched > 10);
	/* Whichever of the two names it has now. */
	if (lstat(b, &st) < 0 || !S_ISDIR(st.st_mode))
		strcpy(b, a);
	n = scandir(b, &entries, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		others += entries[i]->d_name[0] != '.' && strcmp(entries[i]->d_name, "prog") != 0;
		others += strncmp(entries[i]->d_name, ".morph", 6) == 0;
		free(entries[i]);
	}
	free(entries);
	same = file_is_program(path_join(b, "prog", inside), "shipped");
	printf("%u times put into place\n", switched);
	ATTACK("gate-swap-race-while-generations-are-put-into-place", same && others == 0 && n == 3);
	fixture_done(&f);
}

/* Root's own directory, moved about by the owner of the one above it. */
TEST(a_directory_above_that_is_moved_about_is_never_trusted)
{
	char home[PATH_MAX], one[PATH_MAX], two[PATH_MAX], deep[PATH_MAX], path[PATH_MAX], deep2[PATH_MAX],
		other[PATH_MAX];
	unsigned taken = 0;
	pid_t pid;

	setup();
	CHECK(mkdir(path_join(f.dir, "home", home), 0755) == 0);
	CHECK(mkdir(path_join(home, "one", one), 0755) == 0 && mkdir(path_join(home, "two", two), 0755) == 0);
	CHECK(mkdir(path_join(one, "bin", deep), 0755) == 0 &&
	      mkdir(path_join(two, "bin", deep2), 0755) == 0);
	CHECK_INT(file_copy(f.prog, path_join(deep, "prog", path), NULL), 0);
	CHECK_INT(file_copy(f.prog, path_join(deep2, "prog", other), NULL), 0);
	CHECK(chown(home, USER, USER) == 0);
	pid = swapper(one, two);
	for (unsigned i = 0; i < ROUNDS; i++)
		taken += open_it(path) == 0;
	CHECK(is_alive(pid));
	stop(pid);
	ATTACK("gate-rename-race-above", taken == 0 && number_of(f.m, "SELECT count(*) FROM target") == 0);
	fixture_done(&f);
}

/* ---- one build ID, two files ---- */

TEST(another_file_with_the_build_id_of_a_known_program_is_another_program)
{
	char other[PATH_MAX], path[PATH_MAX];
	struct module_row module = { 0 };
	char digest[DIGEST_TEXT];
	struct generation_row row = { 0 };
	int fd;

	setup();
	CHECK_INT(open_it(f.prog), 0);
	fd = open(f.prog, O_RDONLY);
	CHECK_INT(digest_fd(fd, f.prog, digest, &f.fault), 0);
	close(fd);
	CHECK_INT(generation_get(f.m->state, 1, 0, &row, &f.fault), 0);
	CHECK_STR(row.digest, digest); /* noted when it was first seen, not when it is first edited */
	generation_row_done(&row);
	CHECK_INT(file_copy(f.prog, path_join(bin, "other", other), NULL), 0);
	fd = open(other, O_WRONLY | O_APPEND);
	CHECK(write(fd, "payload", 7) == 7);
	close(fd);
	CHECK_INT(open_it(other), -ESTALE);
	CHECK(strstr(f.fault.text, "other bytes"));
	CHECK_INT(number_of(f.m, "SELECT count(*) FROM refusal WHERE reason LIKE '%SHA-256%'"), 1);
	/* The shipped file goes; what is left with its build ID must not become "the original". */
	CHECK(unlink(f.prog) == 0);
	CHECK_INT(module_get(f.m->state, 1, &module, &f.fault), 0);
	CHECK(shipped_keep(f.m, &module, &f.fault) < 0);
	ATTACK("gate-same-build-id-other-bytes",
	       access(store_path(f.m->store, module.key, "original", path), F_OK) < 0 &&
		       number_of(f.m, "SELECT count(*) FROM target WHERE path LIKE '%other'") == 0);
	module_row_done(&module);
	fixture_done(&f);
}

/* ---- the store's directories ---- */

TEST(no_module_lies_in_the_directory_of_another)
{
	static const char *const ids[] = { "ab",
					   "abcd",
					   "abcdef01234567",
					   "abcdef0123456789",
					   "abcdef0123456789ab",
					   "abcdef0123456789abcdef0123456789" };
	char a[PATH_MAX], b[PATH_MAX];
	bool apart = true;

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(ids); j++) {
			size_t n = strlen(store_path("/store", ids[i], "", a));

			store_path("/store", ids[j], "", b);
			if (strncmp(a, "/store/", 7) != 0 || i == j)
				continue;
			apart = apart && !(strncmp(a, b, n) == 0 && (b[n] == '/' || b[n] == '\0'));
		}
	}
	ATTACK("gate-build-id-that-is-another-ones-directory",
	       apart && strncmp(store_path("/store", "ab", "", a), "/store/", 7) != 0 &&
		       strncmp(store_path("/store", "ab/../..", "", a), "/store/", 7) != 0);
}

TEST_MAIN()

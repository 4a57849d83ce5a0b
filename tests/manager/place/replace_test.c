/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/place/replace.h"

#include <limits.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <sys/ioctl.h>
#include <linux/seccomp.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "manager/keep/digest.h"
#include "tests/manager/fixture.h"

#define OLD "the old content"
#define NEW "the new content, which is longer"

static struct fixture f;
static struct replacement r;

static void setup(void)
{
	fixture_make_in(&f, "/tmp");
	CHECK_INT(file_write(f.prog, OLD, strlen(OLD), 0755, NULL), 0);
	r = (struct replacement){ .dir_fd = -1, .fd = -1 };
}

static void teardown(void)
{
	replacement_done(&r);
	fixture_done(&f);
}

static void need_root(void)
{
	if (geteuid() != 0)
		SKIP("needs root to change owners and capabilities");
}

/* @names: of the shipped file, which comes back; 0: @content is a generation */
static int prepare_of(const char *content, int64_t mtime_ns, uint64_t names)
{
	char path[PATH_MAX], digest[DIGEST_TEXT];
	_clean_(fd_closep) int fd = -1;

	CHECK_INT(file_write(path_join(f.dir, "source", path), content, strlen(content), 0600, NULL), 0);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	digest_bytes(content, strlen(content), digest);
	return names ? replacement_prepare_shipped(&r, fd, digest, mtime_ns, names, &f.fault) :
		       replacement_prepare(&r, fd, digest, mtime_ns, &f.fault);
}

static int prepare(const char *content, int64_t mtime_ns)
{
	return prepare_of(content, mtime_ns, 0);
}

static void replace_with(const char *content, int64_t mtime_ns)
{
	CHECK_INT(replacement_open("", f.prog, &r, &f.fault), 0);
	CHECK_INT(prepare(content, mtime_ns), 0);
	CHECK_INT(replacement_commit(&r, &f.fault), 0);
	replacement_done(&r);
}

static void bring_back(const char *content, int64_t mtime_ns, uint64_t names)
{
	CHECK_INT(replacement_open("", f.prog, &r, &f.fault), 0);
	CHECK_INT(prepare_of(content, mtime_ns, names), 0);
	CHECK_INT(replacement_commit(&r, &f.fault), 0);
	replacement_done(&r);
}

static bool holds(const char *path, const char *content)
{
	_clean_(file_map_donep) struct file_map map = { 0 };

	return file_map_open(path, &map, NULL) == 0 && map.size == strlen(content) &&
	       memcmp(map.data, content, map.size) == 0;
}

static unsigned n_files(void)
{
	char command[PATH_MAX + 32];
	FILE *out;
	unsigned n = 0;

	snprintf(command, sizeof(command), "ls -A %s | wc -l", f.dir);
	out = popen(command, "r");
	CHECK(out && fscanf(out, "%u", &n) == 1);
	pclose(out);
	return n;
}

TEST(content_changes_and_owner_mode_and_time_stay)
{
	struct timespec times[2] = { { 100, 0 }, { 981173106, 789000000 } };
	struct stat st;

	need_root();
	setup();
	CHECK(chown(f.prog, 3, 7) == 0 && chmod(f.prog, 0741) == 0);
	CHECK(utimensat(AT_FDCWD, f.prog, times, 0) == 0);
	replace_with(NEW, 981173106789000000);
	CHECK(holds(f.prog, NEW));
	CHECK(stat(f.prog, &st) == 0);
	CHECK(st.st_uid == 3 && st.st_gid == 7 && (st.st_mode & 07777) == 0741);
	CHECK(st.st_mtim.tv_sec == 981173106 && st.st_mtim.tv_nsec == 789000000);
	CHECK_INT(n_files(), 2); /* prog and source: nothing is left behind */
	teardown();
}

TEST(a_time_before_1970_is_kept)
{
	struct stat st;

	setup();
	replace_with(NEW, -1500000000);
	CHECK(stat(f.prog, &st) == 0);
	CHECK(st.st_mtim.tv_sec == -2 && st.st_mtim.tv_nsec == 500000000);
	teardown();
}

TEST(extended_attributes_are_kept)
{
	char value[32];

	setup();
	if (setxattr(f.prog, "user.note", "hello", 5, 0) < 0) {
		teardown();
		SKIP("the file system of /tmp has no user attributes");
	}
	replace_with(NEW, 0);
	CHECK_INT(getxattr(f.prog, "user.note", value, sizeof(value)), 5);
	CHECK(memcmp(value, "hello", 5) == 0);
	teardown();
}

/* As setfacl -m u:2:rx, mask rwx writes it (linux/posix_acl_xattr.h). */
static const struct {
	struct posix_acl_xattr_header header;
	struct posix_acl_xattr_entry entries[5];
} acl = { { POSIX_ACL_XATTR_VERSION },
	  { { ACL_USER_OBJ, 7, (uint32_t)-1 },
	    { ACL_USER, 5, 2 },
	    { ACL_GROUP_OBJ, 5, (uint32_t)-1 },
	    { ACL_MASK, 5, (uint32_t)-1 },
	    { ACL_OTHER, 1, (uint32_t)-1 } } };

TEST(an_access_list_is_kept_and_one_inherited_from_the_directory_is_not_added)
{
	char value[256];

	setup();
	if (setxattr(f.prog, "system.posix_acl_access", &acl, sizeof(acl), 0) < 0) {
		teardown();
		SKIP("the file system of /tmp has no access lists");
	}
	replace_with(NEW, 0);
	CHECK_INT(getxattr(f.prog, "system.posix_acl_access", value, sizeof(value)), sizeof(acl));
	CHECK(memcmp(value, &acl, sizeof(acl)) == 0);
	CHECK(removexattr(f.prog, "system.posix_acl_access") == 0 && chmod(f.prog, 0755) == 0);
	CHECK(setxattr(f.dir, "system.posix_acl_default", &acl, sizeof(acl), 0) == 0);
	replace_with(OLD, 0);
	CHECK(getxattr(f.prog, "system.posix_acl_access", value, sizeof(value)) < 0 && errno == ENODATA);
	teardown();
}

/* cap_net_bind_service=ep, as setcap(8) writes it: VFS_CAP_REVISION_2. */
static const uint8_t capability[20] = { 1, 0, 0, 2, 0, 4 };

TEST(capabilities_are_refused_unless_allowed_and_then_kept)
{
	uint8_t value[32];

	need_root();
	setup();
	CHECK(chown(f.prog, 3, 7) == 0);
	CHECK(setxattr(f.prog, "security.capability", capability, sizeof(capability), 0) == 0);
	CHECK_INT(replacement_open("", f.prog, &r, &f.fault), 0);
	CHECK_INT(replacement_check(&r, false, false, &f.fault), -EPERM);
	CHECK(strstr(f.fault.text, "has file capabilities"));
	CHECK_INT(replacement_check(&r, true, false, &f.fault), 0);
	replacement_done(&r);
	replace_with(NEW, 0);
	CHECK_INT(getxattr(f.prog, "security.capability", value, sizeof(value)), sizeof(capability));
	CHECK(memcmp(value, capability, sizeof(capability)) == 0);
	teardown();
}

/* Debian's perl, bzip2, and whatever `perf record` has taken into its cache */
TEST(another_name_keeps_the_shipped_file)
{
	struct stat st, kept, back;
	char other[PATH_MAX + 8];

	setup();
	snprintf(other, sizeof(other), "%s.other", f.prog);
	CHECK(link(f.prog, other) == 0);
	CHECK(stat(f.prog, &st) == 0);
	CHECK_INT(replacement_open("", f.prog, &r, &f.fault), 0);
	CHECK_INT(replacement_check(&r, false, false, &f.fault), 0);
	replacement_done(&r);
	replace_with(NEW, stat_mtime_ns(&st));
	CHECK(holds(f.prog, NEW) && holds(other, OLD));
	CHECK(stat(other, &kept) == 0 && kept.st_ino == st.st_ino && kept.st_nlink == 1);
	/* It had one name only: it stands for itself when it comes back. */
	bring_back(OLD, stat_mtime_ns(&st), 1);
	CHECK(stat(f.prog, &back) == 0 && back.st_ino != st.st_ino && holds(f.prog, OLD));
	replace_with(NEW, stat_mtime_ns(&st));
	bring_back(OLD, stat_mtime_ns(&st), 2);
	CHECK(stat(f.prog, &back) == 0 && back.st_ino == st.st_ino && back.st_nlink == 2);
	CHECK(holds(f.prog, OLD) && holds(other, OLD));
	CHECK_INT(n_files(), 3);
	teardown();
}

/* Which names are not one of the shipped file's: other bytes of that size, another time, mode or kind. */
TEST(what_only_looks_like_the_shipped_file_gets_no_name_of_it)
{
	static const char other_bytes[] = "the odd content";
	struct timespec times[2] = { { 100, 0 }, { 981173106, 789000000 } };
	char other[PATH_MAX], path[PATH_MAX];
	struct stat st;

	CHECK(sizeof(other_bytes) == sizeof(OLD));
	setup();
	CHECK(utimensat(AT_FDCWD, f.prog, times, 0) == 0);
	CHECK_INT(file_write(path_join(f.dir, "bytes", path), other_bytes, strlen(other_bytes), 0755, NULL),
		  0);
	CHECK(utimensat(AT_FDCWD, path, times, 0) == 0);
	CHECK_INT(file_write(path_join(f.dir, "time", path), OLD, strlen(OLD), 0755, NULL), 0);
	CHECK_INT(file_write(path_join(f.dir, "mode", path), OLD, strlen(OLD), 0700, NULL), 0);
	CHECK(utimensat(AT_FDCWD, path, times, 0) == 0);
	CHECK(symlink("mode", path_join(f.dir, "link", path)) == 0);
	CHECK(mkfifo(path_join(f.dir, "fifo", path), 0755) == 0);
	CHECK(chmod(path_join(f.dir, "time", other), 0755) == 0);
	replace_with(NEW, 981173106789000000);
	bring_back(OLD, 981173106789000000, 2);
	CHECK(holds(f.prog, OLD));
	CHECK(stat(f.prog, &st) == 0 && st.st_nlink == 1);
	teardown();
}

TEST(set_user_id_is_refused_unless_allowed_and_then_kept)
{
	struct stat st;

	need_root();
	setup();
	CHECK(chown(f.prog, 3, 7) == 0 && chmod(f.prog, 06755) == 0);
	CHECK_INT(replacement_open("", f.prog, &r, &f.fault), 0);
	CHECK_INT(replacement_check(&r, false, false, &f.fault), -EPERM);
	CHECK(strstr(f.fault.text, "privileged_files = yes"));
	CHECK_INT(replacement_check(&r, true, false, &f.fault), 0);
	replacement_done(&r);
	replace_with(NEW, 0);
	CHECK(stat(f.prog, &st) == 0 && (st.st_mode & 07777) == 06755 && st.st_uid == 3);
	teardown();
}

TEST(a_symbolic_link_stays_and_its_target_is_replaced)
{
	char link_path[PATH_MAX];
	struct stat st;

	setup();
	CHECK(symlink("prog", path_join(f.dir, "link", link_path)) == 0);
	CHECK_INT(replacement_open("", link_path, &r, &f.fault), 0);
	CHECK_STR(r.path, f.prog);
	CHECK_INT(prepare(NEW, 0), 0);
	CHECK_INT(replacement_commit(&r, &f.fault), 0);
	CHECK(lstat(link_path, &st) == 0 && S_ISLNK(st.st_mode));
	CHECK(holds(f.prog, NEW));
	teardown();
}

TEST(under_a_root_links_cannot_lead_out)
{
	char path[PATH_MAX], out[PATH_MAX];

	setup();
	CHECK(mkdir(path_join(f.dir, "root", path), 0755) == 0);
	CHECK(symlink(f.prog, path_join(path, "escape", out)) == 0);
	CHECK_INT(replacement_open(path, "/escape", &r, &f.fault), -ENOENT);
	CHECK_INT(file_write(path_join(path, "inside", out), OLD, strlen(OLD), 0755, NULL), 0);
	CHECK_INT(replacement_open(path, "/inside", &r, &f.fault), 0);
	CHECK_STR(r.path, "/inside");
	teardown();
}

TEST(what_is_not_a_regular_file_is_refused)
{
	char path[PATH_MAX];

	setup();
	CHECK(mkfifo(path_join(f.dir, "pipe", path), 0644) == 0);
	CHECK_INT(replacement_open("", path, &r, &f.fault), -EINVAL);
	CHECK_INT(replacement_open("", f.dir, &r, &f.fault), -EINVAL);
	CHECK_INT(replacement_open("", "relative", &r, &f.fault), -EINVAL);
	teardown();
}

TEST(an_immutable_file_is_refused_with_what_to_do)
{
	int fd, flags = FS_IMMUTABLE_FL;

	need_root();
	setup();
	fd = open(f.prog, O_RDONLY | O_CLOEXEC);
	if (ioctl(fd, FS_IOC_SETFLAGS, &flags) < 0) {
		close(fd);
		teardown();
		SKIP("the file system of /tmp has no immutable files");
	}
	CHECK_INT(replacement_open("", f.prog, &r, &f.fault), 0);
	CHECK_INT(replacement_check(&r, false, false, &f.fault), -EPERM);
	flags = 0;
	CHECK(ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0);
	close(fd);
	CHECK(strstr(f.fault.text, "immutable") && strstr(f.fault.text, "chattr -i"));
	teardown();
}

TEST(a_read_only_file_system_is_named)
{
	char path[PATH_MAX];

	need_root();
	setup();
	path_join(f.dir, "ro", path);
	CHECK(mkdir(path, 0755) == 0);
	if (mount("tmpfs", path, "tmpfs", 0, "size=64k") < 0) {
		teardown();
		SKIP("mounting is not permitted");
	}
	CHECK_INT(file_write(path_join(path, "prog", f.prog), OLD, strlen(OLD), 0755, NULL), 0);
	CHECK(mount("tmpfs", path, "tmpfs", MS_REMOUNT | MS_RDONLY, "") == 0);
	CHECK_INT(replacement_open("", f.prog, &r, &f.fault), 0);
	CHECK_INT(replacement_check(&r, false, false, &f.fault), -EROFS);
	replacement_done(&r);
	CHECK(umount(path) == 0);
	CHECK(strstr(f.fault.text, "read-only"));
	teardown();
}

TEST(a_full_disk_leaves_the_old_file_and_nothing_else)
{
	static char large[200000];
	char path[PATH_MAX], source[PATH_MAX], digest[DIGEST_TEXT];
	int fd;

	need_root();
	setup();
	memset(large, 'x', sizeof(large));
	path_join(f.dir, "small", path);
	CHECK(mkdir(path, 0755) == 0);
	if (mount("tmpfs", path, "tmpfs", 0, "size=64k") < 0) {
		teardown();
		SKIP("mounting is not permitted");
	}
	CHECK_INT(file_write(path_join(path, "prog", f.prog), OLD, strlen(OLD), 0755, NULL), 0);
	CHECK_INT(file_write(path_join(f.dir, "source", source), large, sizeof(large), 0600, NULL), 0);
	fd = open(source, O_RDONLY | O_CLOEXEC);
	digest_bytes(large, sizeof(large), digest);
	CHECK_INT(replacement_open("", f.prog, &r, &f.fault), 0);
	CHECK_INT(replacement_prepare(&r, fd, digest, 0, &f.fault), -ENOSPC);
	close(fd);
	CHECK(faccessat(r.dir_fd, r.temp, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT);
	CHECK(holds(f.prog, OLD));
	replacement_done(&r);
	CHECK(umount(path) == 0);
	teardown();
}

TEST(damaged_content_is_not_put_into_place)
{
	char path[PATH_MAX], digest[DIGEST_TEXT];
	int fd;

	setup();
	CHECK_INT(file_write(path_join(f.dir, "source", path), NEW, strlen(NEW), 0600, NULL), 0);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	digest_bytes("something else", 14, digest);
	CHECK_INT(replacement_open("", f.prog, &r, &f.fault), 0);
	CHECK_INT(replacement_prepare(&r, fd, digest, 0, &f.fault), -EBADMSG);
	close(fd);
	CHECK(holds(f.prog, OLD));
	CHECK_INT(n_files(), 2);
	teardown();
}

/* What a package manager does: a new file renamed over the old one. */
static void package_upgrade(void)
{
	CHECK_INT(file_write(f.prog, "from a package", 14, 0755, NULL), 0);
}

TEST(a_package_upgrade_meanwhile_wins)
{
	setup();
	CHECK_INT(replacement_open("", f.prog, &r, &f.fault), 0);
	CHECK_INT(prepare(NEW, 0), 0);
	package_upgrade();
	CHECK_INT(replacement_commit(&r, &f.fault), -ESTALE);
	CHECK(holds(f.prog, "from a package"));
	CHECK_INT(n_files(), 2);
	teardown();
}

/* The same in the worst moment, between the last look and the exchange, again and again. */
TEST(an_upgrade_in_a_race_is_never_lost)
{
	setup();
	for (int i = 0; i < 60; i++) {
		pid_t child;
		int code;

		CHECK_INT(file_write(f.prog, OLD, strlen(OLD), 0755, NULL), 0);
		CHECK_INT(replacement_open("", f.prog, &r, &f.fault), 0);
		CHECK_INT(prepare(NEW, 0), 0);
		child = fork();
		if (child == 0) {
			usleep((useconds_t)(i * 7 % 60));
			_exit(file_write(f.prog, "from a package", 14, 0755, NULL) < 0);
		}
		code = replacement_commit(&r, &f.fault);
		CHECK(code == 0 || code == -ESTALE);
		CHECK(waitpid(child, NULL, 0) == child);
		CHECK(holds(f.prog, "from a package"));
		replacement_done(&r);
	}
	teardown();
}

static unsigned n_synced;

int fsync(int fd)
{
	n_synced++;
	return (int)syscall(SYS_fsync, fd);
}

TEST(what_is_given_up_does_not_come_back_with_a_power_cut)
{
	setup();
	CHECK_INT(replacement_open("", f.prog, &r, &f.fault), 0);
	CHECK_INT(prepare(NEW, 0), 0);
	n_synced = 0;
	replacement_discard(&r);
	CHECK_INT(n_synced, 1);
	CHECK_INT(n_files(), 2);
	teardown();
}

TEST(a_file_left_by_a_crash_is_replaced)
{
	setup();
	CHECK_INT(replacement_open("", f.prog, &r, &f.fault), 0);
	CHECK_INT(prepare("half-written by a process that was killed", 0), 0);
	replacement_done(&r);
	replace_with(NEW, 0);
	CHECK(holds(f.prog, NEW));
	CHECK_INT(n_files(), 2);
	teardown();
}

/* As systemd's RestrictSUIDSGID= has it. */
static bool openat2_forbid(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { ARRAY_SIZE(code), code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(a_file_is_replaced_where_systemd_forbids_openat2)
{
	char link[PATH_MAX], path[PATH_MAX];
	int status;
	pid_t pid;

	setup();
	CHECK(symlink(f.dir, path_join(f.dir, "link", link)) == 0);
	snprintf(path, sizeof(path), "%.2000s/prog", link);
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		_exit(!(openat2_forbid() && syscall(SYS_openat2, AT_FDCWD, "/", NULL, 0) < 0 &&
			errno == ENOSYS && replacement_open("", path, &r, &f.fault) == 0 &&
			strcmp(r.path, f.prog) == 0 && prepare(NEW, 0) == 0 &&
			replacement_commit(&r, &f.fault) == 0));
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
	teardown();
}

TEST_MAIN()

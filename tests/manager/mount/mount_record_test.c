/* SPDX-License-Identifier: Apache-2.0 */

/* Records, the table of mounts, requests, seals: the parts of activation = mount that need no mount. */

#define _GNU_SOURCE
#include "manager/mount/mount_record.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/file.h"
#include "manager/keep/digest.h"
#include "manager/keep/path.h"
#include "manager/keep/seal.h"
#include "manager/mount/mount_request.h"
#include "manager/place/mount_table.h"
#include "manager/verify/package_file.h"
#include "tests/attack.h"
#include "tests/test.h"

#define D1 "1111111111111111111111111111111111111111111111111111111111111111"
#define D2 "2222222222222222222222222222222222222222222222222222222222222222"

static char dir[PATH_MAX];

static void setup(void)
{
	snprintf(dir, sizeof(dir), "/tmp/morph-record.XXXXXX");
	CHECK(mkdtemp(dir));
}

static void teardown(void)
{
	file_remove_tree(dir, NULL);
}

static struct mount_record sample(const char *path)
{
	return (struct mount_record){ (char *)path, (char *)"abcdef01", (char *)D1, (char *)D2, 3 };
}

TEST(a_record_comes_back_as_it_was)
{
	struct mount_record record = sample("/usr/bin/x"), back = { 0 };

	setup();
	CHECK_INT(mount_record_read(dir, "/usr/bin/x", &back, NULL), -ENOENT);
	CHECK_INT(mount_record_write(dir, &record, NULL), 0);
	CHECK_INT(mount_record_read(dir, "/usr/bin/x", &back, NULL), 0);
	CHECK(strcmp(back.digest, D1) == 0 && strcmp(back.shipped, D2) == 0 && back.number == 3);
	mount_record_done(&back);
	CHECK_INT(mount_record_drop(dir, "/usr/bin/x", NULL), 0);
	CHECK_INT(mount_record_drop(dir, "/usr/bin/x", NULL), 0);
	CHECK_INT(mount_record_read(dir, "/usr/bin/x", &back, NULL), -ENOENT);
	teardown();
}

TEST(only_plain_paths_are_taken)
{
	static const char *const bad[] = { "",	       "/",	    "usr/bin/x",    "/usr//bin/x",
					   "/usr/./x", "/usr/../x", "/usr/bin/",    "/usr/..",
					   "/usr/a b", "/usr/a\nb", "/usr/a\\040b", "/usr/\x7f" };

	CHECK(mount_record_path_is_plain("/usr/bin/x") && mount_record_path_is_plain("/usr/bin/..x") &&
	      mount_record_path_is_plain("/usr/lib/\303\244"));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (mount_record_path_is_plain(bad[i]))
			FAIL("\"%s\" was taken", bad[i]);
}

static int n_visited, n_damaged;

static int visit(_unused_ void *userdata, _unused_ const struct mount_record *record)
{
	n_visited++;
	return 0;
}

static void damaged(_unused_ void *userdata, const struct fault *why)
{
	CHECK(why->text[0]);
	n_damaged++;
}

TEST(a_record_that_others_could_write_or_of_another_program_counts_for_nothing)
{
	struct mount_record a = sample("/usr/bin/a"), b = sample("/usr/bin/b"), back = { 0 };
	char from[PATH_MAX], to[PATH_MAX];

	setup();
	CHECK_INT(mount_record_write(dir, &a, NULL), 0);
	CHECK_INT(mount_record_write(dir, &b, NULL), 0);
	CHECK(rename(mount_record_file(dir, "/usr/bin/a", ".mount", from),
		     mount_record_file(dir, "/usr/bin/b", ".mount", to)) == 0);
	ATTACK("integrity-record-of-another-program",
	       mount_record_read(dir, "/usr/bin/b", &back, NULL) == -EBADMSG);
	n_visited = n_damaged = 0;
	CHECK_INT(mount_record_walk(dir, visit, damaged, NULL, NULL), 0);
	CHECK(n_visited == 0 && n_damaged == 1);
	CHECK_INT(mount_record_write(dir, &b, NULL), 0);
	CHECK(chmod(to, 0666) == 0);
	ATTACK("integrity-record-that-others-may-write",
	       mount_record_read(dir, "/usr/bin/b", &back, NULL) == -EBADMSG);
	CHECK(unlink(to) == 0 && symlink("/etc/passwd", to) == 0);
	ATTACK("integrity-record-is-a-link", mount_record_read(dir, "/usr/bin/b", &back, NULL) == -EBADMSG);
	teardown();
}

TEST(a_record_with_nonsense_is_refused)
{
	static const char *const bad[] = { "path = /usr/bin/x\n",
					   "path = /usr/bin/x\nbuild_id = ab/../cd\nnumber = 1\ndigest = " D1
					   "\nshipped = " D2 "\n",
					   "path = /usr/bin/x\nbuild_id = abcd\nnumber = 0\ndigest = " D1
					   "\nshipped = " D2 "\n",
					   "path = /usr/bin/x\nbuild_id = abcd\nnumber = 1\ndigest = 12\n"
					   "shipped = " D2 "\n",
					   "nonsense\n",
					   "\0\0" };
	struct mount_record back = { 0 };
	char file[PATH_MAX];

	setup();
	mount_record_file(dir, "/usr/bin/x", ".mount", file);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		CHECK_INT(file_write(file, bad[i], strlen(bad[i]), 0600, NULL), 0);
		CHECK_INT(mount_record_read(dir, "/usr/bin/x", &back, NULL), -EBADMSG);
	}
	teardown();
}

/* ---- the table of mounts ---- */

static struct mount_entry entries[8];
static int n_entries;

static int keep(_unused_ void *userdata, const struct mount_entry *entry)
{
	entries[n_entries++] = *entry;
	return 0;
}

static int parse(const char *text)
{
	n_entries = 0;
	return mount_table_parse(text, strlen(text), keep, NULL);
}

TEST(the_table_of_mounts_is_read_with_its_escapes)
{
	CHECK_INT(parse("36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n"
			"37 35 0:5 /a\\040b /c\\134d ro - tmpfs none rw\nnonsense\n1 2 3 4 5 6\n"),
		  0);
	CHECK_INT(n_entries, 2);
	CHECK(strcmp(entries[0].root, "/mnt1") == 0 && strcmp(entries[0].point, "/mnt2") == 0 &&
	      !entries[0].read_only);
	CHECK(strcmp(entries[1].root, "/a b") == 0 && strcmp(entries[1].point, "/c\\d") == 0 &&
	      entries[1].read_only);
	CHECK(strcmp(entries[1].type, "tmpfs") == 0);
}

TEST(a_mount_is_ours_by_the_digest_of_its_place)
{
	char text[PATH_MAX], digest[DIGEST_TEXT];

	digest_bytes("/usr/bin/x", 10, digest);
	snprintf(text, sizeof(text),
		 "1 2 0:1 /var/lib/morph/mounts/%s /usr/bin/x ro - ext4 d rw\n"
		 "1 2 0:1 /mounts/%s//deleted /usr/bin/x ro - ext4 d rw\n1 2 0:1 /mounts/%s /usr/bin/y ro - "
		 "ext4 d rw\n"
		 "1 2 0:1 /mounts/%sa /usr/bin/x ro - ext4 d rw\n1 2 0:1 /%s /usr/bin/x ro - ext4 d rw\n",
		 digest, digest, digest, digest, digest);
	CHECK_INT(parse(text), 0);
	CHECK_INT(n_entries, 5);
	CHECK(mount_table_is_ours(&entries[0]) && mount_table_is_ours(&entries[1]));
	CHECK(!mount_table_is_ours(&entries[2]) && !mount_table_is_ours(&entries[3]) &&
	      !mount_table_is_ours(&entries[4]));
}

/* ---- requests ---- */

TEST(a_request_is_sync_and_perhaps_a_path)
{
	char path[PATH_MAX];

	CHECK(mount_request_parse("sync", path) && !path[0]);
	CHECK(mount_request_parse("sync /usr/bin/x", path) && strcmp(path, "/usr/bin/x") == 0);
	CHECK(!mount_request_parse("", path) && !mount_request_parse("sync ", path) &&
	      !mount_request_parse("sync x", path) && !mount_request_parse("sync /a/../b", path) &&
	      !mount_request_parse("suspend", path) && !mount_request_parse("sync /a b", path));
}

TEST(a_line_of_md5sums_is_of_exactly_that_file)
{
	const char *line = "d41d8cd98f00b204e9800998ecf8427e  usr/bin/x\n";
	char digest[PACKAGE_DIGEST_TEXT] = "";

	CHECK(package_line_parse(line, "usr/bin/x", digest) && strlen(digest) == 32);
	CHECK(!package_line_parse(line, "usr/bin/", digest) &&
	      !package_line_parse(line, "usr/bin/xy", digest) &&
	      !package_line_parse("d41d8cd98f  usr/bin/x", "usr/bin/x", digest) &&
	      !package_line_parse("", "", digest));
}

/* ---- seals ---- */

static void seal_digest_is(size_t size, const char *expected)
{
	char path[PATH_MAX], digest[DIGEST_TEXT];
	_clean_(freep) uint8_t *bytes = calloc(1, size + 1);
	_clean_(fd_closep) int fd = -1;

	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)(i * 31 + i / 4096);
	CHECK_INT(file_write(path_join(dir, "f", path), bytes, size, 0600, NULL), 0);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK_INT(seal_digest(fd, path, digest, NULL), 0);
	if (strcmp(digest, expected) != 0)
		FAIL("%zu bytes: %s, not %s", size, digest, expected);
}

/* What `fsverity digest` (fsverity-utils 1.5) says of the same bytes: one block, two levels, three. */
TEST(the_digest_is_the_kernels)
{
	setup();
	seal_digest_is(1, "b803429503d95915829b29fdbc8bbad142f3abfd11b1cadf5526582e685c0551");
	seal_digest_is(4, "f1bef02898bd5f56f3d53063136d25b90a8969663291ccb5df445c1b124bb9bb");
	seal_digest_is(4096, "fd2da0056dd5efbed78468c371717b57e71c7189bf2698a96bdefc4b14c875f3");
	seal_digest_is(4097, "55948f6041d8f87d9bb200776300310673bc5afd841adcea72e7904fb34125ae");
	seal_digest_is(40000, "721dde4f10093432eff3e4140402ef5abec0555be35dd640ba5460297022af89");
	seal_digest_is(524289, "5fdcfe47a593c188131dd7281facf89d98d9633b36a06f1e2761b6ff5ca85701");
	seal_digest_is(700000, "664d3666c16e2f753446c0b456a451b7224a5984c27a8cf110bbc969bff3d0ed");
	teardown();
}

TEST(a_file_is_sealed_where_the_kernel_can_and_stays_as_it_is_elsewhere)
{
	char path[PATH_MAX], measured[DIGEST_TEXT], computed[DIGEST_TEXT];
	_clean_(fd_closep) int fd = -1;
	int sealed, w;

	setup();
	CHECK_INT(file_write(path_join(dir, "f", path), "text", 4, 0600, NULL), 0);
	sealed = seal_file(path, NULL);
	CHECK(sealed == 0 || sealed == 1);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK_INT(seal_measure(fd, path, measured, NULL), sealed);
	CHECK_INT(seal_check(fd, path, NULL), 0);
	CHECK_INT(seal_digest(fd, path, computed, NULL), 0);
	w = open(path, O_WRONLY | O_CLOEXEC);
	if (sealed) {
		CHECK(strcmp(measured, computed) == 0);
		CHECK(w < 0 && errno == EPERM);
	} else {
		printf("this file system or kernel has no fs-verity: only the digest was checked\n");
		CHECK(w >= 0);
		close(w);
	}
	CHECK_INT(seal_file("/nonexistent", NULL), -ENOENT);
	teardown();
}

TEST_MAIN()

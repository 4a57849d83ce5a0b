/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/place/integrity.h"

#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "base/file.h"
#include "manager/keep/path.h"
#include "tests/test.h"

static char root[PATH_MAX];

static void setup(void)
{
	snprintf(root, sizeof(root), "/tmp/morph-integrity.XXXXXX");
	CHECK(mkdtemp(root));
}

static void teardown(void)
{
	file_remove_tree(root, NULL);
}

static void put(const char *path, const char *text)
{
	char full[PATH_MAX], directory[PATH_MAX];

	snprintf(full, sizeof(full), "%s%s", root, path);
	snprintf(directory, sizeof(directory), "%s", full);
	*strrchr(directory, '/') = '\0';
	CHECK_INT(file_mkdirs(directory, 0755, NULL), 0);
	CHECK_INT(file_write(full, text, strlen(text), 0644, NULL), 0);
}

static const struct integrity_finding *find(const char *name)
{
	static struct integrity found;

	integrity_look(root, &found);
	for (size_t i = 0; i < found.n_findings; i++)
		if (strcmp(found.findings[i].name, name) == 0)
			return &found.findings[i];
	return NULL;
}

static enum integrity_weight weight(const char *name)
{
	const struct integrity_finding *f = find(name);

	return f ? f->weight : INTEGRITY_ABSENT;
}

static int obstacle(enum integrity_policy policy)
{
	struct fault fault = { "" };
	int r = integrity_obstacle(root, "/usr/bin/prog", policy, &fault);

	CHECK((r < 0) == (fault.text[0] != '\0'));
	return r;
}

#define IMA "/sys/kernel/security/ima/policy"

TEST(nothing_is_found_where_nothing_is)
{
	setup();
	CHECK(!find("IMA") && !find("EVM") && !find("IPE") && !find("fapolicyd") && !find("AIDE") &&
	      !find("dm-verity"));
	CHECK_INT(obstacle(INTEGRITY_REPLACE), 0);
	CHECK_INT(obstacle(INTEGRITY_MOUNT), 0);
	teardown();
}

TEST(ima_that_appraises_programs_refuses_both_ways)
{
	setup();
	put(IMA, "dont_measure fsmagic=0x9fa0\nappraise func=BPRM_CHECK fowner=0 appraise_type=imasig\n");
	CHECK_INT(weight("IMA"), INTEGRITY_REFUSES);
	CHECK_INT(obstacle(INTEGRITY_REPLACE), -EPERM);
	CHECK_INT(obstacle(INTEGRITY_MOUNT), -EPERM);
	put(IMA, "appraise fowner=0\n");
	CHECK_INT(weight("IMA"), INTEGRITY_REFUSES);
	teardown();
}

TEST(ima_that_measures_or_only_logs_or_appraises_other_things_does_not)
{
	setup();
	put(IMA, "measure func=BPRM_CHECK\ndont_appraise fsmagic=0x62656572\n");
	CHECK_INT(weight("IMA"), INTEGRITY_REPORTS);
	CHECK(strstr(find("IMA")->text, "measures"));
	put(IMA, "appraise func=MODULE_CHECK appraise_type=imasig\nappraise func=KEXEC_KERNEL_CHECK\n");
	CHECK_INT(weight("IMA"), INTEGRITY_REPORTS);
	put(IMA, "appraise func=MMAP_CHECK\n");
	CHECK_INT(weight("IMA"), INTEGRITY_REFUSES);
	put("/proc/cmdline", "quiet ima_appraise=log ro\n");
	CHECK_INT(weight("IMA"), INTEGRITY_REPORTS);
	CHECK_INT(obstacle(INTEGRITY_REPLACE), 0);
	teardown();
}

TEST(an_ima_policy_that_cannot_be_read_is_taken_from_the_command_line)
{
	setup();
	put("/sys/kernel/security/ima/ascii_runtime_measurements", "");
	put("/proc/cmdline", "ro ima_policy=tcb|appraise_tcb quiet\n");
	CHECK_INT(weight("IMA"), INTEGRITY_REFUSES);
	put("/proc/cmdline", "ro ima_policy=tcb quiet\n");
	CHECK_INT(weight("IMA"), INTEGRITY_REPORTS);
	teardown();
}

TEST(evm_and_images_leave_the_mount)
{
	setup();
	put("/sys/kernel/security/evm", "1\n");
	CHECK_INT(weight("EVM"), INTEGRITY_PREFERS_MOUNT);
	CHECK_INT(obstacle(INTEGRITY_REPLACE), -EPERM);
	CHECK_INT(obstacle(INTEGRITY_MOUNT), 0);
	put("/sys/kernel/security/evm", "0\n");
	CHECK(!find("EVM"));
	put("/proc/self/mountinfo",
	    "22 1 254:0 / / rw - ext4 /dev/root rw\n23 22 254:1 / /usr ro,nodev - erofs /dev/dm-1 ro\n");
	CHECK_INT(weight("read-only /usr"), INTEGRITY_PREFERS_MOUNT);
	put("/sys/block/dm-1/dm/uuid", "CRYPT-VERITY-0123-usr\n");
	CHECK_INT(weight("dm-verity"), INTEGRITY_PREFERS_MOUNT);
	CHECK_INT(obstacle(INTEGRITY_REPLACE), -EPERM);
	CHECK_INT(obstacle(INTEGRITY_MOUNT), 0);
	put("/sys/block/dm-1/dm/uuid", "LVM-abc\n");
	put("/run/ostree-booted", "");
	CHECK_INT(weight("OSTree"), INTEGRITY_PREFERS_MOUNT);
	teardown();
}

TEST(extensions_that_are_merged_into_usr_are_told_from_a_plain_overlay)
{
	setup();
	put("/proc/self/mountinfo", "23 22 0:40 / /usr ro - overlay sysext ro,lowerdir=/a:/b\n");
	CHECK_INT(weight("systemd-sysext"), INTEGRITY_PREFERS_MOUNT);
	put("/proc/self/mountinfo", "22 1 0:40 / / rw - overlay overlay rw,lowerdir=/a:/b\n");
	CHECK(!find("systemd-sysext") && !find("read-only /usr"));
	CHECK_INT(obstacle(INTEGRITY_REPLACE), 0);
	teardown();
}

TEST(ipe_refuses_when_it_enforces)
{
	setup();
	put("/sys/kernel/security/ipe/enforce", "1\n");
	CHECK(!find("IPE")); /* without a policy it allows everything */
	put("/sys/kernel/security/ipe/policies/boot/active", "1\n");
	CHECK_INT(weight("IPE"), INTEGRITY_REFUSES);
	put("/sys/kernel/security/ipe/enforce", "0\n");
	CHECK(!find("IPE"));
	teardown();
}

TEST(fapolicyd_refuses_by_content_only)
{
	setup();
	put("/etc/fapolicyd/fapolicyd.conf", "permissive = 0\nintegrity = sha256\n");
	CHECK_INT(weight("fapolicyd"), INTEGRITY_ABSENT); /* it does not run */
	put("/run/fapolicyd.pid", "7\n");
	CHECK_INT(weight("fapolicyd"), INTEGRITY_REFUSES);
	CHECK_INT(obstacle(INTEGRITY_MOUNT), -EPERM);
	put("/etc/fapolicyd/fapolicyd.conf", "permissive = 1\nintegrity = sha256\n");
	CHECK_INT(weight("fapolicyd"), INTEGRITY_REPORTS);
	put("/etc/fapolicyd/fapolicyd.conf", "permissive = 0\nintegrity = none\n");
	CHECK_INT(weight("fapolicyd"), INTEGRITY_REPORTS);
	CHECK_INT(obstacle(INTEGRITY_REPLACE), 0);
	teardown();
}

TEST(those_who_only_compare_are_named)
{
	setup();
	put("/var/lib/aide/aide.db", "@@begin_db\n");
	put("/var/lib/tripwire/host.twd", "");
	put("/var/lib/dpkg/status", "");
	CHECK_INT(weight("AIDE"), INTEGRITY_REPORTS);
	CHECK_INT(weight("Tripwire"), INTEGRITY_REPORTS);
	CHECK(find("dpkg --verify") && !find("debsums"));
	put("/usr/bin/debsums", "");
	put("/var/lib/rpm/rpmdb.sqlite", "");
	CHECK(find("debsums") && find("rpm -V"));
	CHECK_INT(obstacle(INTEGRITY_REPLACE), 0);
	teardown();
}

TEST_MAIN()

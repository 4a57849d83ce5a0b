/* SPDX-License-Identifier: Apache-2.0 */

/* Which programs AppArmor confines by their paths; the files are as Debian's packages have them. */

#include <limits.h>

#include "manager/shadow/confined.h"
#include "tests/attack.h"
#include "tests/manager/machine_root.h"

static bool confined(const char *path)
{
	char file[PATH_MAX];

	return confined_by(root, path, file);
}

TEST(confined_by_path_alone_and_by_name_and_path)
{
	give("/sys/module/apparmor/parameters/enabled", "Y\n");
	give("/etc/apparmor.d/usr.bin.man",
	     "#include <tunables/global>\n\n/usr/bin/man {\n\t/usr/bin/troff rmCx,\n}\n");
	give("/etc/apparmor.d/tcpdump", "profile tcpdump /usr/bin/tcpdump {\n}\n");
	give("/etc/apparmor.d/both", "profile both \"/usr/{bin,sbin}/both\" flags=(complain) {\n}\n");
	give("/etc/apparmor.d/variable",
	     "@{exec_path} = /opt/tool/bin/tool\nprofile tool @{exec_path} {\n}\n");
	ATTACK("shadow-out-of-a-profile-by-path", confined("/usr/bin/man"));
	ATTACK("shadow-out-of-a-profile-by-name-and-path", confined("/usr/bin/tcpdump"));
	CHECK(confined("/usr/sbin/both"));
	CHECK(confined("/opt/tool/bin/tool"));
	CHECK(!confined("/usr/bin/troff"));
	CHECK(!confined("/usr/bin/gzip"));
	CHECK(!confined("/usr/bin/manpath"));
}

TEST(nothing_is_confined_where_apparmor_is_off)
{
	give("/sys/module/apparmor/parameters/enabled", "N\n");
	CHECK(!confined("/usr/bin/man"));
}

int main(int argc, char **argv)
{
	int code;

	strcpy(root, "/tmp/morph-confined.XXXXXX");
	if (!mkdtemp(root))
		return 1;
	code = test_main(argc, argv);
	file_remove_tree(root, NULL);
	return code;
}

/* SPDX-License-Identifier: Apache-2.0 */

/* What containers are called, by the control groups that their engines make. */

#include "cli/shared/container.h"

#include "tests/test.h"

#define ID "3f2a9c0d1e4b5a6978c0d1e2f3a4b5c6d7e8f90123456789abcdef0123456789"

static const char *name(const char *group)
{
	static char ret[64];

	strcpy(ret, "?");
	container_of_group(group, ret, sizeof(ret));
	return ret;
}

TEST(an_engines_container_is_called_as_in_its_list)
{
	CHECK_STR(name("/machine.slice/libpod-" ID ".scope/container"), "podman 3f2a9c0d1e4b");
	CHECK_STR(name("/libpod_parent/libpod-" ID), "podman 3f2a9c0d1e4b");
	CHECK_STR(name("/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope"),
		  "podman 3f2a9c0d1e4b");
	CHECK_STR(name("/system.slice/docker-" ID ".scope"), "docker 3f2a9c0d1e4b");
	CHECK_STR(name("/kubepods.slice/kubepods-pod1.slice/cri-containerd-" ID ".scope"),
		  "containerd 3f2a9c0d1e4b");
}

TEST(anything_else_by_its_first_part_that_is_no_slice)
{
	CHECK_STR(name("/machine.slice/systemd-nspawn@web.service/payload"), "systemd-nspawn@web.service");
	CHECK_STR(name("/system.slice/libpod-short.scope"), "libpod-short.scope");
	CHECK_STR(name("/"), "?");
	CHECK_STR(name(""), "?");
	CHECK_STR(name("/user.slice"), "?");
}

TEST_MAIN()

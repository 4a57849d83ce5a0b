/* SPDX-License-Identifier: Apache-2.0 */

#include "monitor/machine/support.h"

#include "monitor/machine/deny.h"
#include "tests/monitor/directory.h"

TEST(kernels_that_freeze_are_denied_their_clock)
{
	CHECK(deny_reason(DENY_CPU_CLOCK, "6.16.0"));
	CHECK(deny_reason(DENY_CPU_CLOCK, "6.17.3-arch1-1"));
	CHECK(!deny_reason(DENY_CPU_CLOCK, "6.15.9"));
	CHECK(!deny_reason(DENY_CPU_CLOCK, "6.18.44-fc"));
	CHECK(deny_reason(DENY_BPF_WALK, "5.10.0-28-amd64"));
	CHECK(!deny_reason(DENY_BPF_WALK, "6.1.0-18-amd64"));
}

TEST(what_stands_in_the_way_of_bpf_is_said)
{
	struct support support;

	fresh_directory();
	CHECK_INT(file_mkdirs(in("sys/kernel/security"), 0755, NULL), 0);
	CHECK_INT(file_mkdirs(in("sys/kernel/btf"), 0755, NULL), 0);
	CHECK_INT(file_mkdirs(in("proc"), 0755, NULL), 0);
	put("proc/kallsyms", "ffffffff81000000 T tick_nohz_handler\n");
	support_probe(directory, &support);
	CHECK(!support.clocks[SUPPORT_TICK].usable_by_root);
	CHECK(strstr(support.clocks[SUPPORT_TICK].reason, "BTF"));
	put("sys/kernel/btf/vmlinux", "");
	put("sys/kernel/security/lockdown", "none integrity [confidentiality]\n");
	support_probe(directory, &support);
	CHECK(!support.clocks[SUPPORT_TICK].usable_by_root &&
	      !support.clocks[SUPPORT_REFERENCE].usable_by_root);
	CHECK(strstr(support.clocks[SUPPORT_TICK].reason, "locked down"));
	put("sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
	support_probe(directory, &support);
	CHECK(support.clocks[SUPPORT_TICK].usable_by_root);
	put("proc/kallsyms", "ffffffff81000000 T another\n");
	support_probe(directory, &support);
	CHECK(!support.clocks[SUPPORT_TICK].usable_by_root &&
	      support.clocks[SUPPORT_REFERENCE].usable_by_root);
	cleanup();
}

TEST_MAIN()

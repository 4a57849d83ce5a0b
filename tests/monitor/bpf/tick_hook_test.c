/* SPDX-License-Identifier: Apache-2.0 */

#include "monitor/bpf/tick_hook.h"

#include <errno.h>

#include "tests/monitor/directory.h"

TEST(the_tick_handler_is_found_under_both_of_its_names)
{
	struct tick_hook hook;
	struct fault fault;

	fresh_directory();
	put("new", "ffffffff81000000 T _text\nffffffff81433060 t tick_nohz_handler\n");
	put("old", "ffffffff81433061 t tick_sched_timer\n");
	put("none", "ffffffff81000000 T _text\n");
	put("hidden", "0000000000000000 t tick_nohz_handler\n");
	CHECK_INT(tick_hook_find(in("new"), in("missing"), &hook, &fault), 0);
	CHECK(hook.function == 0xffffffff81433060 && hook.irq_regs_distance == 0);
	CHECK_INT(tick_hook_find(in("old"), in("missing"), &hook, &fault), 0);
	CHECK_STR(hook.name, "tick_sched_timer");
	CHECK_INT(tick_hook_find(in("none"), NULL, &hook, &fault), -ENOENT);
	CHECK_INT(tick_hook_find(in("hidden"), NULL, &hook, &fault), -EPERM);
	cleanup();
}

TEST_MAIN()

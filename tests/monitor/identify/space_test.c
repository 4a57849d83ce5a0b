/* SPDX-License-Identifier: Apache-2.0 */

#include "monitor/identify/space.h"

#include "tests/test.h"

static void map(struct space_table *table, pid_t pid, uint64_t start, uint64_t end, uint32_t module)
{
	struct space_range range = { start, end, start * 10, module };

	CHECK_INT(space_map(table, pid, &range), 0);
}

static int module_at(const struct space_table *table, pid_t pid, uint64_t address)
{
	const struct space_range *range = space_find(table, pid, address);

	return range ? (int)range->module : -1;
}

TEST(a_mapping_in_the_middle_splits_what_it_covers)
{
	_clean_(space_table_freep) struct space_table *table = space_table_new();

	map(table, 7, 100, 200, 1);
	map(table, 7, 140, 160, 2);
	CHECK_INT(module_at(table, 7, 139), 1);
	CHECK_INT(module_at(table, 7, 140), 2);
	CHECK_INT(module_at(table, 7, 159), 2);
	CHECK_INT(module_at(table, 7, 160), 1);
	/* The upper part keeps the offset of its own start. */
	CHECK_INT(space_find(table, 7, 160)->offset, 1060);
	CHECK_INT(module_at(table, 7, 99), -1);
	CHECK_INT(module_at(table, 7, 200), -1);
}

/* Against a plain array of bytes, with many random mappings. */
TEST(random_mappings_agree_with_a_map_of_every_address)
{
	_clean_(space_table_freep) struct space_table *table = space_table_new();
	int owner[256];
	unsigned seed = 1;

	memset(owner, -1, sizeof(owner));
	for (int round = 0; round < 2000; round++) {
		unsigned start, end;

		seed = seed * 1103515245 + 12345;
		start = seed >> 16 & 255;
		end = start + 1 + (seed >> 8 & 15);
		if (end > 256)
			continue;
		map(table, 1, start, end, (uint32_t)round);
		for (unsigned i = start; i < end; i++)
			owner[i] = round;
		for (unsigned i = 0; i < 256; i++)
			CHECK_INT(module_at(table, 1, i), owner[i]);
	}
}

TEST(a_fork_copies_and_the_program_it_runs_starts_empty)
{
	_clean_(space_table_freep) struct space_table *table = space_table_new();

	map(table, 1, 0, 10, 5);
	CHECK_INT(space_set_comm(table, 1, "mother"), 0);
	CHECK_INT(space_fork(table, 2, 1), 0);
	CHECK_INT(module_at(table, 2, 5), 5);
	CHECK_STR(space_comm(table, 2), "mother");
	space_exec(table, 2);
	CHECK_INT(module_at(table, 2, 5), -1);
	CHECK_INT(module_at(table, 1, 5), 5);
}

TEST(a_space_lives_until_its_last_thread_ends)
{
	_clean_(space_table_freep) struct space_table *table = space_table_new();

	map(table, 3, 0, 10, 5);
	space_fork(table, 3, 3);
	space_exit(table, 3);
	CHECK(space_is_known(table, 3));
	space_exit(table, 3);
	CHECK(!space_is_known(table, 3));
	space_exit(table, 3);
}

TEST(a_reused_pid_does_not_see_the_former_process)
{
	_clean_(space_table_freep) struct space_table *table = space_table_new();

	map(table, 10, 0, 10, 1);
	map(table, 11, 0, 10, 2);
	space_fork(table, 10, 11);
	CHECK_INT(module_at(table, 10, 5), 2);
	space_fork(table, 10, 99); /* a parent that was never seen */
	CHECK_INT(module_at(table, 10, 5), -1);
}

TEST(ten_thousand_processes_are_found_again)
{
	_clean_(space_table_freep) struct space_table *table = space_table_new();

	for (pid_t pid = 1; pid <= 10000; pid++)
		map(table, pid, 0, 10, (uint32_t)pid);
	for (pid_t pid = 1; pid <= 10000; pid++)
		CHECK_INT(module_at(table, pid, 3), pid);
}

TEST_MAIN()

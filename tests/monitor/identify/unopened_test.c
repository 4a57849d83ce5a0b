/* SPDX-License-Identifier: Apache-2.0 */

#include "monitor/identify/unopened.h"

#include "tests/test.h"

#define S 1000000000ull
#define MANY 5000u

static struct sampler_file file(uint64_t inode)
{
	return (struct sampler_file){ .inode = inode, .device = 1 };
}

static bool fails(struct unopened *unopened, uint64_t inode, uint64_t now_ns)
{
	struct sampler_file which = file(inode), again;

	return unopened_failed(unopened, &which, now_ns, &again);
}

static unsigned due(struct unopened *unopened, uint64_t now_ns)
{
	struct sampler_file which;
	unsigned n = 0;

	while (unopened_due(unopened, now_ns, &which))
		n++;
	return n;
}

TEST(what_is_not_found_is_looked_for_at_once_then_after_ever_longer_waits)
{
	_clean_(unopened_freep) struct unopened *unopened = unopened_new();
	struct sampler_file which = file(1), again = { 0 };
	uint64_t now = 1000 * S, wait = UNOPENED_FIRST_S;

	CHECK(!unopened_waits(unopened, &which, now));
	for (unsigned i = 0; i < UNOPENED_AT_ONCE; i++) {
		CHECK(unopened_failed(unopened, &which, now, &again));
		CHECK_INT(again.inode, 1);
		CHECK(!unopened_waits(unopened, &which, now));
	}
	CHECK_INT(due(unopened, now + 3600 * S), 0); /* the kernel side has forgotten it already */
	for (unsigned i = 0; i < 20; i++) {
		CHECK(!unopened_failed(unopened, &which, now, &again));
		CHECK(unopened_waits(unopened, &which, now + wait * S - 1));
		CHECK_INT(due(unopened, now + wait * S - 1), 0);
		now += wait * S;
		CHECK(!unopened_waits(unopened, &which, now));
		CHECK_INT(due(unopened, now), 1);
		CHECK_INT(due(unopened, now), 0);
		wait = MIN(2 * wait, (uint64_t)UNOPENED_LONGEST_S);
	}
	CHECK_INT(wait, UNOPENED_LONGEST_S);
}

TEST(what_was_found_begins_anew)
{
	_clean_(unopened_freep) struct unopened *unopened = unopened_new();
	struct sampler_file first = file(1);

	for (unsigned i = 0; i < UNOPENED_AT_ONCE; i++) {
		CHECK(fails(unopened, 1, 0));
		CHECK(fails(unopened, 2, 0));
	}
	CHECK(!fails(unopened, 1, 0) && !fails(unopened, 2, 0));
	unopened_found(unopened, &first);
	CHECK(!unopened_waits(unopened, &first, 0));
	CHECK(fails(unopened, 1, 0));
	CHECK_INT(due(unopened, 60 * S), 1);
}

TEST(no_file_is_forgotten_by_both_sides_however_many_there_are)
{
	_clean_(unopened_freep) struct unopened *unopened = unopened_new();
	static bool kept[MANY]; /* the kernel side will not announce it again */
	struct sampler_file again;
	unsigned n = 0;

	for (unsigned round = 0; round <= UNOPENED_AT_ONCE; round++)
		for (unsigned i = 0; i < MANY; i++) {
			struct sampler_file which = file(i);

			kept[i] = true;
			if (unopened_failed(unopened, &which, round * S, &again))
				kept[again.inode] = false;
		}
	while (unopened_due(unopened, 3600 * S, &again)) {
		CHECK(kept[again.inode]);
		kept[again.inode] = false;
		n++;
	}
	for (unsigned i = 0; i < MANY; i++)
		CHECK(!kept[i]);
	CHECK(n <= 1024);
}

TEST_MAIN()

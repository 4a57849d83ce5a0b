/* SPDX-License-Identifier: Apache-2.0 */

#include "manager/decide/decide.h"

#include "tests/test.h"

static struct settings settings;
static struct decide_input in;
static char reason[DECIDE_REASON_MAX];

/* A module for which nothing speaks against an edit. */
static void setup(void)
{
	settings_done(&settings);
	CHECK_INT(settings_init(&settings), 0);
	in = (struct decide_input){ .carries = true,
				    .has_target = true,
				    .samples = 50000,
				    .new_samples = 20000,
				    .since_edit_s = -1,
				    .free_bytes = 1ull << 40,
				    .idle = true,
				    .busy = "busy" };
}

TEST(enough_new_samples_on_an_idle_machine_are_a_reason_to_edit)
{
	setup();
	CHECK_INT(decide(&settings, &in, true, reason), DECIDE_EDIT);
	CHECK_STR(reason, "20000 new samples (10000 are enough) and the machine is idle");
}

TEST(too_few_new_samples_wait)
{
	setup();
	in.new_samples = 9999;
	in.since_sample_s = -1;
	CHECK_INT(decide(&settings, &in, true, reason), DECIDE_WAIT);
	CHECK_STR(reason, "9999 of 10000 new samples");
	CHECK_INT(decide(&settings, &in, false, reason), DECIDE_EDIT);
}

TEST(a_first_edit_takes_fewer_samples)
{
	setup();
	in.is_first = true;
	in.since_sample_s = -1;
	in.new_samples = 2000;
	CHECK_INT(decide(&settings, &in, true, reason), DECIDE_EDIT);
	CHECK_STR(reason, "2000 new samples (2000 are enough) and the machine is idle");
	in.new_samples = 1999;
	CHECK_INT(decide(&settings, &in, true, reason), DECIDE_WAIT);
	CHECK_STR(reason, "1999 of 2000 new samples");
	settings.minimum_samples = 500; /* never more than any other */
	in.new_samples = 500;
	CHECK_INT(decide(&settings, &in, true, reason), DECIDE_EDIT);
	settings.minimum_samples = 10000;
	in.needed = 3000; /* its profile was found to be mostly chance */
	in.new_samples = 2999;
	CHECK_INT(decide(&settings, &in, true, reason), DECIDE_WAIT);
}

TEST(what_others_counted_does_not_stand_for_samples_of_this_machine)
{
	setup();
	in.is_first = true;
	in.since_sample_s = -1;
	in.new_others = in.others = 7999;
	in.new_samples = 7999 + 1999;
	CHECK_INT(decide(&settings, &in, true, reason), DECIDE_WAIT);
	in.new_samples++;
	CHECK_INT(decide(&settings, &in, true, reason), DECIDE_EDIT);
}

TEST(what_others_counted_makes_a_first_edit_possible)
{
	setup();
	in.samples = 0;
	in.since_sample_s = -1;
	in.new_samples = in.new_others = in.others = 12000;
	CHECK_INT(decide(&settings, &in, true, reason), DECIDE_EDIT);
	CHECK_STR(reason,
		  "12000 new samples, 12000 of them of others (10000 are enough) and the machine is idle");
	CHECK_INT(decide(&settings, &in, false, reason), DECIDE_EDIT);
	in.new_samples = in.new_others = in.others = 9999;
	CHECK_INT(decide(&settings, &in, true, reason), DECIDE_WAIT);
	in.new_samples = in.new_others = in.others = 0;
	CHECK_INT(decide(&settings, &in, false, reason), DECIDE_WAIT);
}

TEST(after_it_fewer_samples_are_looked_at)
{
	setup();
	in.is_by_others = true;
	in.since_sample_s = -1;
	in.new_samples = 1000;
	CHECK_INT(decide(&settings, &in, true, reason), DECIDE_EDIT);
	in.new_samples = 999;
	CHECK_INT(decide(&settings, &in, true, reason), DECIDE_WAIT);
	CHECK_STR(reason, "999 of 1000 new samples");
	in.new_samples = 1999;
	in.needed = 2000;
	CHECK_INT(decide(&settings, &in, true, reason), DECIDE_WAIT);
	CHECK_STR(reason,
		  "1999 of 2000 new samples"); /* they agreed with what others counted, and were enough */
}

TEST(what_was_postponed_waits_for_what_it_lacked_and_no_longer)
{
	setup();
	in.since_sample_s = -1;
	in.needed = 2500;
	in.new_samples = 2499;
	CHECK_INT(decide(&settings, &in, true, reason), DECIDE_WAIT);
	CHECK_STR(reason, "2499 of 2500 new samples; an edit was begun, and those until then were too few");
	in.new_samples = 2500;
	CHECK_INT(decide(&settings, &in, true, reason), DECIDE_EDIT);
	in.needed = 70000;
	CHECK_INT(decide(&settings, &in, true, reason), DECIDE_WAIT);
	in.needed = 1; /* a profile is not made for each sample */
	in.new_samples = 999;
	CHECK_INT(decide(&settings, &in, true, reason), DECIDE_WAIT);
	in.new_samples = 1000;
	CHECK_INT(decide(&settings, &in, true, reason), DECIDE_EDIT);
}

TEST(a_running_program_that_lacks_few_samples_is_worth_a_burst)
{
	setup();
	in.new_samples = 5000;
	in.since_sample_s = 30;
	in.idle = false;
	CHECK_INT(decide(&settings, &in, true, reason), DECIDE_SAMPLE);
	in.new_samples = 4999;
	CHECK_INT(decide(&settings, &in, true, reason), DECIDE_WAIT);
	in.new_samples = 9000;
	in.since_sample_s = 3600;
	CHECK_INT(decide(&settings, &in, true, reason), DECIDE_WAIT);
	in.since_sample_s = 0;
	in.since_edit_s = 3600;
	CHECK_INT(decide(&settings, &in, true, reason), DECIDE_WAIT);
}

TEST(a_busy_machine_waits_and_says_why_but_a_request_does_not)
{
	setup();
	in.idle = false;
	in.busy = "the machine runs on battery";
	CHECK_INT(decide(&settings, &in, true, reason), DECIDE_WAIT);
	CHECK_STR(reason, "the machine runs on battery");
	CHECK_INT(decide(&settings, &in, false, reason), DECIDE_EDIT);
}

TEST(the_last_edit_must_be_some_time_ago)
{
	setup();
	in.since_edit_s = 6 * 3600 - 1;
	CHECK_INT(decide(&settings, &in, true, reason), DECIDE_WAIT);
	in.since_edit_s = 6 * 3600;
	CHECK_INT(decide(&settings, &in, true, reason), DECIDE_EDIT);
}

TEST(edits_of_a_day_are_bounded_but_not_what_was_asked_for)
{
	setup();
	in.edits_today = settings.edits_per_day - 1;
	CHECK_INT(decide(&settings, &in, true, reason), DECIDE_EDIT);
	in.edits_today++;
	CHECK_INT(decide(&settings, &in, true, reason), DECIDE_WAIT);
	CHECK_STR(reason, "edits begun in the last 24 hours: 50 (edits_per_day is 50)");
	CHECK_INT(decide(&settings, &in, false, reason), DECIDE_EDIT);
	settings.edits_per_day = 0;
	in.edits_today = UINT64_MAX;
	CHECK_INT(decide(&settings, &in, true, reason), DECIDE_EDIT);
}

TEST(failures_double_the_wait_up_to_a_week)
{
	CHECK_INT(decide_retry_s(0), 0);
	CHECK_INT(decide_retry_s(1), 3600);
	CHECK_INT(decide_retry_s(4), 8 * 3600);
	CHECK_INT(decide_retry_s(8), 128 * 3600);
	CHECK_INT(decide_retry_s(9), 7 * 24 * 3600);
	CHECK_INT(decide_retry_s(UINT64_MAX), 7 * 24 * 3600);
	setup();
	in.failures = 5;
	in.since_edit_s = 16 * 3600 - 1;
	CHECK_INT(decide(&settings, &in, true, reason), DECIDE_WAIT);
	CHECK(strstr(reason, "failed"));
	in.since_edit_s++;
	CHECK_INT(decide(&settings, &in, true, reason), DECIDE_EDIT);
}

TEST(a_module_that_misbehaved_is_only_edited_on_request)
{
	setup();
	in.condemned = "it crashed";
	CHECK_INT(decide(&settings, &in, true, reason), DECIDE_NEVER);
	CHECK_INT(decide(&settings, &in, false, reason), DECIDE_EDIT);
}

TEST(nothing_helps_without_data_target_samples_space_or_against_a_pin)
{
	static const char *const words[] = { "carries no Morph data", "pinned: certified",
					     "no installed file", "no samples", "MiB are free" };

	for (int i = 0; i < 5; i++) {
		setup();
		if (i == 0)
			in.carries = false;
		else if (i == 1)
			in.pinned = "certified";
		else if (i == 2)
			in.has_target = false;
		else if (i == 3)
			in.samples = 0;
		else
			in.free_bytes = 1000;
		for (int automatic = 0; automatic < 2; automatic++) {
			CHECK(decide(&settings, &in, automatic, reason) != DECIDE_EDIT);
			CHECK(strstr(reason, words[i]));
		}
	}
}

TEST(what_is_predicted_to_lose_clearly_is_only_used_on_request)
{
	CHECK(decide_activate(true, 0.01, true, reason));
	CHECK(decide_activate(false, 0, true, reason));	  /* an editor that predicts nothing */
	CHECK(decide_activate(true, -0.1, true, reason)); /* within the prediction's error */
	CHECK(!decide_activate(true, -0.234, true, reason));
	CHECK(strstr(reason, "23.4 % more"));
	CHECK(decide_activate(true, -0.234, false, reason));
}

TEST(automatic_no_leaves_it_to_the_user)
{
	setup();
	settings.automatic = false;
	CHECK_INT(decide(&settings, &in, true, reason), DECIDE_WAIT);
	CHECK_INT(decide(&settings, &in, false, reason), DECIDE_EDIT);
	settings_done(&settings);
}

TEST_MAIN()

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * How much may one user's processes say about a program that others run, too? What the monitor would tell of an attacker
 * is put into the spool; what morphd makes of it is looked at.
 */

#define _GNU_SOURCE
#include "manager/count/crashes.h"
#include "manager/count/pending.h"
#include "manager/count/tally.h"
#include "tests/attack.h"
#include "tests/manager/fixture.h"

#define COLD 0x2000u
#define ATTACKER 4321u

static struct fixture f;

static void setup(void)
{
	fixture_make(&f);
	fixture_install(&f, "shipped");
	fixture_open(&f);
	fixture_sample(&f, "shipped", 4); /* so that morphd knows the file */
}

/* @count samples at one offset, of a process of @user's. */
static void take(uint32_t user, uint64_t offset, uint64_t count, const struct file_identity *file)
{
	static uint64_t serial = 1000;
	_clean_(sample_log_freep) struct sample_log *log = sample_log_new();
	struct sample_module like, *module;
	_clean_(image_freep) struct image *image = NULL;
	char name[32], path[PATH_MAX];

	CHECK_INT(image_open(program("shipped", path), &image, NULL), 0);
	like = (struct sample_module){
		.kind = SAMPLE_MODULE_FILE, .build_id = *image_build_id(image), .path = f.prog, .user = user
	};
	like.file = file ? *file : file_of(&f, "shipped", f.prog, &like.build_id);
	module = sample_log_module_like(log, &like);
	CHECK_INT(sample_module_add(module, offset, count), 0);
	sample_log_normalize(log);
	log->source = SAMPLE_SOURCE_TICK;
	log->rate_hz = 250;
	log->start_ns = ++serial;
	log->fired = log->user = log->attributed = count;
	snprintf(name, sizeof(name), "%08llu.samples", (unsigned long long)serial);
	CHECK_INT(sample_log_write(log, path_join(f.m->spool, name, path), NULL), 0);
	if (intake_file(f.m, name, &f.fault) != 0)
		FAIL("%s", f.fault.text);
}

/* What a profile would be made from: the part that is at COLD, and all of it. */
static double share(uint64_t *retcold)
{
	_clean_(sample_log_freep) struct sample_log *log = NULL;
	struct generation_row generation = { 0 };
	struct module_row module = { 0 };
	double ret;

	CHECK_INT(module_get(f.m->state, 1, &module, &f.fault), 0);
	CHECK_INT(generation_get(f.m->state, 1, 0, &generation, &f.fault), 0);
	if (tally_log(f.m->state, &module, &generation, f.m->settings.half_life_s, &log, &f.fault) < 0)
		FAIL("%s", f.fault.text);
	*retcold = 0;
	for (size_t i = 0; i < log->modules[0].n_counts; i++)
		if (log->modules[0].counts[i].offset == COLD)
			*retcold = log->modules[0].counts[i].count;
	ret = (double)*retcold / (double)log->modules[0].total;
	generation_row_done(&generation);
	module_row_done(&module);
	return ret;
}

TEST(a_hot_loop_of_one_user_weighs_no_more_than_everybody_else)
{
	uint64_t cold;

	setup();
	take(0, 0x1000, 20000, NULL);
	take(1000, 0x1004, 10000, NULL);
	for (int i = 0; i < 5; i++)
		take(ATTACKER, COLD, 1000000, NULL);
	ATTACK("identity-hot-loop-of-one-user", share(&cold) <= 0.5001);
	CHECK(cold > 29000); /* it is not nothing either */
	fixture_done(&f);
}

TEST(beside_few_samples_of_others_it_weighs_what_makes_a_profile)
{
	uint64_t cold;

	setup();
	take(0, 0x1000, 100, NULL);
	take(ATTACKER, COLD, 5000000, NULL);
	share(&cold);
	ATTACK("identity-hot-loop-beside-few-samples", cold <= (uint64_t)TALLY_ENOUGH);
	fixture_done(&f);
}

TEST(a_user_does_not_become_several_by_many_logs)
{
	uint64_t cold;

	setup();
	take(0, 0x1000, 30000, NULL);
	for (uint64_t i = 0; i < 200; i++)
		take(ATTACKER, COLD + 4 * (i % 2), 10000, NULL);
	ATTACK("identity-hot-loop-in-many-logs", share(&cold) <= 0.2501);
	fixture_done(&f);
}

TEST(files_that_nobody_knows_do_not_push_out_those_of_others)
{
	struct file_identity file = { .device = 77, .inode = 1, .changed_ns = 5, .size = 1000 };

	setup();
	CHECK(tally_user(ATTACKER) != tally_user(1000));
	take(1000, COLD, 30, &file);
	for (file.inode = 2; file.inode < 300; file.inode++)
		take(ATTACKER, COLD, 100000, &file);
	ATTACK("identity-unknown-files-push-out-others",
	       number_of(f.m, "SELECT count(*) FROM pending_file WHERE inode = 1") == 1);
	ATTACK("identity-unknown-files-fill-the-database",
	       number_of(f.m, "SELECT count(*) FROM pending_file") <= PENDING_FILES + 1);
	fixture_done(&f);
}

TEST(samples_of_an_unknown_file_with_the_build_id_count_for_nobody)
{
	struct file_identity file = { .device = 77, .inode = 1, .changed_ns = 5, .size = 1000 };
	uint64_t cold;

	setup();
	take(0, 0x1000, 1000, NULL);
	take(ATTACKER, COLD, 1000000, &file);
	share(&cold);
	ATTACK("identity-build-id-of-another-program", cold == 0);
	file = (struct file_identity){ 0 };
	take(ATTACKER, COLD, 1000000, &file);
	share(&cold);
	ATTACK("identity-build-id-without-a-file", cold == 0);
	fixture_done(&f);
}

TEST(crashes_weigh_by_who_had_them)
{
	struct crashes_user one[] = { { 0, 100, 0, 0 }, { ATTACKER, 100000, 100000, 0 } };
	struct crashes_user two[] = { { 0, 100, 0, 0 }, { 1000, 10, 1, 0 }, { ATTACKER, 100000, 100000, 0 } };
	struct crashes_user service[] = { { 0, 5, 5, 0 }, { ATTACKER, 100, 0, 0 } };
	struct crashes_user alone[] = { { 1000, 4, 1, 0 } };

	ATTACK("identity-crashes-of-one-person", crashes_weigh(one, 2, false).crashes == 0);
	ATTACK("identity-crashes-beside-one-of-another",
	       crashes_weigh(two, 3, false).crashes <= 1 + CRASHES_PERSON);
	/* Nobody makes crashes look rare by starting it often. */
	ATTACK("identity-starts-of-one-person", crashes_weigh(one, 2, false).starts <= 100 + CRASHES_STARTS);
	CHECK_INT(crashes_weigh(service, 2, false).crashes, 5);
	CHECK_INT(crashes_weigh(alone, 1, false).crashes, 1);
}

TEST_MAIN()

/* SPDX-License-Identifier: Apache-2.0 */

/* What a start costs, before and after: the arithmetic, what morphd makes of the monitor's files, and who can steer it. */

#define _GNU_SOURCE
#include "manager/count/cost.h"

#include <math.h>

#include "manager/act/measure.h"
#include "manager/act/watch.h"
#include "profiles/samples/lifecycle.h"
#include "tests/attack.h"
#include "tests/manager/fixture.h"

#define ATTACKER 4321u
#define HOUR 3600000000000ull

static struct fixture f;

/* ---- arithmetic ---- */

static uint32_t random_state;

static double chance(void)
{
	random_state = random_state * 1664525u + 1013904223u;
	return random_state / 4294967296.0;
}

/* @n hours of @user, of about 100 starts that cost @cost each, give or take @noise (a share, uniform). */
static size_t hours_make(struct cost_hour *ret, size_t n, int64_t user, double cost, double noise)
{
	for (size_t i = 0; i < n; i++) {
		double starts = floor(50 + 100 * chance());
		double cpu_s = cost * starts * (1 + noise * (2 * chance() - 1));

		ret[i] = (struct cost_hour){
			.user = user, .starts = starts, .cpu_s = cpu_s, .samples = 250 * cpu_s
		};
	}
	return n;
}

TEST(a_gain_is_found_with_an_interval_that_holds_it_as_often_as_it_says)
{
	unsigned n_held = 0, n = 400;
	double width = 0;

	random_state = 1;
	for (unsigned i = 0; i < n; i++) {
		struct cost_hour shipped[24], made[24];
		struct cost_gain gain;

		hours_make(shipped, 24, 3, 0.2, 0.3);
		hours_make(made, 24, 3, 0.18, 0.3);
		gain = cost_compare(shipped, 24, made, 24);
		CHECK_INT(gain.n_users, 1);
		CHECK(gain.low < gain.gain && gain.gain < gain.high);
		n_held += gain.low <= 0.1 && 0.1 <= gain.high;
		width += gain.high - gain.low;
	}
	/* Of 400 intervals of 95 %, 20 miss on the average, and between 7 and 36 by chance (99.9 %). */
	CHECK(n_held >= n - 36 && n_held <= n - 7);
	CHECK(width / n > 0.05 && width / n < 0.25);
}

TEST(what_cannot_be_compared_is_not_known)
{
	struct cost_hour shipped[24], made[24];

	random_state = 2;
	hours_make(shipped, 24, 3, 0.2, 0.1);
	hours_make(made, 24, 4, 0.1, 0.1); /* somebody else */
	CHECK_INT(cost_compare(shipped, 24, made, 24).n_users, 0);
	hours_make(made, 24, 3, 0.1, 0.1);
	CHECK_INT(cost_compare(shipped, 24, made, 24).n_users, 1);
	CHECK_INT(cost_compare(shipped, COST_HOURS - 1, made, 24).n_users, 0);
	CHECK_INT(cost_compare(shipped, 24, made, COST_HOURS - 1).n_users, 0);
	CHECK_INT(cost_compare(shipped, 24, made, 0).n_users, 0);
	for (size_t i = 0; i < 24; i++)
		made[i].starts = 1; /* hardly ever started */
	CHECK_INT(cost_compare(shipped, 24, made, 24).n_users, 0);
	for (size_t i = 0; i < 24; i++)
		made[i] = (struct cost_hour){ .user = 3, .starts = 100 }; /* never sampled */
	CHECK_INT(cost_compare(shipped, 24, made, 24).n_users, 0);
	CHECK(!cost_is_slower(&(struct cost_gain){ 0 }, 1));
}

TEST(few_samples_are_no_certainty_however_even_the_hours_are)
{
	struct cost_hour shipped[24], made[24];
	struct cost_gain gain;

	for (size_t i = 0; i < 24; i++) {
		shipped[i] = (struct cost_hour){ .starts = 100, .cpu_s = 1, .samples = 4 };
		made[i] = (struct cost_hour){ .starts = 100, .cpu_s = 1, .samples = 4 };
	}
	gain = cost_compare(shipped, 24, made, 24);
	/* 96 samples each: the standard error of the ratio is a seventh. */
	CHECK(gain.low < -0.25 && gain.high > 0.2);
}

/* ---- who can steer it ---- */

/* Users 0 (root) or 1 and 2 who see @ratio, and an attacker to whom the generation looks @attack times as dear. */
static struct cost_gain attacked(double ratio, int honest, double attack)
{
	struct cost_hour shipped[400], made[400];
	size_t n_shipped = 0, n_made = 0;

	random_state = 7;
	for (int i = 0; i < honest; i++) {
		n_shipped += hours_make(shipped + n_shipped, 48, 1 + i, 0.2, 0.2);
		n_made += hours_make(made + n_made, 48, 1 + i, 0.2 * ratio, 0.2);
	}
	n_shipped += hours_make(shipped + n_shipped, 200, 9, 1, 0.0001);
	n_made += hours_make(made + n_made, 200, 9, attack, 0.0001);
	return cost_compare(shipped, n_shipped, made, n_made);
}

TEST(one_user_decides_nothing_for_others)
{
	struct cost_gain gain = attacked(0.9, 2, 100);

	CHECK_INT(gain.n_users, 3);
	CHECK_INT(gain.n_slower, 1);
	ATTACK("cost-one-user-takes-back", !cost_is_slower(&gain, 3));
	gain = attacked(1.2, 2, 0.01);
	CHECK_INT(gain.n_slower, 2);
	ATTACK("cost-one-user-keeps-what-is-slower", cost_is_slower(&gain, 3));
	gain = attacked(0.9, 2, 1000);
	ATTACK("cost-one-user-moves-the-measure-with-certainty", gain.low < 0.1 && gain.high > 0.1);
	gain = attacked(0.9, 0, 1.5); /* alone: it is their own program then */
	CHECK(cost_is_slower(&gain, 1));
	ATTACK("cost-one-user-decides-while-others-use-it-too-rarely", !cost_is_slower(&gain, 2));
}

TEST(root_is_believed)
{
	struct cost_hour shipped[24], made[24];
	struct cost_gain gain;

	random_state = 3;
	hours_make(shipped, 24, 0, 0.2, 0.1);
	hours_make(made, 24, 0, 0.25, 0.1);
	gain = cost_compare(shipped, 24, made, 24);
	CHECK(gain.root_is_slower && cost_is_slower(&gain, 5));
	hours_make(made, 24, 0, 0.2005, 0.001);
	hours_make(shipped, 24, 0, 0.2, 0.001);
	gain = cost_compare(shipped, 24, made, 24);
	CHECK(!cost_is_slower(&gain, 5)); /* slower with certainty, but by nothing worth while */
}

/* ---- files of the monitor ---- */

static void setup(void)
{
	fixture_make(&f);
	fixture_install(&f, "shipped");
	fixture_open(&f);
	fixture_sample(&f, "shipped", 4); /* so that morphd knows the file */
}

static struct file_identity identity(const char *name, struct build_id *id)
{
	_clean_(image_freep) struct image *image = NULL;
	char path[PATH_MAX];

	CHECK_INT(image_open(program(name, path), &image, NULL), 0);
	*id = *image_build_id(image);
	return file_of(&f, name, f.prog, id);
}

/* In hour @hour: samples at a tick of 250 Hz, and starts; of the file that stands at its path, which is program @name. */
static void hour(const char *name, uint32_t user, uint64_t hour, uint64_t samples, uint32_t starts,
		 bool untold)
{
	static uint64_t serial = 5000;
	_clean_(sample_log_freep) struct sample_log *log = sample_log_new();
	_clean_(lifecycle_donep) struct lifecycle lifecycle = { 0 };
	_clean_(buffer_donep) struct buffer text = { 0 };
	struct sample_module like = { .kind = SAMPLE_MODULE_FILE, .path = f.prog, .user = user };
	struct lifecycle_event event = { .kind = LIFECYCLE_EXEC,
					 .pid = 7,
					 .count = starts,
					 .user = user,
					 .path = f.prog,
					 .time_ns = (hour + 400000) * HOUR + 5 };
	char file[32], path[PATH_MAX];

	like.file = event.file = identity(name, &like.build_id);
	event.build_id = like.build_id;
	CHECK_INT(sample_module_add(sample_log_module_like(log, &like), 0x1000, samples), 0);
	sample_log_normalize(log);
	log->source = SAMPLE_SOURCE_TICK;
	log->rate_hz = 250;
	log->start_ns = (hour + 400000) * HOUR + ++serial;
	log->fired = log->user = log->attributed = samples;
	snprintf(file, sizeof(file), "%08llu.samples", (unsigned long long)serial);
	CHECK_INT(sample_log_write(log, path_join(f.m->spool, file, path), NULL), 0);
	if (intake_file(f.m, file, &f.fault) != 0)
		FAIL("%s", f.fault.text);
	CHECK_INT(lifecycle_add(&lifecycle, &event), 0);
	event.kind = LIFECYCLE_UNTOLD;
	event.value = 1;
	CHECK(!untold || lifecycle_add(&lifecycle, &event) == 0);
	CHECK_INT(lifecycle_encode(&lifecycle, &text), 0);
	snprintf(file, sizeof(file), "%08llu.events", (unsigned long long)serial);
	CHECK_INT(file_write(path_join(f.m->spool, file, path), text.data, text.size, 0644, NULL), 0);
	if (intake_file(f.m, file, &f.fault) < 0)
		FAIL("%s", f.fault.text);
}

static double measured(const char *column)
{
	_clean_(statement_freep) sqlite3_stmt *statement = NULL;
	char sql[128];

	snprintf(sql, sizeof(sql), "SELECT %s FROM generation WHERE number = 1", column);
	CHECK_INT(state_prepare(f.m->state, &statement, NULL, sql, ""), 0);
	CHECK_INT(state_step(f.m->state, statement, NULL), 1);
	return sqlite3_column_type(statement, 0) == SQLITE_NULL ? NAN : sqlite3_column_double(statement, 0);
}

/* Ten hours of the shipped file, then ten of a generation whose starts cost @percent of its. */
static void run(unsigned percent, uint32_t user, bool untold)
{
	int64_t number;

	for (uint64_t i = 0; i < 11; i++)
		hour("shipped", user, i, 1000 + 10 * (i % 3), 20, false);
	number = fixture_build(&f, "made");
	CHECK_INT(number, 1);
	if (activation_switch(f.m, f.prog, number, EVENT_ACTIVATED, "test", &f.fault) < 0)
		FAIL("%s", f.fault.text);
	/* The clock of this test is not the machine's. */
	CHECK_INT(state_do(f.m->state, NULL, "UPDATE target SET activated_ns = ?", "i",
			   (int64_t)((400000 + 11) * HOUR)),
		  0);
	for (uint64_t i = 11; i < 22; i++)
		hour("made", user, i, (1000 + 10 * ((i - 11) % 3)) * percent / 100, 20, untold && i % 2);
	CHECK_INT(measure_tick(f.m, &f.fault), 0);
}

TEST(the_gain_is_measured_from_samples_and_starts)
{
	double factor;

	setup();
	run(80, 1000, false);
	CHECK(fabs(measured("measured") - 0.2) < 0.01);
	CHECK(measured("measured_low") < 0.19 && measured("measured_high") > 0.21);
	CHECK_INT((int)measured("measured_starts"), 200); /* but for the first hour of each */
	CHECK(file_is_program(f.prog, "made"));
	/* It had been predicted to gain 10 %. */
	CHECK_INT(state_do(f.m->state, NULL, "UPDATE generation SET gain = 0.1 WHERE number = 1", ""), 0);
	CHECK_INT(measure_calibration(f.m->state, &factor, NULL), 0);
	CHECK(factor > 1.05 && factor < 2);
	fixture_done(&f);
}

TEST(what_is_measured_to_be_slower_goes_back_and_stays_back)
{
	_clean_(freep) char *condemned = NULL;
	struct module_row module = { 0 };

	setup();
	run(130, 1000, false);
	CHECK(file_is_program(f.prog, "shipped"));
	CHECK_INT(module_get(f.m->state, 1, &module, NULL), 0);
	CHECK(module.condemned &&
	      strstr(module.condemned, "measured to be slower: a start costs 30.0 % more"));
	module_row_done(&module);
	/* Who puts it back is not overruled by what was measured before. */
	if (activation_switch(f.m, f.prog, 1, EVENT_ACTIVATED, "by request", &f.fault) < 0)
		FAIL("%s", f.fault.text);
	CHECK_INT(measure_tick(f.m, &f.fault), 0);
	CHECK(file_is_program(f.prog, "made"));
	fixture_done(&f);
}

TEST(hours_in_which_starts_were_not_all_told_do_not_count)
{
	setup();
	run(80, 1000, true); /* five of ten hours are left, which is too few */
	CHECK(isnan(measured("measured")));
	fixture_done(&f);
}

TEST(starts_and_samples_of_files_that_nobody_verified_do_not_count)
{
	struct file_identity other = { .device = 77, .inode = 1, .changed_ns = 5, .size = 1000 };
	int64_t n = 0, before = 0;
	struct lifecycle_event event = {
		.kind = LIFECYCLE_EXEC, .count = 1000, .user = ATTACKER, .file = other
	};

	setup();
	hour("shipped", 1000, 1, 100, 10, false);
	CHECK_INT(state_integer(f.m->state, &before, NULL, "SELECT sum(starts) FROM cost", ""), 0);
	CHECK_INT(state_begin(f.m->state, NULL), 0);
	CHECK_INT(watch_count(f.m, &event, NULL), 0);
	CHECK_INT(state_commit(f.m->state, NULL), 0);
	CHECK_INT(state_integer(f.m->state, &n, NULL, "SELECT sum(starts) FROM cost", ""), 0);
	ATTACK("cost-starts-of-a-file-of-ones-own", n == before && before == 10);
	fixture_done(&f);
}

TEST(hours_are_kept_for_a_month_of_use)
{
	int64_t n = 0;

	setup();
	CHECK_INT(state_begin(f.m->state, NULL), 0);
	for (uint64_t i = 0; i < COST_KEPT_HOURS + 50; i++)
		CHECK_INT(cost_add_starts(f.m->state, 1, 1000, i * HOUR, 1, NULL), 0);
	for (uint64_t i = 0; i < COST_KEPT_HOURS + 50; i++)
		CHECK_INT(cost_add_gap(f.m->state, 1000, i * HOUR, NULL), 0);
	CHECK_INT(state_commit(f.m->state, NULL), 0);
	CHECK_INT(state_integer(f.m->state, &n, NULL, "SELECT count(*) FROM cost WHERE user = ?", "i",
				tally_user(1000)),
		  0);
	CHECK_INT(n, COST_KEPT_HOURS);
	CHECK_INT(state_integer(f.m->state, &n, NULL, "SELECT min(hour) FROM cost_gap", ""), 0);
	CHECK_INT(n, 50);
	fixture_done(&f);
}

TEST_MAIN()

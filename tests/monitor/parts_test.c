/* SPDX-License-Identifier: Apache-2.0 */

/* The monitor's parts that need no kernel: judging, budgeting, spooling, requests, settings, lists. */

#include "monitor/bpf/tick_hook.h"
#include "monitor/clock/agreement.h"
#include "monitor/clock/budget.h"
#include "monitor/clock/pace.h"
#include "monitor/control.h"
#include "monitor/identify/resolver.h"
#include "monitor/machine/deny.h"
#include "monitor/machine/support.h"
#include "monitor/outlet.h"
#include "monitor/record/collector.h"
#include "monitor/record/spool.h"
#include "monitor/settings.h"
#include "monitor/status.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/file.h"
#include "tests/attack.h"

static char directory[64];

static const char *fresh_directory(void)
{
	snprintf(directory, sizeof(directory), "/tmp/monitor-parts.XXXXXX");
	CHECK(mkdtemp(directory));
	return directory;
}

static const char *in(const char *name)
{
	static char path[2][512];
	static unsigned turn;

	turn = !turn;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", directory, name);
	return path[turn];
}

static void put(const char *name, const char *text)
{
	CHECK_INT(file_write(in(name), text, strlen(text), 0644, NULL), 0);
}

static unsigned n_files(const char *suffix)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;
	unsigned n = 0;

	while (dir && (entry = readdir(dir)))
		n += strlen(entry->d_name) > strlen(suffix) && entry->d_name[0] != '.' &&
		     strcmp(entry->d_name + strlen(entry->d_name) - strlen(suffix), suffix) == 0;
	if (dir)
		closedir(dir);
	return n;
}

static void cleanup(void)
{
	file_remove_tree(directory, NULL);
}

/* --- agreement ------------------------------------------------------------------------------------ */

static unsigned random_state = 12345;

static double uniform(void)
{
	random_state = random_state * 1664525u + 1013904223u;
	return (random_state >> 8) / (double)(1u << 24);
}

static const struct agreement_clocks clocks = { 250, 19, false };

/* Samples that a clock of @hz has of work that uses the part @share of a CPU for 15 seconds. */
static uint64_t draw(double hz, double share)
{
	uint64_t k = 0;

	for (unsigned i = 0; i < (unsigned)(hz * 15); i++)
		k += uniform() < share;
	return k;
}

/* Rounds of one CPU's time: module 0 uses @share of it, which looks like @tick_share to the tick; module 1 the rest. */
static size_t rounds(struct agreement *agreement, unsigned n_rounds, double tick_share, double share)
{
	size_t marked = 0;

	for (unsigned i = 0; i < n_rounds; i++) {
		CHECK_INT(agreement_add(agreement, 0, draw(clocks.tick_hz, tick_share),
					draw(clocks.reference_hz, share)),
			  0);
		CHECK_INT(agreement_add(agreement, 1, draw(clocks.tick_hz, 1 - share),
					draw(clocks.reference_hz, 1 - share)),
			  0);
		marked += agreement_round(agreement, &clocks, 15);
	}
	return marked;
}

TEST(work_that_the_tick_never_sees_is_marked_within_a_minute)
{
	struct agreement agreement = { 0 };

	rounds(&agreement, 4, 0, 0.11);
	CHECK(agreement_is_synchronous(&agreement, 0));
	CHECK(!agreement_is_synchronous(&agreement, 1));
	agreement_done(&agreement);
}

TEST(work_that_the_tick_never_sees_is_marked_beside_nothing_else)
{
	struct agreement agreement = { 0 };

	/* As it was seen: 95 of the reference's samples, and 3 of the tick's. */
	for (unsigned i = 0; i < 3; i++) {
		CHECK_INT(agreement_add(&agreement, 0, 1, 32), 0);
		agreement_round(&agreement, &clocks, 5);
	}
	CHECK(agreement_is_synchronous(&agreement, 0));
	agreement_done(&agreement);
}

TEST(work_that_the_tick_always_sees_is_marked_too)
{
	struct agreement agreement = { 0 };

	rounds(&agreement, 4, 0.3, 0.02);
	CHECK(agreement_is_synchronous(&agreement, 0));
	CHECK(!agreement_is_synchronous(&agreement, 1));
	agreement_done(&agreement);
}

TEST(what_runs_where_the_reference_is_paused_is_not_marked)
{
	const struct agreement_clocks paused = { 250, 19, true };
	struct agreement agreement = { 0 };

	for (unsigned i = 0; i < 100; i++) {
		CHECK_INT(agreement_add(&agreement, 0, 75, 0), 0); /* 2 % of an idle CPU */
		CHECK_INT(agreement_add(&agreement, 1, 0, 75), 0);
		agreement_round(&agreement, &paused, 15);
	}
	CHECK(!agreement_is_synchronous(&agreement, 0));
	CHECK(agreement_is_synchronous(&agreement, 1)); /* but more than the tick saw is more */
	agreement_done(&agreement);
}

TEST(modules_that_agree_are_not_marked_in_a_day)
{
	struct agreement agreement = { 0 };

	for (double share = 0.0005; share < 0.6; share *= 3)
		CHECK_INT(rounds(&agreement, 24 * 60 * 4 / 6, share, share), 0);
	agreement_done(&agreement);
}

TEST(a_mark_goes_when_the_clocks_agree_again)
{
	struct agreement agreement = { 0 };

	rounds(&agreement, 10, 0, 0.2);
	CHECK(agreement_is_synchronous(&agreement, 0));
	rounds(&agreement, 400, 0.2, 0.2);
	CHECK(!agreement_is_synchronous(&agreement, 0));
	CHECK(!agreement_is_synchronous(&agreement, 12345));
	agreement_done(&agreement);
}

/* --- budget --------------------------------------------------------------------------------------- */

TEST(budgets_are_read_as_shares)
{
	struct fault fault;
	double budget;

	CHECK_INT(budget_parse("0.1 %", &budget, &fault), 0);
	CHECK(fabs(budget - 0.001) < 1e-12);
	CHECK_INT(budget_parse("0.002", &budget, &fault), 0);
	CHECK(fabs(budget - 0.002) < 1e-12);
	CHECK_INT(budget_parse("0", &budget, &fault), -EINVAL);
	CHECK_INT(budget_parse("50%", &budget, &fault), -EINVAL);
	CHECK_INT(budget_parse("much", &budget, &fault), -EINVAL);
	CHECK_INT(budget_parse("0.1 % or so", &budget, &fault), -EINVAL);
}

TEST(rates_never_cost_more_than_the_budget)
{
	for (double interrupt = 500; interrupt < 50000; interrupt *= 1.7)
		for (double program = 100; program < 20000; program *= 1.9)
			for (double hz = 100; hz <= 1000; hz += 150) {
				struct budget_cost cost = { interrupt, program, program, 0.0001 };
				struct budget_rates rates = budget_rates(0.001, &cost, hz);

				CHECK(rates.total_share <= 0.001 * 1.0001);
				CHECK(rates.tick_hz * rates.tick_divisor > hz * 0.999);
				CHECK(rates.reference_hz <= BUDGET_REFERENCE_HZ);
				cost.own = 0.0006;
				CHECK(budget_rates(0.001, &cost, hz).total_share <= 0.001 * 1.0001);
				CHECK(rates.reference_hz == 0 ||
				      rates.reference_hz >= BUDGET_REFERENCE_MIN_HZ);
			}
}

TEST(a_burst_is_paid_from_what_was_saved)
{
	struct budget_cost cost = { 10000, 0, 2000, 0 };
	struct budget_credit credit = { 0 };

	CHECK(budget_buy(&credit, &cost, 499, 5, 2) == 0);
	budget_save(&credit, 0.001, 2, 1000, 0.5); /* 1.5 s saved */
	CHECK(budget_buy(&credit, &cost, 499, 5, 2) == 499);
	CHECK(fabs(credit.seconds - (1.5 - 499 * 5 * 2 * 12e-6)) < 1e-9);
	budget_save(&credit, 0.001, 2, 1e9, 0);
	CHECK(credit.seconds <= 0.001 * 2 * 3600);
	CHECK(budget_buy(&credit, &cost, 20000, 60, 2) < 20000);
	CHECK(fabs(credit.seconds) < 1e-9);
}

TEST(what_an_interrupt_costs_is_plausible)
{
	struct fault fault;
	double ns;

	if (budget_measure(&ns, &fault) < 0)
		SKIP("%s", fault.text);
	CHECK(ns > 100 && ns < 90000);
}

/* --- pace ----------------------------------------------------------------------------------------- */

TEST(drawn_periods_stay_within_a_quarter_and_average_out)
{
	struct pace pace;
	double sum = 0;

	CHECK_INT(pace_init(&pace, 1), 0);
	for (unsigned i = 0; i < 10000; i++) {
		double factor = pace_draw(&pace);

		CHECK(factor >= 0.75 && factor <= 1.25);
		sum += factor;
	}
	CHECK(fabs(sum / 10000 - 1) < 0.01);
	pace_done(&pace);
}

TEST(lines_of_proc_stat_give_busy_and_all)
{
	uint64_t busy, all;
	unsigned cpu;

	CHECK(pace_stat_parse("cpu3 10 1 5 100 20 2 3 4 0 0\n", &cpu, &busy, &all));
	CHECK_INT(cpu, 3);
	CHECK_INT(all, 145);
	CHECK_INT(busy, 25);
	CHECK(!pace_stat_parse("cpu  10 1 5 100 20 2 3 4 0 0\n", &cpu, &busy, &all));
	CHECK(!pace_stat_parse("intr 1 2 3\n", &cpu, &busy, &all));
}

TEST(a_machine_is_on_battery_when_no_mains_supply_is_online)
{
	fresh_directory();
	CHECK(!pace_on_battery(directory));
	mkdir(in("AC"), 0755);
	mkdir(in("BAT0"), 0755);
	put("AC/type", "Mains\n");
	put("AC/online", "1\n");
	put("BAT0/type", "Battery\n");
	CHECK(!pace_on_battery(directory));
	put("AC/online", "0\n");
	CHECK(pace_on_battery(directory));
	cleanup();
}

/* --- spool and outlet ----------------------------------------------------------------------------- */

static struct sample_log *some_log(void)
{
	struct sample_log *log = sample_log_new();
	struct sample_module *module = sample_log_module(log, SAMPLE_MODULE_FILE, NULL, "/x", 1, 1);

	log->source = SAMPLE_SOURCE_TICK;
	for (uint64_t i = 0; i < 500; i++)
		sample_module_add(module, i * 977, i + 1);
	sample_log_normalize(log);
	sample_log_balance(log);
	return log;
}

TEST(a_spool_has_one_owner)
{
	struct spool first, second;
	struct fault fault;

	fresh_directory();
	CHECK_INT(spool_open(directory, 1 << 20, &first, &fault), 0);
	CHECK_INT(spool_open(directory, 1 << 20, &second, &fault), -EBUSY);
	CHECK(strstr(fault.text, "another monitor"));
	spool_close(&first);
	CHECK_INT(spool_open(directory, 1 << 20, &second, &fault), 0);
	spool_close(&second);
	cleanup();
}

TEST(a_spool_nobody_empties_stays_within_its_limit)
{
	_clean_(sample_log_freep) struct sample_log *log = some_log();
	struct spool spool;
	struct fault fault;

	fresh_directory();
	CHECK_INT(spool_open(directory, 20 * 4096, &spool, &fault), 0);
	for (unsigned i = 0; i < 60; i++)
		CHECK_INT(spool_write_log(&spool, log, &fault), 0);
	CHECK(n_files(SPOOL_SUFFIX) >= 10 && n_files(SPOOL_SUFFIX) <= 20);
	CHECK_INT(spool.n_dropped, 60 - n_files(SPOOL_SUFFIX));
	spool_close(&spool);
	cleanup();
}

TEST(what_cannot_be_written_is_kept_and_comes_with_the_next)
{
	struct monitor_settings settings = { .spool_limit_bytes = 1 << 20 };
	struct outlet outlet;
	struct fault fault;
	char blocked[128];

	fresh_directory();
	snprintf(blocked, sizeof(blocked), "%s/spool", directory);
	settings.spool = blocked;
	CHECK_INT(outlet_open(&settings, &outlet, &fault), 0);
	CHECK_INT(file_remove_tree(blocked, NULL), 0);
	put("spool", "in the way");
	CHECK(outlet_log(&outlet, some_log(), &fault) < 0);
	CHECK(outlet_log(&outlet, some_log(), &fault) < 0);
	CHECK_INT(outlet.n_unwritten, 2);
	unlink(blocked);
	CHECK_INT(outlet_log(&outlet, some_log(), &fault), 0);
	CHECK_INT(outlet.n_unwritten, 0);
	outlet_close(&outlet);
	snprintf(directory, sizeof(directory), "%.50s", blocked);
	CHECK_INT(n_files(SPOOL_SUFFIX), 1);
	directory[strlen(directory) - strlen("/spool")] = '\0';
	cleanup();
}

/* --- control, settings, denial --------------------------------------------------------------------- */

TEST(a_burst_is_taken_once_and_nonsense_is_removed)
{
	struct control_burst burst = { 0 };
	struct control control;
	struct fault fault;

	fresh_directory();
	CHECK_INT(control_open(directory, &control, &fault), 0);
	CHECK_INT(control_take_burst(&control, &burst, &fault), 0);
	put("burst", "rate = 997\nseconds = 2\nmodule = /usr/bin/x\n");
	CHECK_INT(control_take_burst(&control, &burst, &fault), 1);
	CHECK(burst.rate_hz == 997 && burst.seconds == 2);
	CHECK_STR(burst.module, "/usr/bin/x");
	free(burst.module);
	CHECK_INT(control_take_burst(&control, &burst, &fault), 0);
	put("burst", "rate = 1000000\n");
	CHECK_INT(control_take_burst(&control, &burst, &fault), -EINVAL);
	CHECK(access(in("burst"), F_OK) < 0);
	control_close(&control);
	cleanup();
}

TEST(settings_are_read_over_the_defaults)
{
	_clean_(monitor_settings_donep) struct monitor_settings settings;
	struct fault fault;

	fresh_directory();
	CHECK_INT(monitor_settings_init(&settings), 0);
	put("monitor.conf", "overhead_budget = 0.5 %\nsource = perf\ninterval = 1 min\nreference = no\n");
	CHECK_INT(monitor_settings_read(in("monitor.conf"), false, &settings, &fault), 0);
	CHECK_INT(monitor_settings_finish(&settings, &fault), 0);
	CHECK(fabs(settings.budget - 0.005) < 1e-12);
	CHECK_INT(settings.source, MONITOR_PERF);
	CHECK_INT(settings.interval_s, 60);
	CHECK(!settings.reference && settings.lifecycle);
	CHECK_INT(monitor_settings_read(in("missing"), true, &settings, &fault), 0);
	CHECK_INT(monitor_settings_read(in("missing"), false, &settings, &fault), -ENOENT);
	CHECK_INT(monitor_settings_set(&settings, "source", "sundial", &fault), 0);
	CHECK_INT(monitor_settings_finish(&settings, &fault), -EINVAL);
	cleanup();
}

TEST(kernels_that_freeze_are_denied_their_clock)
{
	CHECK(deny_reason(DENY_CPU_CLOCK, "6.16.0"));
	CHECK(deny_reason(DENY_CPU_CLOCK, "6.17.3-arch1-1"));
	CHECK(!deny_reason(DENY_CPU_CLOCK, "6.15.9"));
	CHECK(!deny_reason(DENY_CPU_CLOCK, "6.18.44-fc"));
	CHECK(deny_reason(DENY_BPF_WALK, "5.10.0-28-amd64"));
	CHECK(!deny_reason(DENY_BPF_WALK, "6.1.0-18-amd64"));
}

/* --- resolver -------------------------------------------------------------------------------------- */

static struct sampler_module_event walked(const char *names, size_t size)
{
	struct sampler_module_event event = { .path_bytes = (uint32_t)size };

	memcpy(event.path, names, size);
	return event;
}

TEST(walked_names_become_a_path_and_damaged_ones_none)
{
	struct sampler_module_event event = walked("prog\0bin\0usr", 13);
	char path[PATH_MAX];

	CHECK(resolver_path(&event, sizeof(event), path));
	CHECK_STR(path, "/usr/bin/prog");
	CHECK(!resolver_path(&event, sizeof(event) - 1, path));
	event.path_bytes = 12;
	CHECK(!resolver_path(&event, sizeof(event), path));
	event.path_bytes = 0;
	CHECK(!resolver_path(&event, sizeof(event), path));
	event.path_bytes = SAMPLER_PATH_BYTES + 1;
	CHECK(!resolver_path(&event, sizeof(event), path));
}

/* What the kernel side would tell of the file at @path. */
static struct sampler_file file_at(const char *path)
{
	_clean_(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct sampler_inode inode;
	struct file_identity file;

	CHECK_INT(file_identity_of_fd(fd, &file), 0);
	CHECK_INT(resolver_inode_of(path, &inode), 0);
	return (struct sampler_file){ .inode = file.inode,
				      .device = major(file.device) << 20 | minor(file.device),
				      .generation = inode.generation,
				      .size = file.size,
				      .changed_s = file.changed_ns / 1000000000,
				      .changed_ns = file.changed_ns % 1000000000 };
}

TEST(a_module_of_a_process_that_is_gone_is_found_by_its_walked_path)
{
	_clean_(catalog_freep) struct catalog *catalog = catalog_new();
	_clean_(resolver_freep) struct resolver *resolver = resolver_new(NULL, catalog);
	struct sampler_module_event event = walked("true\0bin\0usr", 13);
	const struct catalog_module *module;

	event.event.tgid = 0x7ffffff0;
	event.event.number = 20;
	event.event.module = file_at("/usr/bin/true");
	module = catalog_at(catalog, resolver_announce(resolver, &event, sizeof(event)));
	CHECK(module);
	CHECK_STR(module->path, "/usr/bin/true");
	CHECK(module->build_id.size == 20 && module->size > 0);
	CHECK(resolver_find(resolver, 20, 1000) != CATALOG_NONE);
	CHECK_INT(resolver_find(resolver, 21, 1000), CATALOG_NONE);
	event.event.module.inode++;
	CHECK_INT(resolver_announce(resolver, &event, sizeof(event)), CATALOG_NONE);
}

TEST(what_each_user_runs_of_a_file_is_a_module_of_its_own)
{
	_clean_(catalog_freep) struct catalog *catalog = catalog_new();
	_clean_(resolver_freep) struct resolver *resolver = resolver_new(NULL, catalog);
	struct sampler_module_event event = walked("true\0bin\0usr", 13);
	uint32_t one, other;

	event.event.tgid = 0x7ffffff0;
	event.event.number = 20;
	event.event.module = file_at("/usr/bin/true");
	CHECK(resolver_announce(resolver, &event, sizeof(event)) != CATALOG_NONE);
	one = resolver_find(resolver, 20, 1000);
	other = resolver_find(resolver, 20, 1001);
	CHECK(one != CATALOG_NONE && other != CATALOG_NONE && one != other);
	CHECK_INT(catalog_at(catalog, one)->user, 1000);
	CHECK_INT(catalog_at(catalog, other)->user, 1001);
	CHECK_INT(resolver_find(resolver, 20, 1000), one);
	/* The same file in another mount namespace is told apart, whoever runs it. */
	event.event.number = 21;
	event.event.module.space = 7;
	CHECK(resolver_announce(resolver, &event, sizeof(event)) != CATALOG_NONE);
	CHECK(resolver_find(resolver, 21, 1000) != one);
	CHECK_INT(catalog_at(catalog, resolver_find(resolver, 21, 1000))->space, 7);
}

TEST(a_file_rewritten_in_place_is_another_file)
{
	_clean_(catalog_freep) struct catalog *catalog = catalog_new();
	_clean_(resolver_freep) struct resolver *resolver = resolver_new(NULL, catalog);
	struct sampler_module_event event;
	char names[128];
	uint32_t module;
	size_t n;

	fresh_directory();
	put("lib", "first");
	n = (size_t)snprintf(names, sizeof(names), "lib%c%s%ctmp", 0, directory + strlen("/tmp/"), 0) + 1;
	event = walked(names, n);
	event.event.tgid = 0x7ffffff0;
	event.event.number = 20;
	event.event.module = file_at(in("lib"));
	module = resolver_announce(resolver, &event, sizeof(event));
	CHECK(module != CATALOG_NONE);
	usleep(20000);
	{
		_clean_(fd_closep) int fd = open(in("lib"), O_WRONLY);

		CHECK(write(fd, "other", 5) == 5);
	}
	/* What was mapped is there no more: nothing is known of it. What stands there now is a module of its own. */
	event.event.number = 21;
	CHECK_INT(resolver_announce(resolver, &event, sizeof(event)), CATALOG_NONE);
	event.event.module = file_at(in("lib"));
	CHECK(resolver_announce(resolver, &event, sizeof(event)) != module);
	CHECK(resolver_find(resolver, 21, 0) != CATALOG_NONE &&
	      resolver_find(resolver, 21, 0) != resolver_find(resolver, 20, 0));
	cleanup();
}

/* --- collector ------------------------------------------------------------------------------------- */

#define MANY_MODULES (CATALOG_MAX / 2 - 100)

/* One sample in each of the first @n files, by root, announced or (were they all forgotten) not. */
static struct sample_log *log_of_many(struct collector *collector, unsigned n, bool announce)
{
	_clean_(freep) struct sampler_row *rows = calloc(n, sizeof(*rows));
	struct sampler_drained drained = { .rows = rows, .n_rows = n };
	struct collector_head head = { .source = SAMPLE_SOURCE_TICK,
				       .n_cpus = 1,
				       .tables = 1u << SAMPLER_MAIN };
	struct sample_log *log;
	char name[256];
	struct fault fault;

	for (unsigned i = 0; i < n; i++) {
		struct sampler_module_event event = { .event = { .type = SAMPLER_EVENT_MODULE,
								 .tgid = 0x7ffffff0 } };

		snprintf(name, sizeof(name), "%u", i);
		event.event.module = file_at(in(name));
		event.event.number = SAMPLER_FIRST_FILE + i;
		event.path_bytes = (uint32_t)snprintf(event.path, sizeof(event.path), "%u%c%s%ctmp", i, 0,
						      directory + strlen("/tmp/"), 0) +
				   1;
		rows[i] = (struct sampler_row){ { .offset = 64, .module = SAMPLER_FIRST_FILE + i }, 1 };
		if (announce)
			CHECK(collector_event(collector, &event.event, sizeof(event)));
	}
	drained.counters.n[SAMPLER_FIRED] = drained.counters.n[SAMPLER_USER_MODE] =
		drained.counters.n[SAMPLER_ATTRIBUTED] = n;
	CHECK_INT(collector_add(collector, SAMPLER_MAIN, &drained, &fault), 0);
	CHECK_INT(collector_log(collector, &head, &log, &fault), 0);
	return log;
}

static void files_make(unsigned n)
{
	char name[32];

	fresh_directory();
	for (unsigned i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%u", i);
		_clean_(fd_closep) int fd = open(in(name), O_WRONLY | O_CREAT, 0600);

		CHECK(fd >= 0);
	}
}

TEST(too_many_modules_are_forgotten_when_nobody_runs_them_any_more)
{
	_clean_(collector_freep) struct collector *collector = collector_new(NULL);
	struct sample_log *log;

	files_make(MANY_MODULES);
	log = log_of_many(collector, MANY_MODULES, true);
	CHECK_INT(log->attributed, MANY_MODULES);
	CHECK_INT(log->n_modules, MANY_MODULES);
	sample_log_free(log);
	CHECK(!collector_forgotten(collector));
	/* One of them goes on. */
	log = log_of_many(collector, 1, false);
	CHECK_INT(log->attributed, 1);
	sample_log_free(log);
	CHECK(collector_forgotten(collector) && !collector_forgotten(collector));
	CHECK(collector_n_modules(collector) <= 3);
	/* Who is not announced again is a named loss, not another module's samples. */
	log = log_of_many(collector, MANY_MODULES, false);
	CHECK_INT(log->lost[SAMPLE_LOSS_UNRESOLVED], MANY_MODULES);
	sample_log_free(log);
	log = log_of_many(collector, MANY_MODULES, true);
	CHECK_INT(log->attributed, MANY_MODULES);
	sample_log_free(log);
	cleanup();
}

TEST(one_persons_files_do_not_push_out_others)
{
	_clean_(catalog_freep) struct catalog *catalog = catalog_new();
	struct catalog_module module = { .kind = SAMPLE_MODULE_FILE, .path = "/x", .file = { .device = 1 } };
	uint32_t n = 0, n_all = 0;

	module.user = module.charged = 1000;
	for (uint32_t i = 0; i < 2 * CATALOG_MAX; i++, module.file.inode++)
		n += catalog_add_like(catalog, &module) != CATALOG_NONE;
	ATTACK("identity-modules-of-one-user", n == CATALOG_OF_PERSON);
	module.user = module.charged = 1001;
	CHECK(catalog_add_like(catalog, &module) != CATALOG_NONE);
	/* Not even all persons together push out the system. */
	for (uint32_t i = 0; i < 2 * CATALOG_MAX; i++, module.file.inode++) {
		module.user = module.charged = 1000 + i % 200;
		catalog_add_like(catalog, &module);
	}
	n_all = (uint32_t)catalog_size(catalog);
	CHECK_INT(n_all, CATALOG_OF_PERSONS);
	module.user = module.charged = 0;
	ATTACK("identity-modules-of-all-users", catalog_add_like(catalog, &module) != CATALOG_NONE);
}

/* --- status, support, tick hook -------------------------------------------------------------------- */

TEST(what_the_monitor_publishes_is_what_support_reads)
{
	struct monitor_status status = { .source = MONITOR_TICK,
					 .source_reason = "",
					 .reference_reason = "",
					 .budget = 0.001,
					 .cost = { .interrupt_ns = 1234, .tick_ns = 56 },
					 .fired = { 7, 3 },
					 .user = 5,
					 .tick_hz = 1000,
					 .n_synchronous = 4,
					 .rates = { .tick_divisor = 8, .reference_hz = 15 } };
	struct support support;
	struct fault fault;

	fresh_directory();
	status.lost[SAMPLE_LOSS_RACE] = 2;
	status.lost[SAMPLE_LOSS_RING_FULL] = 1;
	CHECK_INT(status_write(&status, in("status.json"), &fault), 0);
	support_probe("", &support);
	support_monitor_read(in("status.json"), &support);
	CHECK(support.monitor_runs);
	CHECK_STR(support.monitor_source, "tick");
	CHECK(support.interrupt_ns == 1234 && support.tick_program_ns == 56);
	CHECK(support.main_hz == 125 && support.reference_hz == 15 && support.synchronous == 4);
	CHECK(support.fired == 10 && support.user == 5 && support.lost == 3);
	CHECK(fabs(support.budget_percent - 0.1) < 1e-9);
	support_probe("", &support);
	support_monitor_read(in("missing"), &support);
	CHECK(!support.monitor_runs);
	cleanup();
}

/* The monitor's user may write anything there, and root looks at it. */
TEST(a_hostile_status_file_shows_nothing_that_a_terminal_obeys)
{
	struct support support;

	fresh_directory();
	put("status.json",
	    "{\"pid\": 1, \"source\": \"\\u001b[2Jx\", \"source_reason\": \"\\\"pid\\\": 7, \\u202e\","
	    " \"samples\": {\"user\": 1e999, \"lost\": {\"race\": {}}}}\n");
	support_probe("", &support);
	support_monitor_read(in("status.json"), &support);
	CHECK(support.monitor_runs);
	CHECK_STR(support.monitor_source, "\\x1b[2Jx");
	CHECK_STR(support.monitor_reason, "\"pid\": 7, \\u202e");
	CHECK(support.user == 0 && support.lost == 0);
	put("status.json", "{\"pid\": 1e300}");
	support_monitor_read(in("status.json"), &support);
	CHECK(!support.monitor_runs);
	put("status.json", "{\"pid\": 1,");
	support_monitor_read(in("status.json"), &support);
	CHECK(!support.monitor_runs);
	cleanup();
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

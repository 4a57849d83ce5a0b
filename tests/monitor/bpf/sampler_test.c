/* SPDX-License-Identifier: Apache-2.0 */

/* The real sampler in the real kernel, with programs whose behaviour is known. Needs root and BPF. */

#define _GNU_SOURCE
#include "monitor/bpf/sampler_load.h"
#include "monitor/clock/pace.h"
#include "monitor/identify/resolver.h"
#include "monitor/machine/privileges.h"
#include "monitor/record/collector.h"
#include "monitor/record/lives.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "base/file.h"
#include "module/image.h"
#include "tests/monitor/samples_in.h"
#include "tests/monitor/watched_jump.h"
#include "tests/test.h"

struct setup {
	struct sampler *sampler;
	struct collector *collector;
	struct lives *lives;
};

static const struct sampler_options tick = { .source = SAMPLE_SOURCE_TICK,
					     .has_reference = true,
					     .n_main_rows = 4096,
					     .n_reference_rows = 4096,
					     .n_snapshots = 1024,
					     .snapshot_every = 1 };
static const struct sampler_options fast = { .source = SAMPLE_SOURCE_CPU_CLOCK,
					     .rate_hz = 1999,
					     .n_main_rows = 16384 };

static void setup_done(struct setup *setup)
{
	sampler_free(setup->sampler);
	collector_free(setup->collector);
	lives_free(setup->lives);
}

static struct setup setup_open(const struct sampler_options *options)
{
	struct setup setup = { .collector = collector_new(NULL), .lives = lives_new() };
	struct fault fault;
	int r = sampler_open(options, &setup.sampler, &fault);

	if (r < 0) {
		setup_done(&setup);
		/* To whom it is permitted, the same codes mean that the verifier refused. */
		if (!privileges_has(CAP_BPF) || r == -ESRCH || r == -ENOENT || r == -ENODEV)
			SKIP("%s", fault.text);
		FAIL("%s", fault.text);
	}
	return setup;
}

static struct sample_log *log_of(struct setup *setup, bool with_reference);

/* Loading takes a second under sanitizers, so most tests share; what is from before is thrown away. */
static struct setup *shared(const struct sampler_options *options)
{
	static struct setup setups[2];
	struct setup *setup = &setups[options == &tick];

	if (!setup->sampler)
		*setup = setup_open(options);
	sample_log_free(log_of(setup, options->has_reference));
	lives_clear(setup->lives);
	return setup;
}

static void on_event(const struct sampler_event *event, size_t size, void *closure)
{
	struct setup *setup = closure;
	struct sampler_file again;

	if (!collector_event(setup->collector, event, size, &again))
		sampler_forget(setup->sampler, &again);
	lives_event(setup->lives, setup->collector, event, size);
}

static pid_t spawn(const char *what, const char *first, const char *second)
{
	pid_t pid = fork();

	if (pid == 0) {
		struct rlimit none = { 0, 0 };

		setrlimit(RLIMIT_CORE, &none);
		/* Alone on its CPU: among others, slices begin and end at ticks, which see one more than another. */
		sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ 1 });
		execl(VICTIM, VICTIM, what, first, second, (char *)NULL);
		_exit(127);
	}
	return pid;
}

/* A process that has stopped is told to go on once its events were seen. */
static int wait_for(pid_t pid, struct setup *setup)
{
	int status = 0;

	while (waitpid(pid, &status, WNOHANG | WUNTRACED) == 0 || WIFSTOPPED(status)) {
		sampler_events(setup->sampler, on_event, setup);
		if (WIFSTOPPED(status))
			kill(pid, SIGCONT);
		status = 0;
		usleep(2000);
	}
	sampler_events(setup->sampler, on_event, setup);
	return status;
}

static void drain(struct setup *setup, enum sampler_table table)
{
	struct sampler_drained drained;
	struct fault fault;

	if (sampler_drain(setup->sampler, table, &drained, &fault) < 0)
		FAIL("%s", fault.text);
	sampler_events(setup->sampler, on_event, setup);
	if (collector_add(setup->collector, table, &drained, &fault) < 0)
		FAIL("%s", fault.text);
}

static struct sample_log *log_of(struct setup *setup, bool with_reference)
{
	struct collector_head head = { .source = SAMPLE_SOURCE_TICK,
				       .n_cpus = 1,
				       .tables = 1u << SAMPLER_MAIN };
	struct sample_log *log;
	struct fault fault;

	drain(setup, SAMPLER_MAIN);
	if (with_reference) {
		drain(setup, SAMPLER_REFERENCE);
		head.tables |= 1u << SAMPLER_REFERENCE;
	}
	if (collector_log(setup->collector, &head, &log, &fault) < 0)
		FAIL("%s", fault.text);
	return log;
}

TEST(the_tick_sees_a_program_in_proportion_to_its_cpu_time)
{
	struct setup *setup = shared(&tick);
	_clean_(sample_log_freep) struct sample_log *log = NULL;
	struct timespec period;
	double want;

	clock_getres(CLOCK_MONOTONIC_COARSE, &period); /* one tick */
	wait_for(spawn("burn", "0.8", NULL), setup);
	log = log_of(setup, false);
	want = 0.8e9 / (double)period.tv_nsec;
	CHECK_INT(log->lost[SAMPLE_LOSS_NO_MAPPING] + log->lost[SAMPLE_LOSS_MAP_FULL], 0);
	CHECK((double)samples_in(log, "victim") > want * 0.6);
	CHECK((double)samples_in(log, "victim") < want * 1.4);
}

TEST(ticks_in_the_kernel_are_told_from_those_in_programs_and_have_addresses)
{
	struct setup *setup = shared(&tick);
	_clean_(sample_log_freep) struct sample_log *log = NULL;
	char *memory;

	if (!sampler_has_kernel_addresses(setup->sampler))
		SKIP("this kernel's BTF does not lead to the interrupted registers");
	for (int i = 0; i < 60; i++) {
		memory = mmap(NULL, 32 << 20, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		CHECK(memory != MAP_FAILED);
		munmap(memory, 32 << 20);
	}
	log = log_of(setup, false);
	CHECK(log->kernel > 10);
	CHECK(samples_in(log, "[kernel") * 100 >= log->kernel * 95);
}

#ifdef __x86_64__

TEST(registers_at_the_tick_tell_how_often_a_jump_is_taken)
{
	struct setup *setup = shared(&tick);
	_clean_(sample_log_freep) struct sample_log *log = NULL;
	uint64_t taken, all;
	clock_t start = clock();

	while (clock() - start < 2 * CLOCKS_PER_SEC) {
		count_up(0, 1000000);
		sampler_events(setup->sampler, on_event, setup);
	}
	log = log_of(setup, true);
	CHECK(sample_log_sees_both_ways(log));
	watched_jump_find(log, "test-monitor-sampler", &taken, &all);
	CHECK(all > 50);
	CHECK(taken * 100 > all * 8 && taken * 100 < all * 45);
}

#endif

static const struct sampler_options told = {
	.source = SAMPLE_SOURCE_TICK, .n_main_rows = 4096, .owners = true, .n_stacks = 512, .stack_every = 1
};

/* Of one stack: is this function of the victim among its frames; how many frames; how was it cut? */
struct seen_stack {
	uint64_t count, cut;
	unsigned depth;
	bool outer, inner, is_victim;
};

static bool is_function(const struct image *victim, const struct stack_frame *frame, const char *name)
{
	for (size_t i = 0; i < image_n_symbols(victim); i++) {
		const struct image_symbol *symbol = image_symbol_at(victim, i);
		uint64_t start;

		if (strcmp(symbol->name, name) == 0 &&
		    image_address_to_offset(victim, symbol->address, &start))
			return frame->offset >= start && frame->offset < start + symbol->size;
	}
	return false;
}

static struct seen_stack stack_look(const struct stacks *stacks, const struct image *victim, size_t leaf)
{
	struct seen_stack seen = { .count = stacks->nodes[leaf].count };

	for (uint32_t i = (uint32_t)leaf; i != STACKS_ROOT; i = stacks->nodes[i].parent) {
		const struct stack_frame *frame = &stacks->nodes[i].frame;
		const struct sample_module *image = &stacks->images[frame->image];

		seen.depth++;
		if ((int)image->kind == STACK_CUT)
			seen.cut = frame->offset;
		if ((int)image->kind == STACK_PROCESS)
			seen.is_victim = strncmp(image->path, "test-monitor-vi", 15) == 0;
		if (!strstr(image->path, "test-monitor-victim"))
			continue;
		seen.outer |= is_function(victim, frame, "calls_outer");
		seen.inner |= is_function(victim, frame, "calls_inner");
	}
	return seen;
}

/* Run the victim, and hand all its stacks to @each. */
static uint64_t stacks_of(const char *what, void (*each)(const struct seen_stack *seen, uint64_t *sum),
			  uint64_t *sum)
{
	_clean_(setup_done) struct setup setup = setup_open(&told);
	_clean_(image_freep) struct image *victim = NULL;
	_clean_(sample_log_freep) struct sample_log *log = NULL;
	uint64_t all = 0;

	CHECK_INT(image_open(VICTIM, &victim, NULL), 0);
	wait_for(spawn(what, "0.5", NULL), &setup);
	log = log_of(&setup, false);
	CHECK_INT(log->stacks.n_lost, 0);
	CHECK_INT(log->stacks.n_samples, log->user + log->kernel);
	for (size_t i = 0; i < log->stacks.n_nodes; i++) {
		struct seen_stack seen = stack_look(&log->stacks, victim, i);

		if (!seen.count || !seen.is_victim)
			continue;
		all += seen.count;
		each(&seen, sum);
	}
	CHECK(all > 40);
	return all;
}

static void count_whole(const struct seen_stack *seen, uint64_t *sum)
{
	*sum += seen->inner && seen->outer && !seen->cut ? seen->count : 0;
}

static void count_deep(const struct seen_stack *seen, uint64_t *sum)
{
	CHECK(seen->depth <= SAMPLER_FRAMES + 2);
	*sum += seen->cut == STACK_CUT_DEEP ? seen->count : 0;
}

static void count_no_code(const struct seen_stack *seen, uint64_t *sum)
{
	*sum += seen->cut == STACK_CUT_NO_CODE ? seen->count : 0;
}

#ifdef __x86_64__

TEST(stacks_name_the_callers_down_to_the_main_program)
{
	uint64_t whole = 0, all = stacks_of("calls", count_whole, &whole);

	CHECK(whole * 100 > all * 80);
}

TEST(frame_pointers_that_lead_in_a_circle_end_at_the_deepest_frame_that_is_kept)
{
	uint64_t deep = 0, all = stacks_of("circle", count_deep, &deep);

	CHECK(deep * 100 > all * 80);
}

TEST(frame_pointers_that_lead_to_data_end_the_stack_and_it_says_so)
{
	uint64_t cut = 0, all = stacks_of("wild", count_no_code, &cut);

	CHECK(cut * 100 > all * 80);
}

#endif

TEST(whose_time_it_was_is_told_of_processes_that_are_gone)
{
	_clean_(setup_done) struct setup setup = setup_open(&told);
	_clean_(sample_log_freep) struct sample_log *log = NULL;
	uint64_t victims = 0;

	for (unsigned i = 0; i < 5; i++)
		wait_for(spawn("burn", "0.1", NULL), &setup);
	log = log_of(&setup, false);
	CHECK_INT(owners_total(&log->owners), log->user + log->kernel);
	for (size_t i = 0; i < log->owners.n; i++) {
		const struct owner *owner = &log->owners.list[i];

		if (strcmp(owner->process, "test-monitor-vi") != 0)
			continue;
		CHECK(owner->unit[0]);
		CHECK_INT(owner->user, getuid());
		victims += owner->count;
	}
	CHECK(victims > 40 && victims <= samples_in(log, "test-monitor-victim") + log->kernel);
}

TEST(processes_that_live_five_milliseconds_are_attributed)
{
	struct setup *setup = shared(&fast);
	_clean_(sample_log_freep) struct sample_log *log = NULL;
	double want = 80 * 0.005 * fast.rate_hz;

	for (int i = 0; i < 80; i++)
		waitpid(spawn("burn", "0.005", NULL), NULL, 0);
	log = log_of(setup, false);
	CHECK((double)samples_in(log, "victim") > want * 0.5);
	CHECK(log->lost[SAMPLE_LOSS_UNRESOLVED] * 1000 <= log->user);
}

TEST(generated_code_is_anonymous_memory_of_its_program)
{
	struct setup *setup = shared(&fast);
	_clean_(sample_log_freep) struct sample_log *log = NULL;

	wait_for(spawn("jit", "0.2", NULL), setup);
	log = log_of(setup, false);
	CHECK(samples_in(log, "[anonymous:test-monitor-vi") > 100);
	CHECK(log->anonymous >= samples_in(log, "[anonymous:test-monitor-vi"));
}

TEST(the_vdso_is_a_module_of_its_own)
{
	struct setup *setup = shared(&fast);
	_clean_(sample_log_freep) struct sample_log *log = NULL;

	wait_for(spawn("vdso", "0.3", NULL), setup);
	log = log_of(setup, false);
	if (!samples_in(log, "[vdso]"))
		SKIP("the clock of this machine is read by a system call");
	CHECK(samples_in(log, "[vdso]") > 20);
}

TEST(a_deleted_file_keeps_its_name)
{
	struct setup *setup = shared(&fast);
	_clean_(sample_log_freep) struct sample_log *log = NULL;
	char path[64];

	snprintf(path, sizeof(path), "/tmp/sampler-test\n%d.code", getpid());
	wait_for(spawn("map", path, "0.3"), setup);
	log = log_of(setup, false);
	CHECK(samples_in(log, path) > 100);
	CHECK(!samples_in(log, "(deleted)"));
}

TEST(a_process_in_another_mount_namespace_is_attributed)
{
	struct setup *setup = shared(&fast);
	_clean_(sample_log_freep) struct sample_log *log = NULL;
	char command[512];

	/* On a tmpfs that nobody else sees; without a build ID, by which it would be known already. */
	snprintf(command, sizeof(command),
		 "exec unshare -m sh -c 'mount -t tmpfs tmpfs /mnt && "
		 "objcopy -R .note.gnu.build-id %s /mnt/hidden-victim && "
		 "exec /mnt/hidden-victim hidden 0.3' 2>/dev/null",
		 VICTIM);
	{
		pid_t pid = fork();

		if (pid == 0) {
			execl("/bin/sh", "sh", "-c", command, (char *)NULL);
			_exit(127);
		}
		if (wait_for(pid, setup) != 0)
			SKIP("no mount namespaces here");
	}
	log = log_of(setup, false);
	CHECK(samples_in(log, "hidden-victim") > 100);
}

/* Run @program as process @pid, where code lies at the same addresses each time. */
static bool run_as(pid_t pid, const char *program)
{
	struct clone_args args = { .exit_signal = SIGCHLD, .set_tid = (uintptr_t)&pid, .set_tid_size = 1 };
	long child = syscall(SYS_clone3, &args, sizeof(args));

	if (child == 0) {
		personality(ADDR_NO_RANDOMIZE);
		execl(program, program, "burn", "0.03", (char *)NULL);
		_exit(127);
	}
	return child == pid && waitpid(pid, NULL, 0) == pid;
}

TEST(a_reused_pid_does_not_see_the_former_program)
{
	struct setup *setup = shared(&fast);
	_clean_(sample_log_freep) struct sample_log *log = NULL;
	char other[64], command[512];
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	snprintf(other, sizeof(other), "/tmp/sampler-test-%d.other", getpid());
	snprintf(command, sizeof(command), "objcopy -R .note.gnu.build-id " VICTIM " %s", other);
	CHECK_INT(system(command), 0);
	for (int i = 0; i < 10; i++) {
		if (!run_as(pid, VICTIM) || !run_as(pid, other)) {
			unlink(other);
			SKIP("no process can be given the number of another here");
		}
	}
	log = log_of(setup, false);
	unlink(other);
	CHECK(samples_in(log, "test-monitor-victim") > 10 * 0.03 * fast.rate_hz * 0.5);
	CHECK(samples_in(log, other) > 10 * 0.03 * fast.rate_hz * 0.5);
	CHECK(samples_in(log, other) < samples_in(log, "test-monitor-victim") * 3 / 2);
	CHECK(samples_in(log, "test-monitor-victim") < samples_in(log, other) * 3 / 2);
}

TEST(the_law_holds_for_both_clocks_while_everything_changes)
{
	struct setup *setup = shared(&tick);
	struct pace pace;
	pid_t pids[3];

	CHECK_INT(pace_init(&pace, sampler_n_cpus(setup->sampler)), 0);
	pids[0] = spawn("burn", "0.6", NULL);
	pids[1] = spawn("jit", "0.6", NULL);
	pids[2] = spawn("vdso", "0.6", NULL);
	for (int i = 0; i < 12; i++) {
		_clean_(sample_log_freep) struct sample_log *log = NULL;

		CHECK_INT(pace_set(&pace, setup->sampler, 200 + 300 * i, false), 0);
		usleep(40000);
		log = log_of(setup, true);
		CHECK(log->fired > 0);
	}
	for (int i = 0; i < 3; i++)
		wait_for(pids[i], setup);
	CHECK_INT(pace_set(&pace, setup->sampler, 0, false), 0);
	pace_done(&pace);
}

TEST(a_full_table_is_counted_not_overwritten)
{
	struct sampler_options options = fast;
	_clean_(setup_done) struct setup setup = { NULL, NULL, NULL };
	_clean_(sample_log_freep) struct sample_log *log = NULL;

	options.rate_hz = 20000;
	options.n_main_rows = 1;
	setup = setup_open(&options);
	/* libc's, the kernel's and the dynamic linker's code: many places */
	for (int i = 0; i < 30; i++)
		waitpid(spawn("burn", "0.001", NULL), NULL, 0);
	wait_for(spawn("vdso", "0.4", NULL), &setup);
	log = log_of(&setup, false);
	CHECK_INT(sample_log_check(log, NULL), 0);
	CHECK(log->fired > 1000);
}

TEST(a_death_by_signal_is_reported_with_program_and_place)
{
	struct setup *setup = shared(&tick);
	const struct lifecycle_event *event = NULL;
	int status = wait_for(spawn("crash", "0.05", NULL), setup);

	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	for (size_t i = 0; i < lives_pending(setup->lives)->n_events; i++)
		if (strstr(lives_pending(setup->lives)->events[i].path, "victim"))
			event = &lives_pending(setup->lives)->events[i];
	CHECK(lives_is_urgent(setup->lives));
	CHECK(event);
	CHECK_INT(event->kind, LIFECYCLE_SIGNAL);
	CHECK_INT(event->value, SIGSEGV);
	CHECK(event->build_id.size == 20);
	CHECK(event->fault_offset > 0);
}

TEST(starts_and_ends_of_watched_programs_are_reported_and_of_others_not)
{
	struct setup *setup = shared(&tick);
	const struct lifecycle *lifecycle = lives_pending(setup->lives);
	char list[64];
	struct fault fault;
	int status;

	snprintf(list, sizeof(list), "/tmp/sampler-test-watch.%d", getpid());
	CHECK_INT(file_write(list, VICTIM "\n/nonexistent\n", strlen(VICTIM "\n/nonexistent\n"), 0600, NULL),
		  0);
	CHECK_INT(lives_watch(setup->lives, setup->sampler, list, &fault), 1);
	status = wait_for(spawn("fail", "0.01", NULL), setup);
	CHECK_INT(WEXITSTATUS(status), 3);
	CHECK_INT(lifecycle->n_events, 2);
	CHECK_INT(lifecycle->events[0].kind, LIFECYCLE_EXEC);
	CHECK_INT(lifecycle->events[1].kind, LIFECYCLE_EXIT);
	CHECK_INT(lifecycle->events[1].value, status);
	CHECK(lifecycle->events[1].build_id.size == 20);
	lives_clear(setup->lives);
	unlink(list);
	CHECK_INT(lives_watch(setup->lives, setup->sampler, list, &fault), 0);
	wait_for(spawn("fail", "0.01", NULL), setup);
	CHECK_INT(lives_pending(setup->lives)->n_events, 0);
}

TEST(a_stopped_clock_fires_no_more_and_a_reopened_one_does)
{
	struct setup *setup = shared(&tick);
	struct sampler_drained drained;
	struct fault fault;

	for (int round = 0; round < 2; round++) {
		CHECK_INT(sampler_set_clock(setup->sampler, 0, 1000), 0);
		usleep(50000);
		CHECK_INT(sampler_set_clock(setup->sampler, 0, 0), 0);
		CHECK_INT(sampler_drain(setup->sampler, SAMPLER_REFERENCE, &drained, &fault), 0);
		CHECK(drained.counters.n[SAMPLER_FIRED] > 10);
		usleep(30000);
		CHECK_INT(sampler_drain(setup->sampler, SAMPLER_REFERENCE, &drained, &fault), 0);
		CHECK_INT(drained.counters.n[SAMPLER_FIRED], 0);
		CHECK_INT(sampler_reopen_clock(setup->sampler, 0), 0);
	}
}

TEST_MAIN()

/* SPDX-License-Identifier: Apache-2.0 */

/* Jobs, and workers that were taken over: they answer what they like, keep what they were given, and leave things running. */

#define _GNU_SOURCE
#include "manager/job/job.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "tests/attack.h"
#include "tests/manager/fixture.h"

static struct fixture f;
static sd_event *event;

struct seen {
	int n, error, status;
	bool timed_out;
	enum job_output outputs[4];
	char text[256];
};

static void on_end(void *userdata, const struct job_end *end)
{
	struct seen *seen = userdata;

	seen->n++;
	seen->error = end->error;
	seen->status = end->status;
	seen->timed_out = end->timed_out;
	snprintf(seen->text, sizeof(seen->text), "%.*s", 255, end->text);
	for (size_t i = 0; i < ARRAY_SIZE(seen->outputs); i++)
		seen->outputs[i] = end->outputs[i];
	sd_event_exit(event, 0);
}

static void setup(const char *worker_socket, const char *timeout)
{
	struct settings settings;
	char path[PATH_MAX];

	fixture_make(&f);
	CHECK(sd_event_new(&event) >= 0);
	CHECK_INT(settings_init(&settings), 0);
	CHECK_INT(config_set(settings_keys, "state_directory", path_join(f.dir, "state", path), &settings,
			     NULL),
		  0);
	CHECK_INT(config_set(settings_keys, "spool_directory", path_join(f.dir, "spool", path), &settings,
			     NULL),
		  0);
	CHECK_INT(config_set(settings_keys, "prefixes", f.dir, &settings, NULL), 0);
	CHECK_INT(config_set(settings_keys, "worker_socket", path_join(f.dir, worker_socket, path), &settings,
			     NULL),
		  0);
	CHECK_INT(config_set(settings_keys, "edit_memory", "0", &settings, NULL), 0);
	CHECK_INT(config_set(settings_keys, "edit_file_size", "1M", &settings, NULL), 0);
	CHECK_INT(config_set(settings_keys, "edit_timeout", timeout, &settings, NULL), 0);
	/* What waits for other sessions waits for a busy machine's. */
	CHECK_INT(config_set(settings_keys, "idle_session", "no", &settings, NULL), 0);
	if (manager_open(&settings, event, &f.m, &f.fault) < 0)
		FAIL("%s", f.fault.text);
	CHECK_INT(manager_mkdir(f.m->work, 0711, NULL), 0);
}

static void teardown(void)
{
	fixture_done(&f);
	event = sd_event_unref(event);
}

static char *const nothing_words[] = { (char *)"true", NULL };

/* One input "in" and two outputs, "out" and "log"; the socket of the other side in *retserver, when there is one. */
static void start(char *const *words, bool in_sandbox, struct seen *seen, struct job **ret)
{
	char in[PATH_MAX], out[PATH_MAX], log[PATH_MAX];
	struct job_file files[] = { { "in", path_join(f.dir, "secret", in), false },
				    { "out", path_join(f.m->work, "out", out), true },
				    { "log", path_join(f.m->work, "log", log), true } };
	struct job_request request = {
		.words = words, .files = files, .n_files = ARRAY_SIZE(files), .in_sandbox = in_sandbox
	};

	*seen = (struct seen){ 0 };
	CHECK_INT(file_write(in, "given", 5, 0600, NULL), 0);
	unlink(out);
	if (job_start(f.m, &request, on_end, seen, ret, &f.fault) < 0)
		FAIL("%s", f.fault.text);
}

static void run(struct seen *seen)
{
	CHECK(sd_event_loop(event) >= 0);
	CHECK_INT(seen->n, 1);
}

static bool out_is(const char *text)
{
	_clean_(file_map_donep) struct file_map map = { 0 };
	char path[PATH_MAX];

	return file_map_open(path_join(f.m->work, "out", path), &map, NULL) == 0 &&
	       map.size == strlen(text) && memcmp(map.data, text, map.size) == 0;
}

TEST(a_job_gets_files_and_gives_files)
{
	for (int in_sandbox = 0; in_sandbox < 2; in_sandbox++) {
		char *words[] = { (char *)"sh", (char *)"-c", (char *)"cat in >out; echo said >&2; exit 3",
				  NULL };
		struct seen seen;
		struct job *job;

		setup("nobody-listens", "20s");
		start(words, in_sandbox, &seen, &job);
		run(&seen);
		CHECK_INT(seen.error, 0);
		CHECK(WIFEXITED(seen.status) && WEXITSTATUS(seen.status) == 3);
		CHECK_INT(seen.outputs[0], JOB_OUTPUT_WRITTEN);
		CHECK_INT(seen.outputs[1], JOB_OUTPUT_WRITTEN);
		CHECK(out_is("given"));
		teardown();
	}
}

/* Policy 5 is SCHED_IDLE (proc_pid_stat(5)); a session's group stands for all in it, whatever their policies. */
TEST(a_job_gives_way_to_others_in_its_own_session_and_as_a_session)
{
	static const char script[] =
		"set -- $(sed 's/.*) //' /proc/self/stat); [ \"${39}\" = 5 ] || exit 4\n"
		"[ ! -e /proc/self/autogroup ] || grep -q 'nice 19$' /proc/self/autogroup || "
		"exit 5\n"
		"exit 3";

	for (int in_sandbox = 0; in_sandbox < 2; in_sandbox++) {
		char *words[] = { (char *)"sh", (char *)"-c", (char *)script, NULL };
		struct seen seen;
		struct job *job;

		setup("nobody-listens", "20s");
		f.m->settings.idle_session = true;
		start(words, in_sandbox, &seen, &job);
		run(&seen);
		CHECK_INT(seen.error, 0);
		CHECK(WIFEXITED(seen.status));
		CHECK_INT(WEXITSTATUS(seen.status), 3);
		teardown();
	}
}

TEST(what_is_no_file_or_too_large_does_not_come_out)
{
	static const struct {
		const char *script;
		enum job_output output;
	} cases[] = { { "true", JOB_OUTPUT_MISSING },
		      { "mkdir out", JOB_OUTPUT_ODD },
		      { "ln -s /etc/passwd out", JOB_OUTPUT_ODD },
		      { "mkfifo out", JOB_OUTPUT_ODD },
		      { "ln -s in out", JOB_OUTPUT_ODD } };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *words[] = { (char *)"sh", (char *)"-c", (char *)cases[i].script, NULL };
		struct seen seen;
		struct job *job;

		setup("nobody-listens", "20s");
		start(words, false, &seen, &job);
		run(&seen);
		if (seen.outputs[0] != cases[i].output)
			FAIL("%s: %d", cases[i].script, seen.outputs[0]);
		teardown();
	}
}

static void cannot(const char *name, const char *script)
{
	char *words[] = { (char *)"sh", (char *)"-c", (char *)script, NULL };
	char path[PATH_MAX], own[PATH_MAX];
	struct seen seen;
	struct job *job;

	if (geteuid() != 0)
		return;
	setup("nobody-listens", "20s");
	CHECK_INT(file_write(path_join(f.dir, "mine", own), "mine", 4, 0600, NULL), 0);
	CHECK(setenv("MORPH_TEST_DIR", f.dir, 1) == 0);
	start(words, false, &seen, &job);
	run(&seen);
	ATTACK(name, seen.error == 0 && WIFEXITED(seen.status) && WEXITSTATUS(seen.status) == 7 &&
			     access(path_join(f.dir, "escaped", path), F_OK) < 0);
	teardown();
}

/* Jobs that make a sandbox of their own still are nobody: the way in and out is by descriptors. */
TEST(a_job_is_a_user_that_nobody_else_is)
{
	cannot("job-reads-the-state", "cat ../../../state.db && exit 0; exit 7");
	cannot("job-reads-another-work-file", "cat ../../secret ../../out && exit 0; exit 7");
	cannot("job-lists-the-work-directory", "ls ../.. && exit 0; exit 7");
	cannot("job-writes-beside-its-directory", "echo x >../../escaped && exit 0; exit 7");
	cannot("job-signals-morphd", "kill -TERM $(ps -o ppid= -p $PPID 2>/dev/null || awk '/^PPid/ {print "
				     "$2}' /proc/$PPID/status) "
				     "&& exit 0; exit 7");
	cannot("job-has-a-network", "grep -qE '^ *(eth|en|wl)' /proc/net/dev && exit 0; exit 7");
	cannot("job-becomes-root", "su -c true </dev/null && exit 0; exit 7");
}

static bool is_running(const char *command)
{
	char line[128];

	snprintf(line, sizeof(line), "pgrep -f '^%s' >/dev/null", command);
	return system(line) == 0;
}

TEST(nothing_outlives_a_job)
{
	static const char *const scripts[] = { "setsid sleep 9991 & exit 0",
					       "(setsid sleep 9991 & ) & exit 0",
					       "setsid sleep 9991 & kill -KILL $PPID; sleep 5" };
	static const char *const names[] = { "job-leaves-a-session", "job-leaves-an-orphan",
					     "job-kills-its-worker" };

	for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
		char *words[] = { (char *)"sh", (char *)"-c", (char *)scripts[i], NULL };
		struct seen seen;
		struct job *job;

		if (geteuid() != 0 && i == 2)
			continue;
		setup("nobody-listens", "20s");
		start(words, false, &seen, &job);
		run(&seen);
		ATTACK(names[i], !is_running("sleep 9991"));
		teardown();
	}
}

TEST(a_job_that_is_given_up_is_gone)
{
	char *words[] = { (char *)"sh", (char *)"-c", (char *)"setsid sleep 9992 & sleep 9992", NULL };
	struct seen seen;
	struct job *job;

	setup("nobody-listens", "20s");
	start(words, false, &seen, &job);
	for (int i = 0; i < 200 && !is_running("sleep 9992"); i++)
		usleep(20000);
	CHECK(is_running("sleep 9992"));
	job_free(job);
	CHECK(!is_running("sleep 9992"));
	CHECK_INT(seen.n, 0);
	teardown();
	setup("nobody-listens", "1s");
	start(words, false, &seen, &job);
	run(&seen);
	CHECK(seen.timed_out);
	CHECK(!is_running("sleep 9992"));
	teardown();
}

/* ---- a service whose worker was taken over: the test is the worker ---- */

static int listener(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	CHECK(snprintf(address.sun_path, sizeof(address.sun_path), "%.80s/worker", f.dir) < 100);
	CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 && listen(fd, 4) == 0);
	return fd;
}

struct taken_over {
	int listener, socket;
	struct job *job;
	struct job_order order;
	char buffer[JOB_BYTES];
	struct seen seen;
};

static void take_over(struct taken_over *t)
{
	setup("worker", "2s");
	t->listener = listener();
	start(nothing_words, false, &t->seen, &t->job);
	t->socket = accept(t->listener, NULL, NULL);
	CHECK(t->socket >= 0);
	CHECK_INT(job_order_receive(t->socket, t->buffer, &t->order), 0);
	CHECK_STR(t->order.words[0], "true");
	CHECK_STR(t->order.names[1], "out");
}

static void let_go(struct taken_over *t)
{
	job_order_close(&t->order);
	close(t->socket);
	close(t->listener);
	teardown();
}

TEST(answers_that_are_none_end_the_job)
{
	struct job_answer good = { .magic = JOB_MAGIC };
	struct {
		const char *name;
		struct job_answer answer;
		size_t size;
	} cases[] = { { "job-answer-cut-short", good, 20 },
		      { "job-answer-of-another-kind", good, sizeof(good) },
		      { "job-answer-with-a-positive-error", good, sizeof(good) },
		      { "job-answer-with-time-that-is-none", good, sizeof(good) } };

	if (geteuid() != 0) /* services are root's */
		return;
	cases[1].answer.magic ^= 1;
	cases[2].answer.error = 5;
	cases[3].answer.cpu_s = -1e300;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct taken_over t;

		take_over(&t);
		CHECK(send(t.socket, &cases[i].answer, cases[i].size, 0) == (ssize_t)cases[i].size);
		run(&t.seen);
		ATTACK(cases[i].name, t.seen.error < 0);
		let_go(&t);
	}
}

TEST(a_worker_that_says_nothing_is_given_up)
{
	struct taken_over t;
	struct pollfd fd = { .events = POLLRDHUP };

	if (geteuid() != 0)
		return;
	take_over(&t);
	run(&t.seen);
	fd.fd = t.socket;
	ATTACK("job-answers-never", t.seen.timed_out && poll(&fd, 1, 0) == 1);
	let_go(&t);
}

TEST(what_was_written_is_not_changed_afterwards)
{
	struct job_answer answer = { .magic = JOB_MAGIC, .outputs = { JOB_OUTPUT_WRITTEN, 200 } };
	struct taken_over t;
	int out;

	if (geteuid() != 0)
		return;
	take_over(&t);
	out = t.order.fds[1];
	memset(answer.text, 'x', sizeof(answer.text)); /* a text that does not end */
	CHECK(write(out, "good", 4) == 4);
	CHECK(send(t.socket, &answer, sizeof(answer), 0) == sizeof(answer));
	run(&t.seen);
	CHECK_INT(t.seen.error, 0);
	CHECK(pwrite(out, "evil", 4, 0) == 4 && ftruncate(out, 400) == 0);
	ATTACK("job-result-changed-after-the-answer", out_is("good"));
	ATTACK("job-answer-text-without-end", strlen(t.seen.text) == 255);
	let_go(&t);
}

TEST(a_result_that_is_too_large_is_none)
{
	struct job_answer answer = { .magic = JOB_MAGIC, .outputs = { JOB_OUTPUT_WRITTEN } };
	struct taken_over t;

	if (geteuid() != 0)
		return;
	take_over(&t);
	CHECK(ftruncate(t.order.fds[1], 1ll << 40) == 0);
	CHECK(send(t.socket, &answer, sizeof(answer), 0) == sizeof(answer));
	run(&t.seen);
	ATTACK("job-result-of-a-terabyte", t.seen.outputs[0] == JOB_OUTPUT_ODD);
	let_go(&t);
}

TEST(inputs_cannot_be_written)
{
	struct taken_over t;
	char path[64];

	if (geteuid() != 0)
		return;
	take_over(&t);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", t.order.fds[0]);
	ATTACK("job-writes-to-an-input",
	       write(t.order.fds[0], "x", 1) < 0 && ftruncate(t.order.fds[0], 0) < 0);
	job_free(t.job);
	let_go(&t);
}

TEST(a_user_that_somebody_is_is_not_taken)
{
	uid_t uid;

	CHECK_INT(job_user_find("65534-65534", &uid, &f.fault), -EUSERS); /* nobody has an account */
	CHECK_INT(job_user_find("0-10", &uid, &f.fault), -EINVAL);
	CHECK_INT(job_user_find("70-60", &uid, &f.fault), -EINVAL);
	CHECK_INT(job_user_find("61184", &uid, &f.fault), -EINVAL);
	CHECK_INT(job_user_find("61184-61190", &uid, &f.fault), 0);
	CHECK(uid >= 61184 && uid <= 61190);
}

TEST_MAIN()

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morph-edit: one edit, supervised. The parent opens what may be read, makes the work directory, and
 * forks the worker, which enters the sandbox and does everything that touches LLVM. The parent then
 * checks what came out (check.h), has a second child in a sandbox run the packager's self-test on it, if
 * there is one (selftest.h), and writes it in one piece. Killing the parent leaves nothing behind
 * but the work directory's name, and that goes with the next start.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/config.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/standard_output.h"
#include "editor/check.h"
#include "editor/code_directory.h"
#include "editor/edit.h"
#include "editor/interrupt.h"
#include "editor/memo_file.h"
#include "editor/options.h"
#include "editor/report.h"
#include "editor/selftest.h"
#include "editor/show.h"
#include "editor/steps/recall.h"
#include "editor/workplace.h"
#include "profiles/infer/verdict.h"
#include "profiles/store/seen.h"
#include "sandbox/sandbox.h"

#define EDIT_FILE_BYTES (4ull << 30)
#define EXIT_DIFFERS 3 /* --check: the shipped file does not regenerate */
#define PROCESSES_MAX 256u

/* What the worker tells its parent, in shared memory: numbers and text, never trusted as more. */
struct outcome {
	int code;	     /* of edit_run() */
	_Atomic size_t step; /* under way, for the line of progress */
	struct fault fault;
	struct edit_report report;
	struct sandbox_report walls; /* by the parent */
};

static int output_copy(const char *path, int fd, struct fault *reterr)
{
	_clean_(file_map_donep) struct file_map map = { 0 };
	int r = file_map_open(path, &map, reterr);
	size_t done = 0;

	while (r == 0 && done < map.size) {
		ssize_t n = write(fd, map.data + done, map.size - done);

		if (n < 0 && errno != EINTR)
			r = fault_errno(reterr, -errno, "handing the result over");
		done += n > 0 ? (size_t)n : 0;
	}
	return r;
}

/* What is done inside the sandbox, by a child of ours: an edit, then perhaps a self-test of its result. */
struct task {
	int (*run)(const struct task *task);
	const char *who; /* for messages */
	const struct arguments *arguments;
	const struct image *program, *result; /* result: of the edit; NULL before */
	const struct profile *profile;
	const struct file_map *memo;	     /* of an edit before */
	const struct code_cache *code_cache; /* NULL: there is none */
	const struct workplace *place;
	const char *selftest;	/* the command; NULL before */
	struct outcome *shared; /* with the process inside */
	struct progress progress;
};

static void on_step(void *userdata, size_t step)
{
	((struct outcome *)userdata)->step = step;
}

/* The file that comes out says what differs. */
static int check_in_sandbox(const struct task *task, const struct edit_options *options)
{
	struct outcome *outcome = task->shared;
	char path[PATH_MAX];
	struct fault fault;
	int r = edit_check(task->program, options, path, &outcome->report, &outcome->fault);
	int error = r == EDIT_UNTRUSTED ? output_copy(path, task->place->out_fd, &fault) : 0;

	if (error < 0)
		outcome->fault = fault;
	return error < 0 ? error : r;
}

static int edit_in_sandbox(const struct task *task)
{
	struct edit_options options = task->arguments->edit;
	struct outcome *outcome = task->shared;
	char path[PATH_MAX];
	int r;

	options.keeps_memo = task->arguments->memo;
	options.memo = task->memo->data;
	options.memo_size = task->memo->size;
	options.directory = task->place->directory;
	options.code_cache = task->code_cache;
	options.on_step = on_step;
	options.userdata = outcome;
	if (options.checks_only)
		return check_in_sandbox(task, &options);
	if (options.ir_of)
		r = show_ir(task->program, &options, path, &outcome->fault);
	else
		r = edit_run(task->program, task->profile, &options, path, &outcome->report, &outcome->fault);
	if (r == 0)
		r = output_copy(path, task->place->out_fd, &outcome->fault);
	snprintf(path, sizeof(path), "%s/" EDIT_MEMO, options.directory);
	return r == 0 && access(path, F_OK) == 0 ? output_copy(path, task->place->memo_fd, &outcome->fault) :
						   r;
}

static int selftest_in_sandbox(const struct task *task)
{
	/* Where the program was last seen is its installed name; what we were given may be a copy in a store. */
	const char *path = task->profile->path ? task->profile->path : task->arguments->program;
	const char *slash = strrchr(path, '/');
	struct selftest test = {
		.command = task->selftest,
		.name = slash ? slash + 1 : path,
		.directory = task->place->directory,
		.timeout_s = task->arguments->selftest_timeout_s,
		.memory_bytes = task->arguments->memory_bytes,
	};

	return selftest_run(&test, task->program, task->result, &task->shared->fault);
}

/* A worker that was taken over may have written anything: its texts end where they must. */
static void texts_end(struct outcome *outcome)
{
	struct edit_report *r = &outcome->report;

#define END(text) (text)[sizeof(text) - 1] = '\0'
	END(outcome->fault.text);
	END(r->difference.text);
	END(r->llvm);
	END(r->cpu);
	END(r->tune);
	END(r->selftest);
	END(r->without);
#undef END
}

static int on_tick(void *userdata)
{
	struct task *task = userdata;
	size_t step = MIN(task->shared->step, (size_t)EDIT_STEPS - 1);

	progress_step(&task->progress, edit_step_title(step), step, EDIT_STEPS);
	return interrupt_came();
}

static int in_sandbox(void *userdata)
{
	const struct task *task = userdata;

	setenv("TMPDIR", task->place->directory, 1);
	task->shared->code = task->run(task);
	return 0;
}

/* How it ended, if not by itself; @r: of sandbox_run() */
static int end_judge(const struct task *task, int r, int status, struct fault *reterr)
{
	if (interrupt_came())
		return fault_set(reterr, -EINTR, "cancelled by signal %d", interrupt_came());
	if (r == -ETIMEDOUT)
		return fault_set(reterr, r, "the edit took longer than %u s; see --timeout",
				 task->arguments->timeout_s);
	if (r < 0)
		return r;
	if (WIFSIGNALED(status))
		return fault_set(reterr, -ECHILD, "%s died of signal %d (%s); nothing was changed", task->who,
				 WTERMSIG(status), strsignal(WTERMSIG(status)));
	if (WEXITSTATUS(status) != 0) /* LLVM ends the process on what it calls a fatal error */
		return fault_set(reterr, -ECHILD, "%s gave up (its message is above); nothing was changed",
				 task->who);
	return 0;
}

/*
 * Everything is open that is needed. What the work wrote into the shared memory is copied when all its processes have ended.
 */
static int supervise(struct task *task, unsigned cpu_s, uint64_t file_bytes, struct outcome *ret)
{
	const struct arguments *a = task->arguments;
	const struct workplace *place = task->place;
	const char *readable[] = { SANDBOX_SYSTEM, MORPH_LLVM_DIR,
				   a->edit.sidecar_dir ? a->edit.sidecar_dir : "/usr/lib/morph", NULL };
	struct sandbox_options options = {
		.uid = place->uid,
		.gid = place->gid,
		.directory = place->directory,
		.readable = readable,
		.limits = { .memory_bytes = a->memory_bytes,
			    .file_bytes = file_bytes,
			    .cpu_s = cpu_s,
			    .n_processes = PROCESSES_MAX },
		.timeout_s = a->timeout_s,
		.keep_fd = place->out_fd,
		.keep_also = place->memo_fd,
		.tick = on_tick,
		.userdata = task,
	};
	struct sandbox_report walls = { 0 };
	struct fault fault = { "" };
	int status = 0, r;

	*task->shared = (struct outcome){ 0 };
	progress_begin(&task->progress, STDERR_FILENO);
	r = sandbox_run(&options, in_sandbox, &walls, &status, &fault);
	progress_end(&task->progress);
	*ret = *task->shared;
	ret->walls = walls;
	texts_end(ret);
	r = end_judge(task, r, status, &fault);
	if (r < 0) {
		ret->fault = fault;
		return r;
	}
	return ret->code;
}

/* The shipped code regenerated; then LLVM or the linker could not do what was wanted of it. */
static bool code_is_refused(const struct arguments *a, const struct outcome *outcome, int r)
{
	return (r == -ECHILD || r == -EBADMSG) && outcome->step > 0 && arguments_edit(a) &&
	       !a->edit.layout_only;
}

/*
 * What cannot be optimized has its shipped code placed at least. @plain: the arguments of that; @fault: what was tried failed so
 * Return: 0: @task and @ret are of that now; -errno: they are as they were
 */
static int fall_back(struct task *task, struct arguments *plain, struct workplace *place, struct outcome *ret,
		     const struct fault *fault)
{
	struct task other = *task;
	struct workplace other_place;
	struct outcome outcome = { 0 };
	struct fault failed;
	int r;

	*plain = *task->arguments;
	plain->edit.layout_only = true;
	plain->edit.cpu = plain->edit.tune = NULL;
	log_warning("%s; once more, with the shipped code in a new order (--layout-only)", fault->text);
	r = workplace_make(plain, task->program, task->profile, &other_place, &failed);
	if (r < 0)
		return r;
	other.arguments = plain;
	other.place = &other_place;
	r = supervise(&other, plain->timeout_s, EDIT_FILE_BYTES, &outcome);
	if (r) {
		log_warning("nor could its shipped code be placed: %s", outcome.fault.text);
		workplace_end(&other_place, plain->keep);
		return -ECHILD;
	}
	workplace_end(place, plain->keep);
	*place = other_place;
	*task = other;
	task->place = place;
	*ret = outcome;
	ret->report.fallback = *fault;
	return 0;
}

/* Code of the packager's: whoever could put the program there could run it as root anyway, or the caller wants it. */
static bool selftest_is_trusted(const struct task *edit)
{
	const struct stat *st =
		image_stat(edit->program); /* of what was read: the path may lead elsewhere by now */

	return edit->arguments->selftest ||
	       (S_ISREG(st->st_mode) && st->st_uid == 0 && !(st->st_mode & 0022));
}

/* With a directory and a process of its own: what the edit may have left has no part in it. */
/* Return: 1: passed; 0: there is none, or it was not run; -errno */
static int selftest(const struct task *edit, const struct image *result, const char *command,
		    struct fault *reterr)
{
	struct workplace place;
	struct outcome outcome;
	struct task task = *edit;
	int r;

	if (!command[0] || task.arguments->no_selftest)
		return 0;
	if (!selftest_is_trusted(edit)) {
		log_info("the packager's self-test was not run, for the program is not root's; --selftest "
			 "runs it: %s",
			 command);
		return 0;
	}
	r = workplace_make(task.arguments, task.program, task.profile, &place, reterr);
	if (r < 0)
		return r;
	task.run = selftest_in_sandbox;
	task.who = "the self-test";
	task.place = &place;
	task.selftest = command;
	task.result = result;
	r = supervise(&task, task.arguments->selftest_timeout_s, SELFTEST_FILE_BYTES, &outcome);
	if (r < 0)
		*reterr = outcome.fault;
	workplace_end(&place, false);
	return r < 0 ? r : 1;
}

/* From here on nobody can change it. */
static int result_seal(int fd, struct fault *reterr)
{
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) == 0)
		return 0;
	return fault_errno(reterr, -errno, "the editor's result is still being written");
}

static int result_open(const struct task *task, struct edit_report *report, struct image **ret,
		       struct fault *reterr)
{
	int r = result_seal(task->place->out_fd, reterr);

	if (r == 0)
		r = image_open_fd(task->place->out_fd, "the editor's result", ret, reterr);
	if (r == 0)
		r = check_images(task->program, *ret, reterr);
	if (r == 0)
		r = selftest(task, *ret, report->selftest, reterr);
	report->selftest_ran = r > 0;
	return MIN(r, 0);
}

static int result_write(const struct arguments *a, const struct image *result, struct fault *reterr)
{
	const uint8_t *bytes;
	struct stat st;
	size_t size;

	if (stat(a->program, &st) < 0)
		return fault_errno(reterr, -errno, "%s", a->program);
	bytes = image_bytes(result, &size);
	return file_write(a->out, bytes, size, (st.st_mode & 0777) | 0500, reterr);
}

/* The generation is there: without a memo the next edit takes longer, and that is all. */
static void memo_take(const struct task *task)
{
	const char *path = task->arguments->memo;
	struct fault fault;
	int r = path ? result_seal(task->place->memo_fd, &fault) : 0;

	if (path && r == 0)
		r = memo_file_take(task->place->memo_fd, path, &fault);
	if (r < 0)
		log_warning("no memo was kept, and the next edit takes as long as this one: %s", fault.text);
}

/* Without it the check takes longer, and that is all. NULL: there is none */
static const struct code_cache *code_cache_find(const struct arguments *a, struct code_cache *cache)
{
	struct fault fault;

	if (!a->code_cache)
		return NULL;
	if (code_directory_read(a->code_cache, cache, &fault) == 0)
		return cache;
	log_warning("all code is generated: %s", fault.text);
	return NULL;
}

/* Whatever was found out, the code is that of its key. */
static void code_cache_take(const struct task *task)
{
	struct fault fault;

	if (task->code_cache &&
	    code_directory_take(task->arguments->code_cache, task->place->directory, &fault) < 0)
		log_warning("the next check takes as long as this one: %s", fault.text);
}

/* What differs, or a function's IR, for whoever asked; @r: of the check, or of showing */
static int text_take(const struct task *task, int r, struct fault *reterr)
{
	_clean_(file_map_donep) struct file_map map = { 0 };
	int fd = task->place->out_fd, error;

	if (r != (task->arguments->edit.ir_of ? 0 : EDIT_UNTRUSTED) || !task->arguments->out)
		return r;
	error = result_seal(fd, reterr);
	if (error == 0)
		error = file_map_fd(fd, "the editor's result", &map, reterr);
	if (error == 0)
		error = file_write(task->arguments->out, map.data, map.size, 0600, reterr);
	return error < 0 ? error : r;
}

/* That a result cannot be written is said before the work for it. */
static int outputs_check(const struct arguments *a, struct fault *reterr)
{
	int r = a->out ? file_write_check(a->out, reterr) : 0;

	if (a->out && file_is_same(a->out, a->program))
		return fault_set(reterr, -EINVAL,
				 "%s: is the program itself, which alone has its IR; name another file",
				 a->out);
	return r == 0 && a->report ? file_write_check(a->report, reterr) : r;
}

static int inputs_open(const struct arguments *a, struct image **retprogram, struct profile **retprofile,
		       struct fault *reterr)
{
	int r = image_open(a->program, retprogram, reterr);

	if (r == 0 && arguments_edit(a))
		r = profile_read(a->profile, retprofile, reterr);
	if (r == 0 && arguments_edit(a))
		r = seen_none(*retprofile, a->profile, reterr);
	return r;
}

/* Decisions on chance make a program slower as easily as faster (profiles/infer/verdict.h). */
static int samples_check(const struct arguments *a, const struct profile *profile, struct fault *reterr)
{
	struct verdict verdict;

	verdict_of(profile, &verdict);
	if (verdict.level > VERDICT_TOO_FEW)
		return 0;
	if (!a->force)
		return fault_set(reterr, -ENODATA,
				 "%s: %s; sample more (`morph record`, then `morph profile` with all sample "
				 "logs), or go on with --force",
				 a->profile, verdict.sentence);
	log_warning("%s: %s", a->profile, verdict.sentence);
	return 0;
}

/* @path: NULL: standard output */
static int report_make(const struct task *task, const struct outcome *outcome, const char *path,
		       struct fault *reterr)
{
	const struct arguments *a = task->arguments;

	return report_write(path, task->program, task->profile, a->profile, &a->edit, &outcome->report,
			    &outcome->walls, reterr);
}

/* The report is there before the generation is, and goes when that cannot be written: after a failure there is neither. */
static int generation_take(const struct task *task, struct outcome *outcome, struct fault *reterr)
{
	_clean_(image_freep) struct image *result = NULL;
	const struct arguments *a = task->arguments;
	struct stat st;
	int r = result_open(task, &outcome->report, &result, reterr);

	if (r == 0 && a->report)
		r = report_make(task, outcome, a->report, reterr);
	if (r < 0)
		return r;
	r = result_write(a, result, reterr);
	if (r < 0 && a->report && lstat(a->report, &st) == 0 && S_ISREG(st.st_mode))
		unlink(a->report);
	if (r < 0)
		return r;
	memo_take(task);
	return a->json ? report_make(task, outcome, NULL, reterr) : 0;
}

/* What came of the work; @r: of it */
static int work_take(const struct task *task, struct outcome *outcome, int r, struct fault *reterr)
{
	const struct arguments *a = task->arguments;

	if (arguments_edit(a))
		return r == 0 ? generation_take(task, outcome, reterr) : r;
	r = text_take(task, r, reterr);
	if (a->json && (r == 0 || r == EDIT_UNTRUSTED))
		report_check_print(a->program, r == 0, reterr);
	return r;
}

static void walls_say(const struct sandbox_report *walls)
{
	char gaps[256];

	if (sandbox_gaps(walls, gaps, sizeof(gaps))[0])
		log_warning("the sandbox has gaps on this system: %s", gaps);
}

static int edit(const struct arguments *a, struct outcome *shared, struct fault *reterr)
{
	_clean_(image_freep) struct image *program = NULL;
	_clean_(profile_freep) struct profile *profile = NULL;
	_clean_(file_map_donep) struct file_map memo = { 0 };
	_clean_(code_cache_donep) struct code_cache code_cache = { 0 };
	struct arguments plain;
	struct workplace place;
	struct outcome outcome = { 0 };
	struct task task = { .run = edit_in_sandbox,
			     .who = "the compiler",
			     .arguments = a,
			     .memo = &memo,
			     .place = &place,
			     .shared = shared };
	int r = inputs_open(a, &program, &profile, reterr);

	if (r == 0 && profile)
		r = samples_check(a, profile, reterr);
	if (r == 0)
		r = outputs_check(a, reterr);
	if (r == 0 && a->memo)
		r = memo_file_open(a->memo, &memo, reterr);
	if (r == 0)
		r = workplace_make(a, program, profile, &place, reterr);
	if (r < 0)
		return r;
	task.program = program;
	task.profile = profile;
	task.code_cache = code_cache_find(a, &code_cache);
	r = supervise(&task, a->timeout_s, EDIT_FILE_BYTES, &outcome);
	if (r)
		*reterr = outcome.fault;
	if (!a->no_fallback && code_is_refused(a, &outcome, r) &&
	    fall_back(&task, &plain, &place, &outcome, reterr) == 0)
		r = 0;
	if (r == 0)
		walls_say(&outcome.walls);
	if (r >= 0)
		code_cache_take(&task);
	r = work_take(&task, &outcome, r, reterr);
	if (r == 0 && outcome.report.difference.text[0])
		log_warning("%s: rebased: %s", a->program, outcome.report.difference.text);
	workplace_end(&place, a->keep);
	return r;
}

static int run(int argc, char **argv)
{
	struct outcome *shared =
		mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	static struct arguments arguments; /* keeps what it points to until the end */
	struct fault fault = { "" };
	int r = arguments_parse(argc, argv, &arguments);

	if (r)
		return r < 0 ? 0 : r;
	if (shared == MAP_FAILED) {
		log_error("no memory");
		return 1;
	}
	interrupt_catch();
	r = edit(&arguments, shared, &fault);
	if (r == 0)
		return 0;
	log_error("%s", fault.text);
	return r == EDIT_UNTRUSTED && arguments.edit.checks_only ? EXIT_DIFFERS : 1;
}

int main(int argc, char **argv)
{
	int status;

	log_init("morph optimize", LOG_LEVEL_INFO);
	status = standard_output_end("morph optimize", run(argc, argv));
	interrupt_end();
	return status;
}

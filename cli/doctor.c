/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morph doctor [--json]: does everything that Morph needs work here? One line a check: ok, warn or
 * fail, what was found, and what to do. Needs no privilege and changes nothing; exit status 1 when a
 * check fails.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <dirent.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

#include "base/child.h"
#include "base/config.h"
#include "base/prefix.h"
#include "base/text.h"
#include "cli/daemon.h"
#include "cli/shared/whose.h"
#include "manager/keep/settings.h"
#include "manager/place/integrity.h"
#include "monitor/machine/support.h"
#include "sandbox/sandbox.h"

#define STATE_DIRECTORY "/var/lib/morph"
#define SPOOL_DIRECTORY "/var/spool/morph"
#define LOW_DISK_BYTES (256ull << 20)
#define STALE_SPOOL_S 600

enum health { HEALTH_OK, HEALTH_WARN, HEALTH_FAIL };

static const char *const health_names[] = { "ok", "warn", "fail" };

struct check {
	const char *name;
	enum health health;
	char text[400];
};

struct doctor {
	struct daemon_options options;
	struct check checks[40];
	size_t n_checks;
	struct support support;
	struct record daemon; /* what morphd says of itself; empty when it does not answer */
	struct records modules;
	char llvm_version[32]; /* of this machine's linker; "" when it has none */
};

static void _printf_(4, 5) note(struct doctor *d, const char *name, enum health health, const char *fmt, ...)
{
	struct check *check = &d->checks[d->n_checks];
	va_list ap;

	if (d->n_checks == ARRAY_SIZE(d->checks))
		return;
	d->n_checks++;
	check->name = name;
	check->health = health;
	va_start(ap, fmt);
	vsnprintf(check->text, sizeof(check->text), fmt, ap);
	va_end(ap);
}

/* ---- the monitor's side ---- */

static void sampling_check(struct doctor *d)
{
	const struct support *s = &d->support;
	const struct support_clock *tick = &s->clocks[SUPPORT_TICK];
	const struct support_clock *reference = &s->clocks[SUPPORT_REFERENCE];
	const struct support_clock *perf = &s->clocks[SUPPORT_PERF];

	if (tick->usable_by_root || reference->usable_by_root)
		note(d, "clock", HEALTH_OK, "%s: the monitor can sample by BPF on the %s", s->kernel,
		     tick->usable_by_root ? "scheduler tick" : "software clock");
	else if (perf->usable_by_root)
		note(d, "clock", HEALTH_WARN, "%s: no BPF, only perf ring buffers, which cost more: %s",
		     s->kernel, tick->reason);
	else
		note(d, "clock", HEALTH_FAIL, "%s: the whole machine cannot be sampled: %s", s->kernel,
		     tick->reason[0] ? tick->reason : perf->reason);
	if (tick->usable_by_root && !reference->usable_by_root)
		note(d, "reference clock", HEALTH_WARN,
		     "work in step with the scheduler tick stays unseen: %s", reference->reason);
	if (s->clocks[SUPPORT_USER].usable)
		note(d, "record", HEALTH_OK, "`morph record` works for your own programs");
	else
		note(d, "record", HEALTH_WARN, "`morph record` does not work for you: %s",
		     s->clocks[SUPPORT_USER].reason);
}

static void monitor_check(struct doctor *d)
{
	const struct support *s = &d->support;

	if (!s->monitor_runs)
		note(d, "monitor", HEALTH_WARN,
		     "morph-monitor does not run, so nothing is sampled; `systemctl start morph-monitor`");
	else if (s->monitor_reason[0])
		note(d, "monitor", HEALTH_WARN, "morph-monitor runs on %s: %s", s->monitor_source,
		     s->monitor_reason);
	else
		note(d, "monitor", HEALTH_OK,
		     "morph-monitor runs on %s and takes %.3f %% of the machine "
		     "(allowed: %.3f %%)",
		     s->monitor_source, s->total_percent, s->budget_percent);
}

/* ---- the editor's side ---- */

/* "LLD 22.1.8 (compatible with GNU linkers)" or "Debian LLD 22.1.8 ...". */
static void llvm_version_find(struct doctor *d)
{
	_clean_(buffer_donep) struct buffer out = { 0 }, err = { 0 };
	struct child_options options = { .retout = &out, .reterrout = &err, .timeout_s = 20 };
	char *argv[] = { (char *)MORPH_LLVM_DIR "/bin/ld.lld", (char *)"--version", NULL };
	const char *lld;

	if (child_check(argv, &options, NULL) < 0 || out.bad || !out.data)
		return;
	lld = strstr((const char *)out.data, "LLD ");
	if (lld)
		sscanf(lld, "LLD %31[0-9.]", d->llvm_version);
}

static void llvm_check(struct doctor *d)
{
	const char *other = NULL, *path = NULL;

	llvm_version_find(d);
	if (!d->llvm_version[0]) {
		note(d, "linker", HEALTH_FAIL,
		     "%s/bin/ld.lld does not run; the editor needs it: install lld 22", MORPH_LLVM_DIR);
		return;
	}
	note(d, "linker", HEALTH_OK, "%s/bin/ld.lld is version %s", MORPH_LLVM_DIR, d->llvm_version);
	for (size_t i = 0; i < d->modules.n_rows && !other; i++) {
		const char *version = record_text(&d->modules.rows[i], "llvm_version");

		if (version && strcmp(version, d->llvm_version) != 0) {
			other = version;
			path = record_text(&d->modules.rows[i], "path");
		}
	}
	if (other)
		note(d, "LLVM", HEALTH_WARN,
		     "%s was compiled by LLVM %s, and this machine has %s: it "
		     "cannot be regenerated here; install a build by this one, or name it in rebase "
		     "(morphd.conf)",
		     path ? path : "a program", other, d->llvm_version);
}

static void editor_check(struct doctor *d)
{
	struct fault fault;
	char path[PATH_MAX];

	if (prefix_program(PREFIX_LIBEXEC, "morph-edit", path, &fault) == 0)
		note(d, "editor", HEALTH_OK, "%s is there", path);
	else
		note(d, "editor", HEALTH_FAIL, "%s", fault.text);
}

/* Which walls an edit by this caller would have; those of morphd's edits are the same or more. */
static void sandbox_check(struct doctor *d)
{
	const char *base = getenv("TMPDIR") ?: "/tmp";
	struct sandbox_report walls = { 0 };
	struct fault fault = { "" };
	char directory[4200], gaps[256];

	snprintf(directory, sizeof(directory), "%.4096s/morph-doctor.XXXXXX", base);
	if (!mkdtemp(directory)) {
		note(d, "sandbox", HEALTH_WARN, "%s: cannot try the editor's sandbox: %s", base,
		     strerror(errno));
		return;
	}
	if (sandbox_probe(directory, &walls, &fault) < 0)
		note(d, "sandbox", HEALTH_FAIL, "%s; nothing can be edited here", fault.text);
	else if (sandbox_gaps(&walls, gaps, sizeof(gaps))[0])
		note(d, "sandbox", HEALTH_WARN, "the editor's sandbox has gaps on this system: %s", gaps);
	else
		note(d, "sandbox", HEALTH_OK,
		     "the editor's sandbox has all its walls: namespaces, landlock (interface %d), a filter "
		     "of "
		     "system calls",
		     walls.landlock);
	rmdir(directory);
}

/* ---- the manager's side ---- */

static void daemon_check(struct doctor *d)
{
	_clean_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	struct fault fault = { "" };
	const char *version;

	if (daemon_call(&d->options, "Status", &reply, &fault, "", NULL, NULL, 0) < 0) {
		note(d, "morphd", HEALTH_FAIL, "%s", fault.text);
		return;
	}
	if (record_read(reply, &d->daemon) < 0 || records_read(reply, &d->modules) < 0) {
		note(d, "morphd", HEALTH_FAIL, "its answer cannot be read; restart it after an upgrade");
		return;
	}
	version = record_text(&d->daemon, "version");
	if (!version || strcmp(version, MORPH_VERSION) != 0)
		note(d, "morphd", HEALTH_WARN, "version %s runs, %s is installed; `systemctl restart morphd`",
		     version ? version : "?", MORPH_VERSION);
	else
		note(d, "morphd", HEALTH_OK, "version %s runs (process %lld)", version,
		     (long long)record_integer(&d->daemon, "pid"));
	if (record_integer(&d->daemon, "total_damaged_files"))
		note(d, "damaged files", HEALTH_WARN,
		     "%lld spool files could not be read; `morph history` "
		     "says why",
		     (long long)record_integer(&d->daemon, "total_damaged_files"));
}

/* Who edits: a service for each, or users that nobody is. */
static void user_check(struct doctor *d)
{
	const char *users = record_text(&d->daemon, "worker_users"),
		   *path = record_text(&d->daemon, "worker_socket");

	if (!path)
		path = "/run/morph/worker";
	if (!users) /* morphd is away */
		users = "those of worker_users (morphd.conf(5))";
	if (access(path, F_OK) == 0)
		note(d, "editor's user", HEALTH_OK,
		     "each edit is a service of its own, with a user of its own (%s)", path);
	else if (access("/run/systemd/system", F_OK) == 0)
		note(d, "editor's user", HEALTH_WARN,
		     "nobody listens at %s, so morphd starts edits itself, as users %s; "
		     "`systemctl enable --now morph-worker.socket`",
		     path, users);
	else
		note(d, "editor's user", HEALTH_OK, "each edit has a user of its own, one of %s", users);
}

/* How edits make way for those who use the machine. */
static void freezing_check(struct doctor *d)
{
	const char *freezing = record_text(&d->daemon, "freezing");

	if (freezing)
		note(d, "others first", record_integer(&d->daemon, "freezes_well") ? HEALTH_OK : HEALTH_WARN,
		     "while others want the machine, %s", freezing);
}

static void disk_check(struct doctor *d, const char *name, const char *path)
{
	struct statvfs fs;
	uint64_t free_bytes;

	if (statvfs(path, &fs) < 0) {
		note(d, name, HEALTH_FAIL, "%s: %s; run systemd-tmpfiles --create, or start morphd", path,
		     strerror(errno));
		return;
	}
	free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	if (fs.f_flag & ST_RDONLY)
		note(d, name, HEALTH_FAIL, "%s is on a read-only file system", path);
	else if (free_bytes < LOW_DISK_BYTES || fs.f_favail == 0)
		note(d, name, HEALTH_FAIL, "%s: only %llu MiB are free; make room", path,
		     (unsigned long long)(free_bytes >> 20));
	else
		note(d, name, HEALTH_OK, "%s: %llu MiB free", path, (unsigned long long)(free_bytes >> 20));
}

/* Files that nobody takes: morphd does not run, or reads another directory. */
static void spool_check(struct doctor *d, const char *path)
{
	struct dirent *entry;
	DIR *dir = opendir(path);
	unsigned n = 0;

	while (dir && (entry = readdir(dir))) {
		const char *dot = strrchr(entry->d_name, '.');
		struct stat st;

		if (entry->d_name[0] != '.' && dot && strcmp(dot, ".samples") == 0 &&
		    fstatat(dirfd(dir), entry->d_name, &st, 0) == 0 &&
		    time(NULL) - st.st_mtime > STALE_SPOOL_S)
			n++;
	}
	if (dir)
		closedir(dir);
	if (n)
		note(d, "spool", HEALTH_WARN,
		     "%s: %u sample logs have been waiting for more than %d min; does "
		     "morphd read this directory?",
		     path, n, STALE_SPOOL_S / 60);
}

static void directories_check(struct doctor *d)
{
	const char *state = record_text(&d->daemon, "state_directory");
	const char *spool = record_text(&d->daemon, "spool_directory");

	disk_check(d, "store", state ? state : STATE_DIRECTORY);
	disk_check(d, "spool", spool ? spool : SPOOL_DIRECTORY);
	spool_check(d, spool ? spool : SPOOL_DIRECTORY);
}

/* ---- what guards this machine's files ---- */

/* The helper's socket is root's; that it is there is all that others see. */
static void mounts_check(struct doctor *d)
{
	_clean_(freep) struct settings *settings = calloc(1, sizeof(*settings));
	char config[PATH_MAX];
	struct stat st;

	if (!settings || whose_settings_init(settings, NULL) < 0)
		return;
	whose_config(SETTINGS_NAME, config);
	config_tree_read(config, settings_keys, settings, NULL, NULL);
	if (stat(settings->mount_socket, &st) == 0 && S_ISSOCK(st.st_mode))
		note(d, "activation", HEALTH_OK,
		     "generations are mounted over packaged files, by morph-mount (%s)",
		     settings->mount_socket);
	else
		note(d, "activation", HEALTH_FAIL,
		     "generations are to be mounted, and %s is not there; `systemctl enable "
		     "--now morph-mount.socket`",
		     settings->mount_socket);
	settings_done(settings);
}

static void guards_check(struct doctor *d)
{
	const char *activation = record_text(&d->daemon, "activation");
	bool mounts = activation && strcmp(activation, "mount") == 0;
	_clean_(freep) struct integrity *found = calloc(1, sizeof(*found));

	if (!found)
		return;
	integrity_look("", found);
	for (size_t i = 0; i < found->n_findings; i++) {
		const struct integrity_finding *f = &found->findings[i];
		bool warn =
			f->weight == INTEGRITY_REFUSES || (f->weight == INTEGRITY_PREFERS_MOUNT && !mounts);

		note(d, f->name, warn ? HEALTH_WARN : HEALTH_OK, "%s", f->text);
	}
	if (mounts)
		mounts_check(d);
	else if (activation && strcmp(activation, "shadow") == 0)
		note(d, "activation", HEALTH_OK, "generations are in %s, for PATH (activation = shadow)",
		     record_text(&d->daemon, "shadow_directory") ?: "?");
	else
		note(d, "activation", HEALTH_OK,
		     "generations take the place of packaged files (activation = replace)");
}

/* ---- the result ---- */

static void doctor_print(const struct doctor *d)
{
	for (size_t i = 0; i < d->n_checks; i++)
		printf("%-4s  %s: %s\n", health_names[d->checks[i].health], d->checks[i].name,
		       SHOWN(d->checks[i].text));
	putchar('\n');
	support_print(&d->support, stdout);
}

static void doctor_json(const struct doctor *d, bool healthy)
{
	struct json json = json_to(stdout);

	json_object_begin(&json, NULL);
	json_bool(&json, "healthy", healthy);
	json_array_begin(&json, "checks");
	for (size_t i = 0; i < d->n_checks; i++) {
		json_object_begin(&json, NULL);
		json_string(&json, "name", d->checks[i].name);
		json_string(&json, "state", health_names[d->checks[i].health]);
		json_string(&json, "text", d->checks[i].text);
		json_object_end(&json);
	}
	json_array_end(&json);
	json_object_begin(&json, "sampling");
	support_json(&d->support, &json);
	json_object_end(&json);
	json_object_end(&json);
}

static void doctor_done(struct doctor *d)
{
	record_done(&d->daemon);
	records_done(&d->modules);
}

int doctor_run(int argc, char **argv)
{
	_clean_(doctor_done) struct doctor d = { 0 };
	char status[PATH_MAX];
	bool healthy = true;
	int r = daemon_only_options(&d.options, argc, argv, "doctor");

	if (r >= 0)
		return r;
	if (optind != argc)
		return verb_usage("doctor");
	support_probe("", &d.support);
	support_monitor_read(whose_monitor_status(status), &d.support);
	daemon_check(&d);
	monitor_check(&d);
	sampling_check(&d);
	editor_check(&d);
	llvm_check(&d);
	sandbox_check(&d);
	user_check(&d);
	freezing_check(&d);
	directories_check(&d);
	guards_check(&d);
	for (size_t i = 0; i < d.n_checks; i++)
		healthy = healthy && d.checks[i].health != HEALTH_FAIL;
	if (d.options.json)
		doctor_json(&d, healthy);
	else
		doctor_print(&d);
	return healthy ? VERB_DONE : VERB_FAILED;
}

/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/keep/settings.h"

#include <errno.h>
#include <fnmatch.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#define KEY(key, kind, field, ...) { key, kind, offsetof(struct settings, field), __VA_ARGS__ }

const struct config_key settings_keys[] = {
	KEY("root", CONFIG_PATH, root, 0, 0,
	    "Put before every path of this file, before /proc and /sys, and before the paths of programs: "
	    "for images and tests."),
	KEY("state_directory", CONFIG_PATH, state_directory, 0, 0,
	    "The database state.db and the store with shipped files, generations and profiles."),
	KEY("spool_directory", CONFIG_PATH, spool_directory, 0, 0,
	    "Where morph-monitor leaves sample logs and events."),
	KEY("runtime_directory", CONFIG_PATH, runtime_directory, 0, 0,
	    "The socket of morphd, and what does not outlive a boot."),
	KEY("sidecar_directory", CONFIG_PATH, sidecar_directory, 0, 0,
	    "Morph data that is not in its program, by build ID."),
	KEY("profile_command", CONFIG_TEXT, profile_command, 0, 0,
	    "The command that makes a profile from samples; its words in braces are replaced."),
	KEY("editor_command", CONFIG_TEXT, editor_command, 0, 0,
	    "The command that makes a generation from a profile; its words in braces are replaced."),
	KEY("watch_file", CONFIG_PATH, watch_file, 0, 0,
	    "Where morph-monitor learns which programs' starts to report."),
	KEY("worker_users", CONFIG_TEXT, worker_users, 0, 0,
	    "First and last user ID for jobs that morphd starts itself, where systemd does not."),
	KEY("worker_socket", CONFIG_TEXT, worker_socket, 0, 0,
	    "Where systemd starts a service for each job."),
	KEY("debuginfod_urls", CONFIG_TEXT, debuginfod_urls, 0, 0,
	    "Debuginfod servers, separated by blanks, that sidecars which are not installed are asked of, or "
	    "none."),
	KEY("fetch_socket", CONFIG_TEXT, fetch_socket, 0, 0,
	    "Where systemd starts a service, with a network, for each such question."),
	KEY("metrics_file", CONFIG_TEXT, metrics_file, 0, 0,
	    "A file NAME.prom that gets metrics for the text file collector of Prometheus' node exporter, or "
	    "none."),
	KEY("fetch_size", CONFIG_BYTES, fetch_bytes, 4096, 0x1p32, "The largest sidecar that is taken."),
	KEY("fetch_timeout", CONFIG_DURATION, fetch_timeout_s, 1, 86400,
	    "How long it may take to ask all servers for one sidecar."),
	KEY("fleet_credential", CONFIG_TEXT, fleet_credential, 0, 0,
	    "The file that morph fleet machine add made for this machine; then new counts are handed over to "
	    "the "
	    "fleet's database. Or none."),
	KEY("fleet_certificates", CONFIG_TEXT, fleet_certificates, 0, 0,
	    "A file with certificates that the credential names by sslrootcert, if not the system's, or "
	    "none."),
	KEY("fleet_programs", CONFIG_TEXT, fleet_programs, 0, 0,
	    "Whose counts are handed over: packages (files that are as a package shipped them), or patterns "
	    "of "
	    "paths, separated by blanks, of such files."),
	KEY("fleet_interval", CONFIG_DURATION, fleet_interval_s, 1, 30 * 86400.0,
	    "At least, between two batches of one program for the fleet."),
	KEY("edit_timeout", CONFIG_DURATION, edit_timeout_s, 1, 86400,
	    "How long each of the two commands may run, in elapsed time (without the time it is frozen) and "
	    "in CPU "
	    "time."),
	KEY("edit_memory", CONFIG_BYTES, edit_memory_bytes, 0, 0x1p50,
	    "Address space of each of the two commands; 0: no limit."),
	KEY("edit_file_size", CONFIG_BYTES, edit_file_bytes, 0x1p20, 0x1p40,
	    "The largest file that the two commands may write."),
	KEY("automatic", CONFIG_BOOL, automatic, 0, 0,
	    "Whether to edit without being asked, when there are enough samples and the machine is idle."),
	KEY("minimum_samples", CONFIG_UINT, minimum_samples, 1, 1e15,
	    "New samples of a program, since its last edit, that make another one worth while."),
	KEY("first_samples", CONFIG_UINT, first_samples, 1, 1e15,
	    "Samples of a program that make its first edit worth while, where minimum_samples is not less."),
	KEY("half_life", CONFIG_DURATION, half_life_s, 60, 1e9,
	    "Of a program's activity, after which older samples weigh half."),
	KEY("edit_interval", CONFIG_DURATION, edit_interval_s, 0, 1e9,
	    "At least, between two edits of one program."),
	KEY("edits_per_day", CONFIG_UINT, edits_per_day, 0, 1e9,
	    "Edits of all programs together, within 24 hours, that nobody asked for; 0: no limit."),
	KEY("edits_per_user", CONFIG_UINT, edits_per_user, 0, 1e9,
	    "The same of the programs of one owner other than root; 0: no limit."),
	KEY("edits_per_program", CONFIG_UINT, edits_per_program, 0, 1e9,
	    "The same of one program; 0: no limit."),
	KEY("programs_per_user", CONFIG_UINT, programs_per_user, 0, 1e9,
	    "Programs with Morph data of one owner other than root; of more, those without a generation that "
	    "were "
	    "seen longest ago are forgotten. 0: no limit."),
	KEY("store_size", CONFIG_BYTES, store_bytes, 0, 0x1p60,
	    "What the store may hold; of more, the oldest generations that are not in use go first, of the "
	    "owner "
	    "with most. 0: no limit."),
	KEY("store_per_user", CONFIG_BYTES, store_user_bytes, 0, 0x1p60,
	    "The same of the programs of one owner other than root; 0: no limit."),
	KEY("store_per_program", CONFIG_BYTES, store_program_bytes, 0, 0x1p60,
	    "The same of one program; 0: no limit."),
	KEY("history_per_user", CONFIG_UINT, history_per_user, 0, 1e9,
	    "Events of the programs of one owner other than root that are kept, of 20000 in all; 0: no "
	    "limit."),
	KEY("history_per_program", CONFIG_UINT, history_per_program, 0, 1e9,
	    "Events of one program that are kept; 0: no limit."),
	KEY("usage_days", CONFIG_UINT, usage_days, 0, 3660,
	    "Days for which is kept, by the hour, whose time it was: process, unit, user. 0: it is not "
	    "kept."),
	KEY("decide_interval", CONFIG_DURATION, decide_interval_s, 1, 86400,
	    "How often it is considered what to do, and installed files are looked at."),
	KEY("idle_pressure", CONFIG_REAL, idle_pressure, 0, 100,
	    "The machine is idle when in at most this percentage of the last ten seconds a task waited for a "
	    "CPU."),
	KEY("idle_load", CONFIG_REAL, idle_load, 0, 1000,
	    "The machine is idle when the load average of the last minute is at most this per CPU."),
	KEY("idle_session", CONFIG_BOOL, idle_session, 0, 0,
	    "Whether an edit gives way to other sessions as a whole, where the kernel shares the CPUs among "
	    "sessions."),
	KEY("on_battery", CONFIG_BOOL, on_battery, 0, 0,
	    "Whether to edit without mains power, too, and when the power profile saves power."),
	KEY("beside_user", CONFIG_BOOL, beside_user, 0, 0,
	    "Whether to edit while somebody works at the machine, too: in a local session that is neither "
	    "idle "
	    "nor locked, as systemd-logind knows it."),
	KEY("resume_after", CONFIG_DURATION, resume_s, 0, 86400,
	    "How long the machine must be quiet before an edit goes on that was frozen because others wanted "
	    "it."),
	KEY("frozen_time", CONFIG_DURATION, frozen_s, 0, 7 * 86400.0,
	    "How long an edit may be frozen, all times together, before it is cancelled."),
	KEY("prefixes", CONFIG_TEXT, prefixes, 0, 0,
	    "Directories, separated by blanks, under which programs are looked at at all."),
	KEY("owners", CONFIG_TEXT, owners, 0, 0,
	    "Users whose files may be looked into and replaced, separated by blanks, or any."),
	KEY("rebase", CONFIG_TEXT, rebase, 0, 0,
	    "Patterns of paths of programs that are edited though their shipped text does not regenerate."),
	KEY("restart_units", CONFIG_TEXT, restart_units, 0, 0,
	    "Patterns of systemd units that are restarted when they run the code from before, or none."),
	KEY("restart_window", CONFIG_TEXT, restart_window, 0, 0,
	    "When, from and to, in local time: 03:00-05:00."),
	KEY("restart_interval", CONFIG_DURATION, restart_interval_s, 0, 3650 * 86400.0,
	    "How long such a unit must have been active."),
	KEY("early_files", CONFIG_TEXT, early_files, 0, 0,
	    "Patterns of paths of files that are used before morph-start runs, when the machine starts: no "
	    "instructions are "
	    "used in them that only this CPU has."),
	KEY("activation", CONFIG_TEXT, activation, 0, 0,
	    "Where a generation goes: replace (in the place of the packaged file), mount (over it), or, with "
	    "morphd --user, shadow (in shadow_directory)."),
	KEY("shadow_directory", CONFIG_PATH, shadow_directory, 0, 0,
	    "The directory of activation = shadow, which its user puts first in PATH."),
	KEY("shadow_path", CONFIG_TEXT, shadow_path, 0, 0,
	    "The other directories of PATH, with colons, in their order: which program a name stands for."),
	KEY("mount_socket", CONFIG_PATH, mount_socket, 0, 0, "Where morph-mount listens."),
	KEY("mount_prefixes", CONFIG_TEXT, mount_prefixes, 0, 0,
	    "Directories, separated by blanks, below which morph-mount mounts."),
	KEY("privileged_files", CONFIG_BOOL, privileged_files, 0, 0,
	    "Whether set-user-ID and set-group-ID files and files with capabilities may be replaced, too."),
	KEY("watch_time", CONFIG_DURATION, watch_s, 0, 30 * 86400.0,
	    "How long crashes of a new generation are watched, counted while morphd runs."),
	KEY("condemned_time", CONFIG_DURATION, condemned_s, 0, 1e9,
	    "How long a program is left alone after a generation of it was condemned, because it crashed or "
	    "was slower; 0: until "
	    "morph pardon."),
	KEY("keep_generations", CONFIG_UINT, keep_generations, 0, 1000,
	    "How many inactive generations of a program are kept besides the shipped file."),
	KEY("minimum_free", CONFIG_BYTES, minimum_free_bytes, 0, 0x1p60,
	    "Free space on the store's disk below which nothing is edited."),
	{ NULL },
};

static const char *const defaults[][2] = {
	{ "state_directory", "/var/lib/morph" },
	{ "spool_directory", "/var/spool/morph" },
	{ "runtime_directory", "/run/morph" },
	{ "sidecar_directory", "/usr/lib/morph/.build-id" },
	{ "watch_file", "/run/morph/monitor/watch" },
	{ "profile_command",
	  "morph profile {original} {samples} {generations} {carried} {prior} --sidecar-dir {sidecars} "
	  "--json -o {profile}" },
	{ "editor_command", "morph optimize {original} --profile {profile} --sidecar-dir {sidecars} "
			    "{rebase} {kept} --memo {memo} --force --selftest -o {output} --report "
			    "{report}" },
	{ "worker_users", "61184-65519" },
	{ "worker_socket", "/run/morph/worker" },
	{ "debuginfod_urls", "none" },
	{ "fetch_socket", "/run/morph/fetch" },
	{ "metrics_file", "none" },
	{ "fetch_size", "64M" },
	{ "fetch_timeout", "2min" },
	{ "fleet_credential", "none" },
	{ "fleet_certificates", "none" },
	{ "fleet_programs", "packages" },
	{ "fleet_interval", "6h" },
	{ "edit_timeout", "30min" },
	{ "edit_memory", "8G" },
	{ "edit_file_size", "2G" },
	{ "automatic", "yes" },
	{ "minimum_samples", "10000" },
	{ "first_samples", "2000" },
	{ "half_life", "7d" },
	{ "edit_interval", "6h" },
	{ "edits_per_day", "50" },
	{ "edits_per_user", "20" },
	{ "edits_per_program", "8" },
	{ "programs_per_user", "500" },
	{ "store_size", "32G" },
	{ "store_per_user", "4G" },
	{ "store_per_program", "4G" },
	{ "history_per_user", "4000" },
	{ "history_per_program", "1000" },
	{ "usage_days", "31" },
	{ "decide_interval", "60s" },
	{ "idle_pressure", "10" },
	{ "idle_load", "0.5" },
	{ "idle_session", "yes" },
	{ "on_battery", "no" },
	{ "beside_user", "no" },
	{ "resume_after", "30s" },
	{ "frozen_time", "1h" },
	{ "prefixes", "/usr /opt /bin /sbin /lib /lib32 /lib64 /libx32" },
	{ "owners", "root" },
	{ "rebase", "none" },
	{ "restart_units", "none" },
	{ "restart_window", "03:00-05:00" },
	{ "restart_interval", "20h" },
	{ "early_files",
	  "*/lib/systemd/* */bin/bash */bin/busybox */bin/dash */bin/kmod */bin/mount */bin/sh "
	  "*/bin/systemd-* */bin/udevadm */sbin/blkid */sbin/e2fsck */sbin/fsck* */ld-linux* "
	  "*/libacl.so.* */libapparmor.so.* */libaudit.so.* */libblkid.so.* */libc.so.* */libcap.so.* "
	  "*/libcap-ng.so.* */libcom_err.so.* */libcrypt.so.* */libcrypto.so.* */libe2p.so.* "
	  "*/libext2fs.so.* */libgcc_s.so.* */libgcrypt.so.* */libgpg-error.so.* */libip4tc.so.* "
	  "*/libkmod.so.* */liblz4.so.* */liblzma.so.* */libm.so.* */libmount.so.* */libpam.so.* "
	  "*/libpcre2-8.so.* */libseccomp.so.* */libselinux.so.* */libsystemd.so.* */libudev.so.* "
	  "*/libuuid.so.* */libz.so.* */libzstd.so.*" },
	{ "activation", "replace" },
	{ "shadow_directory", "/run/morph/bin" },
	{ "shadow_path", "/usr/local/bin:/usr/bin:/bin" },
	{ "mount_socket", "/run/morph/mount" },
	{ "mount_prefixes", "/usr /opt" },
	{ "privileged_files", "no" },
	{ "watch_time", "2h" },
	{ "condemned_time", "30d" },
	{ "keep_generations", "2" },
	{ "minimum_free", "256M" },
};

int settings_init(struct settings *settings)
{
	*settings = (struct settings){ .uid = geteuid(), .root = strdup("") };
	if (!settings->root)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(defaults); i++) {
		int r = config_set(settings_keys, defaults[i][0], defaults[i][1], settings, NULL);

		if (r < 0)
			return r;
	}
	return 0;
}

void settings_done(struct settings *settings)
{
	config_done(settings_keys, settings);
}

const char *settings_path(const struct settings *settings, const char *path, char ret[PATH_MAX])
{
	size_t n = strlen(settings->root);

	while (n && settings->root[n - 1] == '/')
		n--;
	if (snprintf(ret, PATH_MAX, "%.*s%s", (int)n, settings->root, path) >= PATH_MAX)
		return NULL;
	return ret;
}

static bool window_parse(const char *text, unsigned ret[2])
{
	unsigned h[2], m[2];
	int n = 0;

	if (sscanf(text, "%2u:%2u-%2u:%2u%n", &h[0], &m[0], &h[1], &m[1], &n) != 4 || text[n])
		return false;
	for (int i = 0; i < 2; i++)
		ret[i] = 60 * h[i] + m[i];
	return h[0] < 24 && h[1] < 24 && m[0] < 60 && m[1] < 60 && ret[0] != ret[1];
}

bool settings_restarts_at(const struct settings *settings, unsigned minute)
{
	unsigned window[2];

	if (!window_parse(settings->restart_window, window))
		return false;
	/* One that ends after midnight. */
	return window[0] < window[1] ? minute >= window[0] && minute < window[1] :
				       minute >= window[0] || minute < window[1];
}

int settings_check(const struct settings *settings, struct fault *reterr)
{
	size_t n = strlen(settings->metrics_file);

	if (settings->is_user ? strcmp(settings->activation, "replace") != 0 && !settings_shadows(settings) :
				strcmp(settings->activation, "replace") != 0 && !settings_mounts(settings))
		return fault_set(reterr, -EINVAL, "activation = %s: must be replace or %s",
				 settings->activation,
				 settings->is_user ? "shadow, with morphd --user" : "mount");
	if (!window_parse(settings->restart_window, (unsigned[2]){ 0 }))
		return fault_set(
			reterr, -EINVAL,
			"restart_window = %s: must be two times of the day, for instance 03:00-05:00",
			settings->restart_window);
	if (settings_has_metrics(settings) &&
	    (settings->metrics_file[0] != '/' || n < sizeof("/x.prom") - 1 ||
	     strcmp(settings->metrics_file + n - strlen(".prom"), ".prom") != 0))
		return fault_set(
			reterr, -EINVAL,
			"metrics_file = %s: must be none, or an absolute path that ends in .prom, as "
			"the node exporter asks",
			settings->metrics_file);
	return 0;
}

bool settings_has_metrics(const struct settings *settings)
{
	return strcmp(settings->metrics_file, "none") != 0;
}

bool settings_mounts(const struct settings *settings)
{
	return strcmp(settings->activation, "mount") == 0;
}

bool settings_shadows(const struct settings *settings)
{
	return strcmp(settings->activation, "shadow") == 0;
}

bool settings_fetches(const struct settings *settings)
{
	return settings->debuginfod_urls[strspn(settings->debuginfod_urls, " \t")] &&
	       strcmp(settings->debuginfod_urls, "none") != 0;
}

bool settings_has_fleet(const struct settings *settings)
{
	return settings->fleet_credential[0] && strcmp(settings->fleet_credential, "none") != 0;
}

bool settings_has_priors(const struct settings *settings)
{
	return strstr(settings->profile_command, "{prior}");
}

bool settings_owner_is_allowed(const struct settings *settings, unsigned uid)
{
	const char *at = settings->owners;
	char name[256];
	int n = 0;

	if (uid == settings->uid)
		return true;
	for (; sscanf(at, "%255s%n", name, &n) == 1; at += n) {
		const struct passwd *user;

		if (strcmp(name, "any") == 0)
			return true;
		user = getpwnam(name);
		if (user && user->pw_uid == uid)
			return true;
	}
	return false;
}

static bool matches(const char *patterns, const char *path)
{
	char pattern[PATH_MAX];
	int n = 0;

	for (; sscanf(patterns, "%4095s%n", pattern, &n) == 1; patterns += n)
		if (fnmatch(pattern, path, 0) == 0)
			return true;
	return false;
}

bool settings_may_rebase(const struct settings *settings, const char *path)
{
	return matches(settings->rebase, path);
}

bool settings_is_early(const struct settings *settings, const char *path)
{
	return matches(settings->early_files, path);
}

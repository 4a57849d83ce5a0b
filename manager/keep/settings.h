/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * settings.h - what morphd.conf(5) says, with the defaults
 */

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/config_tree.h"
#include "base/fault.h"

#define SETTINGS_NAME "morphd.conf" /* where it is: prefix_config() */

struct settings {
	unsigned uid; /* whom morphd runs as; this and the next, not configured */
	bool is_user; /* `morphd --user`: one user's own, without root (settings_init_user()) */
	char *root;   /* put before every path below, before /proc and /sys, and before programs' paths */
	char *state_directory;
	char *spool_directory;
	char *runtime_directory;
	char *sidecar_directory;
	char *watch_file; /* where morph-monitor learns which programs' starts to report */

	char *profile_command; /* words; {original}, {profile}, ... are replaced: see edit.h */
	char *editor_command;
	char *worker_users;  /* two numbers: user IDs for jobs, when morphd is root and starts them itself */
	char *worker_socket; /* where systemd starts a service for each job */
	char *debuginfod_urls;	  /* words: servers of sidecars; "none" */
	char *fetch_socket;	  /* where systemd starts a service for each fetch */
	char *metrics_file;	  /* for Prometheus' node exporter; "none" */
	uint64_t fetch_bytes;	  /* of a sidecar, at most */
	uint64_t fetch_timeout_s; /* of one fetch, all servers together */
	char *fleet_credential;	  /* a file; "none": nothing is handed over */
	char *fleet_certificates; /* a file, or "none" */
	char *fleet_programs;	  /* "packages", or words: patterns of paths */
	uint64_t fleet_interval_s;
	uint64_t edit_timeout_s; /* of one command */
	uint64_t edit_memory_bytes;
	uint64_t edit_file_bytes;

	bool automatic;		  /* decide by itself, not only on `morph reoptimize` */
	uint64_t minimum_samples; /* new ones since the last edit */
	uint64_t first_samples;	  /* the same before there was one, unless minimum_samples is less */
	uint64_t half_life_s;	  /* of a module's activity, after which older samples weigh half */
	uint64_t edit_interval_s; /* at least, between two edits of one module */
	uint64_t usage_days;	  /* that hours of processes and units are kept; 0: not at all */
	uint64_t edits_per_day;	  /* of all programs, without being asked; 0: no limit */
	uint64_t edits_per_user,
		edits_per_program;  /* the same of one owner's programs but root's, of one program */
	uint64_t programs_per_user; /* of one owner but root; this and the next five, 0: no limit */
	uint64_t store_bytes, store_user_bytes, store_program_bytes;
	uint64_t history_per_user, history_per_program; /* events */
	uint64_t decide_interval_s;
	double idle_pressure; /* percent: CPU pressure, "some avg10", at most */
	double idle_load;     /* load average of one minute per CPU, at most */
	bool idle_session;    /* an edit's session gives way to others (base/idle.h) */
	bool on_battery;      /* edit without mains power too, or when a power profile saves power */
	bool beside_user;     /* edit while somebody works in a session of logind, too */
	uint64_t resume_s;    /* how long a machine must be quiet before a frozen edit goes on */
	uint64_t frozen_s;    /* how long one edit may be frozen, all times together */

	char *prefixes; /* words: directories under which programs are looked at; see place.h */
	char *owners;	/* words: users whose files may be optimized; "any" */
	char *rebase;	/* words: patterns of paths that are edited though their text does not regenerate */
	char *early_files;    /* words: patterns of paths that are used before morph-start runs */
	char *restart_units;  /* words: patterns of units that are restarted when they run old code; "none" */
	char *restart_window; /* "HH:MM-HH:MM": when */
	uint64_t restart_interval_s; /* at least, after it became active */
	char *activation;	     /* "replace", "mount" or "shadow": where a generation goes */
	char *shadow_directory;	     /* of the third: what its user puts first in PATH */
	char *shadow_path;	     /* the rest of PATH, with colons */
	char *mount_socket;	     /* where morph-mount listens */
	char *mount_prefixes;	     /* words: directories below which it mounts */
	bool privileged_files;	     /* also set-user-ID, set-group-ID and files with capabilities */
	uint64_t watch_s;	     /* how long crashes of a new generation are watched */
	uint64_t condemned_s; /* how long a module is left alone after a crash; 0: until somebody lifts it */
	uint64_t keep_generations;   /* inactive ones per module */
	uint64_t minimum_free_bytes; /* below that on the store's disk nothing is edited */
};

extern const struct config_key settings_keys[];

/** settings_init() - the defaults; -ENOMEM */
int settings_init(struct settings *settings);
/** settings_init_user() - the defaults of `morphd --user`; -ENOENT: no HOME; -EPERM: root has the machine's */
int settings_init_user(struct settings *settings, struct fault *reterr);
void settings_done(struct settings *settings);

/** settings_path() - @path under the root, into @ret, which is returned; NULL when too long */
const char *settings_path(const struct settings *settings, const char *path, char ret[PATH_MAX]);

/** settings_check() - is every word one that we know? -EINVAL with what it may be */
int settings_check(const struct settings *settings, struct fault *reterr);

/** settings_restarts_at() - is @minute of the day, local time, in the maintenance window? */
bool settings_restarts_at(const struct settings *settings, unsigned minute);

/** settings_mounts() - are generations mounted over packaged files, instead of put in their place? */
bool settings_mounts(const struct settings *settings);

/** settings_shadows() - do generations stand in a directory of their own, which is in PATH? */
bool settings_shadows(const struct settings *settings);

/** settings_fetches() - are sidecars that are not installed asked of servers? */
bool settings_fetches(const struct settings *settings);

/** settings_has_metrics() - is a file of metrics to be written? */
bool settings_has_metrics(const struct settings *settings);

/** settings_has_fleet() - are counts handed over to a fleet? */
bool settings_has_fleet(const struct settings *settings);

/** settings_has_priors() - does the profile command take what others counted? */
bool settings_has_priors(const struct settings *settings);

/** settings_owner_is_allowed() - may files of user @uid be optimized? Our own always may. */
bool settings_owner_is_allowed(const struct settings *settings, unsigned uid);

/** settings_is_early() - is the file at @path used before morph-start can take it away? */
bool settings_is_early(const struct settings *settings, const char *path);

/** settings_may_rebase() - may the program at @path be edited though its shipped text does not regenerate? */
bool settings_may_rebase(const struct settings *settings, const char *path);

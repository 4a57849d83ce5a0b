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
	unsigned uid; /* whom morphd runs as; not configured */
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
	uint64_t half_life_s;	  /* of a module's activity, after which older samples weigh half */
	uint64_t edit_interval_s; /* at least, between two edits of one module */
	uint64_t edits_per_day;	  /* of all programs, without being asked; 0: no limit */
	uint64_t decide_interval_s;
	double idle_pressure; /* percent: CPU pressure, "some avg10", at most */
	double idle_load;     /* load average of one minute per CPU, at most */
	bool on_battery;      /* edit without mains power too, or when a power profile saves power */
	uint64_t resume_s;    /* how long a machine must be quiet before a frozen edit goes on */
	uint64_t frozen_s;    /* how long one edit may be frozen, all times together */

	char *prefixes;	  /* words: directories under which programs are looked at; see place.h */
	char *owners;	  /* words: users whose files may be optimized; "any" */
	char *rebase;	  /* words: patterns of paths that are edited though their text does not regenerate */
	char *activation; /* "replace" or "mount": where a generation goes (settings_mounts()) */
	char *mount_socket;    /* where morph-mount listens */
	char *mount_prefixes;  /* words: directories below which it mounts */
	bool privileged_files; /* also set-user-ID, set-group-ID and files with capabilities */
	uint64_t watch_s;      /* how long crashes of a new generation are watched */
	uint64_t condemned_s;  /* how long a module is left alone after a crash; 0: until somebody lifts it */
	uint64_t keep_generations;   /* inactive ones per module */
	uint64_t minimum_free_bytes; /* below that on the store's disk nothing is edited */
};

extern const struct config_key settings_keys[];

/** settings_init() - the defaults; -ENOMEM */
int settings_init(struct settings *settings);
void settings_done(struct settings *settings);

/** settings_path() - @path under the root, into @ret, which is returned; NULL when too long */
const char *settings_path(const struct settings *settings, const char *path, char ret[PATH_MAX]);

/** settings_check() - is every word one that we know? -EINVAL with what it may be */
int settings_check(const struct settings *settings, struct fault *reterr);

/** settings_mounts() - are generations mounted over packaged files, instead of put in their place? */
bool settings_mounts(const struct settings *settings);

/** settings_fetches() - are sidecars that are not installed asked of servers? */
bool settings_fetches(const struct settings *settings);

/** settings_has_metrics() - is a file of metrics to be written? */
bool settings_has_metrics(const struct settings *settings);

/** settings_has_fleet() - are counts handed over to a fleet? */
bool settings_has_fleet(const struct settings *settings);

/** settings_owner_is_allowed() - may files of user @uid be optimized? Our own always may. */
bool settings_owner_is_allowed(const struct settings *settings, unsigned uid);

/** settings_may_rebase() - may the program at @path be edited though its shipped text does not regenerate? */
bool settings_may_rebase(const struct settings *settings, const char *path);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * ran.h - what ran: many sample logs, or what morphd keeps of them, added up by file and place
 *
 * Logs of different rates are added as time: a sample is 1/rate seconds of a CPU. Counts that no clock took (exact
 * ones, imported ones) have no time; such are only added to their like.
 */

#include <stdbool.h>

#include "profiles/samples/sample_log.h"

struct ran_count {
	uint64_t offset; /* as in sample logs */
	uint64_t samples;
	double weight; /* seconds of a CPU; without a clock, samples */
};

/* A file in one mount namespace, run by one user, in one log: as far as these are told apart (struct ran_options). */
struct ran_module {
	struct sample_module identity; /* path is owned, counts and branches are none; kind RAN_LOST, too */
	char *copy;		       /* owned; where morphd has the same file; NULL: nowhere */
	uint32_t log;		       /* in logs[] */
	uint32_t process;	       /* in processes[]; 0: not told apart */
	struct ran_count
		*counts; /* owned; sorted by offset after ran_finish(); none unless places are asked for */
	size_t n_counts, capacity;
	uint64_t samples, samples_nowhere; /* the second: those without a place */
	double weight, weight_nowhere;
};

#define RAN_LOST 0 /* user mode, and nobody knows where: sample_module.kind */

struct ran_options {
	bool sum;		     /* keep the logs' sum, too */
	bool stacks;		     /* keep the logs' stacks, too */
	bool places, logs, users;    /* what is told apart */
	bool processes;		     /* likewise; of all but what is sampled now, files are not known then */
	uint64_t since_ns, until_ns; /* of CLOCK_REALTIME; logs that touch it are taken whole */
};

struct ran_process {
	char *name, *unit; /* owned */
};

struct recorder;

struct ran {
	struct ran_options options;
	struct ran_module **modules; /* owned, as each is; in order of identity after ran_finish() */
	size_t n_modules;
	char **logs; /* owned; names */
	size_t n_logs, n_outside,
		n_beyond; /* taken; not taken; taken, but reaching beyond the time asked for */
	uint64_t fired, idle, user, kernel;
	uint64_t first_ns, last_ns; /* 0: not known */
	uint64_t samples;	    /* user and kernel, all of it */
	double weight;
	struct ran_process *processes; /* owned; [0] is nobody */
	size_t n_processes, capacity_processes;
	struct interned processes_index; /* private */
	struct sample_log *sum; /* owned; NULL: not asked for, or no log; builds united after ran_finish() */
	struct stacks stacks;	/* where asked for; a log's time is shared out among the stacks in it */
	uint64_t samples_stackless; /* of logs without stacks */
	double weight_stackless;
	bool is_kept;	     /* what morphd keeps: totals, and no times */
	bool is_by_hour;     /* what morphd keeps, by whole hours */
	bool is_clocked;     /* weights are seconds */
	size_t n_damaged;    /* files of directories that are no sample logs: left out */
	struct fault damage; /* of the first */
	void *index;	     /* private: of modules */
	size_t capacity;
};

/** samples_add() - a sum that stays at the largest number when it would be larger */
static inline uint64_t samples_add(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/** ran_init(), ran_done() - nothing yet; nothing any more */
void ran_init(const struct ran_options *options, struct ran *ret);
void ran_done(struct ran *ran);

/**
 * ran_add_log() - a log that is called @name
 * Return: 0; -EINVAL: of clocks and of counts; -ENOMEM; with @reterr
 */
int ran_add_log(struct ran *ran, const struct sample_log *log, const char *name, struct fault *reterr);

/** ran_add_recorder() - what it sampled since it was opened or asked before, with processes if these are told apart */
int ran_add_recorder(struct ran *ran, struct recorder *recorder, double rate_hz, const char *name,
		     struct fault *reterr);

/** ran_add_path() - a sample log, or a directory of them (*.samples, not of events); as sample_log_read() */
int ran_add_path(struct ran *ran, const char *path, struct fault *reterr);

/**
 * ran_add_state() - what morphd keeps in @state_directory; NULL: the configured one
 * That are totals of each file since it was first seen: --since and --until choose files by when they ran. Where the
 * database may not be read, morphd is asked; then files are all that is known.
 * Return: 0; -EACCES: names are asked for, and only root may read them; -ENOENT: there is no morphd; -errno
 */
int ran_add_state(struct ran *ran, const char *state_directory, struct fault *reterr);

/** ran_add_rest() - @samples that no module has; 0 or -ENOMEM */
int ran_add_rest(struct ran *ran, int kind, const char *path, uint64_t samples, double sample, uint32_t log);

/** ran_module() - the module like @like in log @log and a process, added when new; NULL: no memory */
struct ran_module *ran_module(struct ran *ran, const struct sample_module *like, uint32_t log,
			      uint32_t process);
/** ran_count_add() - samples of it; 0 or -ENOMEM */
int ran_count_add(struct ran *ran, struct ran_module *module, uint64_t offset, uint64_t samples,
		  double weight);

/** ran_count_total() - samples of it, and nobody knows where in it */
void ran_count_total(struct ran *ran, struct ran_module *module, uint64_t samples, double weight);

/** ran_owner_add() - samples of which only is known whose they were; "": not even that; 0 or -ENOMEM */
int ran_owner_add(struct ran *ran, const char *process, const char *unit, uint32_t user, uint64_t samples,
		  double weight, uint32_t log);

/** ran_finish() - sort, after all was added; 0 or -ENOMEM */
int ran_finish(struct ran *ran);

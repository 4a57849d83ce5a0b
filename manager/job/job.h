/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * job.h - one command on foreign bytes, run by a process with a user of its own (morph-worker)
 *
 * Where systemd listens for it (morph-worker.socket), each job is a service of its own: its user, its control group, its
 * limits; all of it ends with the job. Elsewhere morphd starts morph-worker itself: as root as a user of `worker_users`
 * that nobody is, otherwise as itself. There it is in a control group of its own (cgroup.h), where one can be made.
 *
 * Files go in and out by descriptor. Results are copied into files that nobody else has open before anybody looks at them.
 */

#include <sys/types.h>

#include "base/fault.h"
#include "manager/job/job_message.h"
#include "manager/keep/context.h"

struct job;

struct job_file {
	char name[JOB_NAME_BYTES]; /* in the job's directory */
	const char *path;	   /* ours; of an output: made when the job has written it */
	bool is_output;
};

struct job_request {
	char *const *words; /* NULL-terminated; file names are relative */
	const struct job_file *files;
	size_t n_files;
	const char *const
		*readable; /* NULL-terminated, absolute: what it may read besides the system; NULL: nothing */
	bool in_sandbox;   /* else the command makes one of its own */
	bool network;	   /* it is a client of the network, and a service of morph-fetch.socket */
	const char
		*place; /* directory for what is under way, the caller's alone; NULL: where edits are made */
	uint64_t file_bytes; /* of what it writes; 0: as for edits */
	uint64_t timeout_s;  /* 0: as for edits */
};

struct job_end {
	int error;  /* 0: the command ran; else -errno: it did not, or was stopped; @text says why */
	int status; /* as waitpid(2) gives it */
	double cpu_s;
	bool timed_out;
	const char *text;		/* also: what the sandbox lacks on this system; "" */
	const enum job_output *outputs; /* of request->files that are outputs, in their order */
};

typedef void (*job_done)(void *userdata, const struct job_end *end);

/**
 * job_start() - run it; @done is called once, from the event loop, never from here. The job is freed before.
 * Return: 0 with *ret; -errno with @reterr
 */
int job_start(struct manager *manager, const struct job_request *request, job_done done, void *userdata,
	      struct job **ret, struct fault *reterr);

/** job_free() - stop it, if it still runs, with all that it started; @done is not called. Accepts NULL */
void job_free(struct job *job);

/**
 * job_freeze() - stop all its processes, or let them go on; their time stands still meanwhile. They are frozen when it
 * returns 0, or within a few milliseconds; -errno: they run as before.
 */
int job_freeze(struct job *job, bool freeze, struct fault *reterr);

/** job_cpu_us() - CPU time of all its processes, in microseconds, from any beginning: for differences. 0: unknown */
uint64_t job_cpu_us(const struct job *job);

/** job_freezing() - how jobs are frozen on this machine, a sentence; false: by signals, or not at all */
bool job_freezing(const struct settings *settings, char *ret, size_t size);

/** job_clean() - what jobs of a morphd that was killed have left: groups, a frozen slice */
void job_clean(struct manager *manager);

/** job_user_find() - a user ID of @range ("61184-65519") that nobody has: no account, no process. -EUSERS: none is free */
int job_user_find(const char *range, uid_t *ret, struct fault *reterr);

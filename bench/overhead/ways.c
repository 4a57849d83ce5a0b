/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "bench/overhead/ways.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "bench/overhead/work.h"

#define ROWS 4096u
#define REFERENCE_HZ 15.0

static int perf_start(struct kind *kind, struct fault *reterr)
{
	char control[128], output[128], fifo[280], hz[32];
	char *argv[] = { "perf", "record", "-q",	"-e", "cpu-clock", "-F",   hz,	"-a",
			 "-D",	 "-1",	   "--control", fifo, "-o",	   output, NULL };

	snprintf(kind->directory, sizeof(kind->directory), "/tmp/bench-overhead.XXXXXX");
	if (!mkdtemp(kind->directory))
		return fault_errno(reterr, -errno, "temporary directory");
	snprintf(control, sizeof(control), "%s/control", kind->directory);
	snprintf(output, sizeof(output), "%s/perf.data", kind->directory);
	snprintf(fifo, sizeof(fifo), "fifo:%s/control,%s/ack", kind->directory, kind->directory);
	snprintf(hz, sizeof(hz), "%.0f", kind->hz);
	if (mkfifo(control, 0600) < 0)
		return fault_errno(reterr, -errno, "fifo");
	kind->control = open(control, O_RDWR | O_CLOEXEC);
	snprintf(control, sizeof(control), "%s/ack", kind->directory);
	if (mkfifo(control, 0600) < 0)
		return fault_errno(reterr, -errno, "fifo");
	kind->ack = open(control, O_RDWR | O_CLOEXEC);
	kind->perf = fork();
	if (kind->perf == 0) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, 1);
		dup2(null, 2);
		execvp(argv[0], argv);
		_exit(127);
	}
	sleep_s(1.5);
	return kind->control < 0 || kind->ack < 0 || kind->perf < 0 ||
			       waitpid(kind->perf, NULL, WNOHANG) != 0 ?
		       fault_set(reterr, -ECHILD, "perf record does not run") :
		       0;
}

int kind_open(const char *name, struct kind *ret, struct fault *reterr)
{
	struct sampler_options options = { .n_main_rows = ROWS,
					   .n_reference_rows = ROWS,
					   .n_snapshots = WAYS_SNAPSHOTS,
					   .snapshot_every = WAYS_SNAPSHOT_EVERY };
	const char *colon = strchr(name, ':'), *slash = strchr(name, '/');
	int r = 0;

	*ret = (struct kind){ .control = -1,
			      .ack = -1,
			      .hz = colon ? strtod(colon + 1, NULL) : 0,
			      .every = slash ? strtoul(slash + 1, NULL, 10) : 1 };
	snprintf(ret->name, sizeof(ret->name), "%.*s", (int)strcspn(name, "/"), name);
	ret->values = calloc(WAYS_ROUNDS_MAX, sizeof(*ret->values));
	if (!ret->values || !ret->every)
		return fault_set(reterr, -EINVAL, "no kind \"%s\"", name);
	name = ret->name;
	if (strcmp(name, "off") == 0)
		return 0;
	ret->way = strncmp(name, "perf", 4) == 0  ? WAY_PERF :
		   strncmp(name, "clock", 5) == 0 ? WAY_CLOCK :
		   strcmp(name, "default") == 0	  ? WAY_DEFAULT :
		   strcmp(name, "stacks") == 0	  ? WAY_STACKS :
		   strncmp(name, "tick", 4) == 0  ? WAY_TICK :
						    WAY_NONE;
	if (ret->way == WAY_NONE || ((ret->way == WAY_CLOCK || ret->way == WAY_PERF) && ret->hz < 1))
		return fault_set(reterr, -EINVAL, "no kind \"%s\"", name);
	if (ret->way == WAY_PERF)
		return perf_start(ret, reterr);
	options.source = ret->way == WAY_CLOCK ? SAMPLE_SOURCE_CPU_CLOCK : SAMPLE_SOURCE_TICK;
	options.has_reference = options.owners = ret->way == WAY_DEFAULT || ret->way == WAY_STACKS;
	options.n_stacks = ret->way == WAY_STACKS ? WAYS_STACKS : 0;
	options.rate_hz = MAX(ret->hz, 1.0);
	r = sampler_open(&options, &ret->sampler, reterr);
	if (r == 0)
		r = pace_init(&ret->pace, sampler_n_cpus(ret->sampler));
	return r;
}

static int perf_switch(struct kind *kind, bool on)
{
	const char *word = on ? "enable\n" : "disable\n";
	char answer[32];

	if (write(kind->control, word, strlen(word)) < 0 || read(kind->ack, answer, sizeof(answer)) < 0)
		return -errno;
	return 0;
}

int kind_switch(struct kind *kind, bool on)
{
	int r = 0;

	switch (kind->way) {
	case WAY_PERF: return perf_switch(kind, on);
	case WAY_CLOCK: return pace_set(&kind->pace, kind->sampler, on ? kind->hz : 0, false);
	case WAY_DEFAULT:
	case WAY_STACKS:
		r = pace_set(&kind->pace, kind->sampler, on ? REFERENCE_HZ : 0, false);
		return r < 0 ? r : sampler_set_tick(kind->sampler, on);
	case WAY_TICK: return sampler_set_tick(kind->sampler, on);
	default: return 0;
	}
}

void kind_drain(struct kind *kind)
{
	struct sampler_drained drained;
	struct fault fault;

	if (!kind->sampler)
		return;
	sampler_events(kind->sampler, NULL, NULL);
	sampler_drain(kind->sampler, SAMPLER_MAIN, &drained, &fault);
	if (kind->way == WAY_DEFAULT || kind->way == WAY_STACKS)
		sampler_drain(kind->sampler, SAMPLER_REFERENCE, &drained, &fault);
}

void kind_close(struct kind *kind)
{
	if (kind->perf > 0) {
		char path[128];

		kill(kind->perf, SIGINT);
		waitpid(kind->perf, NULL, 0);
		for (unsigned i = 0; i < 3; i++) {
			static const char *const names[] = { "control", "ack", "perf.data" };

			snprintf(path, sizeof(path), "%s/%s", kind->directory, names[i]);
			unlink(path);
		}
		rmdir(kind->directory);
	}
	sampler_free(kind->sampler);
	pace_done(&kind->pace);
	free(kind->values);
}

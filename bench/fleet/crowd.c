/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Many machines, a few at a time: each visit is a connection of its own with the machine's credential, then what morphd's
 * pusher does (fleet/exchange.h). Machine i uses modules that a hash of i chooses, some far more than others.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "base/file.h"
#include "bench/fleet/fleet.h"
#include "bench/fleet/visits.h"
#include "base/stats.h"
#include "fleet/exchange.h"
#include "fleet/machines.h"

#define STREAM 1
#define TIMEOUT_S 60

struct crowd {
	const char *credentials, *profiles, *state;
	uint64_t machines, modules, variants, uses, batches, workers, seconds, visits, postmaster;
	char **urls;	     /* owned, and what is in it */
	uint64_t *sequences; /* of each machine, shared: the last that was taken */
};

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec * 1e-6;
}

/* The @n-th module that machine @i uses: its number has density x^(-2/3). */
static size_t module_of(const struct crowd *c, size_t i, size_t n)
{
	struct stats_random random = { (i * 1000003 + n % c->uses + 1) * 0x9e3779b97f4a7c15ull | 1 };
	double u;

	stats_random_next(&random);
	u = (double)(stats_random_next(&random) >> 11) * 0x1p-53;
	return MIN((size_t)((double)c->modules * u * u * u), c->modules - 1);
}

/* ---- a visit ---- */

static int visit_begin(const struct crowd *c, size_t machine, struct database **retdatabase,
		       struct exchange *ret, struct fault *reterr)
{
	int r = database_open(c->urls[machine], TIMEOUT_S, retdatabase, reterr);

	return r < 0 ? r : exchange_begin(*retdatabase, STREAM, ret, reterr);
}

static int batches_push(const struct crowd *c, size_t machine, struct exchange *x, struct visits *v,
			struct fault *reterr)
{
	uint64_t *sequence = &c->sequences[machine];

	for (size_t b = 0; b < c->batches; b++) {
		size_t module = module_of(c, machine, *sequence);
		enum exchange_outcome outcome;
		double start = now_ms();
		char path[4096];
		int r;

		snprintf(path, sizeof(path), "%s/%zu-%zu", c->profiles, module,
			 (size_t)((machine + b) % c->variants));
		r = exchange_push(x, *sequence + 1, path, &outcome, reterr);
		v->taken += outcome == EXCHANGE_TAKEN;
		v->again += outcome == EXCHANGE_AGAIN;
		v->refused += outcome == EXCHANGE_REFUSED;
		v->later += outcome == EXCHANGE_LATER;
		if (r < 0 || outcome != EXCHANGE_TAKEN)
			return r < 0 ? r : -EPROTO;
		*sequence += 1;
		visits_time(v, VISITS_PUSH, now_ms() - start);
	}
	return 0;
}

static int visit_push(const struct crowd *c, size_t machine, struct visits *v, struct fault *reterr)
{
	_clean_(database_freep) struct database *db = NULL;
	struct exchange x;
	double start = now_ms();
	int r = visit_begin(c, machine, &db, &x, reterr);

	if (r == 0)
		r = batches_push(c, machine, &x, v, reterr);
	if (r == 0)
		visits_time(v, VISITS_WHOLE, now_ms() - start);
	return r;
}

static int visit_pull(const struct crowd *c, size_t machine, struct visits *v, struct fault *reterr)
{
	_clean_(database_freep) struct database *db = NULL;
	struct exchange x;
	struct build_id id;
	double start = now_ms(), asked;
	char path[4096];
	int r = visit_begin(c, machine, &db, &x, reterr);

	if (r < 0)
		return r;
	fleet_module_id(module_of(c, machine, v->n), &id);
	snprintf(path, sizeof(path), "%s/pulled-%d", c->profiles, getpid());
	asked = now_ms();
	r = exchange_pull(&x, &id, path, reterr);
	if (r == 0) {
		visits_time(v, VISITS_PULL, now_ms() - asked);
		visits_time(v, VISITS_WHOLE, now_ms() - start);
	}
	unlink(path);
	v->nothing += r == -ENODATA;
	return r == -ENODATA ? 0 : r;
}

/* ---- the crowd ---- */

typedef int visit(const struct crowd *c, size_t machine, struct visits *v, struct fault *reterr);

/* Machines come in the order of their numbers, each worker's share of them again and again. */
static void work(const struct crowd *c, size_t worker, visit *visit, struct visits *v, double end_ms)
{
	for (size_t n = worker; c->visits ? n < c->visits : now_ms() < end_ms; n += c->workers) {
		struct fault fault = { "" };

		if (visit(c, n % c->machines, v, &fault) < 0 && v->failed++ < 3)
			fprintf(stderr, "machine %zu: %s\n", n % c->machines, fault.text);
		v->n++;
	}
}

static int crowd_run(const struct crowd *c, visit *visit, struct fault *reterr)
{
	struct visits *visits = visits_new((unsigned)c->workers);
	double start = now_ms(), cpu = visits_cpu_s((pid_t)c->postmaster);
	int status;

	if (!visits)
		return fault_errno(reterr, -ENOMEM, "visits");
	for (size_t i = 0; i < c->workers; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return fault_errno(reterr, -errno, "fork");
		if (pid == 0) {
			work(c, i, visit, &visits[i], start + 1e3 * (double)c->seconds);
			_exit(0);
		}
	}
	for (size_t i = 0; i < c->workers; i++)
		if (wait(&status) < 0 || status)
			return fault_set(reterr, -ECHILD, "a worker ended by itself");
	start = now_ms() - start;
	/* The postmaster hears of those who left a moment later. */
	nanosleep(&(struct timespec){ .tv_nsec = 200000000 }, NULL);
	visits_print(visits, (unsigned)c->workers, start * 1e-3, visits_cpu_s((pid_t)c->postmaster) - cpu,
		     stdout);
	return 0;
}

static void crowd_done(struct crowd *c)
{
	for (size_t i = 0; c->urls && i < c->machines; i++)
		free(c->urls[i]);
	free(c->urls);
}

static int urls_read(struct crowd *c, struct fault *reterr)
{
	FILE *file = fopen(c->credentials, "re");
	size_t size = 0, n = 0;

	c->urls = calloc(c->machines, sizeof(*c->urls));
	for (; file && c->urls && n < c->machines && getline(&c->urls[n], &size, file) > 0; n++, size = 0)
		c->urls[n][strcspn(c->urls[n], "\n")] = '\0';
	if (file)
		fclose(file);
	return n == c->machines ? 0 :
				  fault_set(reterr, -EINVAL, "%s: has not %" PRIu64 " credentials",
					    c->credentials, c->machines);
}

static int sequences_map(struct crowd *c, struct fault *reterr)
{
	_clean_(fd_closep) int fd = open(c->state, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	size_t size = c->machines * sizeof(*c->sequences);
	struct stat st;
	void *map = MAP_FAILED;

	if (fd >= 0 && fstat(fd, &st) == 0 && ((size_t)st.st_size >= size || ftruncate(fd, (off_t)size) == 0))
		map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return fault_errno(reterr, -errno, "%s", c->state);
	c->sequences = map;
	return 0;
}

static int options_read(int argc, char **argv, struct crowd *c, struct fault *reterr)
{
	static const char *const names[] = { "credentials", "profiles", "state",      "machines",
					     "modules",	    "variants", "uses",	      "batches",
					     "workers",	    "seconds",	"postmaster", "visits" };
	const char **texts[] = { &c->credentials, &c->profiles, &c->state };
	uint64_t *numbers[] = { &c->machines, &c->modules, &c->variants,   &c->uses,  &c->batches,
				&c->workers,  &c->seconds, &c->postmaster, &c->visits };

	for (int i = 2; i < argc; i++) {
		size_t at = 0, n = strcspn(argv[i], "=");

		while (at < ARRAY_SIZE(names) &&
		       (strlen(names[at]) != n || strncmp(argv[i], names[at], n) != 0))
			at++;
		if (at == ARRAY_SIZE(names) || !argv[i][n])
			return fault_set(reterr, -EINVAL, "%s: not NAME=VALUE of an option", argv[i]);
		if (at < ARRAY_SIZE(texts))
			*texts[at] = argv[i] + n + 1;
		else
			*numbers[at - ARRAY_SIZE(texts)] = strtoull(argv[i] + n + 1, NULL, 10);
	}
	if (!c->credentials || !c->profiles || !c->state || !c->machines)
		return fault_set(reterr, -EINVAL, "credentials=, profiles=, state=, machines= must be said");
	return 0;
}

static int crowd(int argc, char **argv, visit *visit, struct fault *reterr)
{
	struct crowd c = {
		.modules = 1, .variants = 1, .uses = 1, .batches = 1, .workers = 1, .seconds = 10
	};
	int r = options_read(argc, argv, &c, reterr);

	database_environment();
	if (r == 0)
		r = urls_read(&c, reterr);
	if (r == 0)
		r = sequences_map(&c, reterr);
	if (r == 0)
		r = crowd_run(&c, visit, reterr);
	crowd_done(&c);
	return r;
}

int fleet_push(int argc, char **argv, struct fault *reterr)
{
	return crowd(argc, argv, visit_push, reterr);
}

int fleet_pull(int argc, char **argv, struct fault *reterr)
{
	return crowd(argc, argv, visit_pull, reterr);
}

int fleet_machines(int argc, char **argv, struct fault *reterr)
{
	_clean_(database_freep) struct database *db = NULL;
	FILE *file = argc == 5 ? fopen(argv[4], "we") : NULL;
	int r = file ? database_open(argv[2], TIMEOUT_S, &db, reterr) :
		       fault_set(reterr, -EINVAL, "machines URL NUMBER FILE");

	for (unsigned long i = 0; r == 0 && i < strtoul(argv[3], NULL, 10); i++) {
		_clean_(freep) char *credential = NULL;
		char name[40];

		snprintf(name, sizeof(name), "sim-%05lu", i);
		r = machines_add(db, name, NULL, &credential, reterr);
		if (r == 0)
			fprintf(file, "%s\n", credential);
	}
	if (file && fclose(file) && r == 0)
		r = fault_errno(reterr, -errno, "%s", argv[4]);
	return r;
}

/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "bench/fleet/visits.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/macro.h"
#include "base/stats.h"

struct visits *visits_new(unsigned workers)
{
	void *ret = mmap(NULL, workers * sizeof(struct visits), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return ret == MAP_FAILED ? NULL : ret;
}

void visits_time(struct visits *visits, enum visits_time kind, double ms)
{
	if (visits->n_times[kind] < VISITS_TIMES)
		visits->times[kind][visits->n_times[kind]++] = (float)ms;
}

/* Of /proc/PID/stat: its parent, and the ticks of itself and of the children it waited for. */
static double stat_read(const char *pid, pid_t *retparent)
{
	unsigned long own[2], children[2];
	char path[64], line[1024];
	const char *rest;
	FILE *file;
	int n = 0;

	snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	file = fopen(path, "re");
	rest = file && fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
	if (rest)
		n = sscanf(rest + 2, "%*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %lu %lu", retparent,
			   &own[0], &own[1], &children[0], &children[1]);
	if (file)
		fclose(file);
	return n == 5 ? (double)(own[0] + own[1] + children[0] + children[1]) / (double)sysconf(_SC_CLK_TCK) :
			0;
}

double visits_cpu_s(pid_t postmaster)
{
	char name[24];
	pid_t parent;
	double ret;
	DIR *proc = opendir("/proc");

	snprintf(name, sizeof(name), "%d", postmaster);
	ret = stat_read(name, &parent);
	for (struct dirent *e; proc && ret > 0 && (e = readdir(proc));) {
		double s = e->d_name[0] >= '1' && e->d_name[0] <= '9' ? stat_read(e->d_name, &parent) : 0;

		if (s > 0 && parent == postmaster)
			ret += s;
	}
	if (proc)
		closedir(proc);
	return ret;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void quantiles_print(const struct visits *visits, unsigned workers, enum visits_time kind,
			    struct json *to, const char *const names[3])
{
	static const double parts[] = { 0.5, 0.95, 0.99 };
	_clean_(freep) double *all = NULL;
	size_t n = 0;

	for (unsigned i = 0; i < workers; i++)
		n += visits[i].n_times[kind];
	all = calloc(n + 1, sizeof(*all));
	if (!all || !n)
		return;
	n = 0;
	for (unsigned i = 0; i < workers; i++)
		for (uint64_t j = 0; j < visits[i].n_times[kind]; j++)
			all[n++] = visits[i].times[kind][j];
	qsort(all, n, sizeof(*all), compare);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		json_double(to, names[i], stats_quantile(all, n, parts[i]));
}

void visits_print(const struct visits *visits, unsigned workers, double wall_s, double database_cpu_s,
		  FILE *out)
{
	static const char *const names[VISITS_KINDS][3] = {
		[VISITS_WHOLE] = { "visit_ms_p50", "visit_ms_p95", "visit_ms_p99" },
		[VISITS_PUSH] = { "push_ms_p50", "push_ms_p95", "push_ms_p99" },
		[VISITS_PULL] = { "pull_ms_p50", "pull_ms_p95", "pull_ms_p99" },
	};
	struct visits sum = { 0 };
	struct rusage clients;
	struct json to = json_to(out);

	getrusage(RUSAGE_CHILDREN, &clients);
	for (unsigned i = 0; i < workers; i++) {
		sum.n += visits[i].n;
		sum.taken += visits[i].taken;
		sum.again += visits[i].again;
		sum.refused += visits[i].refused;
		sum.later += visits[i].later;
		sum.failed += visits[i].failed;
		sum.nothing += visits[i].nothing;
	}
	json_object_begin(&to, NULL);
	json_u64(&to, "visits", sum.n);
	json_u64(&to, "taken", sum.taken);
	json_u64(&to, "again", sum.again);
	json_u64(&to, "refused", sum.refused);
	json_u64(&to, "later", sum.later);
	json_u64(&to, "failed", sum.failed);
	json_u64(&to, "nothing", sum.nothing);
	json_double(&to, "wall_s", wall_s);
	json_double(&to, "database_cpu_s", database_cpu_s);
	json_double(&to, "machines_cpu_s", rusage_s(&clients));
	for (unsigned kind = 0; kind < VISITS_KINDS; kind++)
		quantiles_print(visits, workers, kind, &to, names[kind]);
	json_object_end(&to);
}

/* SPDX-License-Identifier: Apache-2.0 */

#include "monitor/clock/pace.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "monitor/identify/hash.h"

#define JITTER 0.25
#define IDLE_BUSY_SHARE 0.02 /* less than this busy: paused */
#define MIN_EXPECTED 10.0    /* events; silence about fewer means nothing */

int pace_init(struct pace *pace, unsigned n_possible)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	*pace = (struct pace){ .n_cpus = n_possible };
	pace->random = hash_u64((uint64_t)now.tv_nsec + (uint64_t)now.tv_sec * 1000003u);
	pace->cpus = calloc(n_possible, sizeof(*pace->cpus));
	return pace->cpus ? 0 : -ENOMEM;
}

void pace_done(struct pace *pace)
{
	free(pace->cpus);
	*pace = (struct pace){ 0 };
}

double pace_draw(struct pace *pace)
{
	pace->random += 0x9e3779b97f4a7c15u;
	return 1 - JITTER + 2 * JITTER * (double)(hash_u64(pace->random) >> 11) / (double)(1ull << 53);
}

bool pace_stat_parse(const char *line, unsigned *retcpu, uint64_t *retbusy, uint64_t *retall)
{
	uint64_t n[8] = { 0 }, all = 0;

	/* user nice system idle iowait irq softirq steal; guest time is part of user */
	if (strncmp(line, "cpu", 3) != 0 || !isdigit((unsigned char)line[3]) || /* "cpu ": their sum */
	    sscanf(line,
		   "cpu%u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		   " %" SCNu64,
		   retcpu, &n[0], &n[1], &n[2], &n[3], &n[4], &n[5], &n[6], &n[7]) < 5)
		return false;
	for (unsigned i = 0; i < ARRAY_SIZE(n); i++)
		if (__builtin_add_overflow(all, n[i], &all))
			return false;
	*retall = all;
	*retbusy = all - n[3] - n[4];
	return true;
}

/*
 * Which CPUs were idle since the last look? Idle time in /proc/stat is exact; the other columns are sampled by the tick, and
 * what is in step with it does not show there. So it is compared with the time that has gone.
 */
static void idle_find(struct pace *pace, bool *retidle)
{
	double now = clock_s(CLOCK_MONOTONIC), gone = (now - pace->looked_s) * (double)sysconf(_SC_CLK_TCK);
	FILE *file = fopen("/proc/stat", "re");
	char line[512];

	while (file && fgets(line, sizeof(line), file)) {
		uint64_t busy, all;
		unsigned cpu;

		if (!pace_stat_parse(line, &cpu, &busy, &all) || cpu >= pace->n_cpus)
			continue;
		retidle[cpu] = pace->cpus[cpu].idle && gone > 0 &&
			       (double)(all - busy - pace->cpus[cpu].idle) > (1 - IDLE_BUSY_SHARE) * gone;
		pace->cpus[cpu].idle = all - busy;
	}
	pace->looked_s = now;
	if (file)
		fclose(file);
}

int pace_set(struct pace *pace, struct sampler *sampler, double hz, bool pause_idle)
{
	_clean_(freep) bool *idle = calloc(pace->n_cpus, sizeof(*idle));
	int first = 0;

	if (!idle)
		return -ENOMEM;
	cpu_list_online(&pace->online);
	idle_find(pace, idle);
	pace->n_paused = 0;
	for (unsigned cpu = 0; cpu < pace->n_cpus; cpu++) {
		bool is_online = cpu_list_has(&pace->online, cpu);
		bool is_paused = is_online && pause_idle && idle[cpu];
		int r;

		pace->cpus[cpu].rate_hz = is_online && !is_paused ? hz / pace_draw(pace) : 0;
		pace->n_paused += is_paused;
		r = sampler_set_clock(sampler, cpu, pace->cpus[cpu].rate_hz);
		if (r < 0) {
			pace->cpus[cpu].rate_hz = 0;
			first = first ? first : r;
		}
	}
	return first;
}

double pace_expected(const struct pace *pace, double seconds)
{
	double sum = 0;

	for (unsigned cpu = 0; cpu < pace->n_cpus; cpu++)
		sum += pace->cpus[cpu].rate_hz * seconds;
	return sum;
}

double pace_mean_hz(const struct pace *pace)
{
	unsigned n = 0;

	for (unsigned cpu = 0; cpu < pace->n_cpus; cpu++)
		n += pace->cpus[cpu].rate_hz > 0;
	return n ? pace_expected(pace, 1) / n : 0;
}

void pace_heal(struct pace *pace, struct sampler *sampler, const struct sampler_counters *fired,
	       double seconds)
{
	for (unsigned cpu = 0; cpu < pace->n_cpus; cpu++) {
		if (pace->cpus[cpu].rate_hz * seconds < MIN_EXPECTED || fired[cpu].n[SAMPLER_FIRED])
			continue;
		if (sampler_reopen_clock(sampler, cpu) == 0)
			pace->n_reopened++;
	}
}

static bool file_is(const char *directory, const char *name, const char *file, const char *text)
{
	char path[PATH_MAX], found[32] = "";
	FILE *f;

	if (snprintf(path, sizeof(path), "%s/%s/%s", directory, name, file) >= (int)sizeof(path))
		return false;
	f = fopen(path, "re");
	if (!f)
		return false;
	if (!fgets(found, sizeof(found), f))
		found[0] = '\0';
	fclose(f);
	found[strcspn(found, "\n")] = '\0';
	return strcmp(found, text) == 0;
}

bool pace_on_battery(const char *directory)
{
	DIR *dir = opendir(directory);
	bool has_mains = false, is_online = false;
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.' || !file_is(directory, entry->d_name, "type", "Mains"))
			continue;
		has_mains = true;
		is_online |= file_is(directory, entry->d_name, "online", "1");
	}
	if (dir)
		closedir(dir);
	return has_mains && !is_online;
}

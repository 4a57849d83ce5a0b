/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "monitor/status.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "base/json.h"

static void clocks_json(const struct monitor_status *status, struct json *json)
{
	json_string(json, "source", monitor_source_name(status->source.kind));
	json_string(json, "source_reason", status->source.reason);
	json_string(json, "reference_reason", status->source.reference_reason);
	json_double(json, "tick_hz", status->tick_hz);
	json_u64(json, "tick_divisor", status->rates.tick_divisor);
	json_double(json, "clock_hz", status->clock_hz);
	json_double(json, "reference_hz", status->rates.reference_hz);
	json_bool(json, "kernel_addresses", status->source.sees_kernel_addresses);
	json_bool(json, "on_battery", status->on_battery);
	json_bool(json, "spares_power", status->spares);
	json_bool(json, "bursting", status->is_bursting);
	json_u64(json, "bursts", status->n_bursts);
	json_u64(json, "cpus", status->n_cpus);
	json_u64(json, "cpus_with_paused_reference", status->n_idle_cpus);
	json_u64(json, "clocks_reopened", status->n_reopened);
}

static void budget_json(const struct monitor_status *status, struct json *json)
{
	json_object_begin(json, "budget");
	json_double(json, "budget_percent", status->budget * 100);
	json_double(json, "interrupt_ns", status->cost.interrupt_ns);
	json_double(json, "tick_program_ns", status->cost.tick_ns);
	json_double(json, "clock_program_ns", status->cost.clock_ns);
	json_double(json, "tick_percent", status->rates.tick_share * 100);
	json_double(json, "reference_percent", status->rates.reference_share * 100);
	json_double(json, "monitor_percent", status->cost.own * 100);
	json_double(json, "total_percent", status->rates.total_share * 100);
	json_double(json, "burst_credit_s", status->credit_s);
	json_object_end(json);
}

static void samples_json(const struct monitor_status *status, struct json *json)
{
	json_object_begin(json, "samples");
	json_u64(json, "fired", status->fired[0]);
	json_u64(json, "fired_reference", status->fired[1]);
	json_u64(json, "expected_reference", status->expected_reference);
	json_u64(json, "idle", status->idle);
	json_u64(json, "kernel", status->kernel);
	json_u64(json, "user", status->user);
	json_u64(json, "attributed", status->attributed);
	json_u64(json, "anonymous", status->anonymous);
	json_object_begin(json, "lost");
	for (unsigned i = 0; i < SAMPLE_LOSS_END; i++)
		json_u64(json, sample_loss_name(i), status->lost[i]);
	json_object_end(json);
	json_u64(json, "events_lost", status->events_lost);
	json_u64(json, "events_over_share", status->untold);
	json_u64(json, "cache_hits", status->cache_hits);
	json_object_end(json);
}

static void self_json(const struct monitor_status *status, struct json *json)
{
	json_double(json, "interval_s", status->interval_s);
	json_u64(json, "drains", status->n_cycles);
	json_u64(json, "drains_that_broke_the_law", status->n_lawless);
	json_u64(json, "modules", status->n_modules);
	json_u64(json, "tick_synchronous_modules", status->n_synchronous);
	json_u64(json, "watched_programs", status->n_watched);
	json_u64(json, "logs_written", status->n_logs);
	json_u64(json, "logs_waiting", status->n_unwritten);
	json_u64(json, "files_dropped", status->n_dropped_files);
	json_u64(json, "rss_bytes", status->rss_bytes);
	json_double(json, "cpu_s", status->cpu_s);
	json_double(json, "elapsed_s", status->elapsed_s);
	json_u64(json, "pid", (uint64_t)getpid());
	json_u64(json, "time_ns", (uint64_t)time(NULL) * 1000000000u);
}

/* No fsync: the file lives in /run, and is replaced every few seconds. */
static int replace(const char *path, const char *text, size_t size)
{
	char temporary[PATH_MAX];
	_clean_(fd_closep) int fd = -1;

	if (snprintf(temporary, sizeof(temporary), "%s.new", path) >= (int)sizeof(temporary))
		return -ENAMETOOLONG;
	fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return -errno;
	/* Anybody may read it, whatever the umask. */
	if (fchmod(fd, 0644) < 0 || write(fd, text, size) != (ssize_t)size || rename(temporary, path) < 0) {
		int r = errno ? -errno : -EIO;

		unlink(temporary);
		return r;
	}
	return 0;
}

int status_write(const struct monitor_status *status, const char *path, struct fault *reterr)
{
	_clean_(freep) char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	struct json json;
	int r;

	if (!out)
		return fault_errno(reterr, -ENOMEM, "status");
	json = json_to(out);
	json_object_begin(&json, NULL);
	clocks_json(status, &json);
	budget_json(status, &json);
	samples_json(status, &json);
	self_json(status, &json);
	json_object_end(&json);
	fclose(out);
	r = text ? replace(path, text, size) : -ENOMEM;
	return r < 0 ? fault_errno(reterr, r, "%s: cannot write", path) : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "monitor/machine/support.h"

#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/table.h"
#include "monitor/machine/cpu_list.h"
#include "monitor/machine/deny.h"
#include "monitor/machine/perf_event.h"
#include "monitor/machine/privileges.h"

#define PROBE_PERIOD 1000000000u

static const struct {
	const char *name, *what;
} clocks[SUPPORT_CLOCKS] = {
	[SUPPORT_TICK] = { "tick", "scheduler tick, in BPF: no added interrupt" },
	[SUPPORT_REFERENCE] = { "reference", "slow jittered clock, in BPF: unbiased" },
	[SUPPORT_CYCLES] = { "cycles", "hardware cycle counter" },
	[SUPPORT_BRANCHES] = { "branches", "hardware branch stacks" },
	[SUPPORT_PERF] = { "perf", "ring buffers, whole machine" },
	[SUPPORT_USER] = { "user", "ring buffers, own processes" },
};

const char *support_clock_name(enum support_clock_name clock)
{
	return clocks[clock].name;
}

static FILE *root_open(const char *root, const char *path)
{
	char full[PATH_MAX];

	if (snprintf(full, sizeof(full), "%s%s", root, path) >= (int)sizeof(full))
		return NULL;
	return fopen(full, "re");
}

static bool root_has(const char *root, const char *path)
{
	FILE *file = root_open(root, path);

	if (file)
		fclose(file);
	return file;
}

static bool has_symbol(const char *root, const char *const *names, size_t n_names)
{
	FILE *file = root_open(root, "/proc/kallsyms");
	bool found = false;
	char name[512];

	while (file && !found && fscanf(file, "%*x %*c %511s%*[^\n]", name) == 1)
		for (size_t i = 0; i < n_names; i++)
			found |= strcmp(name, names[i]) == 0;
	if (file)
		fclose(file);
	return found;
}

/* "none [integrity] confidentiality": the word in brackets holds. */
static void lockdown_read(const char *root, struct support *ret)
{
	FILE *file = root_open(root, "/sys/kernel/security/lockdown");
	char line[128] = "", *from, *to;

	if (file && fgets(line, sizeof(line), file) && (from = strchr(line, '[')) && (to = strchr(from, ']')))
		snprintf(ret->lockdown, sizeof(ret->lockdown), "%.*s", (int)(to - from - 1), from + 1);
	if (file)
		fclose(file);
}

/* The coarse clocks advance once per tick, and say so. */
double support_tick_hz(void)
{
	struct timespec t;

	if (clock_getres(CLOCK_MONOTONIC_COARSE, &t) < 0 || t.tv_sec || !t.tv_nsec)
		return 0;
	return 1e9 / (double)t.tv_nsec;
}

static void system_read(const char *root, struct support *ret)
{
	static const char *const handlers[] = { "tick_nohz_handler", "tick_sched_timer" };
	FILE *file = root_open(root, "/proc/sys/kernel/perf_event_paranoid");
	struct cpu_list list;
	struct utsname name;

	if (uname(&name) == 0)
		snprintf(ret->kernel, sizeof(ret->kernel), "%s", name.release);
	ret->tick_hz = support_tick_hz();
	cpu_list_online(&list);
	ret->n_cpus = list.n;
	cpu_list_nohz_full(&list);
	ret->n_nohz_full = list.n;
	ret->paranoid = -2;
	if (file && fscanf(file, "%d", &ret->paranoid) != 1)
		ret->paranoid = -2;
	if (file)
		fclose(file);
	ret->has_btf = root_has(root, "/sys/kernel/btf/vmlinux");
	ret->has_tick_handler = has_symbol(root, handlers, ARRAY_SIZE(handlers));
	lockdown_read(root, ret);
}

static bool may(bool system_wide, bool exclude_kernel, struct fault *reterr)
{
	struct perf_options options = { .clock = PERF_CLOCK_CPU,
					.period = PROBE_PERIOD,
					.exclude_kernel = exclude_kernel };
	struct perf_event_attr attr;
	_clean_(fd_closep) int fd = -1;

	perf_attr_fill(&options, &attr);
	fd = perf_event_open_fd(&attr, system_wide ? -1 : 0, system_wide ? 0 : -1, 0);
	if (fd < 0)
		perf_event_refusal(fd, PERF_CLOCK_CPU, reterr);
	return fd >= 0;
}

/* What forbids BPF for everyone, or NULL. */
static const char *bpf_obstacle(const struct support *support)
{
	const char *denied = deny_reason(DENY_BPF_WALK, NULL);

	if (denied)
		return denied;
	if (!support->has_btf)
		return "the kernel has no BTF (CONFIG_DEBUG_INFO_BTF), which the sampler needs";
	if (strcmp(support->lockdown, "confidentiality") == 0)
		return "the kernel is locked down (confidentiality), which forbids BPF to read memory";
	return NULL;
}

static void judge(struct support *support, enum support_clock_name clock, const char *obstacle,
		  bool is_permitted, const char *permission)
{
	struct support_clock *ret = &support->clocks[clock];

	ret->usable_by_root = !obstacle;
	ret->usable = !obstacle && is_permitted;
	if (obstacle || !is_permitted)
		snprintf(ret->reason, sizeof(ret->reason), "%s", obstacle ? obstacle : permission);
}

static void clocks_probe(struct support *ret)
{
	static const char *const need_bpf = "needs root, or CAP_BPF, CAP_PERFMON and CAP_SYSLOG; the "
					    "monitor's service has them";
	bool can_bpf = privileges_has(CAP_SYS_ADMIN) ||
		       (privileges_has(CAP_BPF) && privileges_has(CAP_PERFMON) && privileges_has(CAP_SYSLOG));
	const char *bpf = bpf_obstacle(ret), *clock = deny_reason(DENY_CPU_CLOCK, NULL);
	struct fault fault = { "" };

	judge(ret, SUPPORT_TICK,
	      bpf		     ? bpf :
	      !ret->has_tick_handler ? "this kernel's tick is not a timer that can be hooked" :
				       NULL,
	      can_bpf, need_bpf);
	judge(ret, SUPPORT_REFERENCE, bpf ? bpf : clock, can_bpf, need_bpf);
	judge(ret, SUPPORT_CYCLES,
	      perf_has_cycles() ? NULL : "no hardware cycle counter (a virtual machine?)", true, "");
	judge(ret, SUPPORT_BRANCHES, perf_has_branches() ? NULL : "the hardware keeps no branch stacks", true,
	      "");
	ret->clocks[SUPPORT_PERF].usable = !clock && may(true, false, &fault);
	judge(ret, SUPPORT_PERF, clock, ret->clocks[SUPPORT_PERF].usable, fault.text);
	ret->clocks[SUPPORT_USER].usable = !clock && may(false, true, &fault);
	judge(ret, SUPPORT_USER, clock, ret->clocks[SUPPORT_USER].usable, fault.text);
}

void support_probe(const char *root, struct support *ret)
{
	memset(ret, 0, sizeof(*ret));
	system_read(root, ret);
	clocks_probe(ret);
}

/* --- showing -------------------------------------------------------------------------------------- */

void support_monitor_print(const struct support *support, FILE *out)
{
	if (!support->monitor_runs) {
		fputs("monitor     not running (systemctl start morph-monitor; with --user: systemctl --user "
		      "start "
		      "morph-monitor)\n",
		      out);
		return;
	}
	fprintf(out, "monitor     samples by %s at %.4g Hz%s%s", support->monitor_source, support->main_hz,
		support->monitor_reason[0] ? ", because " : "", support->monitor_reason);
	if (support->reference_hz > 0)
		fprintf(out, ", reference clock at %.3g Hz, %.0f modules in step with the tick",
			support->reference_hz, support->synchronous);
	fprintf(out, "; %.0f bursts\n", support->bursts);
	fprintf(out,
		"budget      %.3g %% of CPU time; used %.3g %% = tick %.3g + reference %.3g + monitor "
		"%.3g\n",
		support->budget_percent, support->total_percent, support->tick_percent,
		support->reference_percent, support->monitor_percent);
	fprintf(out,
		"measured    an interrupt costs %.1f us, the program %.2f us at the tick, %.2f us at the "
		"clock\n",
		support->interrupt_ns / 1e3, support->tick_program_ns / 1e3, support->clock_program_ns / 1e3);
	fprintf(out, "samples     %.0f fired, %.0f in user mode, %.0f of them lost (%.3f %%)\n",
		support->fired, support->user, support->lost,
		support->user > 0 ? 100 * support->lost / support->user : 0.0);
	if (support->lawless_drains > 0)
		fprintf(out, "WRONG       the counts of %.0f of %.0f drains did not add up\n",
			support->lawless_drains, support->drains);
}

void support_print(const struct support *support, FILE *out)
{
	_clean_(table_freep) struct table *table = table_new("clock|you|monitor|what it is|why not");

	fprintf(out, "kernel      %s, tick %.0f Hz, %u CPUs%s, BTF %s, perf_event_paranoid %d%s%s\n",
		support->kernel, support->tick_hz, support->n_cpus,
		support->n_nohz_full ? " (some without a regular tick)" : "", support->has_btf ? "yes" : "no",
		support->paranoid, support->lockdown[0] ? ", lockdown " : "", support->lockdown);
	support_monitor_print(support, out);
	if (!table)
		return;
	fputc('\n', out);
	for (unsigned i = 0; i < SUPPORT_CLOCKS; i++) {
		table_cell(table, "%s", clocks[i].name);
		table_cell(table, "%s", support->clocks[i].usable ? "yes" : "no");
		table_cell(table, "%s", support->clocks[i].usable_by_root ? "yes" : "no");
		table_cell(table, "%s", clocks[i].what);
		table_cell(table, "%s", support->clocks[i].reason);
	}
	table_print(table, out);
}

void support_monitor_json(const struct support *support, struct json *json)
{
	json_object_begin(json, "monitor");
	json_bool(json, "running", support->monitor_runs);
	if (support->monitor_runs) {
		json_string(json, "source", support->monitor_source);
		json_string(json, "source_reason", support->monitor_reason);
		json_string(json, "reference_reason", support->reference_reason);
		json_double(json, "budget_percent", support->budget_percent);
		json_double(json, "total_percent", support->total_percent);
		json_double(json, "tick_percent", support->tick_percent);
		json_double(json, "reference_percent", support->reference_percent);
		json_double(json, "monitor_percent", support->monitor_percent);
		json_double(json, "interrupt_ns", support->interrupt_ns);
		json_double(json, "tick_program_ns", support->tick_program_ns);
		json_double(json, "clock_program_ns", support->clock_program_ns);
		json_double(json, "main_hz", support->main_hz);
		json_double(json, "reference_hz", support->reference_hz);
		json_double(json, "tick_synchronous_modules", support->synchronous);
		json_double(json, "bursts", support->bursts);
		json_double(json, "fired", support->fired);
		json_double(json, "user", support->user);
		json_double(json, "lost", support->lost);
		json_double(json, "rss_bytes", support->rss_bytes);
		json_double(json, "drains", support->drains);
		json_double(json, "drains_that_broke_the_law", support->lawless_drains);
	}
	json_object_end(json);
}

void support_json(const struct support *support, struct json *json)
{
	json_string(json, "kernel", support->kernel);
	json_double(json, "tick_hz", support->tick_hz);
	json_u64(json, "cpus", support->n_cpus);
	json_u64(json, "cpus_without_tick", support->n_nohz_full);
	json_i64(json, "perf_event_paranoid", support->paranoid);
	json_bool(json, "btf", support->has_btf);
	json_string(json, "lockdown", support->lockdown[0] ? support->lockdown : NULL);
	json_array_begin(json, "clocks");
	for (unsigned i = 0; i < SUPPORT_CLOCKS; i++) {
		json_object_begin(json, NULL);
		json_string(json, "name", clocks[i].name);
		json_string(json, "what", clocks[i].what);
		json_bool(json, "usable", support->clocks[i].usable);
		json_bool(json, "usable_by_monitor", support->clocks[i].usable_by_root);
		json_string(json, "reason", support->clocks[i].reason[0] ? support->clocks[i].reason : NULL);
		json_object_end(json);
	}
	json_array_end(json);
	support_monitor_json(support, json);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* Step 3 of recorder.h: side band into address spaces, samples into a histogram. */

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

#include "monitor/identify/mapped_file.h"
#include "monitor/perf/process_maps.h"
#include "monitor/record/recorder_state.h"

/* --- side band ------------------------------------------------------------------------------------ */

struct running {
	struct recorder *recorder;
	pid_t pid;
};

static int map_file(struct recorder *recorder, const struct mapped_file *file, uint64_t offset)
{
	uint32_t module = mapped_file_module(recorder->catalog, file);
	struct space_range range = { file->start, file->end, offset, module };

	return module == CATALOG_NONE ? -ENOMEM : space_map(recorder->spaces, file->pid, &range);
}

static int map_running(const struct process_mapping *mapping, void *closure)
{
	const struct running *running = closure;
	struct recorder *recorder = running->recorder;
	struct mapped_file file = { .pid = running->pid,
				    .start = mapping->start,
				    .end = mapping->end,
				    .name = mapping->name,
				    .comm = space_comm(recorder->spaces, running->pid),
				    .inode = mapping->inode,
				    .major = mapping->major,
				    .minor = mapping->minor };

	return map_file(recorder, &file, mapping->offset);
}

int recorder_load_process(struct recorder *recorder, pid_t pid)
{
	struct running running = { recorder, pid };
	unsigned n_threads = process_n_threads(pid);
	char comm[16];

	if (!n_threads)
		return 0;
	process_comm(pid, comm);
	if (space_set_threads(recorder->spaces, pid, n_threads) < 0 ||
	    space_set_comm(recorder->spaces, pid, comm) < 0)
		return -ENOMEM;
	return process_maps_each(pid, map_running, &running) == -ENOMEM ? -ENOMEM : 0;
}

int recorder_load_processes(struct recorder *recorder, bool known)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	int r = 0;

	while (r == 0 && dir && (entry = readdir(dir))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (isdigit((unsigned char)entry->d_name[0]) &&
		    (!known || space_is_known(recorder->spaces, pid)))
			r = recorder_load_process(recorder, pid);
	}
	if (dir)
		closedir(dir);
	return r;
}

static int on_mapping(struct recorder *recorder, const struct perf_record *record)
{
	struct mapped_file file = { .pid = (pid_t)record->pid,
				    .start = record->start,
				    .end = record->start + record->length,
				    .name = record->name,
				    .comm = space_comm(recorder->spaces, (pid_t)record->pid),
				    .build_id = record->build_id,
				    .inode = record->inode,
				    .major = record->major,
				    .minor = record->minor };

	if (record->misc & PERF_RECORD_MISC_MMAP_DATA || record->pid == UINT32_MAX)
		return 0;
	return map_file(recorder, &file, record->offset);
}

static int on_fork(struct recorder *recorder, const struct perf_record *record)
{
	if (recorder->processes && record->pid != record->ppid) /* its number may have been another's */
		processes_changed(recorder->processes, (pid_t)record->pid);
	return space_fork(recorder->spaces, (pid_t)record->pid, (pid_t)record->ppid);
}

static int on_comm(struct recorder *recorder, const struct perf_record *record)
{
	if (recorder->processes)
		processes_changed(recorder->processes, (pid_t)record->pid);
	if (record->misc & PERF_RECORD_MISC_COMM_EXEC)
		space_exec(recorder->spaces, (pid_t)record->pid);
	if (record->pid != record->tid)
		return 0; /* the name of a thread */
	return space_set_comm(recorder->spaces, (pid_t)record->pid, record->name);
}

/* --- samples -------------------------------------------------------------------------------------- */

static int by_process(struct recorder *recorder, const struct perf_record *record, uint32_t module,
		      uint64_t offset)
{
	return recorder->processes ?
		       processes_add(recorder->processes, (pid_t)record->pid,
				     space_comm(recorder->spaces, (pid_t)record->pid), module, offset) :
		       0;
}

static int on_kernel_sample(struct recorder *recorder, const struct perf_record *record)
{
	uint64_t offset;
	uint32_t module;
	int r;

	recorder->counters.kernel++;
	if (!kernel_map_find(recorder->kernel, record->ip, &module, &offset))
		return by_process(recorder, record, CATALOG_NONE, RECORDER_KERNEL);
	r = histogram_add(&recorder->samples, module, offset, 0, 1);
	return r < 0 ? r : by_process(recorder, record, module, offset);
}

static int branch_add(struct recorder *recorder, pid_t pid, const struct perf_branch_entry *branch)
{
	const struct space_range *from = space_find(recorder->spaces, pid, branch->from);
	const struct space_range *to = space_find(recorder->spaces, pid, branch->to);

	/* Calls between modules belong to neither one's layout. */
	if (!from || !to || from->module != to->module)
		return 0;
	return histogram_add(&recorder->branches, from->module, branch->from - from->start + from->offset,
			     branch->to - to->start + to->offset, 1);
}

static int on_registers(struct recorder *recorder, const struct perf_record *record, uint32_t module,
			uint64_t offset)
{
	struct interrupted registers = { 0 };

	interrupted_from_perf(record->registers, &registers);
	/* Else what was interrupted is not what the registers are of. */
	return registers.ip == record->ip ?
		       observer_look(recorder->observer, module, offset, &registers, &recorder->branches) :
		       0;
}

static int on_user_sample(struct recorder *recorder, const struct perf_record *record)
{
	const struct space_range *range = space_find(recorder->spaces, (pid_t)record->pid, record->ip);
	uint64_t offset;
	int r = 0;

	recorder->counters.user++;
	if (!range) {
		recorder->counters.lost[SAMPLE_LOSS_NO_MAPPING]++;
		return by_process(recorder, record, CATALOG_NONE, RECORDER_NOWHERE);
	}
	offset = record->ip - range->start + range->offset;
	if (catalog_at(recorder->catalog, range->module)->kind == SAMPLE_MODULE_ANONYMOUS) {
		recorder->counters.anonymous++;
		r = histogram_add(&recorder->samples, range->module, 0, 0, 1);
		return r < 0 ? r : by_process(recorder, record, range->module, 0);
	}
	recorder->counters.attributed++;
	r = histogram_add(&recorder->samples, range->module, offset, 0, 1);
	if (r == 0)
		r = by_process(recorder, record, range->module, offset);
	for (uint64_t i = 0; r == 0 && i < record->n_branches; i++)
		r = branch_add(recorder, (pid_t)record->pid, &record->branches[i]);
	if (r == 0 && INTERRUPTED_PERF_N && record->n_registers == INTERRUPTED_PERF_N)
		r = on_registers(recorder, record, range->module, offset);
	return r;
}

static int on_sample(struct recorder *recorder, const struct perf_record *record)
{
	recorder->counters.fired++;
	if (record->pid == 0) {
		recorder->counters.idle++;
		return 0;
	}
	if ((record->misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER)
		return on_kernel_sample(recorder, record);
	return on_user_sample(recorder, record);
}

int recorder_take(const struct perf_record *record, void *closure)
{
	struct recorder *recorder = closure;

	switch (record->type) {
	case PERF_RECORD_SAMPLE: return on_sample(recorder, record);
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2: return on_mapping(recorder, record);
	case PERF_RECORD_COMM: return on_comm(recorder, record);
	case PERF_RECORD_FORK: return on_fork(recorder, record);
	case PERF_RECORD_EXIT: space_exit(recorder->spaces, (pid_t)record->pid); return 0;
	default: return 0;
	}
}

// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0

/*
 * The sampler's identification and the kernel's own bpf_find_vma(), for the same event: do they say the
 * same? find_vma takes the address space's lock, so it can refuse; then nothing can be compared.
 */

#include "bench/overhead/agree.h"
#include "monitor/bpf/sampler.bpf.c"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, AGREE_COUNTERS);
	__type(key, u32);
	__type(value, u64);
} agree SEC(".maps");

struct found {
	struct task_struct *task;
	u64 ip, offset, start;
	struct sampler_file file;
};

static long on_mapping(struct task_struct *task, struct vm_area_struct *mapping, void *data)
{
	struct found *found = data;
	struct file *file = mapping->vm_file;

	found->start = mapping->vm_start;
	found->offset = found->ip - mapping->vm_start + (mapping->vm_pgoff << control.page_shift);
	if (file)
		file_read(file, found->task, &found->file);
	return 0;
}

static __always_inline int count(u32 what)
{
	u64 *n = bpf_map_lookup_elem(&agree, &what);

	if (n)
		(*n)++;
	return 0;
}

SEC("perf_event")
int on_compare(struct bpf_perf_event_data *context)
{
	struct run run = { .task = (void *)bpf_get_current_task_btf() };
	struct found found = { .task = run.task, .ip = CONTEXT_IP(&context->regs) };
	struct sampler_key key = { 0 };
	u32 cause, *number;

	if (!REGS_MODE_IS_USER(CONTEXT_MODE(&context->regs)) || !run_begin(SAMPLER_MAIN, &run))
		return 0;
	count(AGREE_SAMPLES);
	cause = module_find(&run, found.ip, &key);
	if (cause == SAMPLER_RACE)
		count(AGREE_RACE);
	if (bpf_find_vma(run.task, found.ip, on_mapping, &found, 0)) {
		count(AGREE_FIND_VMA_REFUSED);
		return 0;
	}
	/* Nobody is told of files here, so there is room for so many only. */
	if (cause == SAMPLER_RACE || key.module == SAMPLER_UNTOLD)
		return 0;
	count(AGREE_COMPARED);
	if (cause == SAMPLER_NO_MAPPING)
		return count(AGREE_DIFFERENT);
	if (!found.file.inode) /* anonymous memory, or the vdso */
		return count(key.module >= SAMPLER_FIRST_FILE ? AGREE_DIFFERENT : AGREE_SAME);
	number = bpf_map_lookup_elem(&announced, &found.file);
	return count(number && key.module == *number && key.offset == found.offset ? AGREE_SAME :
										     AGREE_DIFFERENT);
}

/* SPDX-License-Identifier: Apache-2.0 */

#include "profiles/samples/perf_stacks.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

#include "module/array.h"

#define NAME_BYTES 16u				/* TASK_COMM_LEN */
#define MAX_NAMES (1u << 20)			/* processes of one recording */
#define FIRST_MARK ((uint64_t)PERF_CONTEXT_MAX) /* from here on they are marks, no addresses */

struct process {
	uint32_t pid;
	char name[NAME_BYTES];
};

struct perf_stacks {
	struct stacks *stacks;
	perf_stacks_find *find;
	void *closure;
	struct process *processes; /* owned */
	size_t n, capacity;
	struct interned index;
};

struct perf_stacks *perf_stacks_new(struct stacks *stacks, perf_stacks_find *find, void *closure)
{
	struct perf_stacks *new = calloc(1, sizeof(*new));

	if (new)
		*new = (struct perf_stacks){ .stacks = stacks, .find = find, .closure = closure };
	return new;
}

void perf_stacks_free(struct perf_stacks *stacks)
{
	if (!stacks)
		return;
	interned_done(&stacks->index);
	free(stacks->processes);
	free(stacks);
}

/* --- names ---------------------------------------------------------------------------------------- */

static struct process *process_find(struct perf_stacks *stacks, uint32_t pid, uint64_t *rethash)
{
	uint64_t hash = interned_numbers_hash(&stacks->index, pid, 0), at = hash;
	uint32_t number;

	*rethash = hash;
	while ((number = interned_next(&stacks->index, hash, &at)) != INTERNED_NONE)
		if (stacks->processes[number].pid == pid)
			return &stacks->processes[number];
	return NULL;
}

int perf_stacks_name(struct perf_stacks *stacks, uint32_t pid, const char *name, size_t n)
{
	uint64_t hash;
	struct process *process = process_find(stacks, pid, &hash);

	if (!process) {
		if (stacks->n == MAX_NAMES)
			return 0;
		if (!array_reserve(stacks->processes, stacks->n, &stacks->capacity) ||
		    interned_put(&stacks->index, hash, (uint32_t)stacks->n) < 0)
			return -ENOMEM;
		process = &stacks->processes[stacks->n++];
		process->pid = pid;
	}
	n = strnlen(name, MIN(n, NAME_BYTES - 1));
	memcpy(process->name, name, n);
	process->name[n] = '\0';
	return 0;
}

int perf_stacks_fork(struct perf_stacks *stacks, uint32_t child, uint32_t parent)
{
	uint64_t hash;
	const struct process *process = child == parent ? NULL : process_find(stacks, parent, &hash);
	char name[NAME_BYTES];

	if (!process)
		return 0;
	memcpy(name, process->name, sizeof(name));
	return perf_stacks_name(stacks, child, name, sizeof(name));
}

/* --- frames --------------------------------------------------------------------------------------- */

/* What is found so far, innermost first; the place behind is for what stands for the rest, then the process. */
struct chain {
	struct stack_frame frames[STACKS_MAX_FRAMES];
	size_t n;
	bool in_kernel, is_over;
};

static void cut(struct perf_stacks *stacks, struct chain *chain, enum stack_cut why)
{
	chain->frames[chain->n++] =
		(struct stack_frame){ stacks_special(stacks->stacks, STACK_CUT, "", SAMPLE_USER_UNKNOWN),
				      why };
	chain->is_over = true;
}

static void kernel_take(struct perf_stacks *stacks, struct chain *chain)
{
	uint32_t image =
		stacks_special(stacks->stacks, SAMPLE_MODULE_KERNEL, "[kernel]", SAMPLE_USER_UNKNOWN);

	if (!chain->n || chain->frames[chain->n - 1].image != image)
		chain->frames[chain->n++] = (struct stack_frame){ image, 0 };
}

static void address_take(struct perf_stacks *stacks, uint32_t pid, struct chain *chain, uint64_t address,
			 bool is_interrupted)
{
	struct sample_module like = { .user = SAMPLE_USER_UNKNOWN };
	struct stack_frame frame;

	if (chain->n == STACKS_MAX_FRAMES - 2) {
		cut(stacks, chain, STACK_CUT_DEEP);
		return;
	}
	if (chain->in_kernel) {
		kernel_take(stacks, chain);
		return;
	}
	if (!stacks->find(stacks->closure, pid, address - !is_interrupted, &like, &frame.offset)) {
		cut(stacks, chain, STACK_CUT_NO_CODE);
		return;
	}
	frame.image = stacks_image(stacks->stacks, &like);
	chain->frames[chain->n++] = frame;
}

static void process_take(struct perf_stacks *stacks, uint32_t pid, struct chain *chain)
{
	uint64_t hash;
	const struct process *process = process_find(stacks, pid, &hash);

	chain->frames[chain->n++] =
		(struct stack_frame){ stacks_special(stacks->stacks, STACK_PROCESS,
						     process ? process->name : "?", SAMPLE_USER_UNKNOWN),
				      0 };
}

int perf_stacks_add(struct perf_stacks *stacks, uint32_t pid, struct reader *addresses, bool in_kernel)
{
	struct chain chain = { .in_kernel = in_kernel };
	bool is_first = true;

	while (reader_left(addresses) && !chain.is_over) {
		uint64_t address = reader_u64(addresses);

		if (address >= FIRST_MARK) {
			chain.in_kernel = address == (uint64_t)PERF_CONTEXT_KERNEL;
			is_first = true; /* of a system call or a fault: it has called nothing */
			continue;
		}
		address_take(stacks, pid, &chain, address, is_first);
		is_first = false;
	}
	if (!chain.n)
		return 0;
	process_take(stacks, pid, &chain);
	for (size_t i = 0, k = chain.n - 1; i < k; i++, k--) {
		struct stack_frame frame = chain.frames[i];

		chain.frames[i] = chain.frames[k];
		chain.frames[k] = frame;
	}
	return stacks_add(stacks->stacks, chain.frames, chain.n, 1);
}

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * kernels: run one kernel of kernels.S or held_out.S for about so many milliseconds: `kernels NAME MILLISECONDS [calm]`.
 * Prints how many turns its loop took, which is how often each of its instructions ran (but for branches), and the seconds of
 * a CPU that they took. `calm`: the same code, but what it waits for does not come to pass: a list that the first cache holds,
 * branches that go one way, pages that are there. `kernels` alone: "NAME CULPRIT GROUP CALMS" of all, a line each; CALMS: 1 if
 * there is a calm run.
 */

#define _GNU_SOURCE
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

typedef void kernel(uint64_t turns, void *memory);

enum memory { PLAIN, LIST, PAIR, FRESH, SEED };

// clang-format off: a table
/* name, culprit (culprit.h), memory, its bytes, distance of the list's nodes in bytes, group */
#define KERNELS(row) \
	row(add_chain, "dependency", PLAIN, 4096, 0, "first") \
	row(multiply_chain, "dependency", PLAIN, 4096, 0, "first") \
	row(float_chain, "dependency", PLAIN, 4096, 0, "first") \
	row(rotate_chain, "dependency", PLAIN, 4096, 0, "first") \
	row(divide, "unit", PLAIN, 4096, 0, "first") \
	row(float_divide, "unit", PLAIN, 4096, 0, "first") \
	row(square_root, "unit", PLAIN, 4096, 0, "first") \
	row(float_divide_apart, "unit", PLAIN, 4096, 0, "first") \
	row(l1_chase, "dependency", LIST, 16 << 10, 64, "first") \
	row(l2_chase, "data-cache", LIST, 512 << 10, 64, "first") \
	row(dram_chase, "data-cache", LIST, 256 << 20, 64, "first") \
	row(page_chase, "data-cache", LIST, 64 << 20, 4096 + 64, "first") \
	row(dram_sum, "data-cache", LIST, 256 << 20, 64, "first") \
	row(mispredict, "mispredict", SEED, 4096, 0, "first") \
	row(mispredict_skip, "mispredict", SEED, 4096, 0, "first") \
	row(mispredict_indirect, "mispredict", SEED, 4096, 0, "first") \
	row(store_forward_wide, "store-forward", PLAIN, 4096, 0, "first") \
	row(store_forward_apart, "store-forward", PLAIN, 4096, 0, "first") \
	row(icache_straight, "instruction-cache", PLAIN, 4096, 0, "first") \
	row(icache_pages, "instruction-cache", PLAIN, 4096, 0, "first") \
	row(atomic_add, "serialize", PLAIN, 4096, 0, "first") \
	row(memory_fence, "serialize", PLAIN, 4096, 0, "first") \
	row(load_fence, "serialize", PLAIN, 4096, 0, "first") \
	row(page_fault, "page-fault", FRESH, 64 << 20, 0, "first") \
	row(string_copy, "unit", PLAIN, 4096, 0, "first") \
	row(lea_chain, "dependency", PLAIN, 4096, 0, "held-out") \
	row(select_chain, "dependency", PLAIN, 4096, 0, "held-out") \
	row(push_pop, "dependency", PLAIN, 4096, 0, "held-out") \
	row(vector_chain, "dependency", PLAIN, 4096, 0, "held-out") \
	row(vector_divide, "unit", PLAIN, 4096, 0, "held-out") \
	row(string_store, "unit", PLAIN, 4096, 0, "held-out") \
	row(dram_pair, "data-cache", PAIR, 256 << 20, 64, "held-out") \
	row(l3_work, "data-cache", LIST, 8 << 20, 64, "held-out") \
	row(l2_calls, "data-cache", LIST, 512 << 10, 64, "held-out") \
	row(store_scatter, "store-buffer", SEED, (64 << 20) + 4096, 0, "held-out") \
	row(mispredict_trips, "mispredict", SEED, 4096, 0, "held-out") \
	row(mispredict_calls, "mispredict", SEED, 4096, 0, "held-out") \
	row(store_forward_bytes, "store-forward", PLAIN, 4096, 0, "held-out") \
	row(icache_calls, "instruction-cache", PLAIN, 4096, 0, "held-out") \
	row(exchange, "serialize", PLAIN, 4096, 0, "held-out") \
	row(compare_exchange, "serialize", PLAIN, 4096, 0, "held-out") \
	row(page_fault_read, "page-fault", FRESH, 64 << 20, 0, "held-out") \
	row(page_fault_pair, "page-fault", FRESH, 64 << 20, 0, "held-out-faults") \
	row(page_fault_add, "page-fault", FRESH, 64 << 20, 0, "held-out-faults")
// clang-format on

#define DECLARE(name, ...) kernel name;
KERNELS(DECLARE)

#define ROW(name, culprit, memory, bytes, step, group) { #name, culprit, group, name, memory, bytes, step },
static const struct {
	const char *name, *culprit, *group;
	kernel *run;
	enum memory memory;
	size_t bytes, step;
} kernels[] = { KERNELS(ROW) };

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* One ring through all nodes in random order (Sattolo's cycle); 16 bytes into each, a way to one half round the ring. */
static void list_make(char *memory, size_t bytes, size_t step)
{
	size_t n = bytes / step, at = 0;
	size_t *order = malloc(n * sizeof(*order));
	uint64_t state = 88172645463325252u;

	if (!order)
		abort();
	for (size_t i = 0; i < n; i++)
		order[i] = i;
	for (size_t i = n - 1; i > 0; i--) {
		size_t k = next(&state) % i, held = order[i];

		order[i] = order[k];
		order[k] = held;
	}
	for (size_t i = 0; i < n; i++)
		*(void **)(memory + order[i] * step) = memory + order[(i + 1) % n] * step;
	for (size_t i = 0; i < n; i++)
		at = order[i] == 0 ? i : at;
	*(void **)(memory + 16) = memory + order[(at + n / 2) % n] * step;
	free(order);
}

static void *memory_make(size_t i, int calm)
{
	int is_list = kernels[i].memory == LIST || kernels[i].memory == PAIR;
	size_t bytes = kernels[i].bytes, nodes = is_list ? (calm ? 16 << 10 : bytes) : 0;
	char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED || madvise(memory, bytes, MADV_NOHUGEPAGE) < 0)
		abort();
	if (is_list)
		list_make(memory, nodes, kernels[i].step);
	if (kernels[i].memory == SEED) {
		memset(memory, 1, bytes);
		*(uint64_t *)memory = calm ? 0 : 88172645463325252u;
	}
	if (kernels[i].memory == FRESH && calm)
		memset(memory, 1, bytes);
	return memory;
}

static void run(size_t i, double seconds, int calm)
{
	int is_fresh = kernels[i].memory == FRESH;
	char *memory = memory_make(i, calm);
	uint64_t turns = is_fresh ? kernels[i].bytes / 4096 : 1, total = 0;
	double end_s, first_s = now_s();

	for (end_s = first_s + seconds; now_s() < end_s;) {
		double start_s = now_s();

		if (is_fresh && !calm)
			madvise(memory, kernels[i].bytes, MADV_DONTNEED);
		kernels[i].run(turns, memory);
		total += turns;
		if (!is_fresh && now_s() - start_s < seconds / 16)
			turns *= 2;
	}
	printf("%" PRIu64 " %.6f\n", total, now_s() - first_s);
}

int main(int argc, char **argv)
{
	int calm = argc > 3 && strcmp(argv[3], "calm") == 0;

	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
		if (argc < 3)
			printf("%s %s %s %d\n", kernels[i].name, kernels[i].culprit, kernels[i].group,
			       kernels[i].memory != PLAIN);
		else if (strcmp(argv[1], kernels[i].name) == 0)
			return run(i, atof(argv[2]) / 1e3, calm), 0;
	return argc < 3 ? 0 : 2;
}

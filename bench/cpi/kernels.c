/* SPDX-License-Identifier: Apache-2.0 */

/*
 * kernels: run one kernel of kernels.S for about so many milliseconds: `kernels NAME MILLISECONDS`.
 * Prints how many turns its loop took, which is how often each of its instructions ran (but for branches).
 * `kernels` alone: "NAME CULPRIT" of all, a line each.
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

enum memory { PLAIN, LIST, FRESH };

/* name, culprit (culprit.h), memory, its bytes, distance of the list's nodes in bytes */
#define KERNELS(row)                                                                                        \
	row(add_chain, "dependency", PLAIN, 4096, 0) row(multiply_chain, "dependency", PLAIN, 4096, 0) row( \
		float_chain, "dependency", PLAIN, 4096,                                                     \
		0) row(rotate_chain, "dependency", PLAIN, 4096,                                             \
		       0) row(divide, "unit", PLAIN, 4096, 0) row(float_divide, "unit", PLAIN, 4096, 0)     \
		row(square_root, "unit", PLAIN, 4096,                                                       \
		    0) row(float_divide_apart, "unit", PLAIN, 4096,                                         \
			   0) row(l1_chase, "dependency", LIST, 16 << 10,                                   \
				  64) row(l2_chase, "data-cache", LIST, 512 << 10,                          \
					  64) row(dram_chase, "data-cache", LIST, 256 << 20, 64)            \
			row(page_chase, "data-cache", LIST, 64 << 20,                                       \
			    4096 + 64) row(dram_sum, "data-cache", LIST, 256 << 20,                         \
					   64) row(mispredict, "mispredict", PLAIN, 4096,                   \
						   0) row(mispredict_skip, "mispredict", PLAIN, 4096, 0)    \
				row(mispredict_indirect, "mispredict", PLAIN, 4096,                         \
				    0) row(store_forward_wide, "store-forward", PLAIN, 4096,                \
					   0) row(store_forward_apart, "store-forward", PLAIN, 4096, 0)     \
					row(icache_straight, "instruction-cache", PLAIN, 4096,              \
					    0) row(icache_pages, "instruction-cache", PLAIN, 4096,          \
						   0) row(atomic_add, "serialize", PLAIN, 4096, 0)          \
						row(memory_fence, "serialize", PLAIN, 4096,                 \
						    0) row(load_fence, "serialize", PLAIN, 4096, 0)         \
							row(page_fault, "page-fault", FRESH, 64 << 20, 0)   \
								row(string_copy, "unit", PLAIN, 4096, 0)

#define DECLARE(name, ...) kernel name;
KERNELS(DECLARE)

#define ROW(name, culprit, memory, bytes, step) { #name, culprit, name, memory, bytes, step },
static const struct {
	const char *name, *culprit;
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

/* One ring through all nodes in random order (Sattolo's cycle). */
static void list_make(char *memory, size_t bytes, size_t step)
{
	size_t n = bytes / step;
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
	free(order);
}

static void run(size_t i, double seconds)
{
	size_t bytes = kernels[i].bytes;
	char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t turns = kernels[i].memory == FRESH ? bytes / 4096 : 1, total = 0;
	double end_s;

	if (memory == MAP_FAILED || madvise(memory, bytes, MADV_NOHUGEPAGE) < 0)
		abort();
	if (kernels[i].memory == LIST)
		list_make(memory, bytes, kernels[i].step);
	for (end_s = now_s() + seconds; now_s() < end_s;) {
		double start_s = now_s();

		if (kernels[i].memory == FRESH)
			madvise(memory, bytes, MADV_DONTNEED);
		kernels[i].run(turns, memory);
		total += turns;
		if (kernels[i].memory != FRESH && now_s() - start_s < seconds / 16)
			turns *= 2;
	}
	printf("%" PRIu64 "\n", total);
}

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
		if (argc < 3)
			printf("%s %s\n", kernels[i].name, kernels[i].culprit);
		else if (strcmp(argv[1], kernels[i].name) == 0)
			return run(i, atof(argv[2]) / 1e3), 0;
	return argc < 3 ? 0 : 2;
}

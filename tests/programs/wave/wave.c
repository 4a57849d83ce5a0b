/* SPDX-License-Identifier: Apache-2.0 */

/*
 * wave: a toy of the kind that DCPI's authors studied (SPEC's wave5, particles in a field): the same work in every run, and
 * runs that differ. `wave STEPS`.
 *
 * Two fields of ROWS rows, 4096 bytes apart, of which a window of LINES lines is used: `rho` is a variable of the file, `phi`
 * lies on the stack. Lines of the same number in all rows share one set of a first-level cache (4096 bytes a way on the
 * processors of today), ROWS lines fit into it, 2 * ROWS do not. smooth() follows a chain through both fields. Where phi lies
 * within its page is as the kernel placed the stack: by chance, and by the size of the environment. So it is chance how many
 * of the window's lines both fields want, and how long smooth() takes; push() and field() do not care.
 *
 * Prints a sum, the same in all runs, and to standard error how many lines were wanted twice.
 */

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 8
#define ROW_BYTES 4096
#define LINES 24
#define LINE_BYTES 64
#define PARTICLES 4096

struct cell {
	struct cell *next;
	double value;
};

static char rho[ROWS + 1][ROW_BYTES] __attribute__((aligned(ROW_BYTES)));
static double place[PARTICLES], speed[PARTICLES];

static struct cell *cell_at(char *field, unsigned row, unsigned line)
{
	return (struct cell *)(field + row * ROW_BYTES + line * LINE_BYTES);
}

/* One ring: line by line of the window, down the rows of both fields. */
static struct cell *ring_make(char *fields[2])
{
	struct cell *first = cell_at(fields[0], 0, 0), *last = first;

	for (unsigned line = 0; line < LINES; line++)
		for (unsigned row = 0; row < ROWS; row++)
			for (unsigned i = 0; i < 2; i++) {
				struct cell *cell = cell_at(fields[i], row, line);

				last->next = cell;
				cell->value = 1.0 + line;
				last = cell;
			}
	last->next = first;
	return first;
}

__attribute__((noinline)) static double smooth(struct cell *at, unsigned turns)
{
	double sum = 0;

	for (unsigned i = 0; i < turns * 2 * ROWS * LINES; i++) {
		sum += at->value;
		at = at->next;
	}
	return sum;
}

__attribute__((noinline)) static double push(unsigned turns)
{
	double sum = 0;

	for (unsigned turn = 0; turn < turns; turn++)
		for (unsigned i = 0; i < PARTICLES; i++) {
			place[i] += speed[i] * 0.5;
			place[i] -= place[i] > 1 ? 1 : 0;
			sum += place[i];
		}
	return sum;
}

__attribute__((noinline)) static double field(unsigned turns)
{
	double x = 2;

	for (unsigned i = 0; i < turns * 1000; i++)
		x = sqrt(x + 1);
	return x;
}

static unsigned lines_shared(const char *a, const char *b)
{
	unsigned apart = (unsigned)((((uintptr_t)a - (uintptr_t)b) % ROW_BYTES) / LINE_BYTES);

	apart = apart > ROW_BYTES / LINE_BYTES / 2 ? ROW_BYTES / LINE_BYTES - apart : apart;
	return apart < LINES ? LINES - apart : 0;
}

int main(int argc, char **argv)
{
	char phi[ROWS + 1][ROW_BYTES] __attribute__((aligned(LINE_BYTES)));
	unsigned steps = argc > 1 ? (unsigned)atoi(argv[1]) : 100;
	struct cell *ring;
	double sum = 0;

	memset(phi, 0, sizeof(phi));
	for (unsigned i = 0; i < PARTICLES; i++)
		speed[i] = (double)(i % 7) / 8;
	ring = ring_make((char *[]){ rho[0], phi[0] });
	for (unsigned i = 0; i < steps; i++)
		sum += smooth(ring, 100) + push(2) + field(3);
	printf("%.6f\n", sum);
	fprintf(stderr, "%u of %u lines wanted twice\n", lines_shared(rho[0], phi[0]), LINES);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * To be preloaded into a program: where it was when it asked for memory, now and then, by walking its stack as exceptions do.
 *
 * BENCH_BACKTRACES=FILE gets a line for each EVERYth call of malloc() or realloc(): the return addresses in the program's own
 * file, as addresses of that, innermost first. BENCH_BACKTRACES_EVERY=EVERY; 0: one line at the end, how many calls there were.
 */

#define _GNU_SOURCE

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FRAMES 256
#define LINE_BYTES (FRAMES * 20)

static uintptr_t base, end; /* of the program's file in memory */
static unsigned long calls, every;
static int out = -1;
static bool is_inside;

static int program_find(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)size, (void)data;
	base = info->dlpi_addr;
	for (size_t i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD)
			end = base + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
	return 1; /* the first is the program */
}

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("BENCH_BACKTRACES"), *number = getenv("BENCH_BACKTRACES_EVERY");
	void *frame;

	is_inside = true;
	dl_iterate_phdr(program_find, NULL);
	backtrace(&frame, 1); /* loads what it needs */
	every = number ? strtoul(number, NULL, 10) : 1;
	out = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : -1;
	is_inside = false;
}

static void said(const char *line, int n)
{
	if (n > 0 && out >= 0 && write(out, line, (size_t)n) != n)
		abort(); /* half a file would look like another run */
}

__attribute__((destructor)) static void finish(void)
{
	char line[32];

	if (!every)
		said(line, snprintf(line, sizeof(line), "%lu\n", calls));
}

static void called(void)
{
	void *frames[FRAMES];
	char line[LINE_BYTES];
	int n, used = 0;

	if (is_inside || out < 0)
		return;
	calls++;
	if (!every || calls % every)
		return;
	is_inside = true;
	n = backtrace(frames, FRAMES);
	for (int i = 0; i < n; i++)
		if ((uintptr_t)frames[i] >= base && (uintptr_t)frames[i] < end)
			used += snprintf(line + used, sizeof(line) - (size_t)used, "%lx ",
					 (unsigned long)((uintptr_t)frames[i] - base));
	line[used++] = '\n';
	said(line, used);
	is_inside = false;
}

void *malloc(size_t size)
{
	static void *(*next)(size_t);

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "malloc");
	called();
	return next(size);
}

void *realloc(void *old, size_t size)
{
	static void *(*next)(void *, size_t);

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "realloc");
	called();
	return next(old, size);
}

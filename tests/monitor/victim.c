/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What the sampler's tests watch: victim burn SECONDS | jit SECONDS | vdso SECONDS | map FILE SECONDS |
 * hidden SECONDS | crash SECONDS | step SECONDS | calls SECONDS | circle SECONDS | wild SECONDS. Each burns CPU time somewhere else. Those that only a
 * living process leads to, map and hidden, stop at their end until they are told to go on.
 */

#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;

/* Since the first call: what was used before the program was executed counts as well. */
static double cpu_s(void)
{
	static double start;
	struct timespec t;
	double now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	now = (double)t.tv_sec + (double)t.tv_nsec / 1e9;
	if (start == 0)
		start = now;
	return now - start;
}

__attribute__((noinline)) static void spin(void)
{
	for (int i = 0; i < 20000; i++)
		sink += (unsigned long)i;
}

static void burn(double seconds)
{
	while (cpu_s() < seconds)
		spin();
}

/* count down from the argument: what a just-in-time compiler might write */
static const unsigned char loop[] = {
#if defined(__x86_64__)
	0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3, /* dec %rdi; jnz .-3; ret */
#else
	0x00, 0x04, 0x00, 0xf1, 0xe1, 0xff, 0xff, 0x54, 0xc0, 0x03, 0x5f, 0xd6,
#endif
};

static void run_code(void *code, double seconds)
{
	void (*count)(unsigned long);

	memcpy(&count, &code, sizeof(count));
	while (cpu_s() < seconds)
		count(100000);
}

static int jit(double seconds)
{
	void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (code == MAP_FAILED)
		return 1;
	memcpy(code, loop, sizeof(loop));
	if (mprotect(code, 4096, PROT_READ | PROT_EXEC) < 0)
		return 1;
	run_code(code, seconds);
	return 0;
}

/* Code from a file that is deleted while it runs. */
static int map(const char *path, double seconds)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0700);
	void *code;

	if (fd < 0 || write(fd, loop, sizeof(loop)) < 0)
		return 1;
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (code == MAP_FAILED)
		return 1;
	close(fd);
	unlink(path);
	run_code(code, seconds);
	return raise(SIGSTOP);
}

static int vdso(double seconds)
{
	struct timespec t;
	double end;

	clock_gettime(CLOCK_MONOTONIC, &t);
	end = (double)t.tv_sec + (double)t.tv_nsec / 1e9 + seconds;
	do
		clock_gettime(CLOCK_MONOTONIC, &t);
	while ((double)t.tv_sec + (double)t.tv_nsec / 1e9 < end);
	return 0;
}

/*
 * Works from a little after each tick until long before the next, which therefore never sees it. Ticks are
 * at multiples of their period on CLOCK_MONOTONIC.
 */
static int step(double seconds)
{
	struct timespec period, t;
	unsigned long long now, end, next;

	clock_getres(CLOCK_MONOTONIC_COARSE, &period);
	clock_gettime(CLOCK_MONOTONIC, &t);
	now = (unsigned long long)t.tv_sec * 1000000000u + (unsigned long long)t.tv_nsec;
	end = now + (unsigned long long)(seconds * 1e9);
	while (now < end) {
		next = now - now % (unsigned long long)period.tv_nsec +
		       (unsigned long long)period.tv_nsec * 11 / 10;
		t = (struct timespec){ (time_t)(next / 1000000000u), (long)(next % 1000000000u) };
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
		do {
			for (int i = 0; i < 2000; i++)
				sink += (unsigned long)i;
			clock_gettime(CLOCK_MONOTONIC, &t);
			now = (unsigned long long)t.tv_sec * 1000000000u + (unsigned long long)t.tv_nsec;
		} while (now < next + (unsigned long long)period.tv_nsec / 3);
	}
	return 0;
}

/* spin() calls nothing, so it has no frame, and its caller is not seen; that one's callers are. */
__attribute__((noinline)) static void calls_hidden(void)
{
	for (int i = 0; i < 200; i++)
		spin();
	sink++;
}

__attribute__((noinline)) static void calls_inner(void)
{
	calls_hidden();
	sink++;
}

__attribute__((noinline)) static void calls_outer(double seconds)
{
	while (cpu_s() < seconds)
		calls_inner();
	sink++;
}

/* A frame pointer to two words of ours: the caller's frame, and where the call returns to. */
static int forged(double seconds, const void *frame, const void *code)
{
#if defined(__x86_64__)
	const void *words[2] = { frame, code };

	if (!frame)
		words[0] = words;
	while (cpu_s() < seconds) {
		unsigned long n = 1000000;

		__asm__ volatile("push %%rbp\n\tmov %1, %%rbp\n1:\tdec %0\n\tjnz 1b\n\tpop %%rbp"
				 : "+r"(n)
				 : "r"((const void *)words)
				 : "cc", "memory");
	}
	return 0;
#else
	return (void)seconds, (void)frame, (void)code, 1;
#endif
}

int main(int argc, char **argv)
{
	double seconds = argc > 2 ? strtod(argv[argc - 1], NULL) : 0;

	if (argc < 3)
		return 2;
	if (strcmp(argv[1], "jit") == 0)
		return jit(seconds);
	if (strcmp(argv[1], "calls") == 0)
		return calls_outer(seconds), 0;
	if (strcmp(argv[1], "circle") == 0) /* each frame is its own caller */
		return forged(seconds, NULL, (const char *)(uintptr_t)&calls_inner + 8);
	if (strcmp(argv[1], "wild") == 0) /* returns to data */
		return forged(seconds, NULL, (const void *)&sink);
	if (strcmp(argv[1], "vdso") == 0)
		return vdso(seconds);
	if (strcmp(argv[1], "step") == 0)
		return step(seconds);
	if (strcmp(argv[1], "map") == 0)
		return map(argv[2], seconds);
	burn(seconds);
	if (strcmp(argv[1], "hidden") == 0)
		return raise(SIGSTOP);
	if (strcmp(argv[1], "crash") == 0)
		*(volatile int *)8 = 1;
	return strcmp(argv[1], "fail") == 0 ? 3 : 0;
}

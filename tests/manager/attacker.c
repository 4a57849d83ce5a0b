/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What an unprivileged user may do beside a morphd and its monitor (identity_test.sh). Commands:
 *
 *	busy SECONDS		run in a function that ends at the time
 *	kills SECONDS		processes that get SIGSEGV from themselves, as many as can be made
 *	faults SECONDS		processes that read at address 0, as many as can be made
 *	files SECONDS FILE...	copies of a program that works for a hundredth of a second, one after the other, again and again
 *
 * Prints how many there were.
 */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define AT_ONCE 64 /* processes */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline)) static void busy(double until)
{
	volatile unsigned x = 0;

	while (now() < until)
		for (unsigned i = 0; i < 1000000; i++)
			x += i;
}

static _Noreturn void child(const char *what, char **files, unsigned n)
{
	if (strcmp(what, "kills") == 0)
		kill(getpid(), SIGSEGV);
	if (strcmp(what, "faults") == 0)
		*(volatile int *)0 = 0;
	if (strcmp(what, "files") == 0)
		execl(files[n], files[n], "busy", "0.01", (char *)NULL);
	_exit(1);
}

/* The kill comes when the program has begun. */
static unsigned victims(double until, const char *file)
{
	unsigned n = 0;

	for (; now() < until; n++) {
		pid_t pid = fork();

		if (pid == 0) {
			execl(file, file, "2000000000", (char *)NULL);
			_exit(1);
		}
		usleep(3000);
		kill(pid, SIGSEGV);
		waitpid(pid, NULL, 0);
	}
	return n;
}

int main(int argc, char **argv)
{
	struct rlimit none = { 0, 0 };
	double until = now() + (argc > 2 ? atof(argv[2]) : 0);
	unsigned n = 0;

	if (argc < 3)
		return 2;
	setrlimit(RLIMIT_CORE, &none);
	if (strcmp(argv[1], "busy") == 0) {
		busy(until);
		return 0;
	}
	if (strcmp(argv[1], "victims") == 0 && argc == 4) {
		printf("%u\n", victims(until, argv[3]));
		return 0;
	}
	for (; now() < until; n++) {
		pid_t pid = fork();

		if (pid == 0)
			child(argv[1], argv + 3, argc > 3 ? n % ((unsigned)argc - 3) : 0);
		while (n % AT_ONCE == AT_ONCE - 1 && waitpid(-1, NULL, 0) > 0)
			;
	}
	while (waitpid(-1, NULL, 0) > 0)
		;
	printf("%u\n", n);
	return 0;
}

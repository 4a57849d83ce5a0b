/* SPDX-License-Identifier: Apache-2.0 */

/* Names that many programs take from the C library. It runs nothing: coder/example.h says what it is for. */

#define _GNU_SOURCE
#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <error.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <langinfo.h>
#include <libintl.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>
#include <wctype.h>

const void *const example_names[] = {
	free,
	malloc,
	calloc,
	realloc,
	reallocarray,
	memcpy,
	memmove,
	memset,
	memcmp,
	memchr,
	memrchr,
	strlen,
	strcmp,
	strncmp,
	strcasecmp,
	strncasecmp,
	strchr,
	strrchr,
	strstr,
	strcpy,
	strncpy,
	strcat,
	strdup,
	strndup,
	strtol,
	strtoul,
	strtod,
	strtoumax,
	strcoll,
	strspn,
	strcspn,
	strpbrk,
	stpcpy,
	strftime,
	strerror,
	strsignal,
	rawmemchr,
	exit,
	_exit,
	abort,
	atexit,
	getenv,
	setlocale,
	localeconv,
	nl_langinfo,
	bindtextdomain,
	textdomain,
	dcgettext,
	dcngettext,
	iswprint,
	iswspace,
	wcwidth,
	mbrtowc,
	mbsinit,
	btowc,
	error,
	perror,
	fopen,
	fopen64,
	fdopen,
	freopen,
	fclose,
	fflush,
	fread,
	fwrite,
	fgets,
	fputs,
	fputc,
	fgetc,
	getc,
	putc,
	putchar,
	puts,
	ungetc,
	fseek,
	fseeko,
	ftell,
	ftello,
	fileno,
	setvbuf,
	fflush_unlocked,
	fputs_unlocked,
	fwrite_unlocked,
	putchar_unlocked,
	__fpending,
	__freading,
	clearerr,
	printf,
	fprintf,
	snprintf,
	vfprintf,
	getline,
	remove,
	rename,
	unlink,
	open,
	open64,
	close,
	read,
	write,
	lseek,
	lseek64,
	stat,
	lstat,
	fstat,
	fstatat,
	isatty,
	ioctl,
	fcntl,
	dup2,
	pipe,
	fork,
	waitpid,
	kill,
	raise,
	signal,
	sigaction,
	sigemptyset,
	sigaddset,
	sigfillset,
	sigprocmask,
	sigismember,
	getpid,
	getuid,
	geteuid,
	getcwd,
	chdir,
	mkdir,
	chmod,
	fchmod,
	umask,
	readlink,
	opendir,
	readdir,
	closedir,
	posix_fadvise,
	sysconf,
	getpagesize,
	mmap,
	munmap,
	time,
	mktime,
	localtime,
	localtime_r,
	gmtime,
	gmtime_r,
	gettimeofday,
	clock_gettime,
	nanosleep,
	qsort,
	rand,
	floor,
	pow,
	log,
	exp,
	socket,
	connect,
	send,
	recv,
	pthread_mutex_lock,
	pthread_mutex_unlock,
	pthread_mutex_init,
	pthread_mutex_destroy,
	pthread_create,
	pthread_join,
	dlopen,
	dlsym,
	dlclose,
	dlerror,
};

static void usage(FILE *out)
{
	fprintf(out, "Usage: %s [OPTION]... [FILE]...\n", program_invocation_short_name);
	fputs("  -h, --help     display this help and exit\n  -V, --version  output version information and "
	      "exit\n",
	      out);
}

int main(int argc, char **argv)
{
	static const struct option options[] = { { "help", no_argument, NULL, 'h' },
						 { "version", no_argument, NULL, 'V' },
						 { "output", required_argument, NULL, 'o' },
						 { NULL, 0, NULL, 0 } };
	const char *output = NULL;
	int c, failed = 0;

	setlocale(LC_ALL, "");
	while ((c = getopt_long(argc, argv, "hVo:", options, NULL)) != -1)
		switch (c) {
		case 'h': usage(stdout); return EXIT_SUCCESS;
		case 'V': printf("%s %d.%d\n", program_invocation_name, 1, 0); return EXIT_SUCCESS;
		case 'o': output = optarg; break;
		default: usage(stderr); return EXIT_FAILURE;
		}
	if (optind == argc) {
		fprintf(stderr, "%s: missing operand\n", argv[0]);
		exit(EXIT_FAILURE);
	}
	for (int i = optind; i < argc; i++) {
		FILE *file = strcmp(argv[i], "-") == 0 ? stdin : fopen(argv[i], "r");
		char line[BUFSIZ];

		if (!file) {
			fprintf(stderr, "%s: %s: %s\n", argv[0], argv[i], strerror(errno));
			failed = 1;
			continue;
		}
		while (fgets(line, sizeof(line), file))
			if (isalpha((unsigned char)line[0]) && fputs(line, stdout) < 0)
				abort();
		if (ferror(file) || (file != stdin && fclose(file) != 0))
			failed = 1;
	}
	assert(!output || *output);
	return failed;
}

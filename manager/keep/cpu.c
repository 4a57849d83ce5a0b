/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/keep/cpu.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/macro.h"

#define CPUINFO_MAX (1 << 16) /* more than one CPU's paragraph, and the first speaks for all */

/* What of /proc/cpuinfo fits; its size is not known beforehand. */
static int cpuinfo_read(const struct settings *settings, char *ret, size_t size)
{
	char path[PATH_MAX];
	_clean_(fd_closep) int fd =
		settings_path(settings, "/proc/cpuinfo", path) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	size_t n = 0;
	ssize_t got = 1;

	if (fd < 0)
		return -errno;
	while (got > 0 && n < size - 1) {
		got = read(fd, ret + n, size - 1 - n);
		if (got < 0)
			return -errno;
		n += (size_t)got;
	}
	ret[n] = '\0';
	return 0;
}

/* First words of the names of flags that are instructions a compiler may choose. */
static const char *const instruction_flags[] = {
	"sse",	    "ssse",   "avx",	"fma",	   "f16c",	"bmi",		 "abm",	       "lzcnt",
	"popcnt",   "movbe",  "adx",	"aes",	   "vaes",	"pclmulqdq",	 "vpclmul",    "sha_ni",
	"sha512",   "sm3",    "sm4",	"gfni",	   "rdrand",	"rdseed",	 "fsgsbase",   "cx16",
	"cx8",	    "cmov",   "mmx",	"lahf_lm", "prefetchw", "3dnowprefetch", "clflushopt", "clwb",
	"cldemote", "movdir", "amx",	"xop",	   "tbm",	"rtm",		 "serialize",  "waitpkg",
	"rdpid",    "apx",    "xsavec", "ptwrite", "lwp",	"mwaitx",	 "clzero"
};

static bool flag_is_instruction(const char *flag)
{
	for (size_t i = 0; i < ARRAY_SIZE(instruction_flags); i++)
		if (strncmp(flag, instruction_flags[i], strlen(instruction_flags[i])) == 0)
			return true;
	return false;
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Append the chosen words of @words, sorted. */
static void flags_append(char *words, bool all, char *ret, size_t size)
{
	char *flags[512], *save = NULL;
	size_t n = 0;

	for (char *w = strtok_r(words, " \t", &save); w && n < ARRAY_SIZE(flags);
	     w = strtok_r(NULL, " \t", &save))
		if (all || flag_is_instruction(w))
			flags[n++] = w;
	qsort(flags, n, sizeof(flags[0]), compare_texts);
	for (size_t i = 0; i < n; i++) {
		size_t at = strlen(ret);

		snprintf(ret + at, size - at, "%s%s", at ? " " : "", flags[i]);
	}
}

int cpu_describe(const struct settings *settings, char ret[CPU_TEXT], struct fault *reterr)
{
	static const char *const identity[] = { "vendor_id",	   "cpu family", "model",
						"CPU implementer", "CPU part",	 "CPU variant" };
	_clean_(freep) char *text = malloc(CPUINFO_MAX);
	char *save = NULL;
	int n = text ? cpuinfo_read(settings, text, CPUINFO_MAX) : -ENOMEM;

	if (n < 0)
		return fault_errno(reterr, n, "/proc/cpuinfo");
	ret[0] = '\0';
	/* The first CPU speaks for all; its paragraph ends at the first empty line. */
	if (strstr(text, "\n\n"))
		*strstr(text, "\n\n") = '\0';
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *colon = strchr(line, ':'), *end = colon;
		size_t at = strlen(ret);

		if (!colon)
			continue;
		while (end > line && (end[-1] == ' ' || end[-1] == '\t'))
			end--;
		*end = '\0';
		for (size_t i = 0; i < ARRAY_SIZE(identity); i++)
			if (strcmp(line, identity[i]) == 0)
				snprintf(ret + at, CPU_TEXT - at, "%s%s", at ? " " : "",
					 colon + 1 + strspn(colon + 1, " "));
		if (strcmp(line, "flags") == 0 || strcmp(line, "Features") == 0)
			flags_append(colon + 1, strcmp(line, "Features") == 0, ret, CPU_TEXT);
	}
	return ret[0] ? 0 : fault_set(reterr, -ENODATA, "/proc/cpuinfo: does not name the CPU");
}

/* Is the word of @n characters one of @line's? */
static bool line_has(const char *line, const char *word, size_t n)
{
	for (const char *p = line; *p;) {
		size_t length = strcspn(p, " ");

		if (length == n && memcmp(p, word, n) == 0)
			return true;
		p += length + (p[length] == ' ');
	}
	return false;
}

bool cpu_can_run(const char *made_for, const char *here, char *retlack, size_t size)
{
	for (const char *p = made_for ? made_for : ""; *p;) {
		size_t n = strcspn(p, " ");

		/* Flags are in lower case; vendors are not, and models are numbers. */
		if (*p >= 'a' && *p <= 'z' && !line_has(here, p, n)) {
			snprintf(retlack, size, "%.*s", (int)n, p);
			return false;
		}
		p += n + (p[n] == ' ');
	}
	return true;
}

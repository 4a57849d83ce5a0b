/* SPDX-License-Identifier: Apache-2.0 */

#include "monitor/machine/cpu_list.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

#define GUESSED_HZ 2e9

static int number_parse(const char **at, unsigned *ret)
{
	char *end;
	unsigned long value;

	if (!isdigit((unsigned char)**at))
		return -EINVAL;
	value = strtoul(*at, &end, 10);
	if (value >= CPU_LIST_MAX)
		return -EINVAL;
	*ret = (unsigned)value;
	*at = end;
	return 0;
}

static void cpu_add(struct cpu_list *list, unsigned cpu)
{
	list->n += !cpu_list_has(list, cpu);
	list->bits[cpu / 64] |= 1ull << cpu % 64;
	list->highest = MAX(list->highest, cpu);
}

int cpu_list_parse(const char *text, struct cpu_list *ret)
{
	struct cpu_list list = { 0 };
	const char *at = text;

	while (*at && *at != '\n') {
		unsigned first, last;

		if (number_parse(&at, &first) < 0)
			return -EINVAL;
		last = first;
		if (*at == '-') {
			at++;
			if (number_parse(&at, &last) < 0)
				return -EINVAL;
		}
		if (last < first || (*at && *at != ',' && *at != '\n'))
			return -EINVAL;
		for (unsigned cpu = first; cpu <= last; cpu++)
			cpu_add(&list, cpu);
		at += *at == ',';
	}
	*ret = list;
	return 0;
}

static int list_read(const char *path, struct cpu_list *ret)
{
	FILE *file = fopen(path, "re");
	char text[4096] = "";
	int r;

	if (!file)
		return -errno;
	r = fgets(text, sizeof(text), file) ? cpu_list_parse(text, ret) : -EINVAL;
	fclose(file);
	return r;
}

/* "cpu3 71 0 ...": a line for each that is online */
static void lines_read(const char *path, struct cpu_list *ret)
{
	FILE *file = fopen(path, "re");
	char line[4096];

	*ret = (struct cpu_list){ 0 };
	while (file && fgets(line, sizeof(line), file)) {
		const char *at = line + strlen("cpu");
		unsigned cpu;

		if (strncmp(line, "cpu", strlen("cpu")) == 0 && number_parse(&at, &cpu) == 0)
			cpu_add(ret, cpu);
	}
	if (file)
		fclose(file);
}

void cpu_list_online(struct cpu_list *ret)
{
	if (list_read("/sys/devices/system/cpu/online", ret) == 0 && ret->n)
		return;
	lines_read("/proc/stat", ret); /* a root that was only entered often has no /sys */
	if (!ret->n)
		cpu_add(ret, 0);
}

void cpu_list_nohz_full(struct cpu_list *ret)
{
	/* "(null)" when the kernel was started without the option */
	if (list_read("/sys/devices/system/cpu/nohz_full", ret) < 0)
		*ret = (struct cpu_list){ 0 };
}

bool cpu_list_has(const struct cpu_list *list, unsigned cpu)
{
	return cpu < CPU_LIST_MAX && list->bits[cpu / 64] >> cpu % 64 & 1;
}

bool cpu_list_is_equal(const struct cpu_list *a, const struct cpu_list *b)
{
	return a->n == b->n && memcmp(a->bits, b->bits, sizeof(a->bits)) == 0;
}

double cpu_hz(void)
{
	FILE *file = fopen("/proc/cpuinfo", "re");
	char line[512];
	double mhz = 0;

	while (file && mhz <= 0 && fgets(line, sizeof(line), file)) {
		const char *colon = strncmp(line, "cpu MHz", 7) == 0 ? strchr(line, ':') : NULL;

		if (colon)
			mhz = strtod(colon + 1, NULL);
	}
	if (file)
		fclose(file);
	return mhz > 0 ? mhz * 1e6 : GUESSED_HZ;
}

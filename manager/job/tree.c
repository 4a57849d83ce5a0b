/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/job/tree.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>

#include "base/macro.h"

#define PASSES 8 /* a process that forks as fast as it can is stopped by then, or never */

struct process {
	pid_t pid, parent;
	char state;
	uint64_t ticks; /* its own CPU time, and that of its children that have ended */
	bool is_in;
};

struct table {
	struct process *rows; /* owned */
	size_t n, capacity;
};

static void table_done(struct table *table)
{
	free(table->rows);
}

/* /proc/PID/stat; the name in it may be anything, also brackets. */
static bool process_read(pid_t pid, struct process *ret)
{
	unsigned long long user, kernel, child_user, child_kernel;
	_clean_(fd_closep) int fd = -1;
	char path[32], text[1024];
	const char *end;
	ssize_t n;
	int parent;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return false;
	text[n] = '\0';
	end = strrchr(text, ')');
	if (!end || sscanf(end + 1, " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu",
			   &ret->state, &parent, &user, &kernel, &child_user, &child_kernel) != 6)
		return false;
	ret->pid = pid;
	ret->parent = (pid_t)parent;
	ret->ticks = user + kernel + child_user + child_kernel;
	ret->is_in = false;
	return true;
}

static int table_read(struct table *ret)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;

	if (!proc)
		return -errno;
	while ((entry = readdir(proc))) {
		struct process row;
		struct process *more;

		if (!isdigit((unsigned char)entry->d_name[0]) ||
		    !process_read((pid_t)strtol(entry->d_name, NULL, 10), &row))
			continue;
		if (ret->n == ret->capacity) {
			ret->capacity = MAX(2 * ret->capacity, (size_t)256);
			more = reallocarray(ret->rows, ret->capacity, sizeof(*more));
			if (!more) {
				closedir(proc);
				return -ENOMEM;
			}
			ret->rows = more;
		}
		ret->rows[ret->n++] = row;
	}
	closedir(proc);
	return 0;
}

static bool is_in(const struct table *table, pid_t pid)
{
	for (size_t i = 0; i < table->n; i++)
		if (table->rows[i].pid == pid)
			return table->rows[i].is_in;
	return false;
}

static int tree_read(pid_t first, struct table *ret)
{
	bool more = true;
	int r = table_read(ret);

	while (r == 0 && more) {
		more = false;
		for (size_t i = 0; i < ret->n; i++) {
			struct process *row = &ret->rows[i];

			if (row->is_in || (row->pid != first && !is_in(ret, row->parent)))
				continue;
			row->is_in = more = true;
		}
	}
	return r;
}

static bool has_ended(const struct process *row)
{
	return row->state == 'Z' || row->state == 'X';
}

/* The number may be somebody else's by now: it is looked at again when it can no longer change. */
static void signal_send(const struct table *table, pid_t first, pid_t pid, int number)
{
	_clean_(fd_closep) int fd = (int)pidfd_open(pid, 0);
	struct process now;

	if (fd >= 0 && process_read(pid, &now) && (pid == first || is_in(table, now.parent)))
		pidfd_send_signal(fd, number, NULL, 0);
}

int tree_freeze(pid_t first, bool freeze)
{
	for (unsigned pass = 0; pass < (freeze ? PASSES : 1u); pass++) {
		_clean_(table_done) struct table table = { 0 };
		int r = tree_read(first, &table);
		bool all = true;

		for (size_t i = 0; r == 0 && i < table.n; i++) {
			const struct process *row = &table.rows[i];

			if (!row->is_in || has_ended(row) || (freeze && row->state == 'T'))
				continue;
			all = false;
			signal_send(&table, first, row->pid, freeze ? SIGSTOP : SIGCONT);
		}
		if (r < 0 || all)
			return r;
	}
	return 0;
}

uint64_t tree_cpu_us(pid_t first)
{
	_clean_(table_done) struct table table = { 0 };
	uint64_t ticks = 0;

	if (tree_read(first, &table) < 0)
		return 0;
	for (size_t i = 0; i < table.n; i++)
		ticks += table.rows[i].is_in ? table.rows[i].ticks : 0;
	return ticks * 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
}

bool tree_is_stopped(pid_t first)
{
	_clean_(table_done) struct table table = { 0 };
	bool ret = tree_read(first, &table) == 0 && is_in(&table, first);

	for (size_t i = 0; i < table.n; i++)
		ret = ret &&
		      (!table.rows[i].is_in || has_ended(&table.rows[i]) || table.rows[i].state == 'T');
	return ret;
}

/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/keep/context.h"

#include <errno.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"

uint64_t manager_monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

#define WAIT_NS (60ull * 1000000000)
#define WAIT_DOUBLINGS 8

double manager_chance(void)
{
	uint32_t chance;

	return getrandom(&chance, sizeof(chance), GRND_NONBLOCK) == sizeof(chance) ?
		       (double)chance / UINT32_MAX :
		       0;
}

bool backoff_failed(struct backoff *b)
{
	const uint64_t wait_ns = WAIT_NS << MIN(b->failures, (unsigned)WAIT_DOUBLINGS);

	b->until_ns = manager_monotonic_ns() + wait_ns + (uint64_t)((double)wait_ns / 2 * manager_chance());
	return !b->failures++;
}

bool backoff_worked(struct backoff *b)
{
	bool ret = b->failures;

	*b = (struct backoff){ 0 };
	return ret;
}

bool backoff_waits(const struct backoff *b)
{
	return manager_monotonic_ns() < b->until_ns;
}

void manager_log_fault(struct manager *m, int code, const struct fault *fault)
{
	log_message(code == -EBADMSG ? LOG_LEVEL_WARNING : LOG_LEVEL_ERROR, "%s", fault->text);
	if (code == -EUCLEAN && m->event) {
		log_error("%s: the database is damaged; restarting sets it aside and rebuilds it",
			  m->settings.state_directory);
		sd_event_exit(m->event, 1);
	}
}

int manager_mkdir(const char *path, mode_t mode, struct fault *reterr)
{
	struct stat st;
	int r;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return 0;
	r = file_mkdirs(path, mode, reterr);
	return r == 0 && chmod(path, mode) < 0 ? fault_errno(reterr, -errno, "%s", path) : r;
}

/* SPDX-License-Identifier: Apache-2.0 */

#include "base/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"

void progress_begin(struct progress *progress, int fd)
{
	*progress = (struct progress){ .fd = isatty(fd) ? fd : -1, .start_ns = clock_ns(CLOCK_MONOTONIC) };
}

void progress_step(struct progress *progress, const char *what, size_t done, size_t total)
{
	uint64_t now;

	if (progress->fd < 0)
		return;
	now = clock_ns(CLOCK_MONOTONIC);
	if (progress->shown_ns && now - progress->shown_ns < 100000000u && done < total)
		return;
	progress->shown_ns = now;
	dprintf(progress->fd, "\r\033[K%s", SHOWN(what));
	if (total)
		dprintf(progress->fd, " %zu/%zu", done, total);
	if (total && done && done < total)
		dprintf(progress->fd, ", about %.0f s left",
			(double)(now - progress->start_ns) / 1e9 * (double)(total - done) / (double)done);
}

void progress_end(struct progress *progress)
{
	if (progress->fd >= 0 && progress->shown_ns)
		dprintf(progress->fd, "\r\033[K");
}

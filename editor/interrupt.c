/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "editor/interrupt.h"

#include <signal.h>
#include <stddef.h>

#include "base/macro.h"

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	interrupted = sig;
}

void interrupt_catch(void)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGPIPE };
	const struct sigaction action = { .sa_handler = on_signal };
	struct sigaction before;

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (sigaction(ends[i], NULL, &before) < 0 || before.sa_handler != SIG_IGN ||
		    (ends[i] != SIGHUP && ends[i] != SIGPIPE))
			sigaction(ends[i], &action, NULL);
}

int interrupt_came(void)
{
	return interrupted;
}

void interrupt_end(void)
{
	if (interrupted != SIGPIPE)
		return;
	signal(SIGPIPE, SIG_DFL);
	raise(SIGPIPE);
}

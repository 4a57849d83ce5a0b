/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "cli/shared/demangle_child.h"

#include <libiberty/demangle.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

struct answer {
	char text[DEMANGLE_BYTES];
	size_t n;
};

/* Strictly filtered, this is the one way out besides being killed. */
static void leave(void)
{
	syscall(SYS_exit, 0);
}

/* Called until the library is done, which may be never: there is no way to stop it but to leave. */
static void answer_add(const char *text, size_t n, void *userdata)
{
	struct answer *answer = userdata;

	if (n >= sizeof(answer->text) - answer->n)
		leave();
	memcpy(answer->text + answer->n, text, n);
	answer->n += n;
}

static bool answer_make(const char *symbol, struct answer *ret)
{
	ret->n = 0;
	if (rust_demangle_callback(symbol, DMGL_NO_OPTS, answer_add, ret))
		return true;
	ret->n = 0;
	return cplus_demangle_v3_callback(symbol, DMGL_PARAMS | DMGL_ANSI, answer_add, ret);
}

/* A message is a name, and its answer a name or a NUL. */
static void serve(void)
{
	static struct answer answer;
	static char symbol[DEMANGLE_BYTES];
	ssize_t n;

	while ((n = read(0, symbol, sizeof(symbol) - 1)) > 0) {
		symbol[n] = 0;
		if (!answer_make(symbol, &answer) || !answer.n) {
			answer.text[0] = 0;
			answer.n = 1;
		}
		if (write(0, answer.text, answer.n) < 0)
			break;
	}
	leave();
}

/* Nothing of the caller's is open in it, and its end leaves nothing behind. */
void demangle_child_run(int fd, pid_t parent)
{
	const struct rlimit none = { 0, 0 };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_DUMPABLE, 0);
	prctl(PR_SET_NAME, "demangle");
	if (getppid() == parent && dup2(fd, 0) == 0 && close_range(1, ~0u, 0) == 0 &&
	    setrlimit(RLIMIT_CORE, &none) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0)
		serve();
	_exit(1);
}

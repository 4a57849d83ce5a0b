/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * sandbox.h - run code on foreign bytes where it can only spoil its own result
 *
 * The compiler parses foreign bytes and was not written to be attacked; a packager's self-test is foreign code. Both run as
 * a user without rights in a session of their own, see one writable directory and the system's libraries, and are bounded
 * in memory, time, processes and file size. The walls, each on its own enough for most attacks:
 *
 *	spaces.h	namespaces: no other process, no network, everything else read-only
 *	landlock.h	no other files, ports, processes
 *	calls.h		no other system calls
 *	limits.h	no more memory, time, processes, bytes
 *
 * Standard input is empty. What is printed goes through a pipe to our standard error, line by line, cleaned (base/text.h).
 * When the code ends, or we do, every process that it has started is ended, too.
 *
 * Results come out by a descriptor that the caller made, and by memory that is shared with it: bytes that anybody may have
 * written, never trusted as more.
 */

#include <stdbool.h>
#include <sys/types.h>

#include "base/fault.h"
#include "sandbox/limits.h"
#include "sandbox/spaces.h"

/** SANDBOX_SYSTEM - what a compiler, a linker and their libraries need of the system: the beginning of a list of readable files */
#define SANDBOX_SYSTEM                                                                                \
	"/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", \
		"/proc", "/sys/devices/system/cpu", "/dev/urandom"

/** SANDBOX_NETWORK - what finding servers and trusting their certificates needs besides */
#define SANDBOX_NETWORK                                                                            \
	"/etc/resolv.conf", "/etc/hosts", "/etc/host.conf", "/etc/nsswitch.conf", "/etc/gai.conf", \
		"/etc/ssl/certs", "/etc/ssl/openssl.cnf"

struct sandbox_options {
	uid_t uid; /* whom to become; (uid_t)-1: stay who we are (only root can change) */
	gid_t gid;
	const char *directory;	     /* absolute: the one place that may be written; its owner is @uid */
	const char *const *readable; /* NULL-terminated: what may be read and executed besides */
	struct sandbox_limits limits;
	unsigned timeout_s; /* of the clock on the wall while the caller runs (base/running.h); 0: none */
	bool network;	    /* as a client, by IP: the caller's own network */
	int keep_fd;	    /* the descriptor that stays open inside; -1: none */
	int keep_also;	    /* another one, from 3 on; 0: none */
	int (*tick)(
		void *userdata); /* called four times a second and after signals; not 0: end it. May be NULL */
	void *userdata;		 /* for both */
};

/* Which walls stood. */
struct sandbox_report {
	bool user;    /* a user of its own */
	int landlock; /* the kernel's interface, 0: none */
	bool seccomp;
	struct spaces spaces;
};

/**
 * sandbox_run() - call @work in a process in the sandbox, and wait until it and all it started have ended
 * The caller has no other children, and one thread.
 * @ret: which walls stood; namespaces and landlock may be missing, which is no error, and is to be said
 * @retstatus: of the process, as waitpid(2) gives it; @work's value is its exit status
 * Return: 0; -ETIMEDOUT; -ECANCELED: @tick said so; other -errno when no sandbox could be made; with @reterr
 */
int sandbox_run(const struct sandbox_options *options, int (*work)(void *userdata),
		struct sandbox_report *ret, int *retstatus, struct fault *reterr);

/** sandbox_end_children() - SIGKILL for all descendants, and wait until there are none; the caller reaps orphans (prctl(2)) */
void sandbox_end_children(void);

/**
 * sandbox_probe() - which walls would stand for this caller on this machine?
 * @directory: empty and writable. Return: as sandbox_run().
 */
int sandbox_probe(const char *directory, struct sandbox_report *ret, struct fault *reterr);

/** sandbox_gaps() - in words, what @report lacks: "no namespaces (Operation not permitted); ..."; "" for nothing */
const char *sandbox_gaps(const struct sandbox_report *report, char *ret, size_t size);

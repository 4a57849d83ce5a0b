/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * conninfo.h - what a URL of a database says, and what it may not
 */

#include <stdbool.h>

#include "base/fault.h"
#include "base/macro.h"

#define CONNINFO_WORDS 64

struct conninfo {
	const char *keywords[CONNINFO_WORDS]; /* NULL-terminated, for PQconnectStartParams() */
	const char *values[CONNINFO_WORDS];
	char *owned[CONNINFO_WORDS];
	int n;
	bool is_remote;	 /* some host is not a directory with a socket */
	char shown[256]; /* for messages: no password */
};

/**
 * conninfo_read() - @url, completed by what makes it safe
 * Return: 0; -EINVAL: not a URL, a host without sslmode=verify-full, or something that leads elsewhere (service=, hostaddr=)
 */
int conninfo_read(const char *url, struct conninfo *ret, struct fault *reterr);
void conninfo_done(struct conninfo *info);
static inline void conninfo_donep(struct conninfo *info)
{
	conninfo_done(info);
}

/** conninfo_for() - the same database for another role, as one line that conninfo_read() reads; needs free() */
int conninfo_for(const char *url, const char *role, const char *password, char **ret, struct fault *reterr);

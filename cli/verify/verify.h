/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * verify.h - what `morph verify` finds out about one program
 */

#include "manager/keep/digest.h"
#include "manager/keep/settings.h"
#include "manager/verify/package_file.h"
#include "manager/verify/records.h"

struct verdict {
	char *path; /* owned by whoever asked */
	bool explained;
	int64_t generation;	    /* whose bytes stand there; -1: none of morphd's */
	int64_t recorded;	    /* that is to stand there; -1: morphd does not know the path */
	bool mounted;		    /* over the packaged file */
	char expected[DIGEST_TEXT]; /* SHA-256; "": unknown */
	char actual[DIGEST_TEXT], below[DIGEST_TEXT]; /* below: of the packaged file under a mount */
	struct package_file package;
	bool package_complains;
	char text[400];
	char rebuilt[400]; /* --rebuild: what came of it */
};

/**
 * verify_check() - everything about the file at @path that can be seen with the caller's rights
 * @program: NULL: morphd does not know it
 * @store: directory, "" when it cannot be read
 */
void verify_check(const struct settings *settings, char *path, const struct record_program *program,
		  const char *store, struct verdict *ret);

/**
 * verify_rebuild() - repeat the edit that made generation @number, and compare
 * Return: 1: the same bytes; 0: other ones; negative: it cannot be repeated here; @ret->rebuilt says it in any case.
 */
int verify_rebuild(const struct settings *settings, const struct record_program *program, int64_t number,
		   const char *store, struct verdict *ret);

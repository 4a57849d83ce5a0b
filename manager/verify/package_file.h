/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * package_file.h - what the package manager thinks a file's bytes are
 *
 * dpkg has MD5 digests in ADMINDIR/info/PACKAGE.md5sums (dpkg --verify and debsums compare with these), RPM has
 * digests in its database (rpm -V), which rpm(8) is asked for. Configuration files have no entry there.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/fault.h"

#define PACKAGE_DIGEST_TEXT 129

struct package_file {
	char package[256]; /* "" : no package that tells digests has this file */
	char digest[PACKAGE_DIGEST_TEXT];
};

/**
 * package_file_find() - who shipped the file at @path, and with which digest
 * @root: "" or a directory that stands for "/"
 * Return: 0, also when nobody did; -errno.
 */
int package_file_find(const char *root, const char *path, struct package_file *ret, struct fault *reterr);

/** package_file_matches() - has the open file the digest? MD5, SHA-1, SHA-256 ... by its length. 1, 0, or -errno */
int package_file_matches(const struct package_file *file, int fd, struct fault *reterr);

/** package_line_parse() - a line of md5sums for the file @path ("usr/bin/x")? Its digest into @ret. */
bool package_line_parse(const char *line, const char *path, char ret[PACKAGE_DIGEST_TEXT]);

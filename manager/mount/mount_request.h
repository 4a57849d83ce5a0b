/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * mount_request.h - how morphd asks morph-mount, over a socket that only root can open
 *
 *	sync PATH\n	->	ok N\n			N: 1 a generation is mounted there, 0 the packaged file stands there
 *	sync\n		->	ok N\n			all of them; N are mounted
 *			->	error ERRNO TEXT\n
 *
 * One request a connection. Nothing in a request says what is mounted: that is in the records.
 */

#include <stdbool.h>

#include "manager/mount/mount_place.h"

#define MOUNT_REQUEST_MAX (PATH_MAX + 16)

/** mount_request_parse() - @text without its line end; the path in @retpath, "" for all; false: not a request */
bool mount_request_parse(const char *text, char retpath[PATH_MAX]);

/**
 * mount_request_send() - ask the helper that listens at @socket; @path NULL: all
 * Return: what mount_place_sync() returned there (or the number, for all); -ECONNREFUSED with what to do.
 */
int mount_request_send(const char *socket, const char *path, struct fault *reterr);

/** mount_request_serve() - answer one connection, if the other side is root (or as ourselves) */
int mount_request_serve(const struct mount_place *place, int fd, struct fault *reterr);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * confined.h - does AppArmor confine a program by its path? A copy elsewhere would run without its profile.
 *
 * Source: apparmor.d(5): a profile is "PATH {" or "profile NAME PATH {", at the beginning of a line in /etc/apparmor.d.
 */

#include <limits.h>
#include <stdbool.h>

/**
 * confined_by() - the file in /etc/apparmor.d with a profile for @path
 * @root: "" or a directory that stands for "/"
 * Return: true with @ret; false: there is none, or AppArmor is off
 */
bool confined_by(const char *root, const char *path, char ret[PATH_MAX]);

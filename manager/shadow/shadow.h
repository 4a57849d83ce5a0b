/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * shadow.h - activation = shadow: generations beside the programs, found first by whoever puts a directory first in PATH
 *
 * For `morphd --user`, which may change no packaged file. The program at its path stays as it is. Its generation is a
 * file STATE/shadow/HASH-NUMBER/NAME, HASH being of the path; names in shadow_directory lead to it (links.h). All of the
 * directory follows from the database and the file system: a name leads to a generation while
 *
 *	1. the database says that it is the one at a path (target.generation), and has it there
 *	2. the file at that path is the one that the database knows, by inode, change time and size
 *	3. the name means that very file to a shell without the directory (search.h)
 *
 * shadow_refresh() sees to it, whatever happened meanwhile; shadow_watch.h calls it when something changes.
 */

#include "manager/keep/catalog.h"
#include "manager/keep/context.h"
#include "manager/place/replace.h"

/** shadow_has() - is generation @number of the program at @path there? Not whether a name leads to it */
bool shadow_has(const struct manager *manager, const char *path, int64_t number);

/**
 * shadow_check() - could this program have a generation in the directory?
 * Return: 0; -EPERM with the reason: it has privileges, AppArmor confines it by its path, it looks for libraries beside itself,
 * no name leads to it, ...; -EACCES, -EEXIST: of the directory (links_check())
 */
int shadow_check(const struct manager *manager, const struct replacement *file, struct fault *reterr);

/**
 * shadow_put() - generation @to of the program @file at @path, whose bytes are @from_fd; no name leads to it yet
 * Return: 0; -EBADMSG: damaged; -ENOSPC, ...: then it is not there
 */
int shadow_put(struct manager *manager, const struct replacement *file, const char *path,
	       const struct generation_row *to, int from_fd, struct fault *reterr);

/** shadow_refresh() - the directory is what it should be; generations that no name leads to are deleted */
int shadow_refresh(struct manager *manager, struct fault *reterr);

/** shadow_drop() - the same, as if @path had none; 0 also when it had none */
int shadow_drop(struct manager *manager, const char *path, struct fault *reterr);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * pending.h - samples of files that morphd has not verified
 *
 * Such a file is a module of its own, by device, inode, change time and size, whatever build ID it carries and whatever it
 * is called; nothing of it is added to a program that morphd knows. Counts of a few of them are kept for a while: when
 * morphd verifies that very file (verified.h), they become its generation's. Each group of users (tally_user()) has places
 * of its own, so that nobody's files push out others'.
 */

#include "manager/keep/catalog.h"
#include "profiles/samples/sample_log.h"

#define PENDING_FILES 16     /* of one group of users */
#define PENDING_COUNTS 20000 /* different offsets of one file */
#define PENDING_KEPT_NS (7ll * 86400 * 1000000000)

#define PENDING_KEY_MAX 128
/** pending_key() - of the module row that stands for this file */
void pending_key(const struct file_identity *file, char ret[PENDING_KEY_MAX]);

/** pending_add() - inside a transaction: keep the counts of an unverified file with module row @module */
int pending_add(struct state *state, int64_t module, const struct sample_module *from, struct fault *reterr);

/** pending_adopt() - what is kept of files that were verified since becomes their generations'; *retn: files. Own transaction. */
int pending_adopt(struct state *state, uint64_t half_life_s, unsigned *retn, struct fault *reterr);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * request.h - what users ask of morphd
 *
 * @path: as the user wrote it; symbolic links are followed.
 */

#include "manager/act/queue.h"
#include "manager/keep/kept.h"

/**
 * request_reoptimize() - edit the module installed at @path as soon as it is its turn: queue_run() follows
 * @done: see queue_add()
 * Return: 0: @done will be called; negative with @reterr: it will not.
 */
int request_reoptimize(struct manager *manager, const char *path, edit_done done, void *userdata,
		       struct fault *reterr);

/**
 * request_tuned() - somebody measured the program at @path: the best generation is put into place, or the shipped file back
 * @directory: name of a directory in the state directory, "tuned.XXXXXX", with the best generation as morph-tune(1) leaves it
 *	there; "": the shipped file is best; "active": what stands there is
 * @text: what was measured, in a sentence
 * Return: 1: done, @done will not be called; 0: it will, when queue_run() has followed; negative with @reterr
 */
int request_tuned(struct manager *manager, const char *path, const char *directory, const char *text,
		  edit_done done, void *userdata, struct fault *reterr);

/** request_rollback() - @number: 0 the shipped file, or an earlier generation */
int request_rollback(struct manager *manager, const char *path, int64_t number, char *rettext, size_t size,
		     struct fault *reterr);
/** request_rollback_all() - every target back to its shipped file; *retn: how many were */
int request_rollback_all(struct manager *manager, unsigned *retn, struct fault *reterr);
int request_pin(struct manager *manager, const char *path, const char *reason, struct fault *reterr);
int request_unpin(struct manager *manager, const char *path, struct fault *reterr);
/** request_pin_part() - a function or an optimization of a program stays as shipped, or not; edits to come do so */
int request_pin_part(struct manager *manager, const struct kept_row *part, struct fault *reterr);
int request_unpin_part(struct manager *manager, const char *path, const char *kind, const char *name,
		       struct fault *reterr);
/** request_pardon() - forget that a generation of the program at @path crashed, or was rolled back by request */
int request_pardon(struct manager *manager, const char *path, struct fault *reterr);

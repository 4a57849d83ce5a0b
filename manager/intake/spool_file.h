/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * spool_file.h - one file of the spool directory: read whole, deleted, or set aside as damaged
 *
 * Whatever stands in that directory, reading it does no harm: links are not followed, pipes not waited
 * for, nothing is mapped, sizes are limited.
 */

#include "base/bytes.h"
#include "base/fault.h"
#include "manager/keep/context.h"
#include "manager/keep/digest.h"

#define SPOOL_DAMAGED "damaged"	     /* directory in the spool */
#define SPOOL_DAMAGED_MAX 64	     /* files that are kept there */
#define SPOOL_MAX_BYTES (256u << 20) /* of one file */
#define SPOOL_REMEMBERED 65536	     /* taken files whose identity is kept */

struct spool_file {
	const char *name; /* borrowed */
	int dir_fd;	  /* owned */
	struct buffer bytes;
	char digest[DIGEST_TEXT];
};

/** spool_file_read() - -EBADMSG for what will not get better by waiting; @ret is valid in any case */
int spool_file_read(const char *spool, const char *name, struct spool_file *ret, struct fault *reterr);
void spool_file_done(struct spool_file *file);

/** spool_file_set_aside() - move a damaged file to SPOOL_DAMAGED, and say why in the journal */
int spool_file_set_aside(struct manager *manager, const struct spool_file *file, const struct fault *why,
			 struct fault *reterr);

/** spool_file_remember() - inside a transaction: 0: entered as taken, under *retserial; 1: was taken before */
int spool_file_remember(struct manager *manager, const struct spool_file *file, int64_t *retserial,
			struct fault *reterr);

/** spool_file_delete() - after that transaction */
int spool_file_delete(struct manager *manager, const struct spool_file *file, struct fault *reterr);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * memo.h - what one edit of a program found out that the next one needs again (docs/format-memo.md)
 *
 * Most of an edit's time goes into what does not depend on the profile: unpacking the IR, generating the shipped code, and
 * proving what hangs on facts. A memo holds it, for one program and one compiler (its key). What is taken out of it:
 *
 *	IR	is compared with the SHA-256 that the program carries
 *	code	is linked and compared with the shipped file; that does not show where its relocations lead, so a memo is
 *		taken only from whoever may decide what the program does: see docs/security.md
 *	proofs	are found by the names of all that took part
 *	halves	the code of the cold halves of modules whose object cannot be kept, likewise
 *
 * A generation is the same, to the byte, with a memo and without.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/fault.h"
#include "base/macro.h"
#include "base/sha256.h"

#define MEMO_VERSION 1u
#define MEMO_KEY_BYTES 16u	/* of an entry of a table */
#define MEMO_ENTRIES_MAX 16384u /* of a table; what was not asked for goes first */

/* Two pieces, two tables. */
enum memo_part { MEMO_IR, MEMO_CODE, MEMO_PROOFS, MEMO_HALVES, MEMO_PARTS };
#define MEMO_TABLES MEMO_PROOFS /* the first */

struct memo;

/** memo_new() - empty, for what @key stands for; NULL: no memory */
struct memo *memo_new(const uint8_t key[SHA256_BYTES]);
void memo_free(struct memo *memo); /* accepts NULL */
DEFINE_CLEANUP(struct memo *, memo_free);

/**
 * memo_read() - what an earlier edit wrote; foreign bytes
 * @bytes: borrowed until memo_free()
 * Return: 0; -EBADMSG: damaged, -EPROTONOSUPPORT: not a memo, or of another version, -ESTALE: of another program or
 * compiler, -ENOMEM: with @reterr. After an error the memo is empty, and can be filled.
 */
int memo_read(struct memo *memo, const void *bytes, size_t size, struct fault *reterr);

/**
 * memo_get() - the bytes of a part that was read, of at most @max
 * @ret: owned by the caller. Return: 0; -ENOENT: there is none; -EBADMSG, -ENOMEM
 */
int memo_get(const struct memo *memo, enum memo_part part, uint64_t max, struct buffer *ret);

/**
 * memo_put() - instead of what was read: MEMO_IR or MEMO_CODE
 * @path: where it waits for memo_write(), so that it takes no memory until then; the caller's to remove, after memo_free()
 * Return: 0; -ENOMEM, -EFBIG, -errno: with @reterr
 */
int memo_put(struct memo *memo, enum memo_part part, const void *bytes, size_t size, const char *path,
	     struct fault *reterr);

/**
 * memo_find() - what a table has for @key
 * @ret: borrowed until the next memo_add(). Return: has it anything?
 */
bool memo_find(struct memo *memo, enum memo_part table, const uint8_t key[MEMO_KEY_BYTES],
	       struct reader *ret);
/** memo_add() - what it does not have yet; 0 or -ENOMEM */
int memo_add(struct memo *memo, enum memo_part table, const uint8_t key[MEMO_KEY_BYTES], const void *bytes,
	     size_t size);

/** memo_write() - all of it, in @ret; empty when nothing is new since memo_read(). 0 or -ENOMEM, -EFBIG */
int memo_write(const struct memo *memo, struct buffer *ret);

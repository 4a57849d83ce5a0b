/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * sidecar.h - Morph data in a file of its own, beside the program that it describes
 *
 * A sidecar is found by build ID (DIR/ab/cdef....morph), like debug files. Anybody can write a file with any build ID into
 * it, so the program names the one sidecar that is its own: its section .note.morph.sidecar, which is not loaded, has
 * the SHA-256 of the whole sidecar. Whoever ships the program thereby vouches for both.
 */

#include "base/bytes.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/sha256.h"
#include "module/image.h"

#define SIDECAR_DIR "/usr/lib/morph/.build-id"
#define SIDECAR_FETCHED_DIR "/var/lib/morph/sidecars" /* what morphd or root fetched (morph-fetch) */
#define SIDECAR_NOTE_SECTION ".note.morph.sidecar"

/** sidecar_path() - @dir: NULL for SIDECAR_DIR. Return: 0; -ENODATA: no build ID; -ENAMETOOLONG */
int sidecar_path(const struct build_id *id, const char *dir, char *ret, size_t size);

/**
 * sidecar_locate() - the path of the sidecar that is there: in @dir, or, @dir being NULL, in SIDECAR_DIR or SIDECAR_FETCHED_DIR
 * Return: 0; -ENOENT: in none, @ret being the first; -ENODATA, -ENAMETOOLONG as sidecar_path()
 */
int sidecar_locate(const struct build_id *id, const char *dir, char *ret, size_t size);

/**
 * sidecar_split() - @image's file without its section .morph, and with the note of a sidecar of @bytes, into @ret
 * Return: 0; -errno with @reterr
 */
int sidecar_split(const struct image *image, const void *bytes, size_t size, struct buffer *ret,
		  struct fault *reterr);

/**
 * sidecar_check() - are @bytes the sidecar that @image names? @path is for messages
 * Return: 0; -EBADMSG: another one, or it names none; -ENOMEM: with @reterr
 */
int sidecar_check(const struct image *image, const void *bytes, size_t size, const char *path,
		  struct fault *reterr);

/** sidecar_named() - the SHA-256 of the sidecar that @image names. Return: 0; -ENODATA: it names none */
int sidecar_named(const struct image *image, uint8_t ret[SHA256_BYTES]);

/**
 * sidecar_open() - the sidecar that @image names, from @dir (NULL: SIDECAR_DIR, else SIDECAR_FETCHED_DIR), checked
 * Return: 0; -ENODATA: the file names none, and so carries no Morph data at all; -ENOENT: the one that it names is not there;
 * other -errno as sidecar_check(), with @reterr
 */
int sidecar_open(const struct image *image, const char *dir, struct file_map *ret, struct fault *reterr);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * morph_data.h - what a Morph executable carries: IR, block map, link plan
 *
 * One container (kind CONTAINER_MORPH) in the non-allocated section `.morph`, or alone in a sidecar (sidecar.h).
 * docs/format-morph.md describes the bytes.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/fault.h"
#include "base/json.h"
#include "base/sha256.h"
#include "module/block_map.h"
#include "module/build_id.h"
#include "module/image.h"
#include "module/link_plan.h"

#define MORPH_DATA_VERSION 9u
#define MORPH_SECTION ".morph"

enum morph_lto { MORPH_LTO_THIN = 1, MORPH_LTO_FULL = 2 };

struct morph_module {
	char *name; /* as the linker named it; for messages and golden files */
	const uint8_t *
		bitcode; /* what codegen saw: optimized IR, borrowed from @ir; NULL before morph_data_unpack() */
	size_t size;
};

struct morph_data {
	struct build_id build_id; /* of the file that carries this */
	struct build_id
		origin;	    /* of the shipped file that a generation was made from; size 0: shipped itself */
	char *llvm_version; /* "22.1.8": the codegen that made the shipped text */
	char *triple;
	char *selftest;	 /* packager's command, or NULL */
	char *benchmark; /* likewise: what the program is to be fast at */
	enum morph_lto lto;
	unsigned opt_level; /* of the LTO codegen: 0..3 */
	unsigned lto_level; /* of the LTO passes: 0..3 */
	bool strips;	    /* the shipped link dropped the symbol table (-s) */
	bool pic;	    /* relocation model of the codegen: PIC, else static */
	char *cpu;	    /* -mcpu of the link, or NULL; functions carry their own, too */
	char **options;	    /* owned; what the link said with -mllvm that is not ours, "-NAME=VALUE" */
	size_t n_options;
	struct block_map *map;	      /* of the shipped file; owned */
	struct link_plan *plan;	      /* owned */
	const struct image *image;    /* borrowed; the file that carries this, beside whose loaded bytes IR is
					 packed and unpacked; NULL: none is known */
	struct morph_module *modules; /* in the linker's order */
	size_t n_modules;
	struct buffer payload;	/* owned; what @packed borrows */
	struct buffer fields;	/* owned; what the plan borrows */
	const uint8_t *ir_hash; /* SHA-256 of the modules, SHA256_BYTES; NULL where there are none */
	const uint8_t *packed;	/* the IR as the container holds it */
	size_t n_packed;
	struct buffer ir; /* owned; all modules */
};

/**
 * morph_data_encode() - deterministic; 0 or -ENOMEM, -EFBIG
 * What of the IR stands in @data's image, block map or link plan takes next to nothing (bitcode_prior.h).
 */
int morph_data_encode(const struct morph_data *data, struct buffer *retcontainer);
/** morph_data_encode_head() - append the payload up to the IR's hash; for those who test with IR of their own; 0 or -ENOMEM */
int morph_data_encode_head(const struct morph_data *data, struct buffer *ret);
/**
 * morph_data_hash() - of all that @data says, but for its build ID: IR, link plan, options, self-test, benchmark, block map
 * @data's modules must be there, or unpacked. What was hashed before in @hash counts, too. Return: 0 or -ENOMEM
 */
int morph_data_hash(const struct morph_data *data, struct sha256 *hash);
/** morph_data_decode() - foreign bytes; -EBADMSG, -EPROTONOSUPPORT, -ENOMEM with @reterr; no image is known */
int morph_data_decode(const void *container, size_t size, struct morph_data **ret, struct fault *reterr);
/**
 * morph_data_unpack() - the IR of data that was decoded, for those who compile it
 * Most readers want the block map alone, and unpacking takes ten times as long as everything else
 * (1 s a million bytes of IR, and 50 ms). Does nothing the second time.
 * The image must still be open. What comes out is compared with its SHA-256: IR that was packed beside other
 * loaded bytes, or is damaged, is an error.
 * Return: 0; -EBADMSG, -ENOMEM with @reterr.
 */
int morph_data_unpack(struct morph_data *data, struct fault *reterr);
/**
 * morph_data_give() - what morph_data_unpack() once made of the same data; it is compared with its SHA-256, too
 * @ir: taken over when 0 is returned. Return: 0; -EBADMSG: it is not that, -ENOMEM: with @reterr.
 */
int morph_data_give(struct morph_data *data, struct buffer *ir, struct fault *reterr);
/** morph_data_forget() - the IR is not needed any more, and its memory given back; unpacked, it is there again */
void morph_data_forget(struct morph_data *data);
/** morph_data_dump() - everything but the IR itself, as text for people and golden files */
void morph_data_dump(const struct morph_data *data, FILE *out);
void morph_data_dump_json(const struct morph_data *data, FILE *out);
/** morph_data_modules_json() - the array "modules" of it: names and sizes of the IR */
void morph_data_modules_json(const struct morph_data *data, struct json *json);
void morph_data_free(struct morph_data *data); /* accepts NULL */
DEFINE_CLEANUP(struct morph_data *, morph_data_free);

/**
 * morph_data_load() - of an opened file: its section, else the sidecar for its build ID
 * @image:       must outlive what is returned, as far as that is unpacked
 * @sidecar_dir: NULL for SIDECAR_DIR and SIDECAR_FETCHED_DIR
 * Return: 0; -ENODATA when the file carries nothing and names no sidecar; -ENOENT when the one that it names is not there; -EBADMSG when what was
 * found is damaged, belongs to another build ID, or is not the sidecar that the file names, or
 * would take more than four times the memory that they take on the disk; @reterr says which.
 */
int morph_data_load(const struct image *image, const char *sidecar_dir, struct morph_data **ret,
		    struct fault *reterr);

/* What morph_data_peek() finds. */
struct morph_peek {
	struct build_id build_id;
	struct build_id origin; /* size 0: a shipped file, with IR; else a generation */
	char llvm_version[64];
};

/**
 * morph_data_peek() - whether an opened file carries Morph data, and made by what, at next to no cost
 * For those who only want to know: reads the first fields and unpacks nothing else, so a file that
 * claims to hold gigabytes costs what its own size does.
 * Return: as morph_data_load().
 */
int morph_data_peek(const struct image *image, const char *sidecar_dir, struct morph_peek *ret,
		    struct fault *reterr);

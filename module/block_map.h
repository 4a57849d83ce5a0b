/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * block_map.h - what every address of one linked file means in terms of the shipped IR
 *
 * One per generation. It joins three things the linker leaves in the file:
 *	.llvm_bb_addr_map	functions, machine blocks (ID, address, size), successors and the
 *				compiler's static branch probabilities (LLVM Extensions.rst; versions 2..5)
 *	.pseudo_probe		which IR blocks (function GUID, probe index) stand in a machine block
 *	.pseudo_probe_desc	GUID -> CFG hash and name
 *
 * Blocks of a function are contiguous in blocks[], in layout order; a function split into several
 * address ranges is still one function. Everything is indices into flat arrays; the map owns all of it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/fault.h"
#include "module/build_id.h"
#include "module/image.h"

#define BLOCK_MAP_VERSION 1u
#define BLOCK_NONE UINT32_MAX

enum block_flag {
	BLOCK_RETURNS = 1 << 0, /* ends in a return */
	BLOCK_TAIL_CALLS = 1 << 1,
	BLOCK_IS_EH_PAD = 1 << 2,
	BLOCK_FALLS_THROUGH = 1 << 3, /* control may run into the next block in layout order */
	BLOCK_JUMPS_INDIRECT = 1 << 4,
};

struct block {
	uint64_t address; /* virtual, before relocation */
	uint32_t size;	  /* bytes; 0 is possible */
	uint32_t id;	  /* the compiler's, stable between codegens of the same IR; entry: 0 */
	uint32_t flags;	  /* enum block_flag */
	uint32_t first_edge, n_edges;
	uint32_t first_call, n_calls; /* offsets of the ends of call instructions */
	uint32_t first_probe, n_probes;
	double count; /* executions by the compiler's own reckoning; see has_counts; not encoded */
};

struct block_edge {
	uint32_t target;      /* index in blocks[], same function */
	uint32_t probability; /* static, numerator over 2^31; 0: unknown */
};

/*
 * Block probes only. The call probes that LLVM adds under -g carry the GUID of the inlined callee beside
 * an index counted in the caller (PseudoProbeInserter, 22.1.8): counted, they would name wrong blocks.
 */
struct block_probe {
	uint64_t guid;	/* IR function the probe was placed in */
	uint32_t index; /* 1-based IR block number in that function */
	uint32_t type;	/* 0: block */
};

struct block_function {
	uint64_t address;
	uint64_t guid;	  /* that of its own probes; low 64 bits of MD5(name) when it has none */
	const char *name; /* the symbol's; NULL when there is none */
	uint32_t first_block, n_blocks;
	bool has_counts; /* compiled with a profile and -pgo-analysis-map=all; not encoded */
	uint32_t symbol; /* position in the symbol table: input order for locals; not encoded */
};

/* An IR function as the probe descriptors know it. */
struct block_ir_function {
	uint64_t guid;
	uint64_t cfg_hash; /* changes when the function's IR CFG changes */
	const char *name;
};

struct block_map {
	struct build_id build_id;	  /* of the file that it describes */
	struct block_function *functions; /* sorted by address */
	struct block *blocks;
	struct block_edge *edges;
	uint32_t *calls; /* end offsets of call instructions, from the start of the block */
	struct block_probe *probes;
	struct block_ir_function *ir_functions; /* sorted by GUID */
	size_t n_functions, n_blocks, n_edges, n_calls, n_probes, n_ir_functions;
	uint64_t n_unplaced; /* block probes of the file that stand in no known block */
	/* private to block_map*.c */
	uint32_t *by_address; /* block indices sorted by address */
	struct arena *strings;
};

/**
 * block_map_build() - from the sections of a freshly linked file
 * Return: 0; -ENODATA if it has no address map; -EBADMSG: damaged; -EPROTONOSUPPORT: unknown
 * section version (LLVM newer than this Morph); @reterr says where.
 */
int block_map_build(const struct image *image, struct block_map **ret, struct fault *reterr);

/**
 * block_map_make_unique() - give every function of a shipped file a GUID of its own
 * @map: of a file just linked from IR into which probes were inserted last, so that every function
 *       carries only its own probes; not for generations
 *
 * Functions of one GUID (static functions of one name in several modules; under -g also clones, since
 * LLVM hashes the source name) would share their counts. Of those, the one whose symbol name hashes to
 * the GUID keeps it, the first in symbol table order if there are several; every other gets
 * block_map_unique_guid(). A tool that holds the IR finds the same numbers: over the modules in link
 * order, @ordinal counts the earlier definitions of that name with that probe GUID.
 * Return: 0 or -ENOMEM.
 */
int block_map_make_unique(struct block_map *map);
/**
 * block_map_unique_guid() - low 64 bits of MD5(@name) for @ordinal 0; else of the MD5 of that number and
 * @ordinal, sixteen bytes little-endian
 */
uint64_t block_map_unique_guid(const char *name, unsigned ordinal);

/** block_map_encode() - the compact form kept in .morph and in the store (docs/format-block-map.md) */
int block_map_encode(const struct block_map *map, struct buffer *ret);
/** block_map_decode() - the inverse; for foreign bytes: -EBADMSG with @reterr, never a wild index */
int block_map_decode(const void *bytes, size_t size, struct block_map **ret, struct fault *reterr);

void block_map_free(struct block_map *map); /* accepts NULL */
DEFINE_CLEANUP(struct block_map *, block_map_free);

/* For whoever makes a map by other means. */
/** block_map_intern() - a NUL-terminated copy that lives as long as the map; NULL: no memory */
const char *block_map_intern(struct block_map *map, const char *s, size_t n);
/** block_map_index() - (re)build what block_map_find() searches; 0 or -ENOMEM. O(n log n) */
int block_map_index(struct block_map *map);

/** block_map_find() - index of the block that contains @address, or BLOCK_NONE. O(log n_blocks) */
uint32_t block_map_find(const struct block_map *map, uint64_t address);
/** block_map_function_at() - index of the function that begins at @address, or BLOCK_NONE. O(log n_functions) */
uint32_t block_map_function_at(const struct block_map *map, uint64_t address);
/** block_map_function_of() - index of the function that owns block @block. O(log n_functions) */
uint32_t block_map_function_of(const struct block_map *map, uint32_t block);
/** block_map_ir_function() - by GUID, or NULL */
const struct block_ir_function *block_map_ir_function(const struct block_map *map, uint64_t guid);

/**
 * block_map_adopt_probes() - give blocks without probes those of the same block in another link, and its count
 * @map:  of code that was generated with its probes hidden
 * @from: of the same code, probes and counts included (has_counts), in another block order
 * Functions match by name, blocks by ID; what has probes keeps them. What has probes and no counts there must be the only
 * one of its name. Return: 0 or -ENOMEM.
 */
int block_map_adopt_probes(struct block_map *map, const struct block_map *from);

/** block_map_dump() - text for people and golden files */
void block_map_dump(const struct block_map *map, FILE *out);
void block_map_dump_json(const struct block_map *map, FILE *out);
struct json;
/** block_map_json() - the same as a member @key of an object that is being written */
void block_map_json(const struct block_map *map, struct json *json, const char *key);

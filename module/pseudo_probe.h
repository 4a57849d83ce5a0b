/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * pseudo_probe.h - reads .pseudo_probe and .pseudo_probe_desc (private to the block map)
 *
 * Format: LLVM 22 MCPseudoProbe.h. Addresses are deltas from the start of the function whose symbol
 * name hashes to a GUID, hence the symbol table is needed; see struct probe_bases.
 */

#include "base/fault.h"
#include "module/bb_addr_map.h"
#include "module/image.h"

struct probe_base {
	uint64_t guid; /* of the symbol's name */
	uint64_t address;
	const char *name; /* borrowed from the image */
	uint32_t symbol;
};

/* Where functions start, by the hash of their symbol names. */
struct probe_bases {
	struct probe_base *bases; /* owned; sorted by GUID, then address */
	size_t n_bases;
};

int probe_bases_init(struct probe_bases *bases, const struct image *image);
void probe_bases_done(struct probe_bases *bases);

struct pseudo_probe {
	uint64_t function; /* address of the function in whose code it stands */
	uint64_t address;
	uint64_t guid;
	uint32_t index;
};

struct pseudo_probes {
	struct pseudo_probe *probes; /* owned; block probes in the order of the section */
	size_t n_probes, capacity;
	uint64_t n_unplaced; /* block probes of functions without a symbol */
};

/**
 * pseudo_probes_read() - append the block probes of one .pseudo_probe section
 * Groups stand in ascending order of their functions' addresses, as the linker leaves them
 * (SHF_LINK_ORDER): that is what tells static functions of one name apart.
 * Return: 0; -EBADMSG; -ENOMEM; @reterr filled.
 */
int pseudo_probes_read(struct pseudo_probes *probes, const struct probe_bases *bases, const void *bytes,
		       size_t size, struct fault *reterr);
void pseudo_probes_done(struct pseudo_probes *probes);

struct probe_descriptor {
	uint64_t guid, cfg_hash;
	const char *name; /* borrowed from the section, not NUL-terminated */
	size_t n_name;
};

struct probe_descriptors {
	struct probe_descriptor *descriptors; /* owned; sorted by GUID, no GUID twice */
	size_t n_descriptors, capacity;
};

int probe_descriptors_read(struct probe_descriptors *descriptors, const void *bytes, size_t size,
			   struct fault *reterr);
void probe_descriptors_done(struct probe_descriptors *descriptors);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * resolver.h - from the number that the sampler gave a file to a module of the catalog
 *
 * A file is looked for once, at the moment it is announced (finder.h). The module is the file as the kernel knows it, in
 * the mount namespace in which it was mapped, run by one user.
 */

#include <stdbool.h>
#include <stdint.h>

#include "monitor/bpf/sampler.h"
#include "monitor/identify/catalog.h"
#include "monitor/identify/finder.h"

struct resolver;

/** resolver_new() - @finder and @catalog are borrowed; without a finder we look ourselves; NULL: out of memory */
struct resolver *resolver_new(struct finder *finder, struct catalog *catalog);
void resolver_free(struct resolver *resolver); /* accepts NULL */
DEFINE_CLEANUP(struct resolver *, resolver_free);

/**
 * resolver_announce() - find the file of a MODULE event
 * @size: bytes of the event, checked
 * Return: its module; CATALOG_NONE when the file cannot be reached (any more), the catalog is full, or out of memory.
 */
uint32_t resolver_announce(struct resolver *resolver, const struct sampler_module_event *event, size_t size);
/** resolver_program() - find the program of a SIGNAL event; false: it cannot be reached (any more) */
bool resolver_program(struct resolver *resolver, const struct sampler_module_event *event, size_t size,
		      struct finder_answer *ret);
/** resolver_find() - the module of what @user ran of the file with this number, or CATALOG_NONE */
uint32_t resolver_find(struct resolver *resolver, uint32_t number, uint32_t user);
/** resolver_is_broken() - the finder is gone: nothing will ever be found again */
bool resolver_is_broken(const struct resolver *resolver);

/** resolver_path() - the path of a MODULE event, in @ret of PATH_MAX bytes; false: none */
bool resolver_path(const struct sampler_module_event *event, size_t size, char *ret);

/** resolver_inode_of() - inode number and generation of the file at @path; -errno */
int resolver_inode_of(const char *path, struct sampler_inode *ret);

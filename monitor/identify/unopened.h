/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * unopened.h - files that were sampled and could not be opened: when are they looked for again?
 *
 * A process may have ended before its file was looked for; the next one may be found in time, so at first the kernel side
 * announces the file again with its next sample. What is not found then (a process of a PID namespace that we do not see, a
 * file system that root cannot read) waits, twice as long each time: it must not cost a question for each sample.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/macro.h"
#include "monitor/bpf/sampler.h"

#define UNOPENED_AT_ONCE 3u    /* times */
#define UNOPENED_FIRST_S 1u    /* the first wait */
#define UNOPENED_LONGEST_S 600 /* ... and the longest */

struct unopened;

struct unopened *unopened_new(void);
void unopened_free(struct unopened *unopened); /* accepts NULL */
DEFINE_CLEANUP(struct unopened *, unopened_free);

/** unopened_waits() - is it too early to look for @file? Times are of CLOCK_MONOTONIC. */
bool unopened_waits(struct unopened *unopened, const struct sampler_file *file, uint64_t now_ns);

/**
 * unopened_failed() - @file was not found
 * Return: true: the kernel side is to forget @retforget now, so that it is announced again: this file, or another that
 * had to give up its room.
 */
bool unopened_failed(struct unopened *unopened, const struct sampler_file *file, uint64_t now_ns,
		     struct sampler_file *retforget);

/** unopened_found() - it is no more one of them */
void unopened_found(struct unopened *unopened, const struct sampler_file *file);

/** unopened_due() - true: one whose time has come, which the kernel side is to forget; once each time */
bool unopened_due(struct unopened *unopened, uint64_t now_ns, struct sampler_file *ret);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * collector.h - from drained rows to sample logs
 *
 *	1. modules announced by the kernel side are resolved at once (collector_event())
 *	2. rows become (module, offset) counts; rows of unknown modules become a named loss. Snapshots of registers
 *	   become branches (observer.h)
 *	3. what tick and reference saw is compared; tick-synchronous modules take the reference's
 *	4. one log with the sums of both clocks, which must obey the law; with whose time it was, and stacks of the main clock,
 *	   where these were asked for
 *
 * Memory: the modules that were sampled lately (catalog.h bounds them) plus one drain's rows.
 */

#include "monitor/bpf/sampler_load.h"
#include "monitor/clock/agreement.h"
#include "monitor/identify/catalog.h"
#include "monitor/identify/finder.h"

struct collector;

/** collector_new() - @finder is borrowed; NULL: we look for files ourselves */
struct collector *collector_new(struct finder *finder);
void collector_free(struct collector *collector); /* accepts NULL */
DEFINE_CLEANUP(struct collector *, collector_free);

/**
 * collector_event() - a MODULE event, or a GROUP
 * Return: true: resolved, or it will not be for a while (unopened.h); false: let @retforget be announced again.
 */
bool collector_event(struct collector *collector, const struct sampler_event *event, size_t size,
		     struct sampler_file *retforget);

/** collector_due() - true: a file that was not resolved, and that is to be announced again now; ask until there is none */
bool collector_due(struct collector *collector, uint64_t now_ns, struct sampler_file *ret);

/** collector_add() - one drained table; 0, -ENOMEM, or -ERANGE when the kernel's counters broke the law */
int collector_add(struct collector *collector, enum sampler_table table,
		  const struct sampler_drained *drained, struct fault *reterr);

/** What a log is about, beside the counts. */
struct collector_head {
	enum sample_source source;
	double rate_hz; /* of both clocks together, per busy CPU */
	uint64_t start_ns, duration_ns;
	uint32_t n_cpus;
	unsigned tables;		/* bit per enum sampler_table: whose samples go into this log */
	struct agreement_clocks clocks; /* step 3, only when the reference ran all the time */
};

/** collector_log() - steps 3 and 4; these tables start afresh. 0, -ENOMEM, or -ERANGE with @reterr when the law is broken */
int collector_log(struct collector *collector, const struct collector_head *head, struct sample_log **ret,
		  struct fault *reterr);

/** collector_program() - file and name of a program that just died; false: it cannot be reached (any more) */
bool collector_program(struct collector *collector, const struct sampler_event *event, size_t size,
		       struct finder_answer *ret);
/** collector_module() - the module of a file, or NULL; valid until the collector is used again */
const struct catalog_module *collector_module(struct collector *collector, const struct sampler_file *file);
/** collector_is_broken() - the finder is gone */
bool collector_is_broken(const struct collector *collector);
size_t collector_n_modules(const struct collector *collector);
size_t collector_n_synchronous(const struct collector *collector);
/** collector_forgotten() - true once after everything was forgotten: the kernel side must announce anew */
bool collector_forgotten(struct collector *collector);

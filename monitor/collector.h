/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * collector.h - from drained rows to sample logs
 *
 *	1. modules announced by the kernel side are resolved at once (collector_event())
 *	2. rows become (module, offset) counts; rows of unknown modules become a named loss. Snapshots of registers
 *	   become branches (observer.h)
 *	3. what tick and reference saw is compared; tick-synchronous modules take the reference's
 *	4. one log with the sums of both clocks, which must obey the law
 *
 * Memory: the modules met so far plus one drain's rows; when more than MAX_MODULES were met, all is
 * forgotten and learned again, so that a build machine that runs for a year stays small.
 */

#include "monitor/agreement.h"
#include "monitor/catalog.h"
#include "monitor/sampler_load.h"

struct collector;

struct collector *collector_new(void);
void collector_free(struct collector *collector); /* accepts NULL */
DEFINE_CLEANUP(struct collector *, collector_free);

/** collector_event() - a MODULE event; true: resolved; false: let it be announced again */
bool collector_event(struct collector *collector, const struct sampler_event *event, size_t size);

/** collector_add() - one drained table; 0, -ENOMEM, or -ERANGE when the kernel's counters broke the law */
int collector_add(struct collector *collector, enum sampler_table table,
		  const struct sampler_drained *drained, struct fault *reterr);

/** What a log is about, beside the counts. */
struct collector_head {
	enum sample_source source;
	double rate_hz;	     /* of both clocks together, per busy CPU */
	uint64_t start_ns, duration_ns;
	uint32_t n_cpus;
	unsigned tables;     /* bit per enum sampler_table: whose samples go into this log */
	struct agreement_clocks clocks; /* step 3, only when the reference ran all the time */
};

/** collector_log() - steps 3 and 4; these tables start afresh. 0, -ENOMEM, or -ERANGE with @reterr when the law is broken */
int collector_log(struct collector *collector, const struct collector_head *head,
		  struct sample_log **ret, struct fault *reterr);

/**
 * collector_program() - the module of a program that just died or started, by the path in its event
 * Return: as collector_module().
 */
const struct catalog_module *collector_program(struct collector *collector,
					       const struct sampler_event *event, size_t size);
/** collector_module() - the module of an inode, or NULL; valid until the collector is used again */
const struct catalog_module *collector_module(struct collector *collector,
					      const struct sampler_inode *inode);
size_t collector_n_modules(const struct collector *collector);
size_t collector_n_synchronous(const struct collector *collector);
/** collector_forgotten() - true once after everything was forgotten: the kernel side must announce anew */
bool collector_forgotten(struct collector *collector);
/** collector_stale() - the next inode that was rewritten in place; false: no more */
bool collector_stale(struct collector *collector, struct sampler_inode *ret);

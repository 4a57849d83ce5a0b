/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * observer.h - the branches that the registers of a sample tell about (interpret.h), in numbered modules
 *
 * Each module's file is opened once, for its code and its constants. Memory that a program writes is gone by the time a
 * ring is read, so what depends on it stays unknown. x86-64 only; elsewhere nothing is observed.
 */

#include "monitor/catalog.h"
#include "monitor/perf_record.h"
#include "monitor/space.h"

struct observer;

struct observer *observer_new(struct catalog *catalog); /* borrowed */
void observer_free(struct observer *observer);		/* accepts NULL */
DEFINE_CLEANUP(struct observer *, observer_free);

/**
 * observer_sample() - count in @branches the jumps that lie ahead of @record and were decided
 * @range: the mapping that record->ip lies in. Return: 0 or -ENOMEM. Cost: some microseconds
 */
int observer_sample(struct observer *observer, const struct perf_record *record, const struct space_range *range,
		    struct histogram *branches);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * observer.h - the branches that the registers of a sample tell about (interpret.h), in numbered modules
 *
 * Each module's file is opened once, for its code and its constants. Memory that a program writes is gone by the time
 * samples are looked at, so what depends on it stays unknown. Where no interpreter is (arch/interpret.h), nothing is observed.
 */

#include "arch/interrupted.h"
#include "monitor/identify/catalog.h"

struct observer;

/** observer_supported() - 0; -ENOTSUP, and @reterr says so: built for an architecture that is not interpreted */
int observer_supported(struct fault *reterr);

struct observer *observer_new(struct catalog *catalog); /* borrowed */
void observer_free(struct observer *observer);		/* accepts NULL */
DEFINE_CLEANUP(struct observer *, observer_free);

/**
 * observer_look() - count in @branches the jumps that lie ahead of a sample and were decided
 * @offset: in the module's file, of registers->ip. Return: 0 or -ENOMEM. Cost: some microseconds
 */
int observer_look(struct observer *observer, uint32_t module, uint64_t offset,
		  const struct interrupted *registers, struct histogram *branches);

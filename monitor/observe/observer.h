/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * observer.h - the branches that the registers of a sample tell about (interpret.h), in numbered modules
 *
 * Each module's file is opened once, for its code and its constants. Memory that a program writes is gone by the time
 * samples are looked at, so what depends on it stays unknown. x86-64 only; elsewhere nothing is observed.
 */

#include "monitor/identify/catalog.h"

/* Of a program interrupted in user mode, general ones by their numbers in x86-64's instructions. */
struct observer_registers {
	uint64_t general[16], ip, flags;
};

struct observer;

struct observer *observer_new(struct catalog *catalog); /* borrowed */
void observer_free(struct observer *observer);		/* accepts NULL */
DEFINE_CLEANUP(struct observer *, observer_free);

/**
 * observer_look() - count in @branches the jumps that lie ahead of a sample and were decided
 * @offset: in the module's file, of registers->ip. Return: 0 or -ENOMEM. Cost: some microseconds
 */
int observer_look(struct observer *observer, uint32_t module, uint64_t offset,
		  const struct observer_registers *registers, struct histogram *branches);

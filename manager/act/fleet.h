/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * fleet.h - what this machine counts, handed over to a fleet, where morphd.conf names a credential
 *
 *	1. the database was not visited for `fleet_interval`, or up to an eighth longer, and a program that may be told of has
 *	   enough new samples (news.h): then all such programs are collected for one visit, since most of what a visit costs is
 *	   the same for one batch and for twenty
 *	2. for each a job makes a profile of these samples alone: a batch, with a number, in morphd's database
 *	3. a job with a network (morph-fleet) hands batches over, in the order of their numbers, and says what became of each
 *	4. what was taken, or never will be, is forgotten; what was not waits: a minute, two, at last four hours
 *
 * One job at a time, beside edits. When morphd starts, a visit is due for programs without a batch for half of the interval.
 */

#include "manager/keep/context.h"

struct handover;

/** fleet_open() - make room for news, if the configuration names a fleet: when morphd starts, and after it was read again */
int fleet_open(struct manager *manager, struct fault *reterr);

/** fleet_tick() - start the next job, if there is one to do and none under way. What goes wrong is logged: edits go on */
void fleet_tick(struct manager *manager);

/** fleet_stop() - end the one under way. Accepts NULL */
void fleet_stop(struct handover *handover);

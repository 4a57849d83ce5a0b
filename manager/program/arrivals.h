/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * arrivals.h - programs that packages installed, before anybody ran them
 *
 * Beside a sidecar, <build>.morph, its package has a link <build>.program to the program that it is of (dh_morph(1)). A
 * program that others have counted, in a prior beside it or in a fleet, is entered when its package is installed;
 * others are when they are sampled. A directory is looked at again when it has changed, and not while packages are
 * being installed. The link is only a hint: what it leads to is looked at as any other file is (installed.h).
 */

#include "manager/keep/context.h"

/** arrivals_tick() - enter what is new, at most ARRIVALS_AT_ONCE; look again at priors of packages */
#define ARRIVALS_AT_ONCE 32
int arrivals_tick(struct manager *manager, struct fault *reterr);

/** arrivals_forget() - look at all directories again: the configuration has changed */
void arrivals_forget(struct manager *manager);

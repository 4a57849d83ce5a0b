/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * outcome.h - what came of the trials: as tables for people, and as JSON (bench/README.md)
 */

#include "bench/accuracy/trial.h"

int outcome_show(const struct trial *trial);			    /* on standard output; 0 or -errno */
int outcome_write(const struct trial *trial, struct fault *reterr); /* to trial->json */

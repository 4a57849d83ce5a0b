/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * outcome.h - why a job did not do what it should, in a sentence
 */

#include "manager/job/job.h"

/**
 * outcome_failure() - of a job whose file "log" is in the directory @place, and whose first output is what it is for
 * @silent: what to say of a command that failed and said nothing
 * Return: NULL: it ran, ended with status 0, and wrote that file; else @text
 */
const char *outcome_failure(const struct job_end *end, const char *place, const char *silent, char *text,
			    size_t size);

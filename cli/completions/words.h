/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * words.h - what may follow on the command line, for the completions in cli/completions/
 */

#include "cli/verb.h"

/** words_print() - after the verb and subcommand in @argv; VERB_USAGE when there is no such verb */
int words_print(int argc, char **argv);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * log.h - what the programs (never the libraries) say on standard error
 *
 * One line a message, cleaned by text.h. When standard error is the journal (JOURNAL_STREAM is set) lines carry the
 * "<N>" priority prefix of sd-daemon(3), otherwise the program's name.
 */

#include <stdbool.h>

#include "base/macro.h"

enum log_level { LOG_LEVEL_ERROR = 3, LOG_LEVEL_WARNING = 4, LOG_LEVEL_INFO = 6, LOG_LEVEL_DEBUG = 7 };

/** log_init() - @program: prefix, borrowed for ever; @max: the least important level that is shown */
void log_init(const char *program, enum log_level max);
void log_message(enum log_level level, const char *fmt, ...) _printf_(2, 3);

#define log_error(...) log_message(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_message(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...) log_message(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_message(LOG_LEVEL_DEBUG, __VA_ARGS__)

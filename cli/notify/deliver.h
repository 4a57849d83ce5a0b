/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * deliver.h - a few lines of text to somebody, by mail or on a desktop
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/fault.h"

/** deliver_is_address() - may it stand in a mail's header? No second header, no option, no word of a shell */
bool deliver_is_address(const char *text);

/** deliver_mail() - by sendmail(8), which becomes this process's child with its standard input. 0; -errno, -ECHILD */
int deliver_mail(const char *address, size_t n_lines, const char *body, struct fault *reterr);

/** deliver_desktop() - by the portal of this session, else its notification service; -errno when there is neither */
int deliver_desktop(const char *body, struct fault *reterr);

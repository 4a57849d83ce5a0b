/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/bytes.h"
#include "base/fault.h"

/** output_write() - all of @bytes into the file @path, wholly or not at all; NULL: to standard output. 0 or -errno */
int output_write(const char *path, const struct buffer *bytes, struct fault *reterr);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** x86_text() - text() of struct arch: Intel's syntax, by Zydis's formatter */
bool x86_text(const uint8_t *code, size_t size, uint64_t address, char *ret, size_t n);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * trace.h - which files the link really used, from what `ld.lld --trace` printed
 *
 * One line an input, in the order of the link: "crt1.o", "libfoo.a(member.o)", "/lib/libc.so.6".
 */

#include "base/bytes.h"
#include "base/fault.h"
#include "module/link_plan.h"

/**
 * trace_plan() - add to @plan every native object, then LINK_IR (ld.lld places LTO's objects last)
 * Files that carry IR and shared libraries are left out. Lines that name no input are copied to @retrest.
 * Contents stay mapped as long as the process lives.
 * Return: 0; -errno with @reterr when an input cannot be read again.
 */
int trace_plan(const char *trace, struct link_plan *plan, struct buffer *retrest, struct fault *reterr);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * calls.h - which system calls a process in the sandbox may make
 *
 * What compilers, linkers, shells and libc need; everything else answers EPERM. No sockets, no namespaces, no tracing, no
 * keys, no mounts. With the network: sockets of IP that connect, and netlink, by which libc learns which addresses there
 * are; none of UNIX, raw, or packets, and none that listens. Attributes of files (mode, owner, times, length) are changed by descriptor only, never by path; of
 * ioctl() and prctl() a few requests are let through; limits are one's own.
 */

#include <stdbool.h>

#include "base/fault.h"

/** calls_filter() - for this process and its future children, for good; after no_new_privs. Return: 0; -errno */
int calls_filter(bool network, struct fault *reterr);

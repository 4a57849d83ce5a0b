/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * container.h - a container's name, from the control group of one of its processes
 */

#include <stddef.h>

/**
 * container_of_group() - as people call it
 * @group: as systemd has it, "/machine.slice/libpod-0123....scope/container"
 * @ret:   "podman 0123456789ab", the digits being those that `podman ps` shows, likewise for docker, CRI-O and
 *         containerd; else the first part of @group that is no slice; untouched when there is none
 */
void container_of_group(const char *group, char *ret, size_t size);

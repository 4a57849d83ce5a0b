/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * power.h - does this machine save power, or is it slowed down because it is hot? Then nothing is done that can wait
 *
 * From the kernel alone, below @root: /sys/firmware/acpi/platform_profile (what a power profile daemon sets where the
 * firmware knows profiles), the energy preference of the first CPU (what it sets elsewhere), and the cooling devices that
 * slow CPUs down. What is not there says nothing.
 */

#include <stdbool.h>

/** power_is_saved() - by a profile; @root: "" or a directory that stands for the machine's root */
bool power_is_saved(const char *root);

/** power_is_hot() - CPUs are slowed down now because of heat */
bool power_is_hot(const char *root);

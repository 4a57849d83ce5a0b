/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * address.h - connections by address, as both ends of morphd's interface open them
 */

#include <stdbool.h>
#include <systemd/sd-bus.h>

/** address_connect() - a D-Bus @address; @is_bus: a message bus answers there, which wants to be greeted. -errno */
int address_connect(const char *address, bool is_bus, sd_bus **ret);

/** address_open() - a message bus: "system", "session" or a D-Bus address. -errno */
int address_open(const char *address, sd_bus **ret);

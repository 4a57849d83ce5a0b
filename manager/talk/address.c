/* SPDX-License-Identifier: Apache-2.0 */

#include "manager/talk/address.h"

#include <string.h>

int address_connect(const char *address, bool is_bus, sd_bus **ret)
{
	sd_bus *bus = NULL;
	int r = sd_bus_new(&bus);

	if (r >= 0)
		r = sd_bus_set_address(bus, address);
	if (r >= 0 && is_bus)
		r = sd_bus_set_bus_client(bus, 1);
	if (r >= 0)
		r = sd_bus_start(bus);
	if (r < 0)
		sd_bus_unref(bus);
	else
		*ret = bus;
	return r;
}

int address_open(const char *address, sd_bus **ret)
{
	if (strcmp(address, "system") == 0)
		return sd_bus_open_system(ret);
	if (strcmp(address, "session") == 0)
		return sd_bus_open_user(ret);
	return address_connect(address, true, ret);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* bench-fleet: a fleet on one machine (fleet.h) */

#include "base/macro.h"
#include "bench/fleet/fleet.h"
#include "bench/measure/commands.h"

int main(int argc, char **argv)
{
	static const struct command commands[] = { { "deal", fleet_deal }, { "modules", fleet_modules },
						   { "lie", fleet_lie },   { "machines", fleet_machines },
						   { "push", fleet_push }, { "pull", fleet_pull } };

	return commands_main(commands, ARRAY_SIZE(commands), argc, argv);
}

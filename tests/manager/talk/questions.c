/* SPDX-License-Identifier: Apache-2.0 */

/*
 * manager-questions ADDRESS CONNECTIONS QUESTIONS CALLS SECONDS: as many connections to a bus, each of which asks morphd
 * QUESTIONS times for what needs polkit's leave and CALLS times for what does not, waits for no answer, and stays that
 * long.
 */

#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>
#include <systemd/sd-bus.h>

#include "manager/talk/bus_name.h"

static int send_call(sd_bus *bus, const char *method)
{
	sd_bus_message *call = NULL;
	int r = sd_bus_message_new_method_call(bus, &call, BUS_NAME, BUS_PATH, BUS_INTERFACE, method);

	if (r >= 0)
		r = sd_bus_message_set_allow_interactive_authorization(call, 1);
	if (r >= 0)
		r = sd_bus_send(bus, call, &(uint64_t){ 0 });
	sd_bus_message_unref(call);
	return r;
}

static int ask(const char *address, int n_questions, int n_calls)
{
	sd_bus *bus = NULL; /* until the end of the process */
	int r = sd_bus_new(&bus);

	if (r >= 0)
		r = sd_bus_set_address(bus, address);
	if (r >= 0)
		r = sd_bus_set_bus_client(bus, 1);
	if (r >= 0)
		r = sd_bus_start(bus);
	for (int i = 0; r >= 0 && i < n_questions + n_calls; i++)
		r = send_call(bus, i < n_questions ? "StatusAll" : "Status");
	return r < 0 ? r : sd_bus_flush(bus);
}

int main(int argc, char **argv)
{
	int n = argc == 6 ? atoi(argv[2]) : 0;

	for (int i = 0; i < n; i++)
		if (ask(argv[1], atoi(argv[3]), atoi(argv[4])) < 0)
			return 1;
	sleep(n ? (unsigned)atoi(argv[5]) : 0);
	_exit(n ? 0 : 2);
}

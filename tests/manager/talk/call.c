/* SPDX-License-Identifier: Apache-2.0 */

/*
 * manager-call ADDRESS METHOD [TEXT]...: one call of morphd, as nobody's command would make it: no path is looked at
 * before, nothing is softened after. ADDRESS is a socket's path, or the address of a bus. Rollback takes a text and a
 * number, PinPart a number as the fourth. Prints "ok", or the error's name and sentence, and exits 1.
 */

#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>

#include "manager/talk/bus_name.h"

static int connect_to(const char *address, sd_bus **ret)
{
	char text[256];
	int r = sd_bus_new(ret);

	snprintf(text, sizeof(text), "%s%s", address[0] == '/' ? "unix:path=" : "", address);
	if (r >= 0)
		r = sd_bus_set_address(*ret, text);
	if (r >= 0 && address[0] != '/')
		r = sd_bus_set_bus_client(*ret, 1);
	return r < 0 ? r : sd_bus_start(*ret);
}

int main(int argc, char **argv)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;
	sd_bus_message *call = NULL, *reply = NULL;
	sd_bus *bus = NULL;
	int r = argc < 3 ? -1 : connect_to(argv[1], &bus);

	if (r >= 0)
		r = sd_bus_message_new_method_call(bus, &call, BUS_NAME, BUS_PATH, BUS_INTERFACE, argv[2]);
	for (int i = 3; r >= 0 && i < argc; i++)
		r = i == 4 && strcmp(argv[2], "Rollback") == 0 ?
			    sd_bus_message_append(call, "x", (int64_t)atoll(argv[i])) :
		    i == 6 && strcmp(argv[2], "PinPart") == 0 ?
			    sd_bus_message_append(call, "t", (uint64_t)strtoull(argv[i], NULL, 16)) :
			    sd_bus_message_append(call, "s", argv[i]);
	if (r >= 0)
		r = sd_bus_call(bus, call, 20000000, &error, &reply);
	if (r >= 0)
		puts("ok");
	else
		printf("%s: %s\n", error.name ? error.name : "no answer",
		       error.message ? error.message : strerror(-r));
	sd_bus_error_free(&error);
	sd_bus_message_unref(call);
	sd_bus_message_unref(reply);
	sd_bus_flush_close_unref(bus);
	return r < 0;
}

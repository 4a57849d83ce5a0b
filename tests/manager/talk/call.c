/* SPDX-License-Identifier: Apache-2.0 */

/*
 * manager-call ADDRESS METHOD[*TIMES] [TEXT]...: one call of morphd, or several on one connection, as nobody's command
 * would make it: no path is looked at before, nothing is softened after. ADDRESS is a socket's path, or the address of a
 * bus. Rollback takes a text and a number, PinPart a number as the fourth. Prints "ok", or the error's name and sentence, of
 * each, and exits 1 when the last one failed.
 */

#define _GNU_SOURCE
#include <errno.h>
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

static int method_call(sd_bus *bus, const char *method, int argc, char **argv)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;
	sd_bus_message *call = NULL, *reply = NULL;
	int r = sd_bus_message_new_method_call(bus, &call, BUS_NAME, BUS_PATH, BUS_INTERFACE, method);

	for (int i = 3; r >= 0 && i < argc; i++)
		r = i == 4 && strcmp(method, "Rollback") == 0 ?
			    sd_bus_message_append(call, "x", (int64_t)atoll(argv[i])) :
		    i == 6 && strcmp(method, "PinPart") == 0 ?
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
	return r;
}

int main(int argc, char **argv)
{
	sd_bus *bus = NULL;
	char *times = argc < 3 ? NULL : strchr(argv[2], '*');
	int n = times ? atoi(times + 1) : 1, r = argc < 3 ? -EINVAL : connect_to(argv[1], &bus);

	if (times)
		*times = '\0';
	if (r < 0)
		printf("no answer: %s\n", strerror(-r));
	else
		while (n-- > 0)
			r = method_call(bus, argv[2], argc, argv);
	sd_bus_flush_close_unref(bus);
	return r < 0;
}

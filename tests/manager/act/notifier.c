/* SPDX-License-Identifier: Apache-2.0 */

/* manager-notifier NAME FILE: stands for a desktop's service on the session's bus; what it is told is added to FILE. */

#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>

static const char *file;

static int on_message(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	FILE *out;

	(void)userdata;
	(void)error;
	if (!sd_bus_message_is_method_call(m, NULL, "AddNotification") &&
	    !sd_bus_message_is_method_call(m, NULL, "Notify"))
		return 0;
	out = fopen(file, "a");
	if (!out)
		abort();
	sd_bus_message_dump(m, out, SD_BUS_MESSAGE_DUMP_WITH_HEADER);
	fclose(out);
	return sd_bus_reply_method_return(m, "");
}

int main(int argc, char **argv)
{
	sd_bus *bus = NULL;
	int r = argc == 3 ? sd_bus_open_user(&bus) : -1;

	file = argv[2];
	if (r >= 0)
		r = sd_bus_add_filter(bus, NULL, on_message, NULL);
	if (r >= 0)
		r = sd_bus_request_name(bus, argv[1], 0);
	while (r >= 0) {
		r = sd_bus_process(bus, NULL);
		if (r == 0)
			r = sd_bus_wait(bus, UINT64_MAX);
	}
	sd_bus_unref(bus);
	return 1;
}

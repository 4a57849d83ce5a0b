/* SPDX-License-Identifier: Apache-2.0 */

/*
 * manager-authority ADDRESS FILE: the part of polkit that morphd talks to, on a private bus. It says
 * yes while FILE exists, and notes each question in FILE.asked: action, and whether a dialog is allowed. What is asked
 * while FILE.dialog exists is answered when that is gone, as if nobody had looked at the dialog until then.
 */

#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <systemd/sd-bus.h>

#define WAITING_MAX 256

static const char *file;
static sd_bus_message *waiting[WAITING_MAX];
static unsigned n_waiting;

static bool has_dialog(void)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s.dialog", file);
	return access(path, F_OK) == 0;
}

static int answer(sd_bus_message *m)
{
	return sd_bus_reply_method_return(m, "(bba{ss})", access(file, F_OK) == 0, 0, 0);
}

static void waiting_answer(void)
{
	while (n_waiting && !has_dialog()) {
		answer(waiting[--n_waiting]);
		sd_bus_message_unref(waiting[n_waiting]);
	}
}

static int on_check(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	const char *kind, *key, *sender, *action;
	char asked[4096];
	uint32_t flags;
	FILE *out;
	int r;

	(void)userdata;
	(void)error;
	r = sd_bus_message_read(m, "(sa{sv})sa{ss}u", &kind, 1, &key, "s", &sender, &action, 0, &flags);
	if (r < 0)
		return r;
	snprintf(asked, sizeof(asked), "%s.asked", file);
	out = fopen(asked, "a");
	if (out) {
		fprintf(out, "%s %u\n", action, flags);
		fclose(out);
	}
	if (n_waiting == WAITING_MAX || !has_dialog())
		return answer(m);
	waiting[n_waiting++] = sd_bus_message_ref(m);
	return 1;
}

static const sd_bus_vtable vtable[] = {
	SD_BUS_VTABLE_START(0),
	SD_BUS_METHOD("CheckAuthorization", "(sa{sv})sa{ss}us", "(bba{ss})", on_check,
		      SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_VTABLE_END,
};

int main(int argc, char **argv)
{
	sd_bus *bus = NULL;
	int r = argc == 3 ? sd_bus_new(&bus) : -1;

	file = argv[2];
	if (r >= 0)
		r = sd_bus_set_address(bus, argv[1]);
	if (r >= 0)
		r = sd_bus_set_bus_client(bus, 1);
	if (r >= 0)
		r = sd_bus_start(bus);
	if (r >= 0)
		r = sd_bus_add_object_vtable(bus, NULL, "/org/freedesktop/PolicyKit1/Authority",
					     "org.freedesktop.PolicyKit1.Authority", vtable, NULL);
	if (r >= 0)
		r = sd_bus_request_name(bus, "org.freedesktop.PolicyKit1", 0);
	while (r >= 0) {
		r = sd_bus_process(bus, NULL);
		if (r == 0)
			r = sd_bus_wait(bus, n_waiting ? 10000 : UINT64_MAX);
		waiting_answer();
	}
	return 1;
}

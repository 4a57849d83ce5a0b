/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "cli/notify/deliver.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include "base/child.h"
#include "base/macro.h"

#define SENDMAIL_PATH "/usr/sbin:/usr/lib" /* behind PATH, which users have without them */

bool deliver_is_address(const char *text)
{
	for (const char *at = text; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr("@.+-_=", *at))
			return false;
	return *text && *text != '-';
}

/* A file without a name, to be read from its beginning. */
static int message_make(const char *address, size_t n_lines, const char *body)
{
	int fd = memfd_create("mail", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (dprintf(fd,
		    "To: %s\nSubject: Morph: %zu to know\nAuto-Submitted: auto-generated\n"
		    "MIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n\n%s",
		    address, n_lines, body) < 0 ||
	    lseek(fd, 0, SEEK_SET) < 0) {
		int r = -errno;

		close(fd);
		return r;
	}
	return fd;
}

int deliver_mail(const char *address, size_t n_lines, const char *body, struct fault *reterr)
{
	/* To whom is a header, which sendmail reads itself. */
	char *const words[] = { "sendmail", "-i", "-t", NULL };
	_clean_(fd_closep) int fd = message_make(address, n_lines, body);
	_clean_(freep) char *path = NULL;
	_clean_(buffer_donep) struct buffer said = { 0 };
	int r = fd < 0 ? fd : 0;

	if (r == 0 && asprintf(&path, "%s:" SENDMAIL_PATH, getenv("PATH") ?: "/usr/bin") < 0)
		r = -ENOMEM;
	if (r == 0 && (dup2(fd, STDIN_FILENO) < 0 || setenv("PATH", path, 1) < 0))
		r = -errno;
	if (r < 0)
		return fault_errno(reterr, r, "mail");
	r = child_check(words, &(struct child_options){ .retout = &said, .reterrout = &said }, reterr);
	return r < 0 ? fault_prefix(reterr, r, "the mail was not taken") : 0;
}

static int portal_tell(sd_bus *bus, const char *body)
{
	return sd_bus_call_method(bus, "org.freedesktop.portal.Desktop", "/org/freedesktop/portal/desktop",
				  "org.freedesktop.portal.Notification", "AddNotification", NULL, NULL,
				  "sa{sv}", "morph", 3, "title", "s", "Morph", "body", "s", body, "priority",
				  "s", "low");
}

int deliver_desktop(const char *body, struct fault *reterr)
{
	_clean_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
	int r = sd_bus_open_user(&bus);

	if (r >= 0 && portal_tell(bus, body) < 0) /* a desktop without portals */
		r = sd_bus_call_method(bus, "org.freedesktop.Notifications", "/org/freedesktop/Notifications",
				       "org.freedesktop.Notifications", "Notify", NULL, NULL, "susssasa{sv}i",
				       "Morph", 0u, "", "Morph", body, 0, 0, -1);
	return r < 0 ? fault_errno(reterr, r, "no desktop takes notifications in this session") : 0;
}

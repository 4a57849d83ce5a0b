/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/bus.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-id128.h>

#include "base/log.h"
#include "manager/bus_name.h"
#include "manager/path.h"
#include "manager/polkit.h"
#include "manager/report.h"
#include "manager/utf8.h"

#define PEERS_MAX 64

/* One client of the socket. */
struct peer {
	struct bus *owner; /* borrowed */
	struct peer *next;
	sd_bus *bus; /* owned */
	uid_t uid;
};

struct bus {
	struct manager *manager; /* borrowed */
	sd_bus *bus;		 /* owned; NULL: no message bus */
	struct peer *peers;	 /* owned */
	unsigned n_peers;
	int listen_fd;
	sd_event_source *listening;
	char socket[PATH_MAX];
};

static int reply_fault(sd_bus_error *error, const struct fault *fault)
{
	_clean_(freep) char *clean = utf8_clean(fault->text);

	return sd_bus_error_set(error, BUS_ERROR, clean ? clean : "out of memory");
}

/* ---- who may ---- */

static bool uid_is_trusted(uid_t uid)
{
	return uid == 0 || uid == geteuid();
}

static const struct peer *peer_of(const struct bus *bus, sd_bus *connection)
{
	for (const struct peer *peer = bus->peers; peer; peer = peer->next)
		if (peer->bus == connection)
			return peer;
	return NULL;
}

/* 1: go on; 0: polkit was asked, and the method will be called again; negative: refused. */
static int may_change(struct bus *bus, sd_bus_message *m, sd_bus_error *error)
{
	const struct peer *peer = peer_of(bus, sd_bus_message_get_bus(m));
	_clean_(sd_bus_creds_unrefp) sd_bus_creds *creds = NULL;
	uid_t uid = (uid_t)-1;

	if (peer) {
		uid = peer->uid;
	} else {
		int r = sd_bus_query_sender_creds(m, SD_BUS_CREDS_EUID, &creds);

		if (r < 0 || sd_bus_creds_get_euid(creds, &uid) < 0)
			uid = (uid_t)-1;
	}
	if (uid_is_trusted(uid))
		return 1;
	if (!peer)
		return polkit_check(m, "org.morph.manage", error);
	return sd_bus_error_set(error, SD_BUS_ERROR_ACCESS_DENIED,
				"only root may change what morphd does; use sudo");
}

/* ---- methods that read ---- */

typedef int (*report_function)(struct manager *manager, sd_bus_message *into, struct fault *reterr);
typedef int (*path_report_function)(struct manager *manager, const char *path, sd_bus_message *into,
				    struct fault *reterr);

static int answer(sd_bus_message *m, struct bus *bus, report_function all, path_report_function one,
		  sd_bus_error *error)
{
	_clean_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	struct fault fault = { "" };
	const char *path = NULL;
	int r = sd_bus_message_new_method_return(m, &reply);

	if (r >= 0 && one)
		r = sd_bus_message_read(m, "s", &path);
	if (r < 0)
		return r;
	r = one ? one(bus->manager, path, reply, &fault) : all(bus->manager, reply, &fault);
	return r < 0 ? reply_fault(error, &fault) : sd_bus_send(NULL, reply, NULL);
}

static int on_status(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	return answer(m, userdata, report_status, NULL, error);
}

static int on_pins(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	return answer(m, userdata, report_pins, NULL, error);
}

static int on_explain(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	return answer(m, userdata, NULL, report_explain, error);
}

static int on_history(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	return answer(m, userdata, NULL, report_history, error);
}

/* ---- methods that change something ---- */

static void reoptimize_done(void *userdata, int code, const char *text)
{
	sd_bus_message *m = userdata;
	_clean_(freep) char *clean = utf8_clean(text);

	if (code < 0)
		sd_bus_reply_method_errorf(m, BUS_ERROR, "%s", clean ? clean : "");
	else
		sd_bus_reply_method_return(m, "s", clean ? clean : "");
	sd_bus_flush(sd_bus_message_get_bus(m));
	sd_bus_message_unref(m);
}

static int on_reoptimize(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	struct bus *bus = userdata;
	struct fault fault = { "" };
	const char *path;
	int r = may_change(bus, m, error);

	if (r <= 0)
		return r < 0 ? r : 1;
	r = sd_bus_message_read(m, "s", &path);
	if (r < 0)
		return r;
	r = manager_reoptimize(bus->manager, path, reoptimize_done, sd_bus_message_ref(m), &fault);
	if (r < 0) {
		sd_bus_message_unref(m);
		return reply_fault(error, &fault);
	}
	manager_next(bus->manager);
	return 1;
}

static int on_rollback(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	struct bus *bus = userdata;
	_clean_(freep) char *clean = NULL;
	struct fault fault = { "" };
	char text[PATH_MAX + 64];
	const char *path;
	int64_t number;
	int r = may_change(bus, m, error);

	if (r <= 0)
		return r < 0 ? r : 1;
	r = sd_bus_message_read(m, "sx", &path, &number);
	if (r < 0)
		return r;
	r = manager_rollback(bus->manager, path, number, text, sizeof(text), &fault);
	if (r < 0)
		return reply_fault(error, &fault);
	clean = utf8_clean(text);
	return sd_bus_reply_method_return(m, "s", clean ? clean : "");
}

static int on_rollback_all(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	struct bus *bus = userdata;
	struct fault fault = { "" };
	unsigned n = 0;
	int r = may_change(bus, m, error);

	if (r <= 0)
		return r < 0 ? r : 1;
	r = manager_rollback_all(bus->manager, &n, &fault);
	return r < 0 ? reply_fault(error, &fault) : sd_bus_reply_method_return(m, "u", n);
}

static int on_pin(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	struct bus *bus = userdata;
	const char *path, *reason;
	struct fault fault = { "" };
	int r = may_change(bus, m, error);

	if (r <= 0)
		return r < 0 ? r : 1;
	r = sd_bus_message_read(m, "ss", &path, &reason);
	if (r < 0)
		return r;
	r = manager_pin(bus->manager, path, reason, &fault);
	return r < 0 ? reply_fault(error, &fault) : sd_bus_reply_method_return(m, "");
}

static int on_unpin(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	struct bus *bus = userdata;
	struct fault fault = { "" };
	const char *path;
	int r = may_change(bus, m, error);

	if (r <= 0)
		return r < 0 ? r : 1;
	r = sd_bus_message_read(m, "s", &path);
	if (r < 0)
		return r;
	r = manager_unpin(bus->manager, path, &fault);
	return r < 0 ? reply_fault(error, &fault) : sd_bus_reply_method_return(m, "");
}

static int on_pardon(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	struct bus *bus = userdata;
	struct fault fault = { "" };
	const char *path;
	int r = may_change(bus, m, error);

	if (r <= 0)
		return r < 0 ? r : 1;
	r = sd_bus_message_read(m, "s", &path);
	if (r < 0)
		return r;
	r = manager_pardon(bus->manager, path, &fault);
	return r < 0 ? reply_fault(error, &fault) : sd_bus_reply_method_return(m, "");
}

#define METHOD(name, in, out, handler)                                                            \
	SD_BUS_METHOD(name, in, out, handler, SD_BUS_VTABLE_UNPRIVILEGED)

static const sd_bus_vtable vtable[] = {
	SD_BUS_VTABLE_START(0),
	METHOD("Status", "", "a{sv}aa{sv}aa{sv}", on_status),
	METHOD("Explain", "s", "a{sv}aa{sv}aa{sv}aa{sv}", on_explain),
	METHOD("History", "s", "aa{sv}aa{sv}", on_history),
	METHOD("Pins", "", "aa{sv}", on_pins),
	METHOD("Reoptimize", "s", "s", on_reoptimize),
	METHOD("Rollback", "sx", "s", on_rollback),
	METHOD("RollbackAll", "", "u", on_rollback_all),
	METHOD("Pin", "ss", "", on_pin),
	METHOD("Unpin", "s", "", on_unpin),
	METHOD("Pardon", "s", "", on_pardon),
	SD_BUS_VTABLE_END,
};

/* ---- the socket ---- */

static void peer_free(struct peer *peer)
{
	sd_bus_close_unref(peer->bus);
	free(peer);
}

static int on_disconnected(sd_bus_message *m, void *userdata, _unused_ sd_bus_error *error)
{
	struct bus *bus = userdata;
	sd_bus *gone = sd_bus_message_get_bus(m);

	for (struct peer **at = &bus->peers; *at; at = &(*at)->next) {
		struct peer *peer = *at;

		if (peer->bus != gone)
			continue;
		*at = peer->next;
		bus->n_peers--;
		peer_free(peer);
		break;
	}
	return 0;
}

static int peer_start(struct bus *bus, struct peer *peer, int fd)
{
	struct ucred ucred;
	socklen_t size = sizeof(ucred);
	sd_id128_t id;
	int r = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &ucred, &size) < 0 ? -errno : 0;

	peer->uid = r < 0 ? (uid_t)-1 : ucred.uid;
	if (r >= 0)
		r = sd_bus_new(&peer->bus);
	if (r >= 0)
		r = sd_bus_set_fd(peer->bus, fd, fd);
	if (r < 0) {
		close(fd);
		return r;
	}
	r = sd_id128_randomize(&id);
	if (r >= 0)
		r = sd_bus_set_server(peer->bus, 1, id);
	if (r >= 0)
		r = sd_bus_set_sender(peer->bus, BUS_NAME);
	if (r >= 0)
		r = sd_bus_start(peer->bus);
	if (r >= 0)
		r = sd_bus_add_object_vtable(peer->bus, NULL, BUS_PATH, BUS_INTERFACE, vtable, bus);
	if (r >= 0)
		r = sd_bus_match_signal(peer->bus, NULL, NULL, "/org/freedesktop/DBus/Local",
					"org.freedesktop.DBus.Local", "Disconnected", on_disconnected, bus);
	return r < 0 ? r : sd_bus_attach_event(peer->bus, bus->manager->event, SD_EVENT_PRIORITY_NORMAL);
}

static int on_connection(_unused_ sd_event_source *source, int fd, _unused_ uint32_t events,
			 void *userdata)
{
	struct bus *bus = userdata;
	int client = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC), r;
	struct peer *peer;

	if (client < 0)
		return 0;
	peer = bus->n_peers < PEERS_MAX ? calloc(1, sizeof(*peer)) : NULL;
	if (!peer) {
		close(client);
		return 0;
	}
	peer->owner = bus;
	r = peer_start(bus, peer, client);
	if (r < 0) {
		log_debug("a client could not be served: %s", strerror(-r));
		peer_free(peer);
		return 0;
	}
	peer->next = bus->peers;
	bus->peers = peer;
	bus->n_peers++;
	return 0;
}

static int socket_make(struct bus *bus, struct fault *reterr)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char directory[PATH_MAX];
	int r;

	if (!settings_path(&bus->manager->settings, bus->manager->settings.runtime_directory, directory))
		return fault_errno(reterr, -ENAMETOOLONG, "%s", bus->manager->settings.root);
	path_join(directory, BUS_SOCKET_NAME, bus->socket);
	if (strlen(bus->socket) >= sizeof(address.sun_path))
		return fault_set(reterr, -ENAMETOOLONG, "%s: too long for a socket (at most %zu bytes); "
				 "choose another runtime_directory", bus->socket,
				 sizeof(address.sun_path) - 1);
	r = manager_mkdir(directory, 0755, reterr);
	if (r < 0)
		return r;
	strcpy(address.sun_path, bus->socket);
	unlink(bus->socket); /* ours: the state directory's lock says that no other morphd runs */
	bus->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (bus->listen_fd < 0 ||
	    bind(bus->listen_fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    chmod(bus->socket, 0666) < 0 || listen(bus->listen_fd, 16) < 0)
		return fault_errno(reterr, -errno, "%s: cannot listen", bus->socket);
	return 0;
}

static int socket_listen(struct bus *bus, struct fault *reterr)
{
	int r = 0;

	if (sd_listen_fds(0) == 1)
		bus->listen_fd = SD_LISTEN_FDS_START;
	else
		r = socket_make(bus, reterr);
	if (r < 0)
		return r;
	r = sd_event_add_io(bus->manager->event, &bus->listening, bus->listen_fd, EPOLLIN, on_connection,
			    bus);
	return r < 0 ? fault_errno(reterr, r, "%s: cannot listen", bus->socket) : 0;
}

/* ---- the message bus ---- */

static int bus_connect(const char *address, sd_bus **ret)
{
	sd_bus *bus = NULL;
	int r;

	if (strcmp(address, "system") == 0)
		return sd_bus_open_system(ret);
	if (strcmp(address, "session") == 0)
		return sd_bus_open_user(ret);
	r = sd_bus_new(&bus);
	if (r >= 0)
		r = sd_bus_set_address(bus, address);
	if (r >= 0)
		r = sd_bus_set_bus_client(bus, 1);
	if (r >= 0)
		r = sd_bus_start(bus);
	if (r < 0)
		sd_bus_unref(bus);
	else
		*ret = bus;
	return r;
}

static int bus_join(struct bus *bus, const char *address, struct fault *reterr)
{
	int r = bus_connect(address, &bus->bus);

	if (r < 0)
		return fault_errno(reterr, r, "cannot reach the message bus \"%s\"; --bus=none does "
				   "without", address);
	r = sd_bus_add_object_vtable(bus->bus, NULL, BUS_PATH, BUS_INTERFACE, vtable, bus);
	if (r >= 0)
		r = sd_bus_request_name(bus->bus, BUS_NAME, 0);
	if (r < 0)
		return fault_errno(reterr, r, "cannot take the name %s on the message bus", BUS_NAME);
	r = sd_bus_attach_event(bus->bus, bus->manager->event, SD_EVENT_PRIORITY_NORMAL);
	return r < 0 ? fault_errno(reterr, r, "message bus") : 0;
}

int bus_open(struct manager *manager, const char *address, struct bus **ret, struct fault *reterr)
{
	_clean_(bus_freep) struct bus *bus = calloc(1, sizeof(*bus));
	int r;

	if (!bus)
		return fault_errno(reterr, -ENOMEM, "message bus");
	bus->manager = manager;
	bus->listen_fd = -1;
	r = socket_listen(bus, reterr);
	if (r == 0 && strcmp(address, "none") != 0)
		r = bus_join(bus, address, reterr);
	if (r < 0)
		return r;
	*ret = TAKE(bus);
	return 0;
}

void bus_free(struct bus *bus)
{
	if (!bus)
		return;
	while (bus->peers) {
		struct peer *peer = bus->peers;

		bus->peers = peer->next;
		sd_bus_flush(peer->bus);
		peer_free(peer);
	}
	sd_event_source_disable_unref(bus->listening);
	if (bus->listen_fd >= 0)
		close(bus->listen_fd);
	if (bus->socket[0])
		unlink(bus->socket);
	sd_bus_flush_close_unref(bus->bus);
	free(bus);
}

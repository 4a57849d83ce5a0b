/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/talk/peers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-id128.h>

#include "base/log.h"
#include "manager/keep/lock.h"
#include "manager/keep/path.h"
#include "manager/talk/bus_name.h"
#include "manager/talk/relay.h"

#define ACCEPT_AT_ONCE 32

struct peer {
	struct peers *owner; /* borrowed */
	struct peer *next;
	sd_bus *bus;		   /* owned */
	struct relay *relay;	   /* owned */
	sd_event_source *deadline; /* NULL for the trusted, who may take their time */
	uint64_t heard_ns;
	uid_t uid;
};

struct peers {
	struct manager *manager; /* borrowed */
	const sd_bus_vtable *vtable;
	void *userdata;
	struct peer *first; /* owned */
	int listen_fd;
	int lock_fd; /* of the socket's directory */
	sd_event_source *listening;
	char socket[PATH_MAX]; /* empty: not ours */
};

bool uid_is_trusted(uid_t uid)
{
	return uid == 0 || uid == geteuid();
}

bool peers_uid(const struct peers *peers, const sd_bus *bus, uid_t *ret)
{
	for (const struct peer *peer = peers->first; peer; peer = peer->next) {
		if (peer->bus != bus)
			continue;
		*ret = peer->uid;
		return true;
	}
	return false;
}

/* ---- one of them ---- */

static void peer_free(struct peer *peer)
{
	sd_event_source_disable_unref(peer->deadline);
	sd_bus_close_unref(peer->bus);
	relay_free(peer->relay);
	free(peer);
}

static void peer_drop(struct peer *peer)
{
	for (struct peer **at = &peer->owner->first; *at; at = &(*at)->next) {
		if (*at != peer)
			continue;
		*at = peer->next;
		peer_free(peer);
		return;
	}
}

static void on_gone(void *userdata)
{
	peer_drop(userdata);
}

static void on_message(void *userdata)
{
	struct peer *peer = userdata;

	peer->heard_ns = manager_monotonic_ns();
	if (peer->deadline)
		sd_event_source_set_time_relative(peer->deadline, PEERS_IDLE_S * 1000000ull);
}

static int on_deadline(_unused_ sd_event_source *source, _unused_ uint64_t usec, void *userdata)
{
	peer_drop(userdata);
	return 0;
}

/* sd-bus gave up on what a client sent. */
static int on_disconnected(sd_bus_message *m, void *userdata, _unused_ sd_bus_error *error)
{
	struct peers *peers = userdata;

	for (struct peer *peer = peers->first; peer; peer = peer->next) {
		if (peer->bus != sd_bus_message_get_bus(m))
			continue;
		peer_drop(peer);
		break;
	}
	return 0;
}

static int bus_serve(struct peer *peer, int fd, int64_t priority)
{
	struct peers *peers = peer->owner;
	sd_id128_t id;
	int r = sd_bus_new(&peer->bus);

	if (r >= 0)
		r = sd_bus_set_fd(peer->bus, fd, fd);
	if (r < 0) {
		close(fd);
		return r;
	}
	r = sd_id128_randomize(&id);
	if (r >= 0)
		r = sd_bus_set_server(peer->bus, 1, id);
	/* Who it is was asked of the kernel; what the client says of himself is of no interest. */
	if (r >= 0)
		r = sd_bus_set_anonymous(peer->bus, 1);
	if (r >= 0)
		r = sd_bus_negotiate_fds(peer->bus, 0);
	if (r >= 0)
		r = sd_bus_set_sender(peer->bus, BUS_NAME);
	if (r >= 0)
		r = sd_bus_start(peer->bus);
	if (r >= 0)
		r = sd_bus_add_object_vtable(peer->bus, NULL, BUS_PATH, BUS_INTERFACE, peers->vtable,
					     peers->userdata);
	if (r >= 0)
		r = sd_bus_match_signal(peer->bus, NULL, NULL, "/org/freedesktop/DBus/Local",
					"org.freedesktop.DBus.Local", "Disconnected", on_disconnected, peers);
	return r < 0 ? r : sd_bus_attach_event(peer->bus, peers->manager->event, (int)priority);
}

static int peer_start(struct peer *peer, int fd)
{
	sd_event *event = peer->owner->manager->event;
	int64_t priority =
		uid_is_trusted(peer->uid) ? SD_EVENT_PRIORITY_NORMAL - 10 : SD_EVENT_PRIORITY_NORMAL;
	struct relay_options options = { event, priority, on_gone, on_message, peer };
	int inner, r = relay_new(&options, fd, &peer->relay, &inner);

	if (r >= 0)
		r = bus_serve(peer, inner, priority);
	if (r >= 0 && !uid_is_trusted(peer->uid))
		r = sd_event_add_time_relative(event, &peer->deadline, CLOCK_MONOTONIC,
					       PEERS_FIRST_S * 1000000ull, 100000, on_deadline, peer);
	return r;
}

/* ---- all of them ---- */

/* Makes room when only that is missing; false when @uid has enough already. */
static bool is_welcome(struct peers *peers, uid_t uid)
{
	unsigned n = 0, n_others = 0, n_own = 0;
	struct peer *quietest = NULL;

	for (struct peer *peer = peers->first; peer; peer = peer->next) {
		n++;
		n_own += peer->uid == uid;
		if (uid_is_trusted(peer->uid))
			continue;
		n_others++;
		if (!quietest || peer->heard_ns < quietest->heard_ns)
			quietest = peer;
	}
	if (uid_is_trusted(uid))
		return n < PEERS_MAX;
	if (n_own >= PEERS_PER_USER)
		return false;
	if (n_others >= PEERS_MAX - PEERS_RESERVED)
		peer_drop(quietest);
	return true;
}

static void peer_add(struct peers *peers, int fd)
{
	struct ucred ucred;
	socklen_t size = sizeof(ucred);
	struct peer *peer;
	int r;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &ucred, &size) < 0 || !is_welcome(peers, ucred.uid) ||
	    !(peer = calloc(1, sizeof(*peer)))) {
		close(fd);
		return;
	}
	*peer = (struct peer){ .owner = peers, .uid = ucred.uid, .heard_ns = manager_monotonic_ns() };
	r = peer_start(peer, fd);
	if (r < 0) {
		log_debug("a client could not be served: %s", strerror(-r));
		peer_free(peer);
		return;
	}
	peer->next = peers->first;
	peers->first = peer;
}

static int on_connection(_unused_ sd_event_source *source, int fd, _unused_ uint32_t events, void *userdata)
{
	for (unsigned i = 0; i < ACCEPT_AT_ONCE; i++) {
		int client = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (client < 0)
			break;
		peer_add(userdata, client);
	}
	return 0;
}

static int socket_make(struct peers *peers, struct fault *reterr)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char directory[PATH_MAX], path[PATH_MAX];
	int r;

	if (!settings_path(&peers->manager->settings, peers->manager->settings.runtime_directory, directory))
		return fault_errno(reterr, -ENAMETOOLONG, "%s", peers->manager->settings.root);
	path_join(directory, BUS_SOCKET_NAME, path);
	if (strlen(path) >= sizeof(address.sun_path))
		return fault_set(reterr, -ENAMETOOLONG,
				 "%s: too long for a socket (at most %zu bytes); "
				 "choose another runtime_directory",
				 path, sizeof(address.sun_path) - 1);
	r = manager_mkdir(directory, 0755, reterr);
	if (r == 0)
		peers->lock_fd = lock_take(directory, "runtime_directory", reterr);
	if (r < 0 || peers->lock_fd < 0)
		return r < 0 ? r : peers->lock_fd;
	strcpy(address.sun_path, path);
	strcpy(peers->socket, path);
	unlink(peers->socket); /* ours, or left by a morphd that is gone: the lock says that no other listens here */
	peers->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (peers->listen_fd < 0 ||
	    bind(peers->listen_fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    chmod(peers->socket, 0666) < 0 || listen(peers->listen_fd, SOMAXCONN) < 0)
		return fault_errno(reterr, -errno, "%s: cannot listen", peers->socket);
	return 0;
}

static int socket_listen(struct peers *peers, struct fault *reterr)
{
	int r = 0;

	if (sd_listen_fds(0) == 1)
		peers->listen_fd = SD_LISTEN_FDS_START;
	else
		r = socket_make(peers, reterr);
	if (r < 0)
		return r;
	r = sd_event_add_io(peers->manager->event, &peers->listening, peers->listen_fd, EPOLLIN,
			    on_connection, peers);
	return r < 0 ? fault_errno(reterr, r, "%s: cannot listen", peers->socket) : 0;
}

int peers_open(struct manager *manager, const sd_bus_vtable *vtable, void *userdata, struct peers **ret,
	       struct fault *reterr)
{
	_clean_(peers_freep) struct peers *peers = calloc(1, sizeof(*peers));
	int r;

	if (!peers)
		return fault_errno(reterr, -ENOMEM, "socket");
	*peers = (struct peers){
		.manager = manager, .vtable = vtable, .userdata = userdata, .listen_fd = -1, .lock_fd = -1
	};
	r = socket_listen(peers, reterr);
	if (r < 0)
		return r;
	*ret = TAKE(peers);
	return 0;
}

void peers_free(struct peers *peers)
{
	if (!peers)
		return;
	while (peers->first) {
		struct peer *peer = peers->first;

		peers->first = peer->next;
		if (uid_is_trusted(peer->uid)) {
			sd_bus_flush(peer->bus);
			relay_flush(peer->relay);
		}
		peer_free(peer);
	}
	sd_event_source_disable_unref(peers->listening);
	if (peers->listen_fd >= 0)
		close(peers->listen_fd);
	if (peers->socket[0])
		unlink(peers->socket);
	if (peers->lock_fd >= 0)
		close(peers->lock_fd);
	free(peers);
}

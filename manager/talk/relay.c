/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/talk/relay.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "manager/talk/framing.h"

#define CHUNK_BYTES 16384u
#define FLUSH_MS 1000

/* Bytes on their way; the next chunk is read when all of it is gone. */
struct channel {
	struct buffer bytes;
	size_t sent;
};

struct relay {
	struct relay_options options;
	int client_fd, inner_fd;
	sd_event_source *client, *inner;
	struct framing framing;
	struct channel in, out; /* to sd-bus, to the client */
};

static bool channel_is_empty(const struct channel *channel)
{
	return channel->sent == channel->bytes.size;
}

/* 0: all sent; 1: the other side is full; negative: it is gone. */
static int channel_send(struct channel *channel, int fd)
{
	while (!channel_is_empty(channel)) {
		ssize_t n = send(fd, channel->bytes.data + channel->sent, channel->bytes.size - channel->sent,
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 1 : -errno;
		channel->sent += (size_t)n;
	}
	channel->bytes.size = channel->sent = 0;
	return 0;
}

/* Bytes read; 0: none now; negative: the end. A control message is not asked for, so descriptors are closed. */
static ssize_t chunk_read(int fd, uint8_t chunk[CHUNK_BYTES])
{
	ssize_t n = recv(fd, chunk, CHUNK_BYTES, MSG_DONTWAIT);

	if (n == 0)
		return -ECONNRESET;
	return n > 0 ? n : errno == EAGAIN || errno == EINTR ? 0 : -errno;
}

static int inward(struct relay *relay)
{
	uint64_t before = relay->framing.n_messages;
	uint8_t chunk[CHUNK_BYTES];
	ssize_t n = channel_is_empty(&relay->in) && channel_is_empty(&relay->out) ?
			    chunk_read(relay->client_fd, chunk) :
			    0;
	int r = n < 0 ? (int)n : framing_take(&relay->framing, chunk, (size_t)n, &relay->in.bytes);

	if (r == 0)
		r = channel_send(&relay->in, relay->inner_fd);
	if (r >= 0 && relay->framing.n_messages != before && relay->options.message)
		relay->options.message(relay->options.userdata);
	return r;
}

static int outward(struct relay *relay)
{
	uint8_t chunk[CHUNK_BYTES];
	ssize_t n = channel_is_empty(&relay->out) ? chunk_read(relay->inner_fd, chunk) : 0;

	if (n < 0)
		return (int)n;
	buffer_bytes(&relay->out.bytes, chunk, (size_t)n);
	return relay->out.bytes.bad ? -ENOMEM : channel_send(&relay->out, relay->client_fd);
}

/* Wait for room where there are bytes, and for bytes where there is room. */
static int events_set(struct relay *relay)
{
	bool in = !channel_is_empty(&relay->in), out = !channel_is_empty(&relay->out);
	int r = sd_event_source_set_io_events(relay->client,
					      (out ? EPOLLOUT : 0) | (in || out ? 0 : EPOLLIN));

	return r < 0 ? r :
		       sd_event_source_set_io_events(relay->inner, (in ? EPOLLOUT : 0) | (out ? 0 : EPOLLIN));
}

static int on_ready(_unused_ sd_event_source *source, _unused_ int fd, uint32_t events, void *userdata)
{
	struct relay *relay = userdata;
	int r = outward(relay); /* answers first: sd-bus may have closed its end behind them */

	if (r >= 0)
		r = inward(relay);
	if (r >= 0)
		r = events_set(relay);
	/* A client that is gone while there is still something for him would be reported for ever. */
	if (r >= 0 && (events & (EPOLLHUP | EPOLLERR)))
		r = -ECONNRESET;
	if (r < 0)
		relay->options.gone(relay->options.userdata);
	return 0;
}

static int sources_add(struct relay *relay)
{
	sd_event *event = relay->options.event;
	int r = sd_event_add_io(event, &relay->client, relay->client_fd, EPOLLIN, on_ready, relay);

	if (r >= 0)
		r = sd_event_add_io(event, &relay->inner, relay->inner_fd, EPOLLIN, on_ready, relay);
	if (r >= 0)
		r = sd_event_source_set_priority(relay->client, relay->options.priority);
	return r < 0 ? r : sd_event_source_set_priority(relay->inner, relay->options.priority);
}

int relay_new(const struct relay_options *options, int client_fd, struct relay **ret, int *retinner)
{
	_clean_(relay_freep) struct relay *relay = calloc(1, sizeof(*relay));
	int pair[2], r;

	if (!relay) {
		close(client_fd);
		return -ENOMEM;
	}
	*relay = (struct relay){ .options = *options, .client_fd = client_fd, .inner_fd = -1 };
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	relay->inner_fd = pair[0];
	r = sources_add(relay);
	if (r < 0) {
		close(pair[1]);
		return r;
	}
	*retinner = pair[1];
	*ret = TAKE(relay);
	return 0;
}

void relay_flush(struct relay *relay)
{
	struct pollfd client = { .fd = relay->client_fd, .events = POLLOUT };
	int r;

	do {
		r = outward(relay);
		if (r == 1 && poll(&client, 1, FLUSH_MS) <= 0)
			return;
	} while (r == 1 || (r == 0 && recv(relay->inner_fd, &(char){ 0 }, 1, MSG_PEEK | MSG_DONTWAIT) > 0));
}

void relay_free(struct relay *relay)
{
	if (!relay)
		return;
	sd_event_source_disable_unref(relay->client);
	sd_event_source_disable_unref(relay->inner);
	if (relay->inner_fd >= 0)
		close(relay->inner_fd);
	close(relay->client_fd);
	buffer_done(&relay->in.bytes);
	buffer_done(&relay->out.bytes);
	free(relay);
}

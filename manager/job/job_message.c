/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/job/job_message.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/macro.h"

union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(JOB_FILES * sizeof(int))];
};

static size_t files_of(const struct job_header *h)
{
	return (size_t)h->n_inputs + h->n_outputs;
}

int job_order_send(int socket, const struct job_order *order)
{
	const struct job_header *h = &order->header;
	_clean_(buffer_donep) struct buffer text = { 0 };
	union control control = { 0 };
	struct iovec vector;
	struct msghdr message = { .msg_iov = &vector, .msg_iovlen = 1 };

	buffer_bytes(&text, h, sizeof(*h));
	for (size_t i = 0; i < h->n_words; i++)
		buffer_bytes(&text, order->words[i], strlen(order->words[i]) + 1);
	for (size_t i = 0; i < files_of(h); i++)
		buffer_bytes(&text, order->names[i], strlen(order->names[i]) + 1);
	for (size_t i = 0; i < h->n_readable; i++)
		buffer_bytes(&text, order->readable[i], strlen(order->readable[i]) + 1);
	if (text.bad)
		return -ENOMEM;
	if (text.size > JOB_BYTES)
		return -E2BIG;
	vector = (struct iovec){ text.data, text.size };
	if (files_of(h)) {
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(files_of(h) * sizeof(int));
		control.header = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
						   .cmsg_type = SCM_RIGHTS,
						   .cmsg_len = CMSG_LEN(files_of(h) * sizeof(int)) };
		memcpy(CMSG_DATA(&control.header), order->fds, files_of(h) * sizeof(int));
	}
	return sendmsg(socket, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* The next text, ended by a zero byte. */
static const char *text_next(const char **at, const char *end)
{
	const char *ret = *at, *zero = ret < end ? memchr(ret, '\0', (size_t)(end - ret)) : NULL;

	if (zero)
		*at = zero + 1;
	return zero ? ret : NULL;
}

/* A file of the work directory, not a path. */
static bool is_name(const char *name)
{
	return name && name[0] && name[0] != '.' && strlen(name) < JOB_NAME_BYTES && !strchr(name, '/');
}

int job_order_decode(const void *bytes, size_t size, struct job_order *ret)
{
	const char *at = (const char *)bytes + sizeof(ret->header), *end = (const char *)bytes + size;
	struct job_header *h = &ret->header;

	*ret = (struct job_order){ 0 };
	if (size < sizeof(*h))
		return -EBADMSG;
	memcpy(h, bytes, sizeof(*h));
	if (h->magic != JOB_MAGIC || !h->n_words || h->n_words > JOB_WORDS || h->n_inputs > JOB_FILES ||
	    h->n_outputs > JOB_FILES - h->n_inputs || h->n_readable > JOB_FILES)
		return -EBADMSG;
	for (size_t i = 0; i < h->n_words; i++)
		if (!(ret->words[i] = text_next(&at, end)))
			return -EBADMSG;
	for (size_t i = 0; i < files_of(h); i++)
		if (!is_name(ret->names[i] = text_next(&at, end)))
			return -EBADMSG;
	for (size_t i = 0; i < h->n_readable; i++)
		if (!(ret->readable[i] = text_next(&at, end)) || ret->readable[i][0] != '/')
			return -EBADMSG;
	return at == end ? 0 : -EBADMSG;
}

/* All that came, so that none stays open when it is not what was announced. */
static size_t descriptors_take(struct msghdr *message, int fds[JOB_FILES])
{
	size_t n = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		size_t here = c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS ?
				      (c->cmsg_len - CMSG_LEN(0)) / sizeof(int) :
				      0;

		for (size_t i = 0; i < here; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (n < JOB_FILES)
				fds[n++] = fd;
			else
				close(fd);
		}
	}
	return n;
}

int job_order_receive(int socket, char *buffer, struct job_order *ret)
{
	union control control;
	struct iovec vector = { buffer, JOB_BYTES };
	struct msghdr message = { .msg_iov = &vector,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	int fds[JOB_FILES], r;
	size_t n_fds;
	ssize_t n;

	do
		n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n < 0 ? -errno : -EPIPE;
	n_fds = descriptors_take(&message, fds);
	r = message.msg_flags & (MSG_TRUNC | MSG_CTRUNC) ? -EBADMSG :
							   job_order_decode(buffer, (size_t)n, ret);
	if (r == 0 && n_fds == files_of(&ret->header)) {
		memcpy(ret->fds, fds, n_fds * sizeof(int));
		return 0;
	}
	for (size_t i = 0; i < n_fds; i++)
		close(fds[i]);
	return -EBADMSG;
}

void job_order_close(struct job_order *order)
{
	for (size_t i = 0; i < files_of(&order->header); i++)
		fd_closep(&order->fds[i]);
	order->header.n_inputs = order->header.n_outputs = 0;
}

int job_answer_receive(int socket, struct job_answer *ret)
{
	ssize_t n;

	do
		n = recv(socket, ret, sizeof(*ret), MSG_TRUNC | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return -EPIPE;
	ret->text[sizeof(ret->text) - 1] = '\0';
	if ((size_t)n != sizeof(*ret) || ret->magic != JOB_MAGIC || ret->error > 0 || !isfinite(ret->cpu_s) ||
	    ret->cpu_s < 0 || ret->cpu_s > 1e7)
		return -EBADMSG;
	return 0;
}

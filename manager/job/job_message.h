/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * job_message.h - what morphd and morph-worker say to each other
 *
 * One packet each way, over a socket of type SOCK_SEQPACKET. The order has the command, the names that its files have for
 * it, and descriptors to read them from and to write results to; no paths of morphd's. The answer says how the command ended.
 * What comes from a worker may have been written by anybody: every field is checked, and nothing more is believed.
 *
 *	order:	struct job_header, then n_words words, n_inputs and n_outputs names, each ended by a zero byte;
 *		descriptors: of the inputs, then of the outputs
 *	answer:	struct job_answer
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"

#define JOB_MAGIC 0x314a4d4du /* "MMJ1" */
#define JOB_BYTES 65536u      /* of an order */
#define JOB_WORDS 256u
#define JOB_FILES 64u /* inputs and outputs together */
#define JOB_NAME_BYTES 64u

enum job_flag {
	JOB_IN_SANDBOX = 1,   /* else the command makes a sandbox of its own */
	JOB_NETWORK = 2,      /* which the sandbox leaves open */
	JOB_IDLE_SESSION = 4, /* its session gives way to others */
};

struct job_header {
	uint32_t magic, flags;
	uint32_t n_words, n_inputs, n_outputs, n_readable;
	uint64_t memory_bytes, file_bytes; /* 0: no limit */
	uint32_t cpu_s, timeout_s;
};

/* An order, as it is put together and as it was read. */
struct job_order {
	struct job_header header;
	const char *words[JOB_WORDS + 1];    /* NULL-terminated */
	const char *names[JOB_FILES];	     /* inputs, then outputs */
	int fds[JOB_FILES];		     /* the same; owned by whoever has the order */
	const char *readable[JOB_FILES + 1]; /* NULL-terminated: absolute paths for the sandbox */
};

enum job_output {
	JOB_OUTPUT_MISSING,
	JOB_OUTPUT_ODD,
	JOB_OUTPUT_WRITTEN
}; /* odd: no regular file, or too large */

struct job_answer {
	uint32_t magic;
	int32_t error;	/* the command could not be run: -errno; else 0 and */
	int32_t status; /* as waitpid(2) gives it */
	uint32_t gaps;	/* of the sandbox: 1 some, `text` names them */
	double cpu_s;
	uint8_t outputs[JOB_FILES]; /* enum job_output */
	char text[256];
};

/** job_order_send() - Return: 0; -E2BIG: does not fit; other -errno */
int job_order_send(int socket, const struct job_order *order);

/**
 * job_order_decode() - the text part of an order; pointers of @ret point into @bytes
 * Return: 0; -EBADMSG: not an order
 */
int job_order_decode(const void *bytes, size_t size, struct job_order *ret);

/** job_order_receive() - the same with the descriptors, from a socket, into @buffer of JOB_BYTES; -EPIPE: nobody is there */
int job_order_receive(int socket, char *buffer, struct job_order *ret);

/** job_order_close() - its descriptors */
void job_order_close(struct job_order *order);

/** job_answer_receive() - one that is well-formed. Return: 0; -EPIPE: the worker ended without one; -EBADMSG */
int job_answer_receive(int socket, struct job_answer *ret);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * lifecycle.h - what became of programs: started, ended, died of a signal
 *
 * The monitor writes such files (NAME.events) into the spool beside the sample logs; the manager reads
 * them, to notice a generation that crashes, and removes them. docs/format-events.md describes the text.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/fault.h"
#include "base/macro.h"
#include "module/build_id.h"
#include "module/file_identity.h"

#define LIFECYCLE_VERSION 2u /* 1 is read, too; it does not know which file, whose process, and why it died */
#define LIFECYCLE_USER_UNKNOWN UINT32_MAX
#define LIFECYCLE_SUFFIX ".events"
#define LIFECYCLE_MAGIC "morph-events " /* how such a file begins */
#define LIFECYCLE_MAX_EVENTS 4096u	/* in one file */

enum lifecycle_kind {
	LIFECYCLE_EXEC = 1,   /* a watched program was started */
	LIFECYCLE_EXIT = 2,   /* it ended by itself; value: status as in waitpid(2) */
	LIFECYCLE_SIGNAL = 3, /* any program died of a signal that speaks of a defect; value: the signal */
	LIFECYCLE_UNTOLD =
		4, /* user had used up what may be told of one; count: so much more; value: 1, 3: of what kind */
};

struct lifecycle_event {
	enum lifecycle_kind kind;
	uint64_t time_ns; /* CLOCK_REALTIME; of the last one when count > 1 */
	uint32_t pid;	  /* the same */
	uint32_t count;	  /* equal events that were united, >= 1 */
	int32_t value;
	struct build_id build_id;	/* of the executable; size 0: unknown */
	char *path;			/* owned; of the executable, "" when unknown */
	char *comm;			/* owned; name of the process */
	struct build_id fault_build_id; /* SIGNAL: module of the instruction; size 0: unknown */
	char *fault_path;		/* owned; "" when unknown */
	uint64_t fault_offset;		/* in that module's file */
	uint32_t user;			/* whoever started the program; LIFECYCLE_USER_UNKNOWN */
	int32_t code; /* SIGNAL: si_code; above 0: the kernel raised it, SI_TKILL: the process itself (abort(3)) */
	uint32_t space; /* number of the mount namespace whose name the path is; 0: the host's */
	struct file_identity file, fault_file; /* as the kernel knew them; device 0: unknown */
};

struct lifecycle {
	struct lifecycle_event *events; /* owned */
	size_t n_events, capacity;
};

void lifecycle_done(struct lifecycle *lifecycle);
static inline void lifecycle_donep(struct lifecycle *lifecycle)
{
	lifecycle_done(lifecycle);
}

/**
 * lifecycle_add() - append a copy of @event, or unite it with an equal one that is there
 * Equal are those of the same kind, file, user and value, wherever the fault was.
 * Return: 0 or -ENOMEM. Strings may be NULL, which means "".
 */
int lifecycle_add(struct lifecycle *lifecycle, const struct lifecycle_event *event);

const char *lifecycle_kind_name(enum lifecycle_kind kind);

/** lifecycle_encode() - the text of the file, appended to @ret; -ENOMEM */
int lifecycle_encode(const struct lifecycle *lifecycle, struct buffer *ret);
/** lifecycle_decode() - Return: 0; -EBADMSG with @reterr naming the line; -EPROTONOSUPPORT; -ENOMEM */
int lifecycle_decode(const char *text, size_t size, struct lifecycle *ret, struct fault *reterr);
/** lifecycle_read() - the same for a file */
int lifecycle_read(const char *path, struct lifecycle *ret, struct fault *reterr);

/** lifecycle_dump() - a table for people */
void lifecycle_dump(const struct lifecycle *lifecycle, FILE *out);
void lifecycle_dump_json(const struct lifecycle *lifecycle, FILE *out);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * finder.h - from what the kernel knows of a file to its name, build ID and time
 *
 * Finding the file that some process has mapped takes rights that nothing else in the monitor needs: to see any process'
 * mappings (CAP_SYS_PTRACE, CAP_CHECKPOINT_RESTORE) and to read any file (CAP_DAC_READ_SEARCH). So a process of its own
 * has them, and no others. It is forked before the sampler is loaded, may make only the system calls that looking needs
 * (seccomp), opens for reading only, and answers one question at a time through a socket pair. It looks in this order:
 *
 *	1. /proc/PID/map_files/START-END: reaches deleted files and other mount namespaces, while the process lives
 *	2. the path that the kernel side walked, as the process sees it, and as we do
 *
 * A file is believed only when device, inode, change time and size are those of the question, and generation where the
 * file system tells it. The descriptor is closed at once: kept open it would hold a deleted file's blocks and make its file
 * system unmountable.
 */

#include <limits.h>
#include <stdbool.h>

#include "base/fault.h"
#include "base/macro.h"
#include "module/build_id.h"
#include "module/file_identity.h"
#include "monitor/bpf/sampler.h"

struct finder_question {
	struct sampler_file file;
	uint64_t start, end; /* of the mapping; 0: unknown */
	uint32_t tgid;
	char path[PATH_MAX]; /* as walked; "": unknown */
};

struct finder_answer {
	bool found;
	struct build_id build_id; /* size 0: none, or not ELF */
	uint64_t mtime_ns;
	char name[PATH_MAX]; /* in the mount namespace of the question's process */
};

struct finder;

/** finder_open() - fork it, with no other capabilities than those it needs; 0; -errno */
int finder_open(struct finder **ret, struct fault *reterr);
void finder_free(struct finder *finder); /* accepts NULL; ends the process */
DEFINE_CLEANUP(struct finder *, finder_free);

/** finder_ask() - by @finder, or ourselves when it is NULL; 0 (@ret says whether it was found); -EPIPE: it is gone */
int finder_ask(struct finder *finder, const struct finder_question *question, struct finder_answer *ret);
/** finder_pid() - of its process; 0 for NULL */
int finder_pid(const struct finder *finder);

/** finder_identity() - what the kernel side told, as sample logs and the manager have it */
struct file_identity finder_identity(const struct sampler_file *file);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * file_identity.h - which file is it? What the kernel knows of a file, not what the file says of itself
 *
 * A build ID is a note that anybody can put into a file of their own. These numbers cannot be chosen: the change time is
 * set by the kernel at every write, link, chmod and rename, so an inode number that is used again, and a file that was
 * rewritten, are other files.
 *
 * Device and inode are the kernel's own, as /proc/PID/maps shows them and as the sampler reads them where a file is mapped.
 * On btrfs and overlayfs stat(2) shows others; so they are learnt by mapping a page of the file, which is not touched.
 */

#include <stdbool.h>
#include <stdint.h>

struct file_identity {
	uint64_t device; /* makedev(3) of the super block; 0: no identity is known */
	uint64_t inode;
	uint64_t changed_ns; /* CLOCK_REALTIME */
	uint64_t size;	     /* bytes */
};

/** file_identity_of_fd() - @fd is open for reading; 0, or -errno: -EINVAL when it is not a regular file */
int file_identity_of_fd(int fd, struct file_identity *ret);

bool file_identity_is_known(const struct file_identity *identity);
/** file_identity_is_equal() - the same file, unchanged; of two that are not known: yes */
bool file_identity_is_equal(const struct file_identity *a, const struct file_identity *b);
int file_identity_compare(const struct file_identity *a, const struct file_identity *b); /* a total order */

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <fcntl.h>
#include <sys/sysmacros.h>

#include "monitor/identify/resolver.h"
#include "tests/test.h"

/* What the kernel side would tell of the file at @path. */
static inline struct sampler_file file_at(const char *path)
{
	_clean_(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct sampler_inode inode;
	struct file_identity file;

	CHECK_INT(file_identity_of_fd(fd, &file), 0);
	CHECK_INT(resolver_inode_of(path, &inode), 0);
	return (struct sampler_file){ .inode = file.inode,
				      .device = major(file.device) << 20 | minor(file.device),
				      .generation = inode.generation,
				      .size = file.size,
				      .changed_s = file.changed_ns / 1000000000,
				      .changed_ns = file.changed_ns % 1000000000 };
}

/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "module/file_identity.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/macro.h"

/* The line of /proc/self/maps that begins at @start tells device and inode. */
static bool mapping_read(uint64_t start, struct file_identity *ret)
{
	FILE *file = fopen("/proc/self/maps", "re");
	_clean_(freep) char *line = NULL;
	size_t size = 0;
	bool found = false;

	while (file && !found && getline(&line, &size, file) > 0) {
		uint64_t from, inode;
		unsigned major, minor;

		if (sscanf(line, "%" SCNx64 "-%*x %*s %*x %x:%x %" SCNu64, &from, &major, &minor, &inode) !=
			    4 ||
		    from != start)
			continue;
		ret->device = makedev(major, minor);
		ret->inode = inode;
		found = true;
	}
	if (file)
		fclose(file);
	return found;
}

int file_identity_of_fd(int fd, struct file_identity *ret)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct file_identity identity;
	struct stat st;
	void *at;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	identity = (struct file_identity){
		.device = st.st_dev,
		.inode = st.st_ino,
		.size = (uint64_t)st.st_size,
		.changed_ns = (uint64_t)st.st_ctim.tv_sec * 1000000000u + (uint64_t)st.st_ctim.tv_nsec,
	};
	/* Nobody can have mapped what cannot be mapped; then what stat(2) says does no harm. */
	at = mmap(NULL, page, PROT_READ, MAP_PRIVATE, fd, 0);
	if (at != MAP_FAILED) {
		mapping_read((uint64_t)(uintptr_t)at, &identity);
		munmap(at, page);
	}
	*ret = identity;
	return 0;
}

bool file_identity_is_known(const struct file_identity *identity)
{
	return identity->device != 0;
}

static int order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

int file_identity_compare(const struct file_identity *a, const struct file_identity *b)
{
	int r = order(a->device, b->device);

	r = r ? r : order(a->inode, b->inode);
	r = r ? r : order(a->changed_ns, b->changed_ns);
	return r ? r : order(a->size, b->size);
}

bool file_identity_is_equal(const struct file_identity *a, const struct file_identity *b)
{
	return file_identity_compare(a, b) == 0;
}

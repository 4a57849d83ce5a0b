/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The tree: level 0 is the hashes of the file's blocks, each further level the hashes of the blocks of the one before,
 * every last block padded with zeros, until one hash is left. The digest is the hash of a descriptor of 256 bytes that
 * says how the tree was made, how long the file is, and that root. An empty file's root is zero.
 */

#define _GNU_SOURCE
#include "manager/keep/seal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fsverity.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/macro.h"

#define BLOCK_BYTES 4096u

struct descriptor {
	uint8_t version, hash_algorithm, log_blocksize, salt_size;
	uint32_t zero;
	uint64_t data_size; /* little endian */
	uint8_t root[64], salt[32], reserved[144];
};
_Static_assert(sizeof(struct descriptor) == 256, "fsverity_descriptor");

static int level_hash(const uint8_t *bytes, size_t size, uint8_t *ret)
{
	uint8_t block[BLOCK_BYTES];
	int r = 0;

	for (size_t at = 0; r == 0 && at < size; at += BLOCK_BYTES, ret += SHA256_BYTES) {
		size_t n = MIN(size - at, (size_t)BLOCK_BYTES);

		memset(block, 0, sizeof(block));
		memcpy(block, bytes + at, n);
		r = sha256_of(block, sizeof(block), ret);
	}
	return r;
}

static int file_hash(int fd, uint64_t size, uint8_t *ret)
{
	uint8_t block[BLOCK_BYTES];
	int r = 0;

	for (uint64_t at = 0; r == 0 && at < size; at += BLOCK_BYTES, ret += SHA256_BYTES) {
		size_t want = (size_t)MIN(size - at, (uint64_t)BLOCK_BYTES);
		ssize_t n;

		memset(block, 0, sizeof(block));
		n = pread(fd, block, want, (off_t)at);
		if (n != (ssize_t)want)
			return n < 0 ? -errno : -EBADMSG;
		r = sha256_of(block, sizeof(block), ret);
	}
	return r;
}

static int root_hash(int fd, uint64_t size, uint8_t ret[SHA256_BYTES])
{
	size_t n = (size_t)((size + BLOCK_BYTES - 1) / BLOCK_BYTES);
	_clean_(freep) uint8_t *level = malloc(MAX(n, (size_t)1) * SHA256_BYTES);
	int r = level ? file_hash(fd, size, level) : -ENOMEM;

	while (r == 0 && n > 1) {
		/* Behind what was read: a level's hash is shorter than the block it is of. */
		r = level_hash(level, n * SHA256_BYTES, level);
		n = (n * SHA256_BYTES + BLOCK_BYTES - 1) / BLOCK_BYTES;
	}
	if (r == 0 && n == 1)
		memcpy(ret, level, SHA256_BYTES);
	return r;
}

int seal_digest(int fd, const char *name, char ret[DIGEST_TEXT], struct fault *reterr)
{
	struct descriptor d = { .version = 1,
				.hash_algorithm = FS_VERITY_HASH_ALG_SHA256,
				.log_blocksize = 12 };
	uint8_t hash[SHA256_BYTES];
	struct stat st;
	int r = fstat(fd, &st) < 0 ? -errno : 0;

	if (r == 0)
		r = root_hash(fd, (uint64_t)st.st_size, d.root);
	if (r == 0) {
		d.data_size = htole64((uint64_t)st.st_size);
		r = sha256_of(&d, sizeof(d), hash);
	}
	if (r == 0)
		sha256_text(hash, ret);
	return r < 0 ? fault_errno(reterr, r, "%s: cannot compute its fs-verity digest", name) : 0;
}

static bool cannot(int code)
{
	return code == ENOTTY || code == EOPNOTSUPP || code == EINVAL || code == EROFS;
}

int seal_file(const char *path, struct fault *reterr)
{
	struct fsverity_enable_arg arg = { .version = 1,
					   .hash_algorithm = FS_VERITY_HASH_ALG_SHA256,
					   .block_size = BLOCK_BYTES };
	_clean_(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0)
		return fault_errno(reterr, -errno, "%s", path);
	if (ioctl(fd, FS_IOC_ENABLE_VERITY, &arg) == 0 || errno == EEXIST)
		return 1;
	return cannot(errno) ? 0 : fault_errno(reterr, -errno, "%s: cannot seal it by fs-verity", path);
}

int seal_measure(int fd, const char *name, char ret[DIGEST_TEXT], struct fault *reterr)
{
	union {
		struct fsverity_digest digest;
		uint8_t bytes[sizeof(struct fsverity_digest) + SHA256_BYTES];
	} measured = { .digest = { .digest_size = SHA256_BYTES } };

	ret[0] = '\0';
	if (ioctl(fd, FS_IOC_MEASURE_VERITY, &measured) < 0)
		return errno == ENODATA || cannot(errno) || errno == EOVERFLOW ?
			       0 :
			       fault_errno(reterr, -errno, "%s: cannot read its seal", name);
	if (measured.digest.digest_algorithm != FS_VERITY_HASH_ALG_SHA256 ||
	    measured.digest.digest_size != SHA256_BYTES)
		return 0; /* somebody else's */
	sha256_text(measured.bytes + sizeof(struct fsverity_digest), ret);
	return 1;
}

int seal_check(int fd, const char *name, struct fault *reterr)
{
	char measured[DIGEST_TEXT], expected[DIGEST_TEXT];
	int r = seal_measure(fd, name, measured, reterr);

	if (r <= 0)
		return r;
	r = seal_digest(fd, name, expected, reterr);
	if (r == 0 && strcmp(measured, expected) != 0)
		r = fault_set(reterr, -EBADMSG, "%s: its seal (fs-verity) is of other bytes", name);
	return r;
}

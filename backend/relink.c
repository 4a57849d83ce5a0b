/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "backend/relink.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/file.h"
#include "base/sha256.h"
#include "module/image.h"

/* Of a record: its first bytes; then strings: the directory, the compiler, its words. */
#define MAGIC "morph link 1"

static const char *directory(void)
{
	const char *ret = getenv("MORPH_LINKS");

	return ret && *ret ? ret : NULL;
}

bool relink_wanted(void)
{
	return directory();
}

static void string_add(struct buffer *buffer, const char *text)
{
	buffer_bytes(buffer, text, strlen(text) + 1);
}

/* A build ID that somebody chose may be that of several programs. */
static bool is_chosen(const struct arguments *words)
{
	for (size_t i = 1; i < words->n; i++)
		if (strcasestr(words->v[i], "--build-id=0x"))
			return true;
	return false;
}

/* What stays of a program when others strip it: its build ID; without one, the bytes. */
static int key_of(int fd, const char *output, bool has_id, char ret[BUILD_ID_MAX_TEXT])
{
	_clean_(image_freep) struct image *image = NULL;
	uint8_t hash[SHA256_BYTES];
	int r;

	_Static_assert(BUILD_ID_MAX_TEXT >= SHA256_TEXT, "either fits");
	if (has_id && image_open_fd(fd, output, &image, NULL) == 0 && image_build_id(image)->size) {
		build_id_text(image_build_id(image), ret);
		return 0;
	}
	r = sha256_of_fd(fd, output, hash, NULL);
	if (r == 0)
		sha256_text(hash, ret);
	return r;
}

/* The record's name; -errno */
static int record_path(const struct arguments *words, const char *output, char ret[PATH_MAX])
{
	_clean_(fd_closep) int fd = open(output, O_RDONLY | O_CLOEXEC);
	char key[BUILD_ID_MAX_TEXT];

	if (fd < 0 || key_of(fd, output, !is_chosen(words), key) < 0)
		return -EIO;
	return snprintf(ret, PATH_MAX, "%s/%s", directory(), key) < PATH_MAX ? 0 : -ENAMETOOLONG;
}

void relink_record(const char *name, const struct arguments *words, const char *output)
{
	_clean_(buffer_donep) struct buffer record = { 0 };
	char here[PATH_MAX], path[PATH_MAX];

	if (!getcwd(here, sizeof(here)) || file_mkdirs(directory(), 0777, NULL) < 0 ||
	    record_path(words, output, path) < 0)
		return;
	string_add(&record, MAGIC);
	string_add(&record, here);
	string_add(&record, name);
	for (size_t i = 1; i < words->n; i++)
		string_add(&record, words->v[i]);
	if (!record.bad)
		(void)file_write(path, record.data, record.size, 0644, NULL);
}

static int command_take(const struct file_map *map, const char *output, const char **retdirectory,
			struct arguments *retcommand)
{
	const char *at = (const char *)map->data, *end = at + map->size;

	if (!map->size || end[-1] || strcmp(at, MAGIC) != 0)
		return -EBADMSG;
	at += sizeof(MAGIC);
	if (at == end || *at != '/')
		return -EBADMSG;
	*retdirectory = at;
	for (at += strlen(at) + 1; at < end; at += strlen(at) + 1)
		arguments_add(retcommand, at);
	arguments_add(retcommand, "-o"); /* the last one counts */
	arguments_add(retcommand, output);
	return retcommand->bad ? -ENOMEM : 0;
}

int relink_read(const char *record, const char *output, struct arguments *retcommand, struct fault *reterr)
{
	_clean_(file_map_donep) struct file_map map = { 0 };
	const char *where;
	int r;

	if (output[0] != '/')
		return fault_set(reterr, -EINVAL,
				 "%s: the output of a link made again must be an absolute path", output);
	r = file_map_open(record, &map, reterr);
	if (r < 0)
		return r;
	r = command_take(&map, output, &where, retcommand);
	if (r < 0)
		return r == -EBADMSG ? fault_set(reterr, r, "%s: not a record of a link", record) :
				       fault_errno(reterr, r, "%s", record);
	return chdir(where) < 0 ? fault_errno(reterr, -errno, "%s", where) : 0;
}

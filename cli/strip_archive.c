/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morph strip-archive: IR out of static libraries and objects that are installed. `morph cc` leaves it beside the
 * machine code (-ffat-lto-objects), in a section that strip keeps. llvm-objcopy does the work, and keeps members, their
 * order and the index; that it did is compared before the file is replaced.
 */

#define _GNU_SOURCE
#include "cli/verb.h"

#include <elf.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/archive.h"
#include "backend/arguments.h"
#include "backend/tools.h"
#include "base/child.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "module/image.h"

#define IR_SECTION ".llvm.lto"
#define ARCHIVE_MAGIC "!<arch>\n"
#define THIN_MAGIC "!<thin>\n"

int strip_archive_run(int argc, char **argv);

static bool begins_with(const struct file_map *file, const char *magic)
{
	return file->size >= strlen(magic) && memcmp(file->data, magic, strlen(magic)) == 0;
}

static int has_ir(const char *path, const uint8_t *bytes, size_t size, bool *ret, struct fault *reterr)
{
	_clean_(image_freep) struct image *image = NULL;
	int r;

	if (size < SELFMAG || memcmp(bytes, ELFMAG, SELFMAG) != 0)
		return 0; /* a text, or bitcode alone: nothing to take out of it */
	r = image_open_bytes(bytes, size, path, &image, reterr);
	if (r == 0 && image_section_find(image, IR_SECTION))
		*ret = true;
	return r;
}

static int members_have_ir(const char *path, const struct archive *archive, bool *ret, struct fault *reterr)
{
	for (size_t i = 0; i < archive->n_members; i++) {
		const struct archive_member *member = &archive->members[i];
		int r = has_ir(member->name, member->bytes, member->size, ret, reterr);

		if (r < 0)
			return fault_prefix(reterr, r, "%s", path);
	}
	return 0;
}

/* The same members in the same order, and no IR. */
static int members_compare(const char *path, const struct archive *before, const char *after_path,
			   struct fault *reterr)
{
	_clean_(file_map_donep) struct file_map file = { 0 };
	_clean_(archive_donep) struct archive after = { 0 };
	bool has = false;
	int r = file_map_open(after_path, &file, reterr);

	if (r == 0)
		r = archive_read(after_path, file.data, file.size, &after, reterr);
	if (r == 0)
		r = members_have_ir(after_path, &after, &has, reterr);
	if (r < 0)
		return r;
	for (size_t i = 0; i < before->n_members && i < after.n_members; i++)
		if (strcmp(before->members[i].name, after.members[i].name) != 0)
			has = true;
	if (has || before->n_members != after.n_members)
		return fault_set(reterr, -EIO, "%s: llvm-objcopy did not keep its members as they are", path);
	return 0;
}

static int objcopy_run(const char *from, const char *to, struct fault *reterr)
{
	char tool[PATH_MAX];
	struct arguments args = { 0 };
	int r = tool_llvm("llvm-objcopy", tool, sizeof(tool), reterr);

	if (r < 0)
		return r;
	arguments_add(&args, tool);
	arguments_add(&args, "--enable-deterministic-archives");
	arguments_add(&args, "--remove-section=" IR_SECTION);
	arguments_add(&args, from);
	arguments_add(&args, to);
	r = args.bad ? fault_errno(reterr, -ENOMEM, "llvm-objcopy") : child_check(args.v, NULL, reterr);
	arguments_done(&args);
	return r;
}

/* What was done to a file. @after is @before where it had no IR. */
static void told(struct json *json, const char *path, uint64_t before, uint64_t after)
{
	if (!json) {
		if (before != after)
			printf("%s: %" PRIu64 " -> %" PRIu64 " bytes\n", SHOWN(path), before, after);
		return;
	}
	json_object_begin(json, NULL);
	json_string(json, "path", path);
	json_u64(json, "bytes_before", before);
	json_u64(json, "bytes_after", after);
	json_object_end(json);
}

/* @archive: NULL: an object */
static int file_strip(const char *path, const struct archive *archive, uint64_t before, struct json *json,
		      struct fault *reterr)
{
	char made[PATH_MAX];
	struct stat st, after;
	int r = 0;

	if (snprintf(made, sizeof(made), "%s.morph-%d", path, (int)getpid()) >= (int)sizeof(made))
		return fault_errno(reterr, -ENAMETOOLONG, "%s", path);
	if (stat(path, &st) < 0)
		return fault_errno(reterr, -errno, "%s", path);
	r = objcopy_run(path, made, reterr);
	if (r == 0 && archive)
		r = members_compare(path, archive, made, reterr);
	if (r == 0 && (chmod(made, st.st_mode & 07777) < 0 ||
		       (geteuid() == 0 && chown(made, st.st_uid, st.st_gid) < 0) || stat(made, &after) < 0 ||
		       rename(made, path) < 0))
		r = fault_errno(reterr, -errno, "%s", made);
	if (r < 0)
		unlink(made);
	else
		told(json, path, before, (uint64_t)after.st_size);
	return r;
}

static int strip_one(const char *path, struct json *json, struct fault *reterr)
{
	_clean_(file_map_donep) struct file_map file = { 0 };
	_clean_(archive_donep) struct archive archive = { 0 };
	bool is_archive, has = false;
	int r = file_map_open(path, &file, reterr);

	if (r < 0)
		return r;
	is_archive = begins_with(&file, ARCHIVE_MAGIC);
	if (begins_with(&file, THIN_MAGIC))
		return fault_set(reterr, -ENOTSUP, "%s: a thin archive has no members of its own; name those",
				 path);
	if (!is_archive && !begins_with(&file, ELFMAG))
		return fault_set(reterr, -ENOEXEC, "%s: neither a static library nor an object", path);
	if (is_archive)
		r = archive_read(path, file.data, file.size, &archive, reterr);
	if (r == 0)
		r = is_archive ? members_have_ir(path, &archive, &has, reterr) :
				 has_ir(path, file.data, file.size, &has, reterr);
	if (r == 0 && !has)
		told(json, path, file.size, file.size);
	if (r < 0 || !has)
		return r;
	return file_strip(path, is_archive ? &archive : NULL, file.size, json, reterr);
}

int strip_archive_run(int argc, char **argv)
{
	static const struct option options[] = { { "json", no_argument, NULL, 'j' },
						 { "help", no_argument, NULL, 'h' },
						 { NULL } };
	struct json json;
	struct fault fault;
	bool is_json = false;
	int c, result = VERB_DONE;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) >= 0) {
		if (c != 'j')
			return c == 'h' ? verb_help("strip-archive") : verb_usage("strip-archive");
		is_json = true;
	}
	if (optind == argc)
		return verb_usage("strip-archive");
	json = json_to(stdout);
	if (is_json)
		json_array_begin(&json, NULL);
	for (int i = optind; i < argc; i++)
		if (strip_one(argv[i], is_json ? &json : NULL, &fault) < 0)
			result = verb_fail("strip-archive", &fault);
	if (is_json)
		json_array_end(&json);
	return result;
}

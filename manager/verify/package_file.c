/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/verify/package_file.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/macro.h"
#include "manager/keep/path.h"

#define INFO_DIRECTORY "/var/lib/dpkg/info"
#define SUFFIX ".md5sums"
#define RPM_TIMEOUT_S 30

bool package_line_parse(const char *line, const char *path, char ret[PACKAGE_DIGEST_TEXT])
{
	size_t n = strspn(line, "0123456789abcdef"), size = strlen(path);

	if (n != 32 || line[n] != ' ' || (line[n + 1] != ' ' && line[n + 1] != '*'))
		return false;
	if (strncmp(line + n + 2, path, size) != 0 || strcspn(line + n + 2 + size, "\n") != 0)
		return false;
	snprintf(ret, PACKAGE_DIGEST_TEXT, "%.32s", line);
	return true;
}

/* 1: found. A package of before the directories in / were merged into /usr may still say bin/ls. */
static int md5sums_search(const char *file, const char *path, char ret[PACKAGE_DIGEST_TEXT])
{
	const char *plain = path + 1, *merged = strncmp(path, "/usr/", 5) == 0 ? path + 5 : plain;
	_clean_(freep) char *line = NULL;
	FILE *in = fopen(file, "re");
	size_t size = 0;
	int found = 0;

	if (!in)
		return -errno;
	while (!found && getline(&line, &size, in) > 0)
		found = package_line_parse(line, plain, ret) || package_line_parse(line, merged, ret);
	fclose(in);
	return found;
}

static int dpkg_search(const char *root, const char *path, struct package_file *ret)
{
	char directory[PATH_MAX], file[PATH_MAX];
	struct dirent *entry;
	DIR *dir;
	int found = 0;

	if (snprintf(directory, sizeof(directory), "%s" INFO_DIRECTORY, root) >= (int)sizeof(directory))
		return -ENAMETOOLONG;
	dir = opendir(directory);
	while (dir && found != 1 && (entry = readdir(dir))) {
		const char *suffix = strrchr(entry->d_name, '.');

		if (!suffix || strcmp(suffix, SUFFIX) != 0)
			continue;
		found = md5sums_search(path_join(directory, entry->d_name, file), path, ret->digest);
		if (found == 1)
			snprintf(ret->package, sizeof(ret->package), "%.*s",
				 (int)MIN(strcspn(entry->d_name, ":"), (size_t)(suffix - entry->d_name)),
				 entry->d_name);
	}
	if (dir)
		closedir(dir);
	return found == 1;
}

/* "NAME\tPATH\tDIGEST" for every file of the package that has this one. */
static void rpm_answer_take(char *text, const char *path, struct package_file *ret)
{
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *name = line, *file = strchr(line, '\t'), *digest = file ? strchr(file + 1, '\t') : NULL;

		if (!digest)
			continue;
		*file++ = *digest++ = '\0';
		if (strcmp(file, path) != 0 || !digest[0] || digest[strspn(digest, "0123456789abcdef")])
			continue;
		snprintf(ret->package, sizeof(ret->package), "%s", name);
		snprintf(ret->digest, sizeof(ret->digest), "%s", digest);
		return;
	}
}

static void rpm_search(const char *root, const char *path, struct package_file *ret)
{
	static const char *const databases[] = { "/usr/lib/sysimage/rpm/rpmdb.sqlite",
						 "/var/lib/rpm/rpmdb.sqlite", "/var/lib/rpm/Packages",
						 "/usr/lib/sysimage/rpm/Packages.db" };
	_clean_(buffer_donep) struct buffer out = { 0 }, err = { 0 };
	struct child_options options = { .retout = &out, .reterrout = &err, .timeout_s = RPM_TIMEOUT_S };
	char *argv[] = {
		(char *)"rpm", (char *)"--root", (char *)(*root ? root : "/"),
		(char *)"-q",  (char *)"--qf",	 (char *)"[%{=NAME}\\t%{FILENAMES}\\t%{FILEDIGESTS}\\n]",
		(char *)"-f",  (char *)path,	 NULL
	};
	char full[PATH_MAX];
	bool found = false;

	for (size_t i = 0; !found && i < ARRAY_SIZE(databases); i++)
		found = snprintf(full, sizeof(full), "%s%s", root, databases[i]) < (int)sizeof(full) &&
			access(full, R_OK) == 0;
	if (found && child_check(argv, &options, NULL) == 0 && !out.bad && out.data)
		rpm_answer_take((char *)out.data, path, ret);
}

int package_file_find(const char *root, const char *path, struct package_file *ret, struct fault *reterr)
{
	int r;

	*ret = (struct package_file){ 0 };
	if (path[0] != '/')
		return fault_set(reterr, -EINVAL, "%s: not an absolute path", path);
	r = dpkg_search(root, path, ret);
	if (r < 0)
		return fault_errno(reterr, r, "%s", path);
	if (r == 0)
		rpm_search(root, path, ret);
	return 0;
}

static const EVP_MD *algorithm_of(const char *digest)
{
	switch (strlen(digest)) {
	case 32: return EVP_md5();
	case 40: return EVP_sha1();
	case 64: return EVP_sha256();
	case 96: return EVP_sha384();
	case 128: return EVP_sha512();
	default: return NULL;
	}
}

static int fd_digest(int fd, const EVP_MD *algorithm, char ret[PACKAGE_DIGEST_TEXT])
{
	_clean_(freep) char *chunk = malloc(1 << 18);
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	uint8_t bytes[EVP_MAX_MD_SIZE];
	unsigned size = 0;
	off_t at = 0;
	ssize_t n = -1;
	bool good = chunk && context && EVP_DigestInit_ex(context, algorithm, NULL);

	while (good && (n = pread(fd, chunk, 1 << 18, at)) > 0) {
		good = EVP_DigestUpdate(context, chunk, (size_t)n);
		at += n;
	}
	good = good && n == 0 && EVP_DigestFinal_ex(context, bytes, &size);
	EVP_MD_CTX_free(context);
	for (unsigned i = 0; good && i < size; i++)
		snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
	return good ? 0 : n < 0 && errno ? -errno : -ENOMEM;
}

int package_file_matches(const struct package_file *file, int fd, struct fault *reterr)
{
	const EVP_MD *algorithm = algorithm_of(file->digest);
	char actual[PACKAGE_DIGEST_TEXT] = "";
	int r = algorithm ? fd_digest(fd, algorithm, actual) : -EINVAL;

	if (r < 0)
		return fault_errno(reterr, r, "the digest of package %s", file->package);
	return strcmp(actual, file->digest) == 0;
}

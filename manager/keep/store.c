/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/keep/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/percent.h"
#include "manager/keep/path.h"
#include "manager/keep/seal.h"
#include "module/build_id.h"

#define TEMP_PREFIX ".new-"

#define KEY(table, key, kind, field) { key, kind, offsetof(struct table, field), 0, 0 }

static const struct config_key module_keys[] = {
	KEY(store_module, "build_id", CONFIG_TEXT, build_id),
	KEY(store_module, "digest", CONFIG_TEXT, digest),
	KEY(store_module, "llvm_version", CONFIG_TEXT, llvm_version),
	KEY(store_module, "size", CONFIG_UINT, size),
	KEY(store_module, "first_ns", CONFIG_UINT, first_ns),
	{ NULL },
};

static const struct config_key generation_keys[] = {
	KEY(store_generation, "number", CONFIG_UINT, number),
	KEY(store_generation, "build_id", CONFIG_TEXT, build_id),
	KEY(store_generation, "digest", CONFIG_TEXT, digest),
	KEY(store_generation, "verity", CONFIG_TEXT, verity),
	KEY(store_generation, "cpu", CONFIG_TEXT, cpu),
	KEY(store_generation, "llvm_version", CONFIG_TEXT, llvm_version),
	KEY(store_generation, "state", CONFIG_TEXT, state),
	KEY(store_generation, "reason", CONFIG_TEXT, reason),
	KEY(store_generation, "size", CONFIG_UINT, size),
	KEY(store_generation, "created_ns", CONFIG_UINT, created_ns),
	KEY(store_generation, "gain", CONFIG_REAL, gain),
	KEY(store_generation, "cost", CONFIG_REAL, cost_s),
	KEY(store_generation, "profile_samples", CONFIG_REAL, profile_samples),
	{ NULL },
};

static const struct config_key target_keys[] = {
	KEY(store_target, "path", CONFIG_TEXT, path),
	KEY(store_target, "uid", CONFIG_UINT, uid),
	KEY(store_target, "gid", CONFIG_UINT, gid),
	KEY(store_target, "mode", CONFIG_UINT, mode),
	KEY(store_target, "mtime_ns", CONFIG_UINT, mtime_ns),
	KEY(store_target, "names", CONFIG_UINT, names),
	{ NULL },
};

const char *store_path(const char *store, const char *build_id, const char *suffix, char ret[PATH_MAX])
{
	struct build_id id;

	/* Eight bytes at least: then no directory of one can be the one above another's, which has two digits. */
	if (build_id_parse(build_id, &id) < 0)
		return strcpy(ret, "/dev/null/no-build-id");
	snprintf(ret, PATH_MAX, "%s/%.2s/%s%s%s", store, build_id, build_id + 2, *suffix ? "/" : "", suffix);
	return ret;
}

const char *store_generation_path(const char *store, const char *build_id, int64_t number, const char *name,
				  char ret[PATH_MAX])
{
	char suffix[NAME_MAX];

	snprintf(suffix, sizeof(suffix), "generations/%lld%s%s", (long long)number, *name ? "/" : "", name);
	return store_path(store, build_id, suffix, ret);
}

int store_check_file(const char *path, const char *digest, struct fault *reterr)
{
	_clean_(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	char actual[DIGEST_TEXT];
	int r;

	if (fd < 0)
		return fault_errno(reterr, -errno, "%s", path);
	r = digest_fd(fd, path, actual, reterr);
	if (r == 0 && strcmp(actual, digest) != 0)
		r = fault_set(reterr, -EBADMSG, "%s: damaged (its digest is %s, not %s)", path, actual,
			      digest);
	return r;
}

static int describe(const char *path, const struct config_key *keys, const void *values, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer text = { 0 };

	config_print(keys, values, &text);
	if (text.bad)
		return fault_errno(reterr, -ENOMEM, "%s", path);
	return file_write(path, text.data, text.size, 0600, reterr);
}

static int put_file(int fd, const char *name, const char *to, struct fault *reterr)
{
	_clean_(file_map_donep) struct file_map map = { 0 };
	int r = file_map_fd(fd, name, &map, reterr);

	return r < 0 ? r : file_write(to, map.data, map.size, 0600, reterr);
}

int store_put_original(const char *store, const struct store_module *module, int fd, struct fault *reterr)
{
	char path[PATH_MAX], directory[PATH_MAX];
	int r;

	store_path(store, module->build_id, "original", path);
	if (store_check_file(path, module->digest, NULL) < 0) {
		r = file_mkdirs(store_path(store, module->build_id, "generations", directory), 0700, reterr);
		if (r == 0)
			r = file_mkdirs(store_path(store, module->build_id, "targets", directory), 0700,
					reterr);
		if (r == 0)
			r = put_file(fd, path, path, reterr);
		if (r == 0)
			r = store_check_file(path, module->digest, reterr);
		if (r < 0)
			return r;
	}
	return describe(store_path(store, module->build_id, "module", path), module_keys, module, reterr);
}

/* Nobody changes a generation any more; where the file system can see to that, it does. */
static int generation_seal(const char *binary, char retverity[DIGEST_TEXT], struct fault *reterr)
{
	_clean_(fd_closep) int fd = open(binary, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	int r = fd < 0 ? fault_errno(reterr, -errno, "%s", binary) :
			 seal_digest(fd, binary, retverity, reterr);

	if (r == 0)
		r = seal_file(binary, reterr);
	return r < 0 ? r : 0;
}

static int generation_fill(const char *temp, const struct store_generation *generation, const char *from,
			   const char *const *files, struct fault *reterr)
{
	struct store_generation described = *generation;
	char source[PATH_MAX], to[PATH_MAX], verity[DIGEST_TEXT];
	int r = file_mkdirs(temp, 0700, reterr);

	for (; r == 0 && *files; files++) {
		_clean_(fd_closep) int fd = -1;

		path_join(temp, *files, to);
		fd = open(path_join(from, *files, source), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		r = fd < 0 ? fault_errno(reterr, -errno, "%s", source) : put_file(fd, source, to, reterr);
	}
	if (r < 0)
		return r;
	r = store_check_file(path_join(temp, "binary", to), generation->digest, reterr);
	if (r == 0)
		r = generation_seal(to, verity, reterr);
	if (r < 0)
		return r;
	described.verity = verity;
	return describe(path_join(temp, "generation", to), generation_keys, &described, reterr);
}

int store_put_generation(const char *store, const char *build_id, const struct store_generation *generation,
			 const char *from, const char *const *files, struct fault *reterr)
{
	char parent[PATH_MAX], temp[PATH_MAX], final[PATH_MAX], name[48];
	int r;

	store_path(store, build_id, "generations", parent);
	snprintf(name, sizeof(name), TEMP_PREFIX "%llu", (unsigned long long)generation->number);
	path_join(parent, name, temp);
	store_generation_path(store, build_id, (int64_t)generation->number, "", final);
	r = file_remove_tree(temp, reterr);
	if (r == 0) /* made before a crash, never entered in state.db */
		r = store_drop_generation(store, build_id, (int64_t)generation->number, reterr);
	if (r == 0)
		r = generation_fill(temp, generation, from, files, reterr);
	if (r == 0 && rename(temp, final) < 0)
		r = fault_errno(reterr, -errno, "%s: cannot rename", temp);
	if (r < 0) {
		file_remove_tree(temp, NULL);
		return r;
	}
	return file_sync_directory(parent, reterr);
}

int store_update_generation(const char *store, const char *build_id,
			    const struct store_generation *generation, struct fault *reterr)
{
	struct store_generation described = *generation, before = { 0 };
	char path[PATH_MAX];
	int r;

	store_generation_path(store, build_id, (int64_t)generation->number, "generation", path);
	if (!described.verity && config_file_read(path, generation_keys, &before, NULL) == 0)
		described.verity = before.verity;
	r = describe(path, generation_keys, &described, reterr);
	config_done(generation_keys, &before);
	return r;
}

/* The directory @path goes, all of it or nothing: without its name first. Half of it would be damaged. */
static int directory_drop(const char *path, struct fault *reterr)
{
	const char *name = strrchr(path, '/') + 1;
	char temp[PATH_MAX];

	snprintf(temp, sizeof(temp), "%.*s" TEMP_PREFIX "%s", (int)(name - path), path, name);
	if (rename(path, temp) < 0) {
		if (errno == ENOENT)
			return 0;
		if (errno != ENOTEMPTY && errno != EEXIST)
			return fault_errno(reterr, -errno, "%s: cannot remove", path);
		/* A removal of before, which was interrupted. */
		if (file_remove_tree(temp, reterr) < 0 || rename(path, temp) < 0)
			return fault_errno(reterr, -errno, "%s: cannot remove", path);
	}
	return file_remove_tree(temp, reterr);
}

int store_drop_generation(const char *store, const char *build_id, int64_t number, struct fault *reterr)
{
	char name[24], parent[PATH_MAX], path[PATH_MAX];

	snprintf(name, sizeof(name), "%lld", (long long)number);
	return directory_drop(path_join(store_path(store, build_id, "generations", parent), name, path),
			      reterr);
}

int store_drop_module(const char *store, const char *build_id, struct fault *reterr)
{
	char path[PATH_MAX];

	return directory_drop(store_path(store, build_id, "", path), reterr);
}

static void target_path(const char *store, const char *build_id, const char *path, char ret[PATH_MAX])
{
	char digest[DIGEST_TEXT], suffix[16 + DIGEST_TEXT];

	digest_bytes(path, strlen(path), digest);
	snprintf(suffix, sizeof(suffix), "targets/%s", digest);
	store_path(store, build_id, suffix, ret);
}

int store_put_target(const char *store, const char *build_id, const struct store_target *target,
		     struct fault *reterr)
{
	_clean_(freep) char *encoded = percent_encode(target->path);
	struct store_target copy = *target;
	char path[PATH_MAX];

	if (!encoded)
		return fault_errno(reterr, -ENOMEM, "%s", target->path);
	copy.path = encoded;
	target_path(store, build_id, target->path, path);
	return describe(path, target_keys, &copy, reterr);
}

uint64_t store_target_names(const char *store, const char *build_id, const char *path)
{
	struct store_target target = { 0 };
	char file[PATH_MAX];
	uint64_t names = 0;

	target_path(store, build_id, path, file);
	if (config_file_read(file, target_keys, &target, NULL) == 0)
		names = target.names;
	config_done(target_keys, &target);
	return MAX(names, 1u);
}

int store_drop_target(const char *store, const char *build_id, const char *path, struct fault *reterr)
{
	char file[PATH_MAX];

	target_path(store, build_id, path, file);
	if (unlink(file) < 0 && errno != ENOENT)
		return fault_errno(reterr, -errno, "%s", file);
	return 0;
}

/* Calls @visit for every entry of @directory that does not start with a dot. */
static int each_entry(const char *directory, int (*visit)(void *userdata, const char *path, const char *name),
		      void *userdata)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;
	int r = 0;

	while (dir && r >= 0 && (entry = readdir(dir))) {
		char path[PATH_MAX];

		if (entry->d_name[0] != '.')
			r = visit(userdata, path_join(directory, entry->d_name, path), entry->d_name);
	}
	if (dir)
		closedir(dir);
	return r < 0 ? r : 0;
}

static int add_bytes(void *userdata, const char *path, _unused_ const char *name)
{
	uint64_t *sum = userdata;
	struct stat st;

	if (lstat(path, &st) < 0)
		return 0;
	*sum += (uint64_t)st.st_blocks * 512;
	return S_ISDIR(st.st_mode) ? each_entry(path, add_bytes, userdata) : 0;
}

uint64_t store_module_bytes(const char *store, const char *build_id)
{
	char path[PATH_MAX];
	uint64_t ret = 0;

	each_entry(store_path(store, build_id, "", path), add_bytes, &ret);
	return ret;
}

struct walk {
	const struct store_visitor *visitor;
	const char *store, *build_id;
	char first[3]; /* two digits: the name of the upper directory */
};

static void walk_damaged(struct walk *walk, const char *path, const struct fault *why)
{
	if (walk->visitor->damaged)
		walk->visitor->damaged(walk->visitor->userdata, path, why);
}

static int walk_generation(void *userdata, const char *path, const char *name)
{
	struct store_generation generation = { 0 };
	struct walk *walk = userdata;
	struct fault fault = { "" };
	char file[PATH_MAX];
	int r;

	r = config_file_read(path_join(path, "generation", file), generation_keys, &generation, &fault);
	if (r == 0 &&
	    (!generation.build_id || !generation.digest || digest_is_old(generation.digest) ||
	     !generation.state || generation.number != strtoull(name, NULL, 10) || generation.number == 0))
		r = fault_set(&fault, -EBADMSG, "%s: incomplete", file);
	if (r < 0)
		walk_damaged(walk, path, &fault);
	else
		r = walk->visitor->generation(walk->visitor->userdata, walk->build_id, &generation);
	config_done(generation_keys, &generation);
	return r == -EBADMSG || r == -EINVAL || r == -ENOENT ? 0 : r;
}

static int walk_target(void *userdata, const char *path, _unused_ const char *name)
{
	struct store_target target = { 0 };
	struct walk *walk = userdata;
	struct fault fault = { "" };
	int r = config_file_read(path, target_keys, &target, &fault);

	if (r == 0 && (!target.path || target.path[0] != '/'))
		r = fault_set(&fault, -EBADMSG, "%s: incomplete", path);
	if (r < 0) {
		walk_damaged(walk, path, &fault);
		r = 0;
	} else {
		percent_decode(target.path);
		r = walk->visitor->target(walk->visitor->userdata, walk->build_id, &target);
	}
	config_done(target_keys, &target);
	return r;
}

static int add_one(void *userdata, _unused_ const char *path, _unused_ const char *name)
{
	size_t *count = userdata;

	*count += 1;
	return 0;
}

/* Neither described nor used: store_put_original() was cut off, or is under way. */
static bool is_half_put(const char *path)
{
	static const char *const descriptions[] = { "module", "carried" };
	static const char *const uses[] = { "generations", "targets" };
	char file[PATH_MAX];
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(descriptions); i++) {
		if (access(path_join(path, descriptions[i], file), F_OK) == 0 || errno != ENOENT)
			return false;
	}
	for (size_t i = 0; i < ARRAY_SIZE(uses); i++)
		each_entry(path_join(path, uses[i], file), add_one, &n);
	return n == 0;
}

static int walk_module(void *userdata, const char *path, const char *name)
{
	struct store_module module = { 0 };
	struct walk *walk = userdata;
	struct fault fault = { "" };
	char file[PATH_MAX], id[NAME_MAX + 3];
	int r;

	snprintf(id, sizeof(id), "%s%s", walk->first, name);
	r = config_file_read(path_join(path, "module", file), module_keys, &module, &fault);
	if (r == 0 && (!module.build_id || strcmp(module.build_id, id) != 0 || !module.digest ||
		       digest_is_old(module.digest)))
		r = fault_set(&fault, -EBADMSG, "%s: incomplete", file);
	if (r == -ENOENT && (access(path_join(path, "carried", file), F_OK) == 0 || is_half_put(path))) {
		r = 0; /* never edited: the row is made, and the file found, when it is seen again */
	} else if (r < 0) {
		walk_damaged(walk, path, &fault);
		r = 0;
	} else {
		walk->build_id = module.build_id;
		r = walk->visitor->module(walk->visitor->userdata, &module);
		if (r == 0)
			r = each_entry(path_join(path, "generations", file), walk_generation, walk);
		if (r == 0)
			r = each_entry(path_join(path, "targets", file), walk_target, walk);
	}
	config_done(module_keys, &module);
	return r;
}

static int walk_first(void *userdata, const char *path, const char *name)
{
	struct walk *walk = userdata;

	if (strlen(name) != 2)
		return 0;
	memcpy(walk->first, name, 3);
	return each_entry(path, walk_module, walk);
}

int store_walk(const char *store, const struct store_visitor *visitor, struct fault *reterr)
{
	struct walk walk = { .visitor = visitor, .store = store };
	int r = each_entry(store, walk_first, &walk);

	return r < 0 ? fault_errno(reterr, r, "%s: cannot read the store", store) : 0;
}

/* What has a temporary name in @directory. */
static void clean_directory(const char *directory)
{
	struct dirent *entry;
	DIR *dir = opendir(directory);
	char temp[PATH_MAX];

	while (dir && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, TEMP_PREFIX, strlen(TEMP_PREFIX)) == 0)
			file_remove_tree(path_join(directory, entry->d_name, temp), NULL);
	}
	if (dir)
		closedir(dir);
}

static int clean_module(_unused_ void *userdata, const char *path, _unused_ const char *name)
{
	char generations[PATH_MAX];

	clean_directory(path_join(path, "generations", generations));
	return is_half_put(path) ? directory_drop(path, NULL) : 0;
}

static int clean_first(void *userdata, const char *path, const char *name)
{
	if (strlen(name) != 2)
		return 0;
	clean_directory(path);
	return each_entry(path, clean_module, userdata);
}

int store_clean(const char *store, struct fault *reterr)
{
	int r = each_entry(store, clean_first, NULL);

	return r < 0 ? fault_errno(reterr, r, "%s", store) : 0;
}

/* ---- descriptions of before ---- */

/* The file @data beside the description @path: 1 when @digest, which is old, was replaced. */
static int digest_update(const char *directory, const char *data, char **digest, struct fault *reterr)
{
	char file[PATH_MAX], renewed[DIGEST_TEXT];
	_clean_(fd_closep) int fd = -1;
	char *copy;
	int r;

	if (!*digest || !digest_is_old(*digest))
		return 0;
	fd = open(path_join(directory, data, file), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	r = fd < 0 ? fault_errno(reterr, -errno, "%s", file) :
		     digest_renew(fd, file, *digest, renewed, reterr);
	if (r < 0)
		return r;
	copy = strdup(renewed);
	if (!copy)
		return fault_errno(reterr, -ENOMEM, "%s", file);
	free(*digest);
	*digest = copy;
	return 1;
}

static int renew_generation(void *userdata, const char *path, _unused_ const char *name)
{
	struct store_generation generation = { 0 };
	struct walk *walk = userdata;
	struct fault fault = { "" };
	char file[PATH_MAX];
	int r = config_file_read(path_join(path, "generation", file), generation_keys, &generation, &fault);

	if (r == 0)
		r = digest_update(path, "binary", &generation.digest, &fault);
	if (r == 1)
		r = describe(file, generation_keys, &generation, &fault);
	config_done(generation_keys, &generation);
	if (r < 0 && r != -ENOENT)
		walk_damaged(walk, path, &fault);
	return r == -ENOSPC || r == -ENOMEM ? r : 0;
}

/* A target's description is named after the digest of its path. */
static int renew_target(void *userdata, const char *path, const char *name)
{
	struct store_target target = { 0 };
	struct walk *walk = userdata;
	struct fault fault = { "" };
	int r = digest_is_old(name) ? config_file_read(path, target_keys, &target, &fault) : 0;

	if (r == 0 && target.path && target.path[0] == '/') {
		percent_decode(target.path);
		r = store_put_target(walk->store, walk->build_id, &target, &fault);
		if (r == 0 && unlink(path) < 0)
			r = fault_errno(&fault, -errno, "%s", path);
	}
	config_done(target_keys, &target);
	if (r < 0)
		walk_damaged(walk, path, &fault);
	return r == -ENOSPC || r == -ENOMEM ? r : 0;
}

static int renew_module(void *userdata, const char *path, const char *name)
{
	struct store_module module = { 0 };
	struct walk *walk = userdata;
	struct fault fault = { "" };
	char file[PATH_MAX], id[NAME_MAX + 3];
	int r = config_file_read(path_join(path, "module", file), module_keys, &module, &fault);

	if (r == 0)
		r = digest_update(path, "original", &module.digest, &fault);
	if (r == 1)
		r = describe(file, module_keys, &module, &fault);
	config_done(module_keys, &module);
	if (r < 0 && r != -ENOENT)
		walk_damaged(walk, path, &fault);
	if (r == -ENOSPC || r == -ENOMEM)
		return r;
	snprintf(id, sizeof(id), "%s%s", walk->first, name);
	walk->build_id = id;
	r = each_entry(path_join(path, "generations", file), renew_generation, walk);
	return r < 0 ? r : each_entry(path_join(path, "targets", file), renew_target, walk);
}

static int renew_first(void *userdata, const char *path, const char *name)
{
	struct walk *walk = userdata;

	if (strlen(name) != 2)
		return 0;
	memcpy(walk->first, name, 3);
	return each_entry(path, renew_module, walk);
}

int store_renew(const char *store, void (*damaged)(void *userdata, const char *path, const struct fault *why),
		void *userdata, struct fault *reterr)
{
	struct store_visitor visitor = { .damaged = damaged, .userdata = userdata };
	struct walk walk = { .visitor = &visitor, .store = store };
	int r = each_entry(store, renew_first, &walk);

	return r < 0 ? fault_errno(reterr, r, "%s: cannot renew its digests", store) : 0;
}

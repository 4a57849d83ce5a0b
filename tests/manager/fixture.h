/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * fixture.h - a directory of the test's own, and a manager in it without event loop
 *
 * MORPH_PROGRAMS names the directory with the programs that tests/manager/CMakeLists.txt builds.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/file.h"
#include "manager/act/accept.h"
#include "manager/act/activation.h"
#include "manager/intake/intake.h"
#include "manager/keep/journal.h"
#include "manager/keep/path.h"
#include "manager/keep/store.h"
#include "manager/keep/verified.h"
#include "manager/manager.h"
#include "manager/program/shipped.h"
#include "module/image.h"
#include "profiles/samples/sample_log.h"
#include "tests/test.h"

struct fixture {
	char dir[PATH_MAX];
	char prog[PATH_MAX]; /* DIR/prog: where a program is installed */
	struct manager *m;
	struct fault fault;
};

static inline const char *program(const char *name, char ret[PATH_MAX])
{
	const char *programs = getenv("MORPH_PROGRAMS");

	if (!programs)
		FAIL("MORPH_PROGRAMS is not set; run the test through ctest");
	return path_join(programs, name, ret);
}

static inline void fixture_make_in(struct fixture *f, const char *parent)
{
	*f = (struct fixture){ 0 };
	path_join(parent, "morph-manager.XXXXXX", f->dir);
	CHECK(mkdtemp(f->dir));
	CHECK(chmod(f->dir, 0755) == 0);
	path_join(f->dir, "prog", f->prog);
}

/*
 * In memory where there is a way: a real disk's fsync makes the tests ten times slower. It must be a place that
 * nobody else may write to, up to the root (place.h), so neither /tmp nor /dev/shm.
 */
static inline void fixture_make(struct fixture *f)
{
	static const char *place;

	if (!place && geteuid() == 0)
		place = syscall(SYS_unshare, CLONE_NEWNS) == 0 &&
					mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
					mount("none", "/mnt", "tmpfs", 0, "mode=755") == 0 ?
				"/mnt" :
				"/var/lib";
	else if (!place)
		place = getenv("MORPH_PROGRAMS");
	fixture_make_in(f, place);
}

static inline void fixture_open(struct fixture *f)
{
	struct settings settings;
	char path[PATH_MAX];

	CHECK_INT(settings_init(&settings), 0);
	CHECK_INT(config_set(settings_keys, "state_directory", path_join(f->dir, "state", path), &settings,
			     NULL),
		  0);
	CHECK_INT(config_set(settings_keys, "spool_directory", path_join(f->dir, "spool", path), &settings,
			     NULL),
		  0);
	CHECK_INT(config_set(settings_keys, "prefixes", f->dir, &settings, NULL), 0);
	if (manager_open(&settings, NULL, &f->m, &f->fault) < 0)
		FAIL("%s", f->fault.text);
}

static inline void fixture_done(struct fixture *f)
{
	manager_free(TAKE(f->m));
	if (f->dir[0])
		file_remove_tree(f->dir, NULL);
}

static inline void fixture_install(const struct fixture *f, const char *name)
{
	char from[PATH_MAX];

	unlink(f->prog);
	CHECK_INT(file_copy(program(name, from), f->prog, NULL), 0);
}

static inline bool file_is_program(const char *path, const char *name)
{
	_clean_(file_map_donep) struct file_map a = { 0 }, b = { 0 };
	char from[PATH_MAX];

	return file_map_open(path, &a, NULL) == 0 && file_map_open(program(name, from), &b, NULL) == 0 &&
	       a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
}

/* A whole-machine log in which program @name was found @count times at @path. */
static inline struct sample_log *log_of(const char *name, const char *path, uint64_t count, uint64_t start_ns)
{
	struct sample_log *log = sample_log_new();
	_clean_(image_freep) struct image *image = NULL;
	struct sample_module *module;
	char from[PATH_MAX];

	CHECK_INT(image_open(program(name, from), &image, NULL), 0);
	module = sample_log_module(log, SAMPLE_MODULE_FILE, image_build_id(image), path, 0, 0);
	CHECK_INT(sample_module_add(module, 0x1000, count - count / 4), 0);
	if (count / 4)
		CHECK_INT(sample_module_add(module, 0x1004, count / 4), 0);
	sample_log_normalize(log);
	log->source = SAMPLE_SOURCE_TICK;
	log->rate_hz = 250;
	log->start_ns = start_ns;
	log->fired = log->user = log->attributed = count;
	return log;
}

/*
 * Which file the kernel would have known it by: the one that stands at @path if it is this program; else one that
 * morphd has seen to be it before.
 */
static inline struct file_identity file_of(const struct fixture *f, const char *name, const char *path,
					   const struct build_id *id)
{
	_clean_(statement_freep) sqlite3_stmt *row = NULL;
	struct file_identity file = { 0 };
	char text[BUILD_ID_MAX_TEXT];
	int fd;

	if (file_is_program(path, name)) {
		fd = open(path, O_RDONLY | O_CLOEXEC);
		CHECK_INT(file_identity_of_fd(fd, &file), 0);
		close(fd);
		return file;
	}
	CHECK_INT(state_prepare(f->m->state, &row, NULL,
				"SELECT device, inode, changed_ns, v.size FROM verified_file v JOIN "
				"generation g ON g.id = "
				"v.generation WHERE g.build_id = ? ORDER BY v.time_ns DESC LIMIT 1",
				"t", build_id_text(id, text)),
		  0);
	if (state_step(f->m->state, row, NULL) == 1)
		file = (struct file_identity){ (uint64_t)sqlite3_column_int64(row, 0),
					       (uint64_t)sqlite3_column_int64(row, 1),
					       (uint64_t)sqlite3_column_int64(row, 2),
					       (uint64_t)sqlite3_column_int64(row, 3) };
	return file;
}

static inline void spool(const struct fixture *f, const char *file, const char *name, uint64_t count,
			 uint64_t start_ns)
{
	_clean_(sample_log_freep) struct sample_log *log = log_of(name, f->prog, count, start_ns);
	char path[PATH_MAX];

	log->modules[0].file = file_of(f, name, f->prog, &log->modules[0].build_id);
	CHECK_INT(sample_log_write(log, path_join(f->m->spool, file, path), NULL), 0);
}

static inline int64_t number_of(struct manager *m, const char *sql)
{
	struct fault fault = { "" };
	int64_t ret = -1;
	int r = state_integer(m->state, &ret, &fault, sql, "");

	if (r < 0 && r != -ENOENT)
		FAIL("%s: %s", sql, fault.text);
	return ret;
}

/* Sample the installed program, so that morphd knows it. */
static inline void fixture_sample(struct fixture *f, const char *name, uint64_t count)
{
	static uint64_t serial;
	char file[32];

	snprintf(file, sizeof(file), "%06llu.samples", (unsigned long long)++serial);
	spool(f, file, name, count, serial);
	if (intake_file(f->m, file, &f->fault) != 0)
		FAIL("%s", f->fault.text);
}

/* The file at @path has the bytes of the generation with this row. */
static inline void fixture_verify(struct fixture *f, int64_t generation, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || verified_put(f->m->state, generation, fd, &f->fault) < 0)
		FAIL("%s: %s", path, f->fault.text);
	close(fd);
}

/* As morph-check answers. */
static inline void image_id_write(const char *path, const char *to)
{
	_clean_(image_freep) struct image *image = NULL;
	char id[BUILD_ID_MAX_TEXT + 1];

	CHECK_INT(image_open(path, &image, NULL), 0);
	build_id_text(image_build_id(image), id);
	strcat(id, "\n");
	CHECK_INT(file_write(to, id, strlen(id), 0600, NULL), 0);
}

/* Take program @name for what an editor made of the module 1; its number. */
static inline int64_t fixture_build(struct fixture *f, const char *name)
{
	struct module_row module = { 0 };
	struct generation_row row = { 0 };
	char from[PATH_MAX], to[PATH_MAX];
	int64_t number;

	CHECK_INT(module_get(f->m->state, 1, &module, &f->fault), 0);
	if (shipped_keep(f->m, &module, &f->fault) < 0)
		FAIL("%s", f->fault.text);
	CHECK_INT(file_remove_tree(f->m->work, NULL), 0);
	CHECK_INT(file_mkdirs(f->m->work, 0700, NULL), 0);
	CHECK_INT(file_copy(program(name, from), path_join(f->m->work, "output", to), NULL), 0);
	image_id_write(to, path_join(f->m->work, "answer", from));
	if (accept_generation(f->m, &module, &(struct made_from){ .samples = 100, .cost_s = 1.5 }, &row,
			      &f->fault) < 0)
		FAIL("%s", f->fault.text);
	number = row.number;
	/* Some process may still run it from the store. */
	fixture_verify(f, row.id, store_generation_path(f->m->store, module.key, number, "binary", to));
	generation_row_done(&row);
	module_row_done(&module);
	return number;
}

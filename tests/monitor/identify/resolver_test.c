/* SPDX-License-Identifier: Apache-2.0 */

#include "monitor/identify/resolver.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "tests/attack.h"
#include "tests/monitor/directory.h"
#include "tests/monitor/identify/file_at.h"

static struct sampler_module_event walked(const char *names, size_t size)
{
	struct sampler_module_event event = { .path_bytes = (uint32_t)size };

	memcpy(event.path, names, size);
	return event;
}

TEST(walked_names_become_a_path_and_damaged_ones_none)
{
	struct sampler_module_event event = walked("prog\0bin\0usr", 13);
	char path[PATH_MAX];

	CHECK(resolver_path(&event, sizeof(event), path));
	CHECK_STR(path, "/usr/bin/prog");
	CHECK(!resolver_path(&event, sizeof(event) - 1, path));
	event.path_bytes = 12;
	CHECK(!resolver_path(&event, sizeof(event), path));
	event.path_bytes = 0;
	CHECK(!resolver_path(&event, sizeof(event), path));
	event.path_bytes = SAMPLER_PATH_BYTES + 1;
	CHECK(!resolver_path(&event, sizeof(event), path));
}

TEST(a_module_of_a_process_that_is_gone_is_found_by_its_walked_path)
{
	_clean_(catalog_freep) struct catalog *catalog = catalog_new();
	_clean_(resolver_freep) struct resolver *resolver = resolver_new(NULL, catalog);
	struct sampler_module_event event = walked("true\0bin\0usr", 13);
	const struct catalog_module *module;

	event.event.tgid = 0x7ffffff0;
	event.event.number = 20;
	event.event.module = file_at("/usr/bin/true");
	module = catalog_at(catalog, resolver_announce(resolver, &event, sizeof(event)));
	CHECK(module);
	CHECK_STR(module->path, "/usr/bin/true");
	CHECK(module->build_id.size == 20 && module->size > 0);
	CHECK(resolver_find(resolver, 20, 1000) != CATALOG_NONE);
	CHECK_INT(resolver_find(resolver, 21, 1000), CATALOG_NONE);
	event.event.module.inode++;
	CHECK_INT(resolver_announce(resolver, &event, sizeof(event)), CATALOG_NONE);
}

TEST(what_each_user_runs_of_a_file_is_a_module_of_its_own)
{
	_clean_(catalog_freep) struct catalog *catalog = catalog_new();
	_clean_(resolver_freep) struct resolver *resolver = resolver_new(NULL, catalog);
	struct sampler_module_event event = walked("true\0bin\0usr", 13);
	uint32_t one, other;

	event.event.tgid = 0x7ffffff0;
	event.event.number = 20;
	event.event.module = file_at("/usr/bin/true");
	CHECK(resolver_announce(resolver, &event, sizeof(event)) != CATALOG_NONE);
	one = resolver_find(resolver, 20, 1000);
	other = resolver_find(resolver, 20, 1001);
	CHECK(one != CATALOG_NONE && other != CATALOG_NONE && one != other);
	CHECK_INT(catalog_at(catalog, one)->user, 1000);
	CHECK_INT(catalog_at(catalog, other)->user, 1001);
	CHECK_INT(resolver_find(resolver, 20, 1000), one);
	/* The same file in another mount namespace is told apart, whoever runs it. */
	event.event.number = 21;
	event.event.module.space = 7;
	CHECK(resolver_announce(resolver, &event, sizeof(event)) != CATALOG_NONE);
	CHECK(resolver_find(resolver, 21, 1000) != one);
	CHECK_INT(catalog_at(catalog, resolver_find(resolver, 21, 1000))->space, 7);
}

TEST(a_file_rewritten_in_place_is_another_file)
{
	_clean_(catalog_freep) struct catalog *catalog = catalog_new();
	_clean_(resolver_freep) struct resolver *resolver = resolver_new(NULL, catalog);
	struct sampler_module_event event;
	char names[128];
	uint32_t module;
	size_t n;

	fresh_directory();
	put("lib", "first");
	n = (size_t)snprintf(names, sizeof(names), "lib%c%s%ctmp", 0, directory + strlen("/tmp/"), 0) + 1;
	event = walked(names, n);
	event.event.tgid = 0x7ffffff0;
	event.event.number = 20;
	event.event.module = file_at(in("lib"));
	module = resolver_announce(resolver, &event, sizeof(event));
	CHECK(module != CATALOG_NONE);
	usleep(20000);
	{
		_clean_(fd_closep) int fd = open(in("lib"), O_WRONLY);

		CHECK(write(fd, "other", 5) == 5);
	}
	/* What was mapped is there no more: nothing is known of it. What stands there now is a module of its own. */
	event.event.number = 21;
	CHECK_INT(resolver_announce(resolver, &event, sizeof(event)), CATALOG_NONE);
	event.event.module = file_at(in("lib"));
	CHECK(resolver_announce(resolver, &event, sizeof(event)) != module);
	CHECK(resolver_find(resolver, 21, 0) != CATALOG_NONE &&
	      resolver_find(resolver, 21, 0) != resolver_find(resolver, 20, 0));
	cleanup();
}

TEST(one_persons_files_do_not_push_out_others)
{
	_clean_(catalog_freep) struct catalog *catalog = catalog_new();
	struct catalog_module module = { .kind = SAMPLE_MODULE_FILE, .path = "/x", .file = { .device = 1 } };
	uint32_t n = 0, n_all = 0;

	module.user = module.charged = 1000;
	for (uint32_t i = 0; i < 2 * CATALOG_MAX; i++, module.file.inode++)
		n += catalog_add_like(catalog, &module) != CATALOG_NONE;
	ATTACK("identity-modules-of-one-user", n == CATALOG_OF_PERSON);
	module.user = module.charged = 1001;
	CHECK(catalog_add_like(catalog, &module) != CATALOG_NONE);
	/* Not even all persons together push out the system. */
	for (uint32_t i = 0; i < 2 * CATALOG_MAX; i++, module.file.inode++) {
		module.user = module.charged = 1000 + i % 200;
		catalog_add_like(catalog, &module);
	}
	n_all = (uint32_t)catalog_size(catalog);
	CHECK_INT(n_all, CATALOG_OF_PERSONS);
	module.user = module.charged = 0;
	ATTACK("identity-modules-of-all-users", catalog_add_like(catalog, &module) != CATALOG_NONE);
}

TEST_MAIN()

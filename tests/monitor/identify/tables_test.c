/* SPDX-License-Identifier: Apache-2.0 */

/* The monitor's small tables and parsers: histogram, catalog, CPU lists, lines of maps, kernel map. */

#include "monitor/identify/catalog.h"
#include "monitor/identify/kernel_map.h"
#include "monitor/identify/kernel_names.h"
#include "monitor/identify/mapped_file.h"
#include "monitor/machine/cpu_list.h"
#include "monitor/perf/process_maps.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/file.h"
#include "tests/test.h"

TEST(a_histogram_adds_up_what_is_equal_and_nothing_else)
{
	_clean_(histogram_donep) struct histogram histogram = { 0 };
	uint64_t sum = 0;

	for (uint64_t i = 0; i < 20000; i++)
		CHECK_INT(histogram_add(&histogram, i % 3, i % 5000, 0, 2), 0);
	CHECK_INT(histogram.n, 15000);
	CHECK_INT(histogram.total, 40000);
	for (size_t i = 0; i < histogram.capacity; i++)
		sum += histogram.entries[i].count;
	CHECK_INT(sum, 40000);
	histogram_clear(&histogram);
	CHECK_INT(histogram.n, 0);
	CHECK_INT(histogram_add(&histogram, 1, 1, 1, 1), 0);
	CHECK_INT(histogram.total, 1);
}

TEST(a_module_has_one_number_however_often_it_is_met)
{
	_clean_(catalog_freep) struct catalog *catalog = catalog_new();
	struct build_id id = { .size = 2, .bytes = { 1, 2 } };
	uint32_t first = catalog_add(catalog, SAMPLE_MODULE_FILE, &id, "/a", 1, 1);

	for (unsigned i = 0; i < 5000; i++) {
		char path[32];

		snprintf(path, sizeof(path), "/p%u", i);
		catalog_add(catalog, SAMPLE_MODULE_FILE, NULL, path, i, i);
		catalog_set_alias(catalog, path, strlen(path), i + 1);
	}
	CHECK_INT(catalog_size(catalog), 5001);
	CHECK_INT(catalog_add(catalog, SAMPLE_MODULE_FILE, &id, "/elsewhere", 9, 9), first);
	CHECK(catalog_add(catalog, SAMPLE_MODULE_FILE, NULL, "/p77", 77, 78) != 78);
	CHECK_INT(catalog_add(catalog, SAMPLE_MODULE_FILE, NULL, "/p77", 77, 77), 78);
	CHECK_INT(catalog_alias(catalog, "/p4999", 6), 5000);
	CHECK_INT(catalog_alias(catalog, "/p5000", 6), CATALOG_NONE);
}

TEST(the_vdso_is_known_by_its_build_id)
{
	_clean_(catalog_freep) struct catalog *catalog = catalog_new();
	const struct catalog_module *vdso = catalog_at(catalog, catalog_vdso(catalog));

	CHECK_INT(vdso->kind, SAMPLE_MODULE_VDSO);
	CHECK(vdso->build_id.size > 0);
}

TEST(cpu_lists_are_read_and_nonsense_refused)
{
	struct cpu_list list;

	CHECK_INT(cpu_list_parse("0-3,8,10-11\n", &list), 0);
	CHECK_INT(list.n, 7);
	CHECK_INT(list.highest, 11);
	CHECK(cpu_list_has(&list, 3) && !cpu_list_has(&list, 4) && !cpu_list_has(&list, 100000));
	CHECK_INT(cpu_list_parse("\n", &list), 0);
	CHECK_INT(list.n, 0);
	CHECK_INT(cpu_list_parse("3-1", &list), -EINVAL);
	CHECK_INT(cpu_list_parse("1;2", &list), -EINVAL);
	CHECK_INT(cpu_list_parse("99999", &list), -EINVAL);
	CHECK_INT(cpu_list_parse("(null)", &list), -EINVAL);
}

TEST(a_line_of_maps_gives_its_name_with_newlines)
{
	char line[] = "7f00-7f80 r-xp 00001000 fe:01 131   /usr/lib/a b\\012c.so (deleted)\n";
	char data[] = "7f00-7f80 rw-p 00001000 fe:01 131   /usr/lib/a\n";
	char none[] = "7f00-7f80 r-xp 00000000 00:00 0 \n";
	char bad[] = "7f00 r-xp\n";
	struct process_mapping mapping;

	CHECK(process_maps_parse(line, &mapping));
	CHECK_INT(mapping.start, 0x7f00);
	CHECK_INT(mapping.offset, 0x1000);
	CHECK_INT(mapping.major, 0xfe);
	CHECK_INT(mapping.inode, 131);
	CHECK_STR(mapping.name, "/usr/lib/a b\nc.so (deleted)");
	CHECK(!process_maps_parse(data, &mapping));
	CHECK(process_maps_parse(none, &mapping));
	CHECK_STR(mapping.name, "");
	CHECK(!process_maps_parse(bad, &mapping));
}

TEST(generated_code_is_told_from_files)
{
	CHECK_INT(mapped_file_kind("[vdso]"), SAMPLE_MODULE_VDSO);
	CHECK_INT(mapped_file_kind("//anon"), SAMPLE_MODULE_ANONYMOUS);
	CHECK_INT(mapped_file_kind(""), SAMPLE_MODULE_ANONYMOUS);
	CHECK_INT(mapped_file_kind("[heap]"), SAMPLE_MODULE_ANONYMOUS);
	CHECK_INT(mapped_file_kind("/memfd:jit (deleted)"), SAMPLE_MODULE_ANONYMOUS);
	CHECK_INT(mapped_file_kind("/usr/bin/true"), SAMPLE_MODULE_FILE);
}

TEST(a_replaced_file_keeps_the_identity_it_had_when_it_was_mapped)
{
	_clean_(catalog_freep) struct catalog *catalog = catalog_new();
	struct mapped_file file = { .pid = getpid(),
				    .name = "/bin/true",
				    .comm = "x",
				    .build_id = { .size = 3, .bytes = { 9, 9, 9 } } };
	const struct catalog_module *module = catalog_at(catalog, mapped_file_module(catalog, &file));

	/* /bin/true has another build ID, so its size and time must not be taken. */
	CHECK_INT(module->build_id.size, 3);
	CHECK_INT(module->size, 0);
	CHECK_STR(module->path, "/bin/true");
	file.name = "/bin/true (deleted)";
	CHECK(catalog_at(catalog, mapped_file_module(catalog, &file)) == module);
}

static void put(const char *dir, const char *name, const void *bytes, size_t size)
{
	char path[512], *slash;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	slash = strrchr(path, '/');
	*slash = '\0';
	CHECK_INT(file_mkdirs(path, 0755, NULL), 0);
	*slash = '/';
	CHECK_INT(file_write(path, bytes, size, 0644, NULL), 0);
}

static void put_text(const char *dir, const char *name, const char *text)
{
	put(dir, name, text, strlen(text));
}

TEST(kernel_addresses_belong_to_the_image_a_module_or_generated_code)
{
	static const uint8_t note[] = { 4,   0,	  0,   0, 8, 0, 0, 0, 3, 0, 0, 0,
					'G', 'N', 'U', 0, 7, 8, 0, 0, 0, 0, 0, 0 };
	static const uint8_t other[] = { 4,   0,   0,	0, 8, 0, 0, 0, 3, 0, 0, 0,
					 'G', 'N', 'U', 0, 9, 0, 0, 0, 0, 0, 0, 0 };
	char dir[] = "/tmp/kernel-map-test.XXXXXX";
	_clean_(catalog_freep) struct catalog *catalog = catalog_new();
	_clean_(kernel_map_freep) struct kernel_map *map = NULL;
	uint64_t offset;
	uint32_t module;

	CHECK(mkdtemp(dir));
	put_text(dir, "proc/kallsyms",
		 "ffffffff81000000 T _text\nffffffff81000010 t x\t[m]\n"
		 "ffffffff82000000 T _etext\n");
	put_text(dir, "proc/modules",
		 "nf_nat 8192 1 a,b, Live 0xffffffffc0000000\n"
		 "hidden 8192 0 - Live 0x0000000000000000\n");
	put(dir, "sys/kernel/notes", note, sizeof(note));
	put(dir, "sys/module/nf_nat/notes/.note.gnu.build-id", other, sizeof(other));
	map = kernel_map_new(dir, catalog);
	file_remove_tree(dir, NULL);
	CHECK(map && kernel_map_is_visible(map));
	CHECK(kernel_map_find(map, 0xffffffff81000020, &module, &offset));
	CHECK_STR(catalog_at(catalog, module)->path, "[kernel]");
	CHECK_INT(catalog_at(catalog, module)->build_id.bytes[1], 8);
	CHECK_INT(offset, 0x20);
	CHECK(kernel_map_find(map, 0xffffffffc0001fff, &module, &offset));
	CHECK_STR(catalog_at(catalog, module)->path, "[kernel module nf_nat]");
	CHECK_INT(offset, 0x1fff);
	CHECK(kernel_map_find(map, 0xffffffffc0002000, &module, &offset));
	CHECK_STR(catalog_at(catalog, module)->path, "[kernel, generated code]");
}

TEST(hidden_kernel_addresses_give_an_empty_map)
{
	char dir[] = "/tmp/kernel-map-test.XXXXXX";
	_clean_(catalog_freep) struct catalog *catalog = catalog_new();
	_clean_(kernel_map_freep) struct kernel_map *map = NULL;
	uint64_t offset;
	uint32_t module;

	CHECK(mkdtemp(dir));
	put_text(dir, "proc/kallsyms", "0000000000000000 T _text\n0000000000000000 T _etext\n");
	map = kernel_map_new(dir, catalog);
	file_remove_tree(dir, NULL);
	CHECK(map && !kernel_map_is_visible(map));
	CHECK(!kernel_map_find(map, 0xffffffff81000020, &module, &offset));
}

/* A root with a kernel of build 07 08 and a module of build 09 00. */
static void kernel_put(const char *dir, const char *kallsyms)
{
	static const uint8_t note[] = { 4,   0,	  0,   0, 8, 0, 0, 0, 3, 0, 0, 0,
					'G', 'N', 'U', 0, 7, 8, 0, 0, 0, 0, 0, 0 };
	static const uint8_t other[] = { 4,   0,   0,	0, 8, 0, 0, 0, 3, 0, 0, 0,
					 'G', 'N', 'U', 0, 9, 0, 0, 0, 0, 0, 0, 0 };

	put_text(dir, "proc/kallsyms", kallsyms);
	put_text(dir, "proc/modules", "nf_nat 8192 1 a,b, Live 0xffffffffc0000000\n");
	put(dir, "sys/kernel/notes", note, sizeof(note));
	put(dir, "sys/module/nf_nat/notes/.note.gnu.build-id", other, sizeof(other));
}

TEST(functions_of_the_running_kernel_and_its_modules_have_names)
{
	struct build_id kernel = { .size = 8, .bytes = { 7, 8 } }, module = { .size = 8, .bytes = { 9 } };
	char dir[] = "/tmp/kernel-map-test.XXXXXX";
	_clean_(kernel_names_freep) struct kernel_names *own = NULL, *its = NULL;
	uint64_t start = 0;

	CHECK(mkdtemp(dir));
	kernel_put(dir, "ffffffff80000000 A fixed\nffffffff81000000 T _text\nffffffff81000000 T aaa\n"
			"ffffffff81000100 t schedule\nffffffff81000180 d data\nffffffff81000200 W weak\n"
			"ffffffff82000000 T _etext\nffffffff82000100 T behind\n"
			"ffffffffc0000010 t nat_init\t[nf_nat]\nffffffffc0000010 t other\t[nf_nat_more]\n");
	own = kernel_names_read(dir, "[kernel]", &kernel);
	its = kernel_names_read(dir, "[kernel module nf_nat]", &module);
	CHECK(own && its);
	CHECK_STR(kernel_name_at(own, 0x1ff, &start), "schedule");
	CHECK_INT(start, 0x100);
	CHECK_STR(kernel_name_at(own, 0x200, &start), "weak");
	CHECK_STR(kernel_name_at(own, 0x2000000, &start), "weak");
	CHECK_STR(kernel_name_at(own, 0, &start), "_text");
	CHECK_STR(kernel_name_at(its, 0x20, &start), "nat_init");
	CHECK_INT(start, 0x10);
	CHECK(!kernel_name_at(its, 0xf, &start));
	CHECK(!kernel_names_read(dir, "[kernel]", &module));
	CHECK(!kernel_names_read(dir, "[kernel module nf_nat]", &kernel));
	CHECK(!kernel_names_read(dir, "[kernel module nothing]", &module));
	CHECK(!kernel_names_read(dir, "[kernel, generated code]", &kernel));
	CHECK(!kernel_names_read(dir, "[kernel]", &(struct build_id){ 0 }));
	file_remove_tree(dir, NULL);
}

TEST(a_kernel_that_hides_its_addresses_or_writes_nonsense_has_no_names)
{
	struct build_id kernel = { .size = 8, .bytes = { 7, 8 } };
	static const char *const texts[] = {
		"0000000000000000 T _text\n0000000000000000 T schedule\n", "",
		"\n\nx\nffffffff81000000\nffffffff81000000 \nffffffff81000000 T\n",
		"ffffffff81000100 T schedule\n"
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		char dir[] = "/tmp/kernel-map-test.XXXXXX";

		CHECK(mkdtemp(dir));
		kernel_put(dir, texts[i]);
		CHECK(!kernel_names_read(dir, "[kernel]", &kernel));
		file_remove_tree(dir, NULL);
	}
}

TEST_MAIN()

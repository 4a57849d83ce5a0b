/* SPDX-License-Identifier: Apache-2.0 */

#include "profiles/samples/sample_log.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/container.h"
#include "base/file.h"
#include "tests/test.h"

static struct build_id id_of(uint8_t byte)
{
	return (struct build_id){ .size = 4, .bytes = { byte, 1, 2, 3 } };
}

/* "cron" in f in g three times, in f twice, and once below a frame that is none. */
static void stacks_example(struct sample_log *log)
{
	struct build_id a = id_of(0xa);
	struct sample_module like = { .kind = SAMPLE_MODULE_FILE,
				      .build_id = a,
				      .path = (char *)"/usr/bin/a",
				      .user = SAMPLE_USER_UNKNOWN };
	uint32_t process = stacks_special(&log->stacks, STACK_PROCESS, "cron", 0),
		 cut = stacks_special(&log->stacks, STACK_CUT, "", SAMPLE_USER_UNKNOWN),
		 image = stacks_image(&log->stacks, &like);
	struct stack_frame whole[] = { { process, 0 }, { image, 0x1000 }, { image, 0x2000 } };
	struct stack_frame broken[] = { { process, 0 }, { cut, STACK_CUT_NO_CODE }, { image, 0x2000 } };

	CHECK_INT(stacks_add(&log->stacks, whole, 3, 3), 0);
	CHECK_INT(stacks_add(&log->stacks, whole, 2, 2), 0);
	CHECK_INT(stacks_add(&log->stacks, broken, 3, 1), 0);
}

/* Two user modules, a kernel, anonymous memory, losses; obeys the law. */
static struct sample_log *example(void)
{
	struct sample_log *log = sample_log_new();
	struct build_id a = id_of(0xa), k = id_of(0xc);
	struct sample_module *module;

	log->source = SAMPLE_SOURCE_TICK;
	log->rate_hz = 250;
	log->start_ns = 1700000000000000000u;
	log->duration_ns = 2000000000u;
	log->n_cpus = 2;
	module = sample_log_module(log, SAMPLE_MODULE_FILE, &a, "/usr/bin/a\nb", 1000, 1);
	sample_module_add(module, 0x2000, 5);
	sample_module_add(module, 0x1000, 7);
	sample_module_add(module, 0x2000, 1);
	sample_module_add_branch(module, 0x2010, 0x1000, 3);
	sample_module_add_branch(module, 0x2010, 0xfff, 2);
	module = sample_log_module(log, SAMPLE_MODULE_FILE, NULL, "/no/build/id", 10, 2);
	module->tick_synchronous = true;
	sample_module_add(module, UINT64_MAX, 2);
	module = sample_log_module(log, SAMPLE_MODULE_KERNEL, &k, "[kernel]", 0, 0);
	sample_module_add(module, 64, 4);
	module = sample_log_module(log, SAMPLE_MODULE_ANONYMOUS, NULL, "[anon:java]", 0, 0);
	sample_module_add(module, 0, 9);
	sample_log_normalize(log);
	log->attributed = 14;
	log->set_aside = 1;
	log->scaled_in = 2;
	log->anonymous = 9;
	log->lost[SAMPLE_LOSS_RACE] = 1;
	log->user = 24;
	log->kernel = 5;
	log->idle = 100;
	log->fired = 129;
	stacks_example(log);
	owners_add(&log->owners, "cron", "cron.service", 0, 20);
	owners_add(&log->owners, "java", "", SAMPLE_USER_UNKNOWN, 9);
	return log;
}

TEST(normalizing_sorts_and_unites_duplicates)
{
	_clean_(sample_log_freep) struct sample_log *log = example();
	struct build_id a = id_of(0xa);
	const struct sample_module *module = sample_log_find(log, &a);

	CHECK(module);
	CHECK_INT(module->n_counts, 2);
	CHECK_INT(module->counts[0].offset, 0x1000);
	CHECK_INT(module->counts[1].count, 6);
	CHECK_INT(module->total, 13);
	CHECK_INT(module->branches[0].to, 0xfff);
}

TEST(counts_can_be_added_after_normalizing)
{
	_clean_(sample_log_freep) struct sample_log *log = sample_log_new();
	struct build_id a = id_of(1);
	struct sample_module *module;

	for (unsigned round = 0; round < 5; round++) {
		module = sample_log_module(log, SAMPLE_MODULE_FILE, &a, "m", 0, 0);
		for (unsigned i = 0; i < 100; i++)
			CHECK_INT(sample_module_add(module, i % 7, 1), 0);
		sample_log_normalize(log);
	}
	CHECK_INT(log->modules[0].n_counts, 7);
	CHECK_INT(log->modules[0].total, 500);
}

TEST(the_law_holds_and_each_broken_equation_is_named)
{
	_clean_(sample_log_freep) struct sample_log *log = example();
	struct fault fault;

	CHECK_INT(sample_log_check(log, &fault), 0);
	log->fired++;
	CHECK_INT(sample_log_check(log, &fault), -ERANGE);
	CHECK(strstr(fault.text, "fired = idle + kernel + user"));
	log->fired--;
	log->lost[SAMPLE_LOSS_MAP_FULL]++;
	CHECK_INT(sample_log_check(log, &fault), -ERANGE);
	CHECK(strstr(fault.text, "user = attributed"));
	log->attributed--;
	CHECK_INT(sample_log_check(log, &fault), -ERANGE);
	CHECK(strstr(fault.text, "user modules"));
	log->set_aside--;
	log->kernel = 3;
	log->idle = 102;
	CHECK_INT(sample_log_check(log, &fault), -ERANGE);
	CHECK(strstr(fault.text, "kernel modules"));
	log->kernel = 5;
	log->idle = 100;
	CHECK_INT(sample_log_check(log, &fault), 0);
	owners_add(&log->owners, "x", "y", 0, 2);
	CHECK_INT(sample_log_check(log, &fault), -ERANGE);
	CHECK(strstr(fault.text, "have an owner"));
}

TEST(a_log_without_a_clock_is_balanced_from_its_modules)
{
	_clean_(sample_log_freep) struct sample_log *log = example();

	sample_log_balance(log);
	CHECK_INT(log->attributed, 15);
	CHECK_INT(log->fired, 100 + 4 + 15 + 9 + 1);
	CHECK_INT(sample_log_check(log, NULL), 0);
}

TEST(what_is_written_reads_back_the_same)
{
	_clean_(sample_log_freep) struct sample_log *log = example(), *back = NULL;
	_clean_(buffer_donep) struct buffer first = { 0 }, second = { 0 };
	struct fault fault;

	CHECK_INT(sample_log_encode(log, &first), 0);
	CHECK_INT(sample_log_decode(first.data, first.size, &back, &fault), 0);
	CHECK_INT(sample_log_encode(back, &second), 0);
	CHECK_INT(first.size, second.size);
	CHECK(memcmp(first.data, second.data, first.size) == 0);
	CHECK_INT(sample_log_check(back, NULL), 0);
	CHECK_INT(back->n_modules, 4);
	CHECK_INT(back->lost[SAMPLE_LOSS_RACE], 1);
	CHECK(back->rate_hz == 250.0);
}

TEST(every_truncation_of_the_payload_is_refused)
{
	_clean_(sample_log_freep) struct sample_log *log = example();
	_clean_(buffer_donep) struct buffer whole = { 0 }, payload = { 0 };

	CHECK_INT(sample_log_encode(log, &whole), 0);
	CHECK_INT(container_unpack(whole.data, whole.size, CONTAINER_SAMPLE_LOG, SAMPLE_LOG_VERSION, &payload,
				   NULL),
		  0);
	for (size_t size = 0; size < payload.size; size++) {
		_clean_(buffer_donep) struct buffer shorter = { 0 };
		struct sample_log *back = NULL;

		container_pack(CONTAINER_SAMPLE_LOG, SAMPLE_LOG_VERSION, payload.data, size, 0, &shorter);
		CHECK_INT(sample_log_decode(shorter.data, shorter.size, &back, NULL), -EBADMSG);
	}
}

TEST(merging_adds_counts_and_weighs_the_rate_by_duration)
{
	_clean_(sample_log_freep) struct sample_log *into = sample_log_new(), *a = example(), *b = example();
	struct build_id id = id_of(0xa);

	b->rate_hz = 1000;
	b->duration_ns = 6000000000u;
	CHECK_INT(sample_log_merge(into, a), 0);
	CHECK_INT(sample_log_merge(into, b), 0);
	CHECK(into->rate_hz == 812.5);
	CHECK_INT(into->source, SAMPLE_SOURCE_TICK);
	CHECK_INT(into->n_modules, 4);
	CHECK_INT(sample_log_find(into, &id)->total, 26);
	CHECK_INT(sample_log_check(into, NULL), 0);
}

TEST(stacks_that_begin_alike_share_frames_and_add_up)
{
	_clean_(sample_log_freep) struct sample_log *into = sample_log_new(), *a = example(), *b = example();
	const struct stacks *stacks = &into->stacks;

	CHECK_INT(a->stacks.n_nodes, 5);
	CHECK_INT(sample_log_merge(into, a), 0);
	CHECK_INT(sample_log_merge(into, b), 0);
	CHECK_INT(stacks->n_nodes, 5);
	CHECK_INT(stacks->n_images, 3);
	CHECK_INT(stacks->n_samples, 12);
	CHECK_INT(stacks->nodes[2].count, 6);
	CHECK_INT(stacks->nodes[2].parent, 1);
	CHECK_INT(stacks->nodes[1].count, 4);
	CHECK_INT(stacks->nodes[0].parent, STACKS_ROOT);
	CHECK_INT(into->owners.n, 2);
	CHECK_INT(into->owners.list[0].count, 40);
}

TEST(stacks_that_find_no_room_are_counted)
{
	struct stacks stacks = { 0 };
	uint32_t image = stacks_special(&stacks, STACK_PROCESS, "p", 0);
	struct stack_frame deep[STACKS_MAX_FRAMES + 1];

	for (size_t i = 0; i < ARRAY_SIZE(deep); i++)
		deep[i] = (struct stack_frame){ image, i };
	CHECK_INT(stacks_add(&stacks, deep, ARRAY_SIZE(deep), 7), 0);
	CHECK_INT(stacks.n_lost, 7);
	for (uint64_t i = 0; i < STACKS_MAX_NODES + 10u; i++) {
		struct stack_frame one = { image, i };

		CHECK_INT(stacks_add(&stacks, &one, 1, 1), 0);
	}
	CHECK_INT(stacks.n_nodes, STACKS_MAX_NODES);
	CHECK_INT(stacks.n_lost, 17);
	stacks_done(&stacks);
}

TEST(owners_beyond_the_limit_are_nobody_and_long_names_are_cut)
{
	struct owners owners = { 0 };
	char name[600];

	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	CHECK_INT(owners_add(&owners, name, name, 1, 1), 0);
	CHECK_INT(strlen(owners.list[0].process), OWNER_MAX_BYTES);
	for (unsigned i = 0; i < OWNERS_MAX + 5; i++) {
		snprintf(name, sizeof(name), "p%u", i);
		CHECK_INT(owners_add(&owners, name, "u", 1, 2), 0);
	}
	CHECK_INT(owners.n, OWNERS_MAX);
	CHECK_INT(owners.n_nobody, 12);
	CHECK_INT(owners_total(&owners), 1 + 2 * (OWNERS_MAX + 5));
	owners_done(&owners);
}

TEST(logs_of_before_are_read)
{
	static const char *const versions[] = { "example", "version2" };

	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		_clean_(sample_log_freep) struct sample_log *log = NULL;
		char path[4096];
		struct fault fault;

		snprintf(path, sizeof(path), "%s/tests/corpus/sample_log/%s", MORPH_SOURCE_DIR, versions[i]);
		CHECK_INT(sample_log_read(path, &log, &fault), 0);
		CHECK(log->n_modules > 0);
		CHECK_INT(log->stacks.n_nodes, 0);
	}
}

TEST(merging_is_the_same_as_adding_everything_to_one_log)
{
	_clean_(sample_log_freep) struct sample_log *into = sample_log_new(), *all = sample_log_new();
	_clean_(buffer_donep) struct buffer a = { 0 }, b = { 0 };
	struct build_id id = id_of(0xa);
	uint64_t random = 1;

	for (int i = 0; i < 5; i++) {
		_clean_(sample_log_freep) struct sample_log *log = sample_log_new();

		for (int j = 0; j < 40 * i; j++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			sample_module_add(sample_log_module(log, SAMPLE_MODULE_FILE, &id, "/x", 1, 1),
					  random >> 56, 1 + (random >> 40 & 7));
			sample_module_add(sample_log_module(all, SAMPLE_MODULE_FILE, &id, "/x", 1, 1),
					  random >> 56, 1 + (random >> 40 & 7));
		}
		log->source = all->source = SAMPLE_SOURCE_TICK;
		sample_log_normalize(log);
		CHECK_INT(sample_log_merge(into, log), 0);
	}
	sample_log_normalize(all);
	CHECK_INT(sample_log_encode(into, &a), 0);
	CHECK_INT(sample_log_encode(all, &b), 0);
	CHECK_INT(a.size, b.size);
	CHECK(memcmp(a.data, b.data, a.size) == 0);
}

TEST(modules_without_build_id_differ_by_path_size_and_time)
{
	_clean_(sample_log_freep) struct sample_log *log = sample_log_new();

	for (unsigned i = 0; i < 2; i++) {
		sample_log_module(log, SAMPLE_MODULE_FILE, NULL, "/a", 1, 1);
		sample_log_module(log, SAMPLE_MODULE_FILE, NULL, "/a", 2, 1);
		sample_log_module(log, SAMPLE_MODULE_FILE, NULL, "/b", 1, 1);
		sample_log_module(log, SAMPLE_MODULE_VDSO, NULL, "/a", 1, 1);
	}
	CHECK_INT(log->n_modules, 4);
}

TEST(a_file_is_written_whole_and_a_missing_directory_is_named)
{
	_clean_(sample_log_freep) struct sample_log *log = example(), *back = NULL;
	char dir[] = "/tmp/sample-log-test.XXXXXX", path[64];
	struct fault fault;

	CHECK(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/x.samples", dir);
	CHECK_INT(sample_log_write(log, path, &fault), 0);
	CHECK_INT(sample_log_read(path, &back, &fault), 0);
	CHECK_INT(file_remove_tree(dir, NULL), 0);
	CHECK_INT(sample_log_write(log, path, &fault), -ENOENT);
	CHECK(strstr(fault.text, path));
}

TEST(the_dump_names_the_equation_and_the_json_its_fields)
{
	_clean_(sample_log_freep) struct sample_log *log = example();
	_clean_(freep) char *text = NULL, *json = NULL;
	size_t n_text, n_json;
	FILE *out = open_memstream(&text, &n_text);

	sample_log_dump(log, out);
	fclose(out);
	CHECK(strstr(text, "fired       129 = idle 100 + kernel 5 + user 24\n"));
	CHECK(strstr(text, "/usr/bin/a\\x0ab"));
	CHECK(!strstr(text, "WRONG"));
	out = open_memstream(&json, &n_json);
	sample_log_dump_json(log, out);
	fclose(out);
	CHECK(strstr(json, "\"fired\": 129"));
	CHECK(strstr(json, "\"race\": 1"));
	CHECK(strstr(json, "\"drained\": 15"));
	CHECK(strstr(json, "\"process\": \"cron\""));
	CHECK(strstr(text, "stacks      of 6 samples, 5 frames"));
	CHECK(strstr(text, "cron.service"));
	CHECK(strstr(json, "\"path\": \"/usr/bin/a\\u000ab\""));
}

TEST_MAIN()

/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE

#include "profiles/samples/perf_data.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/file.h"
#include "tests/profiles/samples/perf_builder.h"
#include "tests/test.h"

#define USUAL (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD)
#define HAS_SAMPLE_IDS (1ull << 18)
#define IS_FREQUENCY (1ull << 10)
#define LAST_MODULE(log) (&(log)->modules[(log)->n_modules - 1])

static const uint8_t id_a[20] = { 0xaa, 1 }, id_b[20] = { 0xbb, 2 };

static struct perf_builder cpu_clock(uint64_t sample_type)
{
	return (struct perf_builder){
		.events = { { .type = PERF_TYPE_SOFTWARE,
			      .config = PERF_COUNT_SW_CPU_CLOCK,
			      .period = 1000000,
			      .sample_type = sample_type,
			      .flags = HAS_SAMPLE_IDS,
			      .id = 41 } },
		.n_events = 1,
	};
}

static int decode_named(const struct perf_builder *builder, const char *event, struct sample_log **ret,
			struct import_summary *summary, struct fault *fault)
{
	_clean_(buffer_donep) struct buffer bytes = { 0 };

	perf_builder_finish(builder, &bytes);
	return perf_data_decode(bytes.data, bytes.size, event, 5000000000u, ret, summary, fault);
}

static struct sample_log *decode(const struct perf_builder *builder, struct import_summary *summary)
{
	struct sample_log *log = NULL;
	struct fault fault;

	if (decode_named(builder, NULL, &log, summary, &fault) != 0)
		FAIL("%s", fault.text);
	if (sample_log_check(log, &fault) != 0)
		FAIL("%s", fault.text);
	return log;
}

TEST(addresses_become_file_offsets)
{
	_clean_(perf_builder_done) struct perf_builder builder = cpu_clock(USUAL);
	_clean_(sample_log_freep) struct sample_log *log = NULL;
	struct import_summary summary;

	record_mmap2(&builder, 7, 0x401000, 0x2000, 0x1000, "/bin/a", id_a, 0);
	record_sample(&builder, 0, PERF_RECORD_MISC_USER, 7, 0x401010, 2000000000, NULL, 0);
	record_sample(&builder, 0, PERF_RECORD_MISC_USER, 7, 0x401010, 2500000000, NULL, 0);
	record_sample(&builder, 0, PERF_RECORD_MISC_USER, 7, 0x402fff, 3000000000, NULL, 0);
	log = decode(&builder, &summary);
	CHECK_INT(log->n_modules, 1);
	CHECK_STR(log->modules[0].path, "/bin/a");
	CHECK(log->modules[0].build_id.size == 20 && log->modules[0].build_id.bytes[0] == 0xaa);
	CHECK_INT(log->modules[0].n_counts, 2);
	CHECK(log->modules[0].counts[0].offset == 0x1010 && log->modules[0].counts[0].count == 2);
	CHECK(log->modules[0].counts[1].offset == 0x2fff && log->modules[0].counts[1].count == 1);
	CHECK(log->source == SAMPLE_SOURCE_IMPORT && log->rate_hz == 1000);
	CHECK(log->duration_ns == 1000000000 && log->start_ns == 4000000000u);
	CHECK_STR(summary.event, "cpu-clock");
	CHECK(summary.samples == 3 && summary.without_build_id == 0);
}

#define USER_CHAIN ((uint64_t)PERF_CONTEXT_USER)

/* Of one frame: where it is. Frames of a stack are found from its end. */
static const struct stack_node *node_with(const struct stacks *stacks, uint64_t count)
{
	for (size_t i = 0; i < stacks->n_nodes; i++)
		if (stacks->nodes[i].count == count)
			return &stacks->nodes[i];
	FAIL("no stack of %d samples", (int)count);
	return NULL;
}

static const char *frame_path(const struct stacks *stacks, const struct stack_node *node)
{
	return stacks->images[node->frame.image].path;
}

TEST(call_chains_are_stacks_below_the_process_and_what_is_no_code_cuts_them)
{
	_clean_(perf_builder_done) struct perf_builder builder = cpu_clock(USUAL | PERF_SAMPLE_CALLCHAIN);
	_clean_(sample_log_freep) struct sample_log *log = NULL;
	const struct stack_node *node, *caller;
	static const uint64_t whole[] = { USER_CHAIN, 0x401010, 0x401100 },
			      kernel[] = { (uint64_t)PERF_CONTEXT_KERNEL,
					   ~0xfffffull,
					   ~0xeffffull,
					   USER_CHAIN,
					   0x401010,
					   0x401100 },
			      broken[] = { USER_CHAIN, 0x401010, 0x7777, 0x401100 };

	record_name(&builder, 7, 7, "parent");
	record_name(&builder, 7, 9, "its thread");
	record_mmap2(&builder, 7, 0x401000, 0x2000, 0x1000, "/bin/a", id_a, 0);
	record_fork(&builder, 8, 7, 1);
	for (unsigned i = 0; i < 2; i++)
		record_chain(&builder, PERF_RECORD_MISC_USER, 7, 2, whole, 3);
	record_chain(&builder, PERF_RECORD_MISC_KERNEL, 8, 3, kernel, 6);
	for (unsigned i = 0; i < 3; i++)
		record_chain(&builder, PERF_RECORD_MISC_USER, 8, 3, broken, 4);
	log = decode(&builder, NULL);
	CHECK_INT(log->stacks.n_samples, 6);
	CHECK(log->kernel == 1 && log->attributed == 5);

	node = node_with(&log->stacks, 2);
	CHECK_INT(node->frame.offset, 0x1010);
	caller = &log->stacks.nodes[node->parent];
	CHECK_INT(caller->frame.offset, 0x10ff); /* the call's last byte */
	CHECK_STR(frame_path(&log->stacks, caller), "/bin/a");
	CHECK_STR(frame_path(&log->stacks, &log->stacks.nodes[caller->parent]), "parent");

	node = node_with(&log->stacks, 1);
	CHECK_STR(frame_path(&log->stacks, node), "[kernel]");
	CHECK_INT(log->stacks.nodes[node->parent].frame.offset, 0x1010);

	node = node_with(&log->stacks, 3);
	caller = &log->stacks.nodes[node->parent];
	CHECK_INT((int)log->stacks.images[caller->frame.image].kind, STACK_CUT);
	CHECK_INT(caller->frame.offset, STACK_CUT_NO_CODE);
	CHECK_STR(frame_path(&log->stacks, &log->stacks.nodes[caller->parent]), "parent");
}

TEST(a_chain_without_an_end_is_cut_where_it_is_too_deep)
{
	_clean_(perf_builder_done) struct perf_builder builder = cpu_clock(USUAL | PERF_SAMPLE_CALLCHAIN);
	_clean_(sample_log_freep) struct sample_log *log = NULL;
	const struct stack_node *node;
	uint64_t chain[1000] = { USER_CHAIN };
	unsigned depth = 1;

	for (unsigned i = 1; i < ARRAY_SIZE(chain); i++)
		chain[i] = 0x401010 + i;
	record_mmap2(&builder, 7, 0x401000, 0x2000, 0x1000, "/bin/a", id_a, 0);
	record_chain(&builder, PERF_RECORD_MISC_USER, 7, 2, chain, ARRAY_SIZE(chain));
	log = decode(&builder, NULL);
	node = node_with(&log->stacks, 1);
	CHECK_INT(node->frame.offset, 0x1011);
	for (; node->parent != STACKS_ROOT; depth++)
		node = &log->stacks.nodes[node->parent];
	CHECK_INT(depth, STACKS_MAX_FRAMES);
	CHECK_STR(frame_path(&log->stacks, node), "?");
	CHECK_INT(log->stacks.nodes[1].frame.offset, STACK_CUT_DEEP);
}

TEST(kernel_idle_and_unmapped_samples_are_totals)
{
	_clean_(perf_builder_done) struct perf_builder builder = cpu_clock(USUAL);
	_clean_(sample_log_freep) struct sample_log *log = NULL;

	record_sample(&builder, 0, PERF_RECORD_MISC_KERNEL, 0, ~0xfffull, 1, NULL, 0);
	record_sample(&builder, 0, PERF_RECORD_MISC_KERNEL, 9, ~0xfffull, 2, NULL, 0);
	record_sample(&builder, 0, PERF_RECORD_MISC_KERNEL, 9, ~0xfffull, 3, NULL, 0);
	record_sample(&builder, 0, PERF_RECORD_MISC_USER, 9, 0x1000, 4, NULL, 0);
	log = decode(&builder, NULL);
	CHECK(log->idle == 1 && log->kernel == 2 && log->user == 1 && log->fired == 4);
	CHECK(log->lost[SAMPLE_LOSS_NO_MAPPING] == 1 && log->n_modules == 0);
}

TEST(memory_without_a_file_is_one_total)
{
	_clean_(perf_builder_done) struct perf_builder builder = cpu_clock(USUAL);
	_clean_(sample_log_freep) struct sample_log *log = NULL;

	record_mmap2(&builder, 7, 0x1000, 0x1000, 0, "//anon", NULL, 0);
	record_mmap2(&builder, 7, 0x2000, 0x1000, 0, "[vdso]", NULL, 0);
	record_mmap2(&builder, 7, 0x3000, 0x1000, 0, "/memfd:jit (deleted)", NULL, 0);
	record_sample(&builder, 0, PERF_RECORD_MISC_USER, 7, 0x1234, 1, NULL, 0);
	record_sample(&builder, 0, PERF_RECORD_MISC_USER, 7, 0x3234, 2, NULL, 0);
	record_sample(&builder, 0, PERF_RECORD_MISC_USER, 7, 0x2234, 3, NULL, 0);
	log = decode(&builder, NULL);
	CHECK(log->anonymous == 2 && log->attributed == 1);
	CHECK_INT(log->n_modules, 2);
	CHECK_INT(log->modules[0].kind, SAMPLE_MODULE_VDSO);
	CHECK_INT(log->modules[0].counts[0].offset, 0x234);
	CHECK_INT(log->modules[1].kind, SAMPLE_MODULE_ANONYMOUS);
}

TEST(records_count_in_the_order_of_time_not_of_the_file)
{
	_clean_(perf_builder_done) struct perf_builder builder = cpu_clock(USUAL);
	_clean_(sample_log_freep) struct sample_log *log = NULL;

	record_sample(&builder, 0, PERF_RECORD_MISC_USER, 7, 0x1010, 30, NULL, 0);
	record_sample(&builder, 0, PERF_RECORD_MISC_USER, 7, 0x1010, 10, NULL, 0);
	record_mmap2(&builder, 7, 0x1000, 0x1000, 0, "/bin/b", id_b, 20);
	record_mmap2(&builder, 7, 0x1000, 0x1000, 0, "/bin/a", id_a, 5);
	log = decode(&builder, NULL);
	CHECK_INT(log->n_modules, 2);
	CHECK(log->modules[0].total == 1 && log->modules[1].total == 1);
}

TEST(a_child_has_its_parents_mappings_until_it_executes_something)
{
	_clean_(perf_builder_done) struct perf_builder builder = cpu_clock(USUAL);
	_clean_(sample_log_freep) struct sample_log *log = NULL;

	record_mmap2(&builder, 7, 0x1000, 0x1000, 0, "/bin/a", id_a, 1);
	record_fork(&builder, 8, 7, 2);
	record_sample(&builder, 0, PERF_RECORD_MISC_USER, 8, 0x1010, 3, NULL, 0);
	record_exec(&builder, 8, 4);
	record_sample(&builder, 0, PERF_RECORD_MISC_USER, 8, 0x1010, 5, NULL, 0);
	record_mmap2(&builder, 8, 0x1000, 0x1000, 0, "/bin/b", id_b, 6);
	record_sample(&builder, 0, PERF_RECORD_MISC_USER, 8, 0x1010, 7, NULL, 0);
	record_sample(&builder, 0, PERF_RECORD_MISC_USER, 7, 0x1010, 8, NULL, 0);
	log = decode(&builder, NULL);
	CHECK(log->lost[SAMPLE_LOSS_NO_MAPPING] == 1);
	CHECK(log->n_modules == 2 && log->modules[0].total == 2 && log->modules[1].total == 1);
}

TEST(a_newer_mapping_hides_the_part_of_an_older_one_that_it_covers)
{
	_clean_(perf_builder_done) struct perf_builder builder = cpu_clock(USUAL);
	_clean_(sample_log_freep) struct sample_log *log = NULL;
	static const uint64_t ips[] = { 0x1000, 0x1fff, 0x2000, 0x2fff, 0x3000, 0x4fff };

	record_mmap2(&builder, 7, 0x1000, 0x4000, 0x8000, "/bin/a", id_a, 1);
	record_mmap2(&builder, 7, 0x2000, 0x1000, 0, "/bin/b", id_b, 2);
	for (size_t i = 0; i < ARRAY_SIZE(ips); i++)
		record_sample(&builder, 0, PERF_RECORD_MISC_USER, 7, ips[i], 3 + i, NULL, 0);
	log = decode(&builder, NULL);
	CHECK(log->n_modules == 2 && log->modules[0].n_counts == 4 && log->modules[1].n_counts == 2);
	CHECK(log->modules[0].counts[0].offset == 0x8000 && log->modules[0].counts[1].offset == 0x8fff);
	CHECK(log->modules[0].counts[2].offset == 0xa000 && log->modules[0].counts[3].offset == 0xbfff);
}

TEST(build_ids_come_from_the_table_when_mmap_records_have_none)
{
	_clean_(perf_builder_done) struct perf_builder builder = cpu_clock(USUAL);
	_clean_(sample_log_freep) struct sample_log *log = NULL;
	struct import_summary summary;

	record_mmap2(&builder, 7, 0x1000, 0x1000, 0, "/bin/b", NULL, 1);
	record_mmap2(&builder, 7, 0x2000, 0x1000, 0, "/bin/none", NULL, 1);
	record_sample(&builder, 0, PERF_RECORD_MISC_USER, 7, 0x1010, 2, NULL, 0);
	record_sample(&builder, 0, PERF_RECORD_MISC_USER, 7, 0x2010, 3, NULL, 0);
	build_id_entry(&builder, id_a, "/bin/a");
	build_id_entry(&builder, id_b, "/bin/b");
	log = decode(&builder, &summary);
	CHECK(log->n_modules == 2 && log->modules[0].build_id.bytes[0] == 0xbb);
	CHECK(log->modules[1].build_id.size == 0 && summary.without_build_id == 1);
}

TEST(only_the_best_clock_of_several_events_is_counted)
{
	uint64_t type = PERF_SAMPLE_IDENTIFIER | USUAL;
	_clean_(perf_builder_done) struct perf_builder builder = cpu_clock(type);
	_clean_(sample_log_freep) struct sample_log *log = NULL, *other = NULL;
	struct import_summary summary;

	builder.events[1] = builder.events[0]; /* the same with branches: another layout */
	builder.events[1].type = PERF_TYPE_HARDWARE;
	builder.events[1].config = 4ull << 32 | PERF_COUNT_HW_CPU_CYCLES; /* hybrid */
	builder.events[1].sample_type |= PERF_SAMPLE_CPU;
	builder.events[1].flags |= IS_FREQUENCY;
	builder.events[1].period = 4000;
	builder.events[1].id = 42;
	builder.events[2] = builder.events[0];
	builder.events[2].config = PERF_COUNT_SW_PAGE_FAULTS;
	builder.events[2].id = 43;
	builder.n_events = 3;
	record_mmap2(&builder, 7, 0x1000, 0x1000, 0, "/bin/a", id_a, 1);
	for (uint64_t i = 0; i < 9; i++)
		record_sample(&builder,
			      i < 2 ? 0 :
			      i < 6 ? 1 :
				      2,
			      PERF_RECORD_MISC_USER, 7, 0x1010 + i, 2 + i, NULL, 0);
	log = decode(&builder, &summary);
	CHECK_STR(summary.event, "cycles");
	CHECK(summary.samples == 4 && summary.others == 5 && log->attributed == 4);
	CHECK(log->rate_hz == 4000);
	CHECK_INT(decode_named(&builder, "cpu-clock", &other, &summary, NULL), 0);
	CHECK(summary.samples == 2 && other->attributed == 2);
}

TEST(branch_stacks_become_branches_of_one_file)
{
	uint64_t type =
		USUAL | PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW | PERF_SAMPLE_BRANCH_STACK;
	static const uint64_t branches[] = { 0x1010, 0x1020, 0x1030, 0x1000, 0x1010, 0x1020,
					     0x1030, 0x5000, ~0ull,  0x1000, 0x1000, 0 };
	_clean_(perf_builder_done) struct perf_builder builder = cpu_clock(type);
	_clean_(sample_log_freep) struct sample_log *log = NULL;
	struct import_summary summary;
	struct sample_module *module;

	builder.events[0].read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | 1u << 4 |
					PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	builder.events[0].branch_sample_type = PERF_SAMPLE_BRANCH_HW_INDEX;
	record_mmap2(&builder, 7, 0x1000, 0x1000, 0x400, "/bin/a", id_a, 1);
	record_sample(&builder, 0, PERF_RECORD_MISC_USER, 7, 0x1010, 2, branches, 6);
	log = decode(&builder, &summary);
	module = &log->modules[0];
	CHECK_INT(module->n_branches, 2);
	CHECK(module->branches[0].from == 0x410 && module->branches[0].to == 0x420 &&
	      module->branches[0].count == 2);
	CHECK(module->branches[1].from == 0x430 && module->branches[1].to == 0x400);
	CHECK(summary.branches == 3 && summary.branches_dropped == 1);
}

TEST(lost_records_are_a_counted_loss)
{
	_clean_(perf_builder_done) struct perf_builder builder = cpu_clock(USUAL);
	_clean_(sample_log_freep) struct sample_log *log = NULL;

	record_begin(&builder, PERF_RECORD_LOST, 0);
	buffer_u64(&builder.records, 41);
	buffer_u64(&builder.records, 12);
	trailer(&builder, 7, 2);
	record_end(&builder);
	log = decode(&builder, NULL);
	CHECK(log->lost[SAMPLE_LOSS_RING_FULL] == 12 && log->user == 12 && log->fired == 12);
}

static void check_refused(const void *bytes, size_t size, int code, const char *words)
{
	struct sample_log *log = NULL;
	struct fault fault = { "" };

	CHECK_INT(perf_data_decode(bytes, size, NULL, 0, &log, NULL, &fault), code);
	CHECK(!log);
	if (!strstr(fault.text, words))
		FAIL("\"%s\" does not say \"%s\"", fault.text, words);
}

TEST(what_is_not_read_is_refused_in_one_sentence)
{
	_clean_(perf_builder_done) struct perf_builder builder = cpu_clock(USUAL);
	_clean_(buffer_donep) struct buffer good = { 0 };
	static const uint64_t pipe[2] = { 0, 16 };
	uint64_t zero = 0, huge = UINT64_MAX;
	char pipe_header[16];

	record_sample(&builder, 0, PERF_RECORD_MISC_USER, 7, 0x1010, 2, NULL, 0);
	perf_builder_finish(&builder, &good);
	memcpy(pipe_header, pipe, 16);
	memcpy(pipe_header, "PERFILE2", 8);
	check_refused("", 0, -EBADMSG, "not a perf.data file");
	check_refused("2ELIFREP", 8, -EPROTONOSUPPORT, "big-endian");
	check_refused(pipe_header, 16, -EPROTONOSUPPORT, "pipe mode");
	check_refused(good.data, 50, -EBADMSG, "header is truncated");
	check_refused(good.data, good.size - 1, -EBADMSG, "truncated");
	memcpy(good.data + 48, &zero, 8);
	check_refused(good.data, good.size, -EBADMSG, "killed before it finished");
	memcpy(good.data + 48, &huge, 8);
	check_refused(good.data, good.size, -EBADMSG, "truncated");
}

TEST(compressed_records_and_other_events_are_refused_with_what_to_do)
{
	_clean_(perf_builder_done) struct perf_builder compressed = cpu_clock(USUAL);
	_clean_(perf_builder_done) struct perf_builder faults = cpu_clock(USUAL);
	struct sample_log *log = NULL;
	struct fault fault;

	record_begin(&compressed, 81, 0);
	record_end(&compressed);
	CHECK_INT(decode_named(&compressed, NULL, &log, NULL, &fault), -EPROTONOSUPPORT);
	CHECK(strstr(fault.text, "without -z"));
	faults.events[0].config = PERF_COUNT_SW_PAGE_FAULTS;
	record_sample(&faults, 0, PERF_RECORD_MISC_USER, 7, 0x1010, 2, NULL, 0);
	CHECK_INT(decode_named(&faults, NULL, &log, NULL, &fault), -ENODATA);
	CHECK(strstr(fault.text, "holds page-faults: record with"));
	CHECK_INT(decode_named(&faults, "cycles", &log, NULL, &fault), -ENODATA);
	CHECK(strstr(fault.text, "no event \"cycles\""));
}

/* A second of work in this program, and in a child of it. */
static int spin(void)
{
	volatile uint64_t sum = 0;

	if (fork() < 0)
		return 1;
	while (clock() < CLOCKS_PER_SEC / 2) /* of this process alone */
		for (uint64_t i = 0; i < 1000000; i++)
			sum += i * i;
	return 0;
}

struct recording {
	char directory[64], path[96];
};

static void record(struct recording *recording, const char *option)
{
	struct buffer out = { 0 };
	struct child_options options = { .retout = &out, .reterrout = &out, .timeout_s = 60 };
	char *argv[] = { "perf",
			 "record",
			 "-q",
			 "-e",
			 "cpu-clock",
			 "-F",
			 "2000",
			 (char *)option,
			 "-o",
			 recording->path,
			 "/proc/self/exe",
			 "--spin",
			 NULL };
	struct fault fault;
	int r, status = 0;
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	CHECK(n > 0);
	self[n] = '\0';
	argv[10] = self;
	strcpy(recording->directory, "/tmp/morph-perf-test.XXXXXX");
	CHECK(mkdtemp(recording->directory));
	snprintf(recording->path, sizeof(recording->path), "%s/perf.data", recording->directory);
	r = child_run(argv, &options, &status, &fault);
	buffer_done(&out);
	if (r == 0 && status == 0)
		return;
	file_remove_tree(recording->directory, NULL);
	if (r == 0)
		SKIP("perf record does not work here (exit status %#x)", status);
	SKIP("perf cannot be run: %s", fault.text);
}

/* Samples per file as `perf script` prints them: "    55d0c0de (/path/to/file)". */
static uint64_t perf_script_count(const char *text, const char *path)
{
	uint64_t n = 0;
	size_t length = strlen(path);

	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		const char *open = strchr(line + 1, '(');

		n += open && strncmp(open + 1, path, length) == 0 && open[1 + length] == ')';
		line += line[0] == '\n';
	}
	return n;
}

static void check_same_as_perf(const struct recording *recording, const struct sample_log *log)
{
	struct buffer out = { 0 };
	struct child_options options = { .retout = &out, .timeout_s = 60 };
	char *argv[] = { "perf", "script", "-i", (char *)recording->path, "-G", "-F", "ip,dso", NULL };
	struct fault fault;

	if (child_check(argv, &options, &fault) != 0)
		FAIL("%s", fault.text);
	for (size_t i = 0; i < log->n_modules; i++) {
		const struct sample_module *module = &log->modules[i];

		if (module->kind == SAMPLE_MODULE_FILE &&
		    perf_script_count((char *)out.data, module->path) != module->total)
			FAIL("%s: perf script counts %llu samples, the import %llu", module->path,
			     (unsigned long long)perf_script_count((char *)out.data, module->path),
			     (unsigned long long)module->total);
	}
	buffer_done(&out);
}

static void check_recording(const char *option)
{
	_clean_(sample_log_freep) struct sample_log *log = NULL;
	struct import_summary summary;
	struct recording recording;
	struct fault fault;
	uint64_t self = 0;
	int r;

	record(&recording, option);
	r = perf_data_read(recording.path, NULL, &log, &summary, &fault);
	if (r != 0)
		FAIL("%s", fault.text);
	CHECK_INT(sample_log_check(log, NULL), 0);
	check_same_as_perf(&recording, log);
	for (size_t i = 0; i < log->n_modules; i++)
		if (strstr(log->modules[i].path, "perf-data")) {
			CHECK_INT(log->modules[i].build_id.size, 20);
			self += log->modules[i].total;
		}
	CHECK(self > 50 && self * 2 > log->user);
	CHECK(log->rate_hz == 2000 && log->duration_ns > 10000000 && summary.without_build_id == 0);
	CHECK(log->lost[SAMPLE_LOSS_NO_MAPPING] * 50 <= log->user);
	CHECK_INT(file_remove_tree(recording.directory, NULL), 0);
}

TEST(a_recording_counts_as_perf_script_counts)
{
	check_recording("-T");
}

TEST(a_recording_with_call_chains_and_build_ids_in_mmaps_does_too)
{
	check_recording("-g");
	check_recording("--buildid-mmap");
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--spin") == 0)
		return spin();
	return test_main(argc, argv);
}

/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE

#include "profiles/export/export.h"

#include <errno.h>
#include <stdarg.h>
#include <unistd.h>

#include "base/child.h"
#include "base/file.h"
#include "profiles/samples/perf_data.h"
#include "tests/test.h"

#define DATA MORPH_SOURCE "/tests/profiles/export/data/"
#define LLVM_BIN MORPH_LLVM_DIR "/bin/"

static void function_add(struct profile *profile, uint64_t guid, const char *name, double samples,
			 const uint64_t *counts, uint32_t n)
{
	struct profile_function *f = profile_function(profile, guid);

	CHECK(profile_function_resize(f, n) == 0);
	f->name = name ? strdup(name) : NULL;
	f->cfg_hash = guid + 1000;
	f->samples = samples;
	for (uint32_t i = 0; i < n; i++)
		f->counts[i] = (struct profile_count){ counts[i], (uint8_t)(i == 2 ? 0 : 100) };
}

static struct profile *example(void)
{
	static const uint64_t a[] = { 10, 0, 0, 4000000000u }, b[] = { 7 };
	struct profile *profile = profile_new();

	profile->path = strdup("/usr/bin/example");
	profile->build_id = (struct build_id){ .size = 2, .bytes = { 0xab, 0xcd } };
	profile->first_ns = 5;
	profile->last_ns = 25;
	function_add(profile, 4, "cold;one", 0.2, b, 1);
	function_add(profile, 6, "warm", 20, b, 1);
	function_add(profile, 5, "_ZN3hot2meEv", 100.6, a, 4);
	function_add(profile, 7, NULL, 3, b, 1);
	return profile;
}

static char directory[] = "/tmp/morph-export-test.XXXXXX";

static const char *scratch(const char *name)
{
	static char paths[8][128];
	static unsigned next;
	char *path = paths[next++ % 8];

	if (strstr(directory, "XXXXXX"))
		CHECK(mkdtemp(directory));
	snprintf(path, sizeof(paths[0]), "%s/%s", directory, name);
	return path;
}

/* Runs @argv; its standard output, or NULL with the reason printed when it fails. */
static char *output_of(char *const argv[], bool with_errors)
{
	struct buffer out = { 0 };
	struct child_options options = { .retout = &out,
					 .timeout_s = 60,
					 .reterrout = with_errors ? &out : NULL };
	struct fault fault;

	if (child_check(argv, &options, &fault) != 0) {
		buffer_done(&out);
		FAIL("%s", fault.text);
	}
	return (char *)out.data;
}

#define RUN(...) output_of((char *const[]){ __VA_ARGS__, NULL }, false)
#define RUN_BOTH(...) output_of((char *const[]){ __VA_ARGS__, NULL }, true)

static void must_have(const char *program)
{
	if (access(program, X_OK) != 0)
		SKIP("%s is not installed", program);
}

TEST(format_names_are_known)
{
	struct fault fault;

	CHECK(exporter_find("llvm", &fault) == &exporter_llvm &&
	      exporter_find("bolt", &fault) == &exporter_bolt);
	CHECK(!exporter_find("gcov", &fault));
	CHECK_STR(fault.text, "no format \"gcov\"; there are: llvm, pprof, otlp, collapsed, bolt");
}

TEST(what_an_exporter_leaves_out_is_told)
{
	_clean_(profile_freep) struct profile *profile = example();
	_clean_(buffer_donep) struct buffer text = { 0 };
	char left[EXPORT_LEFT_BYTES] = "";
	struct fault fault;

	CHECK_INT(exporter_llvm.run(&(struct export_input){ .profile = profile }, &text, left, &fault), 0);
	CHECK_STR(left, "1 functions without a name were left out");
}

TEST(llvm_text_lists_known_blocks_and_checksums)
{
	_clean_(profile_freep) struct profile *profile = example();
	_clean_(buffer_donep) struct buffer text = { 0 };
	size_t n_nameless;

	CHECK_INT(export_llvm(profile, &text, &n_nameless), 0);
	buffer_u8(&text, 0);
	CHECK_STR((char *)text.data, "_ZN3hot2meEv:4000000010:10\n 1: 10\n 2: 0\n 4: 4000000000\n"
				     " !CFGChecksum: 1005\n"
				     "warm:7:7\n 1: 7\n !CFGChecksum: 1006\n"
				     "cold;one:7:7\n 1: 7\n !CFGChecksum: 1004\n");
	CHECK_INT(n_nameless, 1);
}

TEST(llvm_profdata_reads_the_text)
{
	_clean_(profile_freep) struct profile *profile = example();
	_clean_(buffer_donep) struct buffer text = { 0 };
	_clean_(freep) char *shown = NULL;
	const char *path = scratch("example.txt");

	must_have(LLVM_BIN "llvm-profdata");
	CHECK_INT(export_llvm(profile, &text, NULL), 0);
	CHECK_INT(file_write(path, text.data, text.size, 0600, NULL), 0);
	shown = RUN(LLVM_BIN "llvm-profdata", "show", "--sample", (char *)path);
	CHECK(strstr(shown, "Function: _ZN3hot2meEv: CFG checksum 1005\n"
			    "4000000010, 10, 3 sampled lines\n"));
	CHECK(strstr(shown, "  1: 10\n  2: 0\n  4: 4000000000\n"));
}

TEST(collapsed_text_has_a_line_for_every_sampled_function)
{
	_clean_(profile_freep) struct profile *profile = example();
	_clean_(buffer_donep) struct buffer text = { 0 };

	CHECK_INT(export_collapsed(profile, &text), 0);
	buffer_u8(&text, 0);
	CHECK_STR((char *)text.data, "example;_ZN3hot2meEv 101\nexample;warm 20\n"
				     "example;guid-0000000000000007 3\n");
}

TEST(protoc_decodes_the_pprof_profile)
{
	must_have("/usr/bin/protoc");

	_clean_(profile_freep) struct profile *profile = example();
	_clean_(buffer_donep) struct buffer bytes = { 0 };
	_clean_(freep) char *text = NULL;
	char command[512];
	const char *path = scratch("example.pb.gz");

	CHECK_INT(export_pprof(profile, &bytes), 0);
	CHECK_INT(file_write(path, bytes.data, bytes.size, 0600, NULL), 0);
	snprintf(command, sizeof(command),
		 "zcat %s | protoc -I %s --decode=perftools.profiles.Profile profile.proto", path, DATA);
	text = RUN("/bin/bash", "-o", "pipefail", "-c", command);
	CHECK(strstr(text, "string_table: \"_ZN3hot2meEv\""));
	CHECK(strstr(text, "string_table: \"guid-0000000000000007\""));
	CHECK(strstr(text, "sample {\n  location_id: 1\n  value: 101\n  value: 0\n}"));
	CHECK(strstr(text, "value: 0\n  value: 4000000000\n"));
	CHECK(strstr(text, "string_table: \"abcd\"") && strstr(text, "duration_nanos: 20"));
	CHECK(!strstr(text, "\n  8: ")); /* a field that the schema does not know */
}

TEST(pprof_shows_the_hottest_function_first)
{
	must_have("/usr/bin/go");

	_clean_(profile_freep) struct profile *profile = example();
	_clean_(buffer_donep) struct buffer bytes = { 0 };
	_clean_(freep) char *top = NULL, *lines = NULL;
	const char *path = scratch("example.pb.gz");

	setenv("HOME", directory, 1);
	CHECK_INT(export_pprof(profile, &bytes), 0);
	CHECK_INT(file_write(path, bytes.data, bytes.size, 0600, NULL), 0);
	top = RUN("/usr/bin/go", "tool", "pprof", "-symbolize=none", "-top", (char *)path);
	CHECK(strstr(top, "101 81.45% 81.45%        101 81.45%  _ZN3hot2meEv"));
	lines = RUN("/usr/bin/go", "tool", "pprof", "-symbolize=none", "-sample_index=executions", "-lines",
		    "-top", (char *)path);
	CHECK(strstr(lines, "4000000000") && strstr(lines, "_ZN3hot2meEv /usr/bin/example:4"));
}

/* Lines of an fdata file, sorted, without the first; "no_lbr" must be that. */
static char *fdata_lines(const char *path)
{
	char command[512];

	snprintf(command, sizeof(command), "head -1 %s | grep -q '^no_lbr ' && sed 1d %s | LC_ALL=C sort",
		 path, path);
	return RUN("/bin/bash", "-c", command);
}

/* Two functions of one name in two files, and C++ names: everything that BOLT's naming cares about.
 */
static void fixture_record(const char *program, const char *perf_data)
{
	struct child_options options = { .timeout_s = 60 };
	struct fault fault;
	int status = 0;
	char *record[] = {
		"perf",		 "record", "-q", "-e", "cpu-clock", "-F", "5000", "-o", (char *)perf_data,
		(char *)program, NULL
	};
	struct buffer out = { 0 };

	must_have(LLVM_BIN "clang");
	free(RUN_BOTH(LLVM_BIN "clang", "-O2", "-fuse-ld=lld", "-Wl,-q", "-Wl,--build-id", "-o",
		      (char *)program, DATA "bolt_a.c", DATA "bolt_b.c"));
	options.retout = options.reterrout = &out;
	if (child_run(record, &options, &status, &fault) != 0 || status != 0) {
		buffer_done(&out);
		SKIP("perf record does not work here");
	}
	buffer_done(&out);
}

TEST(bolt_fdata_is_what_perf2bolt_writes_from_the_same_samples)
{
	_clean_(sample_log_freep) struct sample_log *log = NULL;
	_clean_(image_freep) struct image *image = NULL;
	_clean_(buffer_donep) struct buffer text = { 0 };
	_clean_(freep) char *ours = NULL, *theirs = NULL, *bolt = NULL;
	const char *program = scratch("program"), *perf_data = scratch("perf.data");
	const char *our_path = scratch("ours.fdata"), *their_path = scratch("theirs.fdata");
	uint64_t mapped;

	must_have(LLVM_BIN "perf2bolt");
	fixture_record(program, perf_data);
	CHECK_INT(perf_data_read(perf_data, NULL, &log, NULL, NULL), 0);
	CHECK_INT(image_open(program, &image, NULL), 0);
	CHECK(sample_log_find(log, image_build_id(image)));
	CHECK_INT(export_bolt(image, sample_log_find(log, image_build_id(image)), &text, &mapped, NULL), 0);
	CHECK_INT(file_write(our_path, text.data, text.size, 0600, NULL), 0);
	CHECK(mapped > 100);
	free(RUN_BOTH(LLVM_BIN "perf2bolt", "-ba", "-p", (char *)perf_data, "-o", (char *)their_path,
		      (char *)program));
	ours = fdata_lines(our_path);
	theirs = fdata_lines(their_path);
	CHECK_STR(ours, theirs);
	bolt = RUN_BOTH(LLVM_BIN "llvm-bolt", (char *)program, "-o", (char *)scratch("bolted"), "-data",
			(char *)our_path, "-reorder-blocks=ext-tsp");
	CHECK(strstr(bolt, "functions in the binary") && strstr(bolt, "have non-empty execution profile"));
	CHECK(!strstr(bolt, "BOLT-INFO: 0 out of"));
}

TEST(a_file_without_symbols_cannot_become_fdata)
{
	_clean_(image_freep) struct image *image = NULL;
	_clean_(buffer_donep) struct buffer text = { 0 };
	struct sample_module module = { 0 };
	struct fault fault;
	const char *object = scratch("empty.o");

	must_have(LLVM_BIN "clang");
	free(RUN_BOTH("/bin/bash", "-c", "exec \"$0\" -x c -c -o \"$1\" - </dev/null", LLVM_BIN "clang",
		      (char *)object));
	CHECK_INT(image_open(object, &image, NULL), 0);
	CHECK_INT(export_bolt(image, &module, &text, NULL, &fault), -ENODATA);
	CHECK(strstr(fault.text, "no function symbols"));
}

int main(int argc, char **argv)
{
	int r = test_main(argc, argv);

	if (!strstr(directory, "XXXXXX"))
		file_remove_tree(directory, NULL);
	return r;
}

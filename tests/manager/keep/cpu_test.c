/* SPDX-License-Identifier: Apache-2.0 */

#include "manager/keep/cpu.h"

#include "tests/manager/machine_root.h"

TEST(a_cpu_is_its_model_and_its_instructions_and_not_the_kernels_remarks)
{
	static const char a[] = "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 26\nmodel\t\t: 68\n"
				"model name\t: Some Name\nflags\t\t: fpu sse2 avx2 ibrs rep_good bmi1 avx\n\n"
				"processor\t: 1\nvendor_id\t: Other\n";
	static const char b[] = "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 26\nmodel\t\t: 68\n"
				"flags\t\t: fpu avx avx2 bmi1 stibp sse2\n\n";
	char first[CPU_TEXT], second[CPU_TEXT];
	struct fault fault;

	setup();
	give("proc/cpuinfo", a);
	CHECK_INT(cpu_describe(&settings, first, &fault), 0);
	CHECK_STR(first, "AuthenticAMD 26 68 avx avx2 bmi1 sse2");
	give("proc/cpuinfo", b);
	CHECK_INT(cpu_describe(&settings, second, &fault), 0);
	CHECK_STR(second, first);
	give("proc/cpuinfo", "CPU implementer\t: 0x41\nFeatures\t: fp asimd\nCPU part\t: 0xd0c\n");
	CHECK_INT(cpu_describe(&settings, first, &fault), 0);
	CHECK_STR(first, "0x41 asimd fp 0xd0c");
	give("proc/cpuinfo", "nothing\n");
	CHECK(cpu_describe(&settings, first, &fault) < 0);
	teardown();
}

TEST(this_machine_has_a_cpu)
{
	char text[CPU_TEXT];
	struct fault fault;

	CHECK_INT(settings_init(&settings), 0);
	CHECK_INT(cpu_describe(&settings, text, &fault), 0);
	CHECK(strlen(text) > 10 && strlen(text) < CPU_TEXT - 1);
	settings_done(&settings);
}

static bool runs(const char *made_for, const char *here, const char *lack)
{
	char text[64] = "";
	bool ret = cpu_can_run(made_for, here, text, sizeof(text));

	CHECK_STR(text, ret ? "" : lack);
	return ret;
}

TEST(a_cpu_runs_what_was_made_for_one_that_has_no_more_instructions)
{
	const char *here = "AuthenticAMD 26 68 avx avx2 bmi1 sse2";

	CHECK(runs(here, here, ""));
	CHECK(runs(NULL, here, ""));
	CHECK(runs("", here, ""));
	CHECK(runs("GenuineIntel 6 142 avx sse2", here, ""));
	CHECK(!runs("AuthenticAMD 26 68 avx avx2 avx512f bmi1 sse2", here, "avx512f"));
	/* Whole words, at the end of a line too. */
	CHECK(!runs("AuthenticAMD 26 68 avx av", here, "av"));
	CHECK(!runs("AuthenticAMD 26 68 sse2 sse", here, "sse"));
	CHECK(!runs("AuthenticAMD 26 68 sse22", here, "sse22"));
	CHECK(!runs("0x41 asimd fp 0xd0c", here, "asimd"));
}

TEST_MAIN()

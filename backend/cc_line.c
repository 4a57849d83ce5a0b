/* SPDX-License-Identifier: Apache-2.0 */

#include "backend/cc_line.h"

#include <stddef.h>
#include <string.h>

#include "base/macro.h"

struct flag {
	const char *text;
	bool is_prefix;
};

/* Clang makes no object or program then, or prints and ends, or makes what the packer knows nothing of. */
static const struct flag plain_flags[] = {
	{ "-E", false },
	{ "-S", false },
	{ "-M", false },
	{ "-MM", false },
	{ "-r", false },
	{ "-fsyntax-only", false },
	{ "--analyze", false },
	{ "--precompile", false },
	{ "-emit-llvm", false },
	{ "-emit-ast", false },
	{ "-emit-pch", false },
	{ "-emit-interface-stubs", false },
	{ "-cc1", true },
	{ "-print-", true },
	{ "--print-", true },
	{ "-dumpmachine", false },
	{ "-dumpversion", false },
	{ "--version", false },
	{ "--help", true },
	{ "-help", true },
	{ "--autocomplete", true },
	{ "--preprocess", false },
	{ "--assemble", false },
	/* kernels, other word sizes */
	{ "-mcmodel=kernel", false },
	{ "-m32", false },
	{ "-mx32", false },
	{ "-m16", false },
	/* need the summary index that a textual LTO pipeline does not get (LLVM 22 LTOBackend) */
	{ "-fwhole-program-vtables", false },
	/* instrumented: not what is shipped, and not to be sped up */
	{ "-fsanitize=", true },
	{ "-fprofile", true },
	{ "-fcs-profile-", true },
	{ "--coverage", false },
	{ "-coverage", false },
	{ "-fcoverage-mapping", false },
	/* would put other probes or other IR where ours go */
	{ "-fpseudo-probe-for-profiling", false },
	{ "-fembed-bitcode", true },
	{ "-fthinlto-index=", true },
	{ "-fthin-link-bitcode=", true },
};

static bool flag_is(const struct flag *flag, const char *arg)
{
	return flag->is_prefix ? strncmp(arg, flag->text, strlen(flag->text)) == 0 :
				 strcmp(arg, flag->text) == 0;
}

static bool is_plain_flag(const char *arg)
{
	for (size_t i = 0; i < ARRAY_SIZE(plain_flags); i++)
		if (flag_is(&plain_flags[i], arg))
			return true;
	return false;
}

/* Options whose next word is a value, not an input (clang 22, those seen in build systems). */
static bool takes_next(const char *arg)
{
	static const char *const options[] = { "-o",
					       "-x",
					       "-I",
					       "-D",
					       "-U",
					       "-L",
					       "-l",
					       "-F",
					       "-T",
					       "-u",
					       "-z",
					       "-e",
					       "-A",
					       "-B",
					       "-G",
					       "-include",
					       "-imacros",
					       "-idirafter",
					       "-iprefix",
					       "-iwithprefix",
					       "-iwithprefixbefore",
					       "-isysroot",
					       "-isystem",
					       "-iquote",
					       "-imultilib",
					       "-include-pch",
					       "-MF",
					       "-MT",
					       "-MQ",
					       "-MJ",
					       "-Xclang",
					       "-Xlinker",
					       "-Xassembler",
					       "-Xpreprocessor",
					       "-Xanalyzer",
					       "-mllvm",
					       "-arch",
					       "-target",
					       "--target",
					       "--sysroot",
					       "--param",
					       "-framework",
					       "-rpath",
					       "-dumpbase",
					       "-dumpdir",
					       "-aux-info",
					       "-iframework",
					       "-working-directory",
					       "-gcc-toolchain",
					       "-soname",
					       "--config",
					       "-resource-dir" };

	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		if (strcmp(options[i], arg) == 0)
			return true;
	return false;
}

/* 64-bit ELF for Linux on the machines that Morph runs on. */
static bool target_is_known(const char *triple)
{
	return (strncmp(triple, "x86_64", 6) == 0 || strncmp(triple, "aarch64", 7) == 0 ||
		strncmp(triple, "amd64", 5) == 0 || strncmp(triple, "arm64", 5) == 0) &&
	       strstr(triple, "linux") && !strstr(triple, "gnux32") && !strstr(triple, "ilp32");
}

static const char *value_of(const char *arg, const char *prefix)
{
	size_t n = strlen(prefix);

	return strncmp(arg, prefix, n) == 0 ? arg + n : NULL;
}

static void linker_read(struct cc_line *line, const char *name)
{
	const char *slash = strrchr(name, '/');
	const char *base = slash ? slash + 1 : name;

	line->wants_lld = strncmp(base, "lld", 3) == 0 || strncmp(base, "ld.lld", 6) == 0;
	line->linker = line->wants_lld || !*name ? NULL : name;
}

/* -r that clang does not know of: -Wl,-r, and with @next, -Xlinker -r. */
static bool is_relocatable(const char *arg, const char *next)
{
	static const char *const words[] = { "-r", "--relocatable", "-relocatable" };
	const char *list = value_of(arg, "-Wl,");

	if (!list && strcmp(arg, "-Xlinker") == 0)
		list = next;
	while (list) {
		size_t n = strcspn(list, ",");

		for (size_t i = 0; i < ARRAY_SIZE(words); i++)
			if (strlen(words[i]) == n && memcmp(words[i], list, n) == 0)
				return true;
		list = list[n] ? list + n + 1 : NULL;
	}
	return false;
}

static bool is_conftest(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strncmp(slash ? slash + 1 : path, "conftest.", 9) == 0;
}

struct seen {
	bool compiles, plain, refuses_lto, has_input;
};

static void option_read(struct cc_line *line, struct seen *seen, const char *arg, const char *next)
{
	const char *value;

	if (strcmp(arg, "-c") == 0 || strcmp(arg, "--compile") == 0)
		seen->compiles = true;
	else if (strcmp(arg, "-fno-lto") == 0)
		seen->refuses_lto = true;
	else if (strcmp(arg, "-flto") == 0 || value_of(arg, "-flto="))
		seen->refuses_lto = !(line->has_lto = true);
	else if (strcmp(arg, "-ffat-lto-objects") == 0 || strcmp(arg, "-fno-fat-lto-objects") == 0)
		line->has_fat = true;
	else if ((value = value_of(arg, "-fuse-ld=")) || (value = value_of(arg, "--ld-path=")))
		linker_read(line, value);
	else if ((value = value_of(arg, "--morph-selftest=")))
		line->selftest = value;
	else if ((value = value_of(arg, "--target=")))
		seen->plain |= !target_is_known(value);
	else if (strcmp(arg, "-target") == 0 || strcmp(arg, "--target") == 0)
		seen->plain |= !next || !target_is_known(next);
	else if (is_plain_flag(arg) || is_relocatable(arg, next))
		seen->plain = true;
	else if (value_of(arg, "-l") || value_of(arg, "-Wl,"))
		seen->has_input |= arg[1] == 'l';
}

struct cc_line cc_line_read(int argc, char *const argv[])
{
	struct cc_line line = { 0 };
	struct seen seen = { 0 };

	for (int i = 1; i < argc; i++) {
		if (argv[i][0] == '-' && argv[i][1]) {
			option_read(&line, &seen, argv[i], i + 1 < argc ? argv[i + 1] : NULL);
			i += takes_next(argv[i]);
		} else {
			seen.has_input = true;
			line.is_probe |= is_conftest(argv[i]);
		}
	}
	line.mode = seen.plain || seen.refuses_lto || !seen.has_input ? CC_PLAIN :
		    seen.compiles				      ? CC_COMPILE :
		    line.linker					      ? CC_PLAIN :
									CC_LINK;
	line.is_probe &= line.mode == CC_LINK;
	return line;
}

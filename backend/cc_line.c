/* SPDX-License-Identifier: Apache-2.0 */

#include "backend/cc_line.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/macro.h"

struct flag {
	const char *text;
	bool is_prefix;
	bool builds; /* an object or a program is made */
};

/* Clang makes no object or program then, or prints and ends, or makes what the packer knows nothing of. */
static const struct flag plain_flags[] = {
	{ "-E", false, false },
	{ "-S", false, false },
	{ "-M", false, false },
	{ "-MM", false, false },
	{ "-r", false, true },
	{ "-fsyntax-only", false, false },
	{ "--analyze", false, false },
	{ "--precompile", false, false },
	{ "-emit-llvm", false, false },
	{ "-emit-ast", false, false },
	{ "-emit-pch", false, false },
	{ "-emit-interface-stubs", false, false },
	{ "-cc1", true, false },
	{ "-print-", true, false },
	{ "--print-", true, false },
	{ "-dumpmachine", false, false },
	{ "-dumpversion", false, false },
	{ "--version", false, false },
	{ "--help", true, false },
	{ "-help", true, false },
	{ "--autocomplete", true, false },
	{ "--preprocess", false, false },
	{ "--assemble", false, false },
	/* kernels, other word sizes */
	{ "-mcmodel=kernel", false, true },
	{ "-m32", false, true },
	{ "-mx32", false, true },
	{ "-m16", false, true },
	/* need the summary index that a textual LTO pipeline does not get (LLVM 22 LTOBackend) */
	{ "-fwhole-program-vtables", false, false },
	/* instrumented: not what is shipped, and not to be sped up */
	{ "-fsanitize=", true, true },
	{ "-pg", false, true },
	{ "-fprofile", true, true },
	{ "-fcs-profile-", true, true },
	{ "--coverage", false, true },
	{ "-coverage", false, true },
	{ "-fcoverage-mapping", false, false },
	/* would put other probes or other IR where ours go */
	{ "-fpseudo-probe-for-profiling", false, false },
	{ "-fembed-bitcode", true, false },
	{ "-fthinlto-index=", true, false },
	{ "-fthin-link-bitcode=", true, false },
};

static bool flag_is(const struct flag *flag, const char *arg)
{
	return flag->is_prefix ? strncmp(arg, flag->text, strlen(flag->text)) == 0 :
				 strcmp(arg, flag->text) == 0;
}

static const struct flag *plain_flag(const char *arg)
{
	for (size_t i = 0; i < ARRAY_SIZE(plain_flags); i++)
		if (flag_is(&plain_flags[i], arg))
			return &plain_flags[i];
	return NULL;
}

/* Options whose next word is a value, not an input (clang 22, those seen in build systems). */
bool cc_takes_next(const char *option)
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
		if (strcmp(options[i], option) == 0)
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

struct seen {
	bool compiles, plain, refuses_lto;
	const char *language; /* -x, or NULL */
	bool more;	      /* an input that is no header */
};

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/*
 * What configure compiles, zlib's, too; what CMake, Meson and metaconfig (perl's Configure: UU) do lies in directories of its own,
 * which is where they are then.
 */
static bool is_question(const char *path)
{
	static const char *const places[] = { "CMakeFiles/CMakeTmp", "CMakeFiles/CMakeScratch",
					      "CMakeFiles/3.", "CMakeFiles/4.", "meson-private/" };
	char directory[PATH_MAX];

	if (strncmp(base_of(path), "conftest.", 9) == 0 || strncmp(base_of(path), "ztest", 5) == 0)
		return true;
	if (!getcwd(directory, sizeof(directory)))
		directory[0] = '\0';
	if (strcmp(base_of(directory), "UU") == 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (strstr(path, places[i]) || strstr(directory, places[i]))
			return true;
	return false;
}

static bool is_source(const char *path)
{
	static const char *const compiled[] = { ".o", ".lo", ".a", ".so", ".obj" };
	const char *base = base_of(path), *dot = strrchr(base, '.');

	if (!dot || strstr(base, ".so."))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(compiled); i++)
		if (strcmp(dot, compiled[i]) == 0)
			return false;
	return true;
}

/* One that is compiled for itself: precompiled. */
static bool is_header(const char *language, const char *path)
{
	static const char *const names[] = { ".h", ".hh", ".H", ".hp", ".hxx", ".hpp", ".HPP", ".h++" };
	const char *dot = strrchr(base_of(path), '.');

	if (language && strcmp(language, "none") != 0)
		return strstr(language, "-header") != NULL;
	for (size_t i = 0; dot && i < ARRAY_SIZE(names); i++)
		if (strcmp(dot, names[i]) == 0)
			return true;
	return false;
}

static void plain_note(struct cc_line *line, struct seen *seen, bool builds)
{
	seen->plain = true;
	line->builds &= builds;
}

static void target_note(struct cc_line *line, struct seen *seen, const char *target)
{
	if (!target || !target_is_known(target))
		plain_note(line, seen, false);
}

static void option_read(struct cc_line *line, struct seen *seen, const char *arg, const char *next)
{
	const struct flag *flag;
	const char *value;

	if (strcmp(arg, "-c") == 0 || strcmp(arg, "--compile") == 0)
		seen->compiles = true;
	else if (strcmp(arg, "-o") == 0)
		line->output = next;
	else if ((value = value_of(arg, "-x")))
		seen->language = *value ? value : next;
	else if (arg[1] == 'o' && arg[2] && strncmp(arg, "-objc", 5) != 0)
		line->output = arg + 2;
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
	else if ((value = value_of(arg, "--morph-benchmark=")))
		line->benchmark = value;
	else if (strcmp(arg, "--morph-verify") == 0)
		line->verifies = true;
	else if ((value = value_of(arg, "--target=")))
		target_note(line, seen, value);
	else if (strcmp(arg, "-target") == 0 || strcmp(arg, "--target") == 0)
		target_note(line, seen, next);
	else if ((flag = plain_flag(arg)))
		plain_note(line, seen, flag->builds);
	else if (is_relocatable(arg, next))
		plain_note(line, seen, true);
	else if (value_of(arg, "-l"))
		line->has_input = true;
}

static void input_read(struct cc_line *line, struct seen *seen, const char *path)
{
	seen->more |= !is_header(seen->language, path);
	line->has_input = true;
	line->has_source |= is_source(path);
	line->reads_stdin |= strcmp(path, "-") == 0;
	line->is_question |= is_question(path);
	if (!line->input)
		line->input = path;
}

struct cc_line cc_line_read(int argc, char *const argv[])
{
	struct cc_line line = { .builds = true };
	struct seen seen = { 0 };

	for (int i = 1; i < argc; i++) {
		if (argv[i][0] == '-' && argv[i][1]) {
			option_read(&line, &seen, argv[i], i + 1 < argc ? argv[i + 1] : NULL);
			i += cc_takes_next(argv[i]);
		} else {
			input_read(&line, &seen, argv[i]);
		}
	}
	line.makes_header = line.input && !seen.more && !seen.plain;
	line.mode = seen.plain || seen.refuses_lto || !line.has_input ? CC_PLAIN :
		    seen.compiles || line.makes_header		      ? CC_COMPILE :
		    line.linker					      ? CC_PLAIN :
									CC_LINK;
	line.builds &= line.has_input;
	line.is_probe = line.is_question && line.mode == CC_LINK;
	return line;
}

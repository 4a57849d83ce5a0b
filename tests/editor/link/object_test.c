/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "editor/link/object.h"

#include <errno.h>
#include <stdarg.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/test.h"

/* The module as it was compiled: hot() and what it knows will move; its jump table goes with it. */
static const char whole[] =
	"static int state = 3;\n"
	"const char version[] = \"one\";\n"
	"__attribute__((noinline)) static int hot(int x)\n"
	"{\n"
	"	switch (x) {\n"
	"	case 0: return state++;\n"
	"	case 1: return x * 7 + state;\n"
	"	case 2: return x - 9;\n"
	"	case 3: return x * x * state;\n"
	"	case 4: state = 0; return 77;\n"
	"	case 5: return version[0];\n"
	"	}\n"
	"	return 2;\n"
	"}\n"
	"__attribute__((noinline)) static int cold(int x) { return x + state + hot(x) + version[1]; }\n"
	"static int (*const table[])(int) = { hot, cold };\n"
	"int entry(int x, int i) { return cold(x) + table[i](x); }\n";

/* What moved, under its new name; it calls what stayed. */
static const char moved_half[] =
	"#include <stdio.h>\n"
	"int state __asm__(\"state.m0\") = 1000;\n"
	"const char version[] = \"two\";\n"
	"int cold(int) __asm__(\"cold.m0\");\n"
	"int entry(int, int);\n"
	"int hot(int) __asm__(\"hot.m0\");\n"
	"int hot(int x) { return state += x; }\n"
	"int main(void) { printf(\"%d %d %d\\n\", entry(2, 0), entry(5, 1), cold(1)); return 0; }\n";

static char directory[] = "/tmp/morph-object-test.XXXXXX";

static const char *path_of(const char *name)
{
	static char path[64];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

static void write_source(const char *name, const char *text)
{
	struct fault fault;

	CHECK_INT(file_write(path_of(name), text, strlen(text), 0600, &fault), 0);
}

__attribute__((format(printf, 1, 2))) static int shell(const char *fmt, ...)
{
	char command[512], text[600];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	snprintf(text, sizeof(text), "cd %s && %s", directory, command);
	return system(text);
}

static struct name_set *names_of(const char *const *names)
{
	struct name_set *set = name_set_new();

	for (; *names; names++)
		CHECK_INT(name_set_add(set, *names, strlen(*names)), 0);
	return set;
}

static void compile_whole(void)
{
	static bool is_made;

	if (!is_made && !mkdtemp(directory))
		FAIL("%s: cannot be made", directory);
	is_made = true;
	write_source("whole.c", whole);
	write_source("moved.c", moved_half);
	CHECK_INT(shell("clang-22 -O2 -fPIC -ffunction-sections -fdata-sections -fbasic-block-address-map -g "
			"-c whole.c"),
		  0);
}

TEST(what_moved_is_found_elsewhere)
{
	_clean_(name_set_freep) struct name_set *moved =
		names_of((const char *const[]){ "hot.m0", "state.m0", "version", NULL });
	_clean_(name_set_freep) struct name_set *expected = name_set_new();
	struct fault fault;

	compile_whole();
	CHECK_INT(object_give_away(path_of("whole.o"), moved, ".m0", expected, &fault), 0);
	CHECK(name_set_has(expected, "hot.m0", 6) && name_set_has(expected, "state.m0", 8));
	CHECK_INT(name_set_count(expected), 2); /* version's value is known */
	CHECK_INT(shell("clang-22 -O2 -fuse-ld=lld moved.c whole.o -o program && ./program >out"), 0);
	CHECK_INT(shell("nm program >names && ! grep -q ' [tT] hot$' names && grep -q ' hot.m0$' names && "
			"test $(grep -c 'state' names) = 1"),
		  0);
	CHECK_INT(shell("readelf -SW whole.o | grep -q 'rodata.hot.* AE '"), 0);
}

TEST(one_state_for_both_halves)
{
	_clean_(name_set_freep) struct name_set *moved =
		names_of((const char *const[]){ "hot.m0", "state.m0", "version", NULL });
	_clean_(name_set_freep) struct name_set *expected = name_set_new();
	struct fault fault;

	compile_whole();
	CHECK_INT(object_give_away(path_of("whole.o"), moved, ".m0", expected, &fault), 0);
	write_source("use.c", "#include <stdio.h>\n"
			      "int state __asm__(\"state.m0\") = 100; const char version[] = \"two\";\n"
			      "int hot(int) __asm__(\"hot.m0\"); int hot(int x) { (void)x; return 0; }\n"
			      "int cold(int) __asm__(\"cold.m0\");\n"
			      "int main(void) { int a = cold(1); state = 200; printf(\"%d %d\\n\", a, "
			      "cold(1)); return 0; }\n");
	CHECK_INT(shell("clang-22 -O2 -fuse-ld=lld use.c whole.o -o use && test \"$(./use)\" = '211 311'"),
		  0);
}

TEST(a_name_that_is_not_there_changes_nothing)
{
	_clean_(name_set_freep) struct name_set *moved =
		names_of((const char *const[]){ "hot.m0", "nobody.m0", NULL });
	_clean_(name_set_freep) struct name_set *expected = name_set_new();
	struct fault fault;

	compile_whole();
	CHECK_INT(shell("cp whole.o before.o"), 0);
	CHECK_INT(object_give_away(path_of("whole.o"), moved, ".m0", expected, &fault), -ENOTSUP);
	CHECK_INT(shell("cmp whole.o before.o"), 0);
}

TEST(without_groups_all_code_is_linked)
{
	struct fault fault;

	compile_whole();
	write_source("one.cpp",
		     "template <int n> int count(int x) { return x > n ? count<n>(x / 2) + n : 7; }\n"
		     "template int count<3>(int);\n");
	CHECK_INT(shell("clang++-22 -O2 -ffunction-sections -c one.cpp && cp one.o two.o && "
			"ld.lld-22 -shared one.o two.o -o grouped"),
		  0);
	CHECK_INT(object_ungroup(path_of("one.o"), &fault), 0);
	CHECK_INT(object_ungroup(path_of("one.o"), &fault), 0); /* nothing is left to do */
	CHECK_INT(object_ungroup(path_of("two.o"), &fault), 0);
	CHECK_INT(shell("ld.lld-22 -shared one.o two.o -o whole && text() { size -A $1 | awk '$1 == "
			"\".text\" { print $2 }'; }; "
			"test $(text whole) -gt $((2 * $(text grouped) - 16))"),
		  0);
	CHECK_INT(object_ungroup(path_of("whole.c"), &fault), -EBADMSG);
}

TEST(a_damaged_object_is_refused)
{
	_clean_(name_set_freep) struct name_set *moved = names_of((const char *const[]){ "hot.m0", NULL });
	_clean_(name_set_freep) struct name_set *expected = name_set_new();
	struct fault fault;

	compile_whole();
	CHECK_INT(shell("size=$(stat -c %%s whole.o); for n in 1 63 64 200 900; do head -c $n whole.o "
			">cut-$n.o; done; "
			"head -c $((size - 8)) whole.o >cut-end.o"),
		  0);
	CHECK_INT(object_give_away(path_of("cut-1.o"), moved, ".m0", expected, &fault), -EBADMSG);
	CHECK_INT(object_give_away(path_of("cut-64.o"), moved, ".m0", expected, &fault), -EBADMSG);
	CHECK_INT(object_give_away(path_of("cut-900.o"), moved, ".m0", expected, &fault), -EBADMSG);
	CHECK_INT(object_give_away(path_of("cut-end.o"), moved, ".m0", expected, &fault), -EBADMSG);
	CHECK_INT(object_give_away(path_of("absent.o"), moved, ".m0", expected, &fault), -ENOENT);
	CHECK_INT(shell("rm -r %s", directory), 0);
}

TEST_MAIN()

/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "backend/cc.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/arguments.h"
#include "backend/build_report.h"
#include "backend/cc_line.h"
#include "backend/extern_inline.h"
#include "backend/gcc_options.h"
#include "backend/link_choice.h"
#include "backend/masquerade.h"
#include "backend/relink.h"
#include "backend/tools.h"
#include "base/child.h"
#include "base/log.h"

#define EXIT_CANNOT_RUN 1

struct cc {
	struct masquerade who;
	struct arguments words; /* of the caller, response files expanded; owned */
	struct cc_line line;
	bool is_plain; /* a link that is not to be Morph's */
	bool is_kept;  /* of which a record is kept, since that was a guess */
	bool is_again; /* a link by its record */
	bool verifies;
	bool drops; /* some word is left out */
};

static bool verification_is_wanted(void)
{
	const char *value = getenv("MORPH_VERIFY");

	return value && *value && strcmp(value, "0") != 0;
}

/*
 * Ours come first, so that the caller's override them; what does not apply is no reason to warn. A probe wants to know whether
 * a name can be linked: of `char (*f)() = sin; int main() { return f != sin; }` (autoconf 2.59) LTO leaves no `sin` to miss.
 * Only objects that stay have code beside their IR, so that any linker can take them: those of one command that compiles and
 * links are gone with it, and code made for them would never be linked, but for a module that does not regenerate.
 */
static void lto_flags_add(const struct cc *cc, struct arguments *args)
{
	const struct cc_line *line = &cc->line;

	if (!line->has_lto)
		arguments_add(args, line->is_probe || cc->is_plain ? "-fno-lto" : "-flto=thin");
	if (!line->has_fat &&
	    (line->mode == CC_COMPILE || (cc->verifies && !line->is_probe && !cc->is_plain)))
		arguments_add(args, "-ffat-lto-objects");
}

/*
 * libtool believes that -fPIC works if clang says the same with and without it. A warning of a -D is told with its place among
 * clang's own definitions, of which -fPIC is another one.
 */
static void question_flags_add(const struct cc *cc, struct arguments *args)
{
	if (!cc->line.is_question)
		return;
	arguments_add(args, "-Wno-invalid-pp-token");
	arguments_add(args, "-Wno-macro-redefined");
	arguments_add(args, "-Wno-builtin-macro-redefined");
}

/*
 * dwz of Debian 12 and others read DWARF 4. And what GCC 12 accepts with a warning, a compiler of its name accepts; what GCC keeps, it
 * keeps: clang 22 takes for granted that no pointer plus a number wraps, and leaves out a test for that, `p + n < p`.
 */
static void defaults_add(const struct cc *cc, struct arguments *args)
{
	static const char *const lenience[] = { "-Wno-unknown-warning-option",
						"-Wno-ignored-optimization-argument",
						"-Wno-unused-command-line-argument",
						"-Wno-error=implicit-function-declaration",
						"-Wno-error=implicit-int",
						"-Wno-error=int-conversion",
						"-Wno-error=incompatible-function-pointer-types",
						"-Wno-error=incompatible-pointer-types",
						"-Wno-error=return-mismatch",
						"-Wno-error=init-priority-reserved",
						"-Wno-error=c++11-narrowing",
						"-Wno-error=reserved-user-defined-literal",
						"-Wno-error=elaborated-enum-class",
						"-Wno-error=gnu-array-member-paren-init",
						"-Wno-error=missing-template-arg-list-after-template-kw",
						"-Wno-error=delegating-ctor-cycles",
						"-Wno-error=parentheses",
						"-Wno-error=register",
						"-Wno-ignored-gch" };

	arguments_add(args, "-fdebug-default-version=4");
	if (cc->who.is_gcc)
		arguments_add(args, "-fwrapv-pointer");
	for (size_t i = 0; cc->who.is_gcc && i < ARRAY_SIZE(lenience); i++)
		arguments_add(args, lenience[i]);
	question_flags_add(cc, args);
	if (cc->who.standard)
		arguments_add(args, cc->who.standard);
}

static void link_flags_add(const struct cc *cc, const char *linker, struct arguments *args)
{
	const struct cc_line *line = &cc->line;

	arguments_add(args, "-fuse-ld=lld");
	arguments_printf(args, "--ld-path=%s", linker);
	if (!line->has_fat && !line->is_probe) {
		arguments_add(args, "-Xlinker");
		arguments_add(args, "--fat-lto-objects");
	}
	if (line->wants_lld || line->is_probe) { /* what a probe learns is about the linker that will link */
		arguments_add(args, "-Xlinker");
		arguments_add(args, "--morph-linker=lld");
	}
	if (line->selftest) {
		arguments_add(args, "-Xlinker");
		arguments_printf(args, "--morph-selftest=%s", line->selftest);
	}
	if (line->benchmark) {
		arguments_add(args, "-Xlinker");
		arguments_printf(args, "--morph-benchmark=%s", line->benchmark);
	}
	if (cc->verifies && !line->is_probe) {
		arguments_add(args, "-Xlinker");
		arguments_add(args, "--morph-verify");
	}
}

/* GCC's LTO is an instruction to have some; ours is another kind. */
static bool is_gcc_lto(const char *word)
{
	return strcmp(word, "-flto") == 0 || strcmp(word, "-flto=auto") == 0 ||
	       strcmp(word, "-flto=jobserver") == 0 ||
	       (strncmp(word, "-flto=", 6) == 0 && word[6] >= '0' && word[6] <= '9') ||
	       strcmp(word, "-fno-fat-lto-objects") == 0;
}

/* Does clang not get @word, and why? */
static bool word_is_dropped(const struct cc *cc, const char *word, const char **retwhy)
{
	if (strncmp(word, "--morph-selftest=", 17) == 0 || strncmp(word, "--morph-benchmark=", 18) == 0 ||
	    strcmp(word, "--morph-verify") == 0) {
		*retwhy = NULL;
		return true;
	}
	if (cc->who.is_gcc && is_gcc_lto(word)) {
		*retwhy = "Morph's own LTO";
		return true;
	}
	if (cc->who.is_gcc && strcmp(word, "-Werror") == 0 && !cc->line.is_question) {
		*retwhy = "clang warns of other things than GCC";
		return true;
	}
	return gcc_option_judge(word, retwhy) == GCC_OPTION_DROPPED;
}

static int exit_status(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* To the build's report, else to whoever watches. */
static void dropped_say(const char *word, const char *why)
{
	const char *report = getenv("MORPH_REPORT");

	if (report && *report)
		build_report_add("dropped", word, why);
	else
		log_info("%s is left out: %s", word, why);
}

/*
 * What GCC 12 says nothing of, with the same words: to some checks each line of a compiler's is a no (cairo's for threads, a
 * `x |= f();` under -Wall). Last, for -Wall turns on again what was off before it; not what the check asks for by name.
 */
static void quiet_add(const struct cc *cc, struct arguments *args)
{
	static const char *const noisy[] = { "unused-but-set-variable", "deprecated-non-prototype" };

	if (!cc->who.is_gcc || !cc->line.is_question)
		return;
	for (size_t k = 0; k < ARRAY_SIZE(noisy); k++) {
		bool is_asked_for = false;

		for (size_t i = 1; i < cc->words.n; i++)
			is_asked_for |= strstr(cc->words.v[i], noisy[k]) != NULL;
		if (!is_asked_for)
			arguments_printf(args, "-Wno-%s", noisy[k]);
	}
}

/* The caller's words; GCC's OpenMP runtime is the one of objects that GCC compiled. */
static void words_add(const struct cc *cc, int argc, char *const argv[], struct arguments *args)
{
	const char *why = NULL;

	for (int i = 1; !cc->drops && i < argc; i++) /* unexpanded: a command line has limits */
		arguments_add(args, argv[i]);
	for (size_t i = 1; cc->drops && i < cc->words.n; i++) {
		const char *word = cc->words.v[i];

		if (!word_is_dropped(cc, word, &why))
			arguments_add(args, strcmp(word, "-fopenmp") == 0 && cc->who.is_gcc ?
						    "-fopenmp=libgomp" :
						    word);
		else if (why && !cc->line.is_question)
			dropped_say(word, why);
		if (cc_takes_next(word) && i + 1 < cc->words.n)
			arguments_add(args, cc->words.v[++i]);
	}
}

static int command_make(const struct cc *cc, int argc, char *const argv[], struct arguments *ret,
			struct fault *reterr)
{
	bool links = cc->line.mode == CC_LINK && !cc->is_plain;
	bool is_cc1 = argc > 1 && strncmp(argv[1], "-cc1", 4) == 0;
	char clang[PATH_MAX], linker[PATH_MAX];
	int r = tool_llvm(cc->who.is_cxx ? "clang++" : "clang", clang, sizeof(clang), reterr);

	if (r == 0 && links)
		r = tool_own("morph-ld", linker, sizeof(linker), reterr);
	if (r < 0)
		return r;
	arguments_add(ret, clang);
	if (cc->line.has_input && !is_cc1) {
		arguments_add(ret, "--start-no-unused-arguments");
		if (cc->line.mode != CC_PLAIN)
			lto_flags_add(cc, ret);
		defaults_add(cc, ret);
		if (links)
			link_flags_add(cc, linker, ret);
		arguments_add(ret, "--end-no-unused-arguments");
	}
	words_add(cc, argc, argv, ret);
	if (cc->line.has_input && !is_cc1)
		quiet_add(cc, ret);
	return 0;
}

static const char not_ours[] = "not to be linked by Morph";

/*
 * Clang stops at a header that it precompiled with other options (-fPIC), where GCC leaves it aside, as clang does with GCC's. Who
 * believes that the compiler is clang (Meson) names one as clang does, and reads it as only clang can.
 */
static bool header_is_gcc(const struct cc *cc)
{
	const char *dot = cc->line.output ? strrchr(cc->line.output, '.') : NULL;

	return cc->line.makes_header && !(dot && strcmp(dot, ".pch") == 0);
}

/* Why GCC is to do this command; NULL: clang does it. */
static const char *gcc_reason(const struct cc *cc)
{
	static const char *const languages[] = { ".f",	 ".F",	 ".f90", ".F90", ".f95", ".f03",
						 ".f08", ".adb", ".ads", ".d",	 ".go",	 ".mod" };
	const char *why = NULL, *dot = cc->line.input ? strrchr(cc->line.input, '.') : NULL;

	if (cc->who.is_foreign)
		return "compiles for another machine";
	if (header_is_gcc(cc))
		return "a precompiled header, without which clang does";
	for (size_t i = 0; dot && i < ARRAY_SIZE(languages); i++)
		if (strcmp(dot, languages[i]) == 0)
			return "a language of GCC's";
	for (size_t i = 1; i < cc->words.n; i++) {
		bool links_only = cc->line.mode == CC_LINK && !cc->line.has_source;
		enum gcc_option what = gcc_option_judge(cc->words.v[i], &why);

		if (gcc_option_query(cc->words.v[i]))
			return "asks GCC";
		if (what == GCC_OPTION_NEEDED && !(links_only && strcmp(cc->words.v[i], "-fopenmp") == 0))
			return why;
		if (what == GCC_OPTION_UNKNOWN && cc->line.is_question)
			return why;
		if (cc_takes_next(cc->words.v[i]))
			i++;
	}
	if (cc->is_plain && cc->line.reads_stdin)
		return not_ours;
	return cc->line.mode == CC_PLAIN && cc->line.builds ? "gets no IR with these options" : NULL;
}

static const char *output_of(const struct cc *cc)
{
	return cc->line.output ? cc->line.output : "a.out";
}

static const char *subject_of(const struct cc *cc)
{
	bool compiles = cc->line.mode == CC_COMPILE || !cc->line.output;

	return compiles && cc->line.input ? cc->line.input : output_of(cc);
}

/* By its name alone: from a path it would reckon where its own parts are. Owned; NULL: no memory */
static char **gcc_command(const struct cc *cc, char *const argv[])
{
	size_t n = 0;
	char **command;

	while (argv[n])
		n++;
	command = calloc(n + 1, sizeof(*command));
	for (size_t i = 0; command && i < n; i++)
		command[i] = i ? argv[i] : (char *)cc->who.name;
	return command;
}

/* The real one, as it was called. Returns when it cannot be run. */
static int gcc_become(const struct cc *cc, char *const argv[], const char *why, struct fault *reterr)
{
	char **command = gcc_command(cc, argv);
	int r = command ? masquerade_leave(cc->who.name, reterr) : fault_errno(reterr, -ENOMEM, "arguments");

	if (r == 0) {
		if (cc->line.has_input && !cc->line.is_question)
			build_report_add("gcc", subject_of(cc), why);
		execvp(cc->who.name, command);
		r = fault_errno(reterr, -errno, "%s", cc->who.name);
	}
	free(command);
	return r;
}

/* What a plain link made is there. */
static void plain_done(const struct cc *cc)
{
	if (cc->is_kept)
		relink_record(cc->who.name, &cc->words, output_of(cc));
}

static void errors_print(const struct buffer *text)
{
	if (text->size)
		fwrite(text->data, 1, text->size, stderr);
	fflush(stderr);
}

/*
 * GCC, too, but what asked which compiler it has was told of clang, so the command may have options of clang's (openssl).
 * Returns when GCC fails.
 */
static void gcc_links(const struct cc *cc, char *const argv[])
{
	_clean_(buffer_donep) struct buffer errors = { 0 };
	struct child_options options = { .reterrout = &errors };
	char **command = gcc_command(cc, argv);
	int status = 0;

	if (command && masquerade_leave(cc->who.name, NULL) == 0 &&
	    child_run(command, &options, &status, NULL) == 0 && WIFEXITED(status) &&
	    WEXITSTATUS(status) == 0) {
		errors_print(&errors);
		build_report_add("gcc", subject_of(cc), not_ours);
		plain_done(cc);
		exit(0);
	}
	free(command);
}

static void first_error(const struct buffer *text, char *ret, size_t size)
{
	const char *error = text->size ? strstr((const char *)text->data, "error:") : NULL;

	snprintf(ret, size, "clang: %.*s", error ? (int)strcspn(error, "\n") : 6, error ? error : "failed");
}

/* Where the object of one C file is. */
static bool object_name(const struct cc *cc, char *ret, size_t size)
{
	const char *input = cc->line.input, *slash = input ? strrchr(input, '/') : NULL,
		   *dot = input ? strrchr(input, '.') : NULL;

	if (cc->line.mode != CC_COMPILE || !dot || strcmp(dot, ".c") != 0)
		return false;
	if (cc->line.output)
		return snprintf(ret, size, "%s", cc->line.output) < (int)size;
	input = slash ? slash + 1 : input;
	return snprintf(ret, size, "%.*s.o", (int)(dot - input), input) < (int)size;
}

static void object_mend(const struct cc *cc, char *const command[])
{
	char path[PATH_MAX], text[512], *name = NULL;
	struct fault fault;
	int r = object_name(cc, path, sizeof(path)) ? extern_inline_mend(command, path, &name, &fault) : 0;

	if (r < 0)
		log_warning("%s: %s", path, fault.text);
	if (r <= 0)
		return;
	snprintf(text, sizeof(text),
		 "%s() would become part of it: compiled without the C library's inline functions", name);
	build_report_add("inline", subject_of(cc), text);
	free(name);
}

/* clang, then GCC if it fails: what only GCC takes is built by GCC. Messages of clang are shown when GCC fails, too. */
static int clang_then_gcc(const struct cc *cc, char *const argv[], struct arguments *args,
			  struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer errors = { 0 };
	struct child_options options = { .reterrout = &errors };
	int status = 0, r = child_run(args->v, &options, &status, reterr);
	char why[512];

	if (r < 0)
		return r;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
		errors_print(&errors);
		object_mend(cc, args->v);
		child_die(); /* before it was mended */
		plain_done(cc);
		exit(0);
	}
	if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGTERM))
		exit(128 + WTERMSIG(status)); /* the signal was for clang alone */
	first_error(&errors, why, sizeof(why));
	errors_print(&errors);
	log_info("%s: the real %s tries it, for clang failed", subject_of(cc), cc->who.name);
	if (gcc_become(cc, argv, why, reterr) < 0)
		exit(exit_status(status));
	return 0;
}

/* clang alone. Returns when it cannot be run. */
static int clang_become(const struct cc *cc, struct arguments *args, struct fault *reterr)
{
	struct child_options options = { 0 };
	int status = 0, r;

	if (!cc->is_kept) {
		execv(args->v[0], args->v);
		return fault_errno(reterr, -errno, "%s", args->v[0]);
	}
	r = child_run(args->v, &options, &status, reterr);
	if (r < 0)
		return r;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		plain_done(cc);
	exit(exit_status(status));
}

/* Without Morph's linker there is no sense in doing a link again. */
static bool may_follow(const struct cc *cc)
{
	return cc->who.is_gcc && !cc->is_again && !cc->line.is_question && !cc->line.reads_stdin &&
	       (cc->line.mode == CC_COMPILE || cc->line.mode == CC_LINK);
}

static bool links_shared(const struct cc *cc)
{
	for (size_t i = 1; i < cc->words.n; i++)
		if (strcmp(cc->words.v[i], "-shared") == 0 || strcmp(cc->words.v[i], "--shared") == 0 ||
		    strcmp(cc->words.v[i], "-Wl,-shared") == 0)
			return true;
	return false;
}

static int cc_read(struct cc *cc, int argc, char *const argv[], struct fault *reterr)
{
	const char *why = NULL;
	int r = arguments_expand(argc, argv, &cc->words, reterr);

	if (r < 0)
		return r;
	cc->line = cc_line_read((int)cc->words.n, cc->words.v);
	cc->verifies = cc->line.verifies || verification_is_wanted();
	if (cc->who.is_gcc) /* is_gcc_lto() */
		cc->line.has_lto = cc->line.has_fat = false;
	cc->is_plain = cc->line.mode == CC_LINK && !cc->line.is_probe && !cc->line.has_lto &&
		       link_is_plain(output_of(cc), links_shared(cc), &why);
	cc->is_kept = cc->is_plain && strcmp(why, LINK_CHOICE_GUESS) == 0 && relink_wanted();
	if (cc->is_plain && !cc->who.is_gcc)
		build_report_add("plain", subject_of(cc), why);
	for (size_t i = 1; i < cc->words.n && !cc->drops; i++) {
		cc->drops = word_is_dropped(cc, cc->words.v[i], &why) ||
			    (cc->who.is_gcc && strcmp(cc->words.v[i], "-fopenmp") == 0);
		i += cc_takes_next(cc->words.v[i]);
	}
	return 0;
}

static int command_run(struct cc *cc, int argc, char *const argv[])
{
	struct arguments args = { 0 };
	struct fault fault;
	const char *why;
	int r = cc_read(cc, argc, argv, &fault);

	child_pass_signals();
	why = r == 0 && cc->who.is_gcc ? gcc_reason(cc) : NULL;
	if (why && cc->is_again)
		r = fault_set(&fault, -ENOTSUP, "%s is GCC's: %s", subject_of(cc), why);
	else if (why && gcc_become(cc, argv, why, &fault) < 0)
		log_warning("%s; clang takes its place", fault.text);
	if (r == 0 && cc->who.is_gcc && cc->is_plain)
		gcc_links(cc, argv);
	if (r == 0)
		r = command_make(cc, argc, argv, &args, &fault);
	if (r < 0) {
		log_error("%s", fault.text);
	} else if (args.bad) {
		log_error("out of memory");
	} else {
		r = may_follow(cc) ? clang_then_gcc(cc, argv, &args, &fault) :
				     clang_become(cc, &args, &fault);
		child_die();
		if (r < 0)
			log_error("%s", fault.text);
	}
	arguments_done(&args);
	arguments_done(&cc->words);
	return EXIT_CANNOT_RUN;
}

int cc_become(int argc, char *const argv[], bool is_cxx)
{
	struct cc cc = { .who = { .name = is_cxx ? "morph-c++" : "morph-cc", .is_cxx = is_cxx } };

	log_init(cc.who.name, LOG_LEVEL_INFO);
	return command_run(&cc, argc, argv);
}

#define RELINK "--morph-relink="

static int cc_again(const char *record, const char *output)
{
	struct arguments command = { 0 };
	struct cc cc = { .is_again = true };
	struct fault fault;
	int ret = EXIT_CANNOT_RUN;

	unsetenv(LINK_CHOICE_GUESS);
	log_init("morph-cc", LOG_LEVEL_INFO);
	if (relink_read(record, output, &command, &fault) < 0) {
		log_error("%s", fault.text);
	} else {
		masquerade_read(command.v[0], &cc.who);
		ret = command_run(&cc, (int)command.n, command.v);
	}
	arguments_done(&command);
	return ret;
}

int cc_become_named(int argc, char *const argv[])
{
	struct cc cc = { 0 };

	if (argc == 3 && strncmp(argv[1], RELINK, strlen(RELINK)) == 0)
		return cc_again(argv[1] + strlen(RELINK), argv[2]);
	masquerade_read(argv[0], &cc.who);
	log_init(cc.who.name, LOG_LEVEL_INFO);
	return command_run(&cc, argc, argv);
}

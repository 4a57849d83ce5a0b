/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "editor/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/json.h"
#include "base/synopsis.h"
#include "base/text.h"
#include "editor/code/host.h"
#include "editor/selftest.h"

/* AddressSanitizer reserves terabytes of address space: no limit on it can be set. */
#ifdef __SANITIZE_ADDRESS__
#define DEFAULT_MEMORY_BYTES 0ull
#else
#define DEFAULT_MEMORY_BYTES (8ull << 30)
#endif
#define DEFAULT_TIMEOUT_S 1800u
#define COPIES_MOST 1000.0
#define JOBS_MOST 4096u
#define SECONDS_MOST 31536000u /* a year */
#define MEMORY_MOST_MIB (UINT64_MAX >> 20)

enum {
	OPT_REPORT = 256,
	OPT_CPU,
	OPT_TUNE,
	OPT_LAYOUT_ONLY,
	OPT_NO_FALLBACK,
	OPT_COPIES,
	OPT_NO_UNROLL,
	OPT_VECTOR_WIDTH,
	OPT_REBASE,
	OPT_TRUST_FACTS,
	OPT_USER,
	OPT_WORK,
	OPT_MEMORY,
	OPT_TIMEOUT,
	OPT_SELFTEST,
	OPT_NO_SELFTEST,
	OPT_SELFTEST_TIMEOUT,
	OPT_SIDECARS,
	OPT_KEEP,
	OPT_PASSES,
	OPT_FORCE,
	OPT_JSON,
	OPT_VERSION,
	OPT_CHECK,
	OPT_LIBRARY,
	OPT_IR,
	OPT_AS_SHIPPED,
	OPT_AS_SHIPPED_IF,
	OPT_AS_SHIPPED_FROM,
	OPT_WITHOUT,
	OPT_MEMO,
	OPT_CODE_CACHE
};

static const struct option long_options[] = {
	{ "profile", required_argument, NULL, 'p' },
	{ "output", required_argument, NULL, 'o' },
	{ "jobs", required_argument, NULL, 'j' },
	{ "report", required_argument, NULL, OPT_REPORT },
	{ "cpu", required_argument, NULL, OPT_CPU },
	{ "tune", required_argument, NULL, OPT_TUNE },
	{ "layout-only", no_argument, NULL, OPT_LAYOUT_ONLY },
	{ "no-fallback", no_argument, NULL, OPT_NO_FALLBACK },
	{ "copies", required_argument, NULL, OPT_COPIES },
	{ "no-unroll", no_argument, NULL, OPT_NO_UNROLL },
	{ "vector-width", required_argument, NULL, OPT_VECTOR_WIDTH },
	{ "rebase", no_argument, NULL, OPT_REBASE },
	{ "trust-facts", no_argument, NULL, OPT_TRUST_FACTS },
	{ "user", required_argument, NULL, OPT_USER },
	{ "work-dir", required_argument, NULL, OPT_WORK },
	{ "memory", required_argument, NULL, OPT_MEMORY },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "selftest", no_argument, NULL, OPT_SELFTEST },
	{ "no-selftest", no_argument, NULL, OPT_NO_SELFTEST },
	{ "selftest-timeout", required_argument, NULL, OPT_SELFTEST_TIMEOUT },
	{ "sidecar-dir", required_argument, NULL, OPT_SIDECARS },
	{ "keep-work-dir", no_argument, NULL, OPT_KEEP },
	{ "passes", no_argument, NULL, OPT_PASSES },
	{ "force", no_argument, NULL, OPT_FORCE },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ "check", no_argument, NULL, OPT_CHECK },
	{ "library", required_argument, NULL, OPT_LIBRARY },
	{ "ir", required_argument, NULL, OPT_IR },
	{ "as-shipped", required_argument, NULL, OPT_AS_SHIPPED },
	{ "as-shipped-if", required_argument, NULL, OPT_AS_SHIPPED_IF },
	{ "as-shipped-from", required_argument, NULL, OPT_AS_SHIPPED_FROM },
	{ "without", required_argument, NULL, OPT_WITHOUT },
	{ "memo", required_argument, NULL, OPT_MEMO },
	{ "code-cache", required_argument, NULL, OPT_CODE_CACHE },
	{ "help", no_argument, NULL, 'h' },
	{ NULL }
};

static int usage(FILE *out)
{
	fputs("usage: morph optimize " SYNOPSIS_OPTIMIZE "\n", out);
	return out == stderr ? 2 : -1;
}

static void passes_json(void)
{
	struct json json = json_to(stdout);
	struct edit_pass pass;

	json_object_begin(&json, NULL);
	json_array_begin(&json, "passes");
	for (size_t i = 0; edit_pass_at(i, &pass); i++) {
		json_object_begin(&json, NULL);
		json_string(&json, "name", pass.name);
		json_string(&json, "step", edit_step_name(pass.step));
		json_string(&json, "title", pass.title);
		json_bool(&json, "optional", pass.is_optional);
		json_object_end(&json);
	}
	json_array_end(&json);
	json_object_end(&json);
}

static int passes_print(bool as_json)
{
	struct edit_pass pass;

	if (as_json) {
		passes_json();
		return -1;
	}
	for (size_t i = 0; edit_pass_at(i, &pass); i++)
		printf("%-11s %-11s %s%s\n", pass.name, edit_step_name(pass.step), pass.title,
		       pass.is_optional ? " (can be left out)" : "");
	return -1;
}

static int version_print(void)
{
	puts("morph " MORPH_VERSION);
	return -1;
}

/* The worker changes directory. What does not exist stays as it was given, for the message about it. */
static const char *absolute(const char *path)
{
	const char *real = realpath(path, NULL);

	return real ? real : path;
}

/* "SONAME=FILE", of a name that is one. */
static bool library_take(const char *text, struct arguments *a)
{
	size_t n = strcspn(text, "=/");

	if (!n || text[n] != '=' || a->n_libraries == OPTIONS_LIBRARIES_MAX)
		return false;
	a->libraries[a->n_libraries++] = text;
	return true;
}

static bool function_take(struct edit_kept kept, struct arguments *a)
{
	if (a->edit.n_as_shipped == EDIT_KEPT_MAX) {
		fprintf(stderr, "morph optimize: more than %u functions to keep as shipped\n", EDIT_KEPT_MAX);
		return false;
	}
	a->as_shipped[a->edit.n_as_shipped++] = kept;
	return true;
}

static bool function_name(struct edit_kept kept, struct arguments *a)
{
	if (a->n_named++ < OPTIONS_AS_SHIPPED_MAX)
		return function_take(kept, a);
	fprintf(stderr,
		"morph optimize: --as-shipped: more than %u functions; --as-shipped-from takes a file\n",
		OPTIONS_AS_SHIPPED_MAX);
	return false;
}

/* HASH:FUNCTION: only if its graph is that one, and no error if there is none. */
static bool function_take_if(const char *text, struct arguments *a)
{
	char *end;
	unsigned long long hash = strtoull(text, &end, 16);

	if (end == text || *end != ':' || !end[1]) {
		fprintf(stderr, "morph optimize: --as-shipped-if=%s: not HASH:FUNCTION\n", SHOWN(text));
		return false;
	}
	return function_name((struct edit_kept){ end + 1, hash, true }, a);
}

/* One name a line. The names live as long as the process. */
static bool functions_read(const char *path, struct arguments *a)
{
	FILE *in = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;
	ssize_t n = 0;
	bool good = in;

	while (good && (n = getline(&line, &room, in)) > 0) {
		if (line[n - 1] == '\n')
			line[--n] = '\0';
		if (n)
			good = function_take((struct edit_kept){ .name = TAKE(line) }, a);
		room = line ? room : 0;
	}
	a->unreadable = !in || ferror(in);
	if (a->unreadable)
		fprintf(stderr, "morph optimize: %s: %s\n", SHOWN(path), strerror(errno));
	good = good && !a->unreadable;
	free(line);
	if (in)
		fclose(in);
	return good;
}

static int compare_kept(const void *a, const void *b)
{
	return strcmp(((const struct edit_kept *)a)->name, ((const struct edit_kept *)b)->name);
}

/* Sorted, each once: the same wishes give the same generation. */
static void functions_sort(struct arguments *a)
{
	size_t n = 0;

	qsort(a->as_shipped, a->edit.n_as_shipped, sizeof(*a->as_shipped), compare_kept);
	for (size_t i = 0; i < a->edit.n_as_shipped; i++)
		if (!n || compare_kept(&a->as_shipped[n - 1], &a->as_shipped[i]) != 0)
			a->as_shipped[n++] = a->as_shipped[i];
	a->edit.n_as_shipped = n;
	a->edit.as_shipped = a->as_shipped;
}

static bool pass_leave_out(const char *name, struct arguments *a)
{
	struct edit_pass pass;

	for (size_t i = 0; edit_pass_at(i, &pass); i++)
		if (pass.is_optional && strcmp(pass.name, name) == 0) {
			a->edit.passes_off |= UINT64_C(1) << i;
			return true;
		}
	fprintf(stderr, "morph optimize: no pass \"%s\" that can be left out; there are:", SHOWN(name));
	for (size_t i = 0; edit_pass_at(i, &pass); i++)
		if (pass.is_optional)
			fprintf(stderr, " %s", pass.name);
	fputc('\n', stderr);
	return false;
}

/* A factor of the room that there is for copies. */
static bool copies_take(const char *text, struct arguments *a)
{
	char *end;

	a->edit.copies = strtod(text, &end);
	a->edit.limits_copies = end != text && !*end && a->edit.copies >= 0 && a->edit.copies <= COPIES_MOST;
	if (!a->edit.limits_copies)
		fprintf(stderr, "morph optimize: --copies: \"%s\" is not a number from 0 to %.0f\n",
			SHOWN(text), COPIES_MOST);
	return a->edit.limits_copies;
}

/* A whole decimal number. */
static bool number_take(const char *option, const char *text, uint64_t most, uint64_t *ret)
{
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (*text >= '0' && *text <= '9' && !*end && !errno && value <= most) {
		*ret = value;
		return true;
	}
	fprintf(stderr, "morph optimize: %s: \"%s\" is not a number from 0 to %llu\n", option, SHOWN(text),
		(unsigned long long)most);
	return false;
}

static bool unsigned_take(const char *option, const char *text, unsigned most, unsigned *ret)
{
	uint64_t value = *ret;
	bool good = number_take(option, text, most, &value);

	*ret = (unsigned)value;
	return good;
}

static bool memory_take(const char *text, struct arguments *a)
{
	uint64_t mib = 0;
	bool good = number_take("--memory", text, MEMORY_MOST_MIB, &mib);

	a->memory_bytes = mib << 20;
	return good;
}

/* "native" and "shipped" are --cpu's own words. */
static bool cpu_take(const char *option, const char *name, bool own_words, const char **ret)
{
	*ret = name;
	if ((own_words && (strcmp(name, "native") == 0 || strcmp(name, "shipped") == 0)) || host_knows(name))
		return true;
	fprintf(stderr,
		"morph optimize: %s: LLVM knows no CPU \"%s\"; `" MORPH_LLVM_DIR
		"/bin/llc -mcpu=help` lists them\n",
		option, SHOWN(name));
	return false;
}

static bool vectors_take(const char *text, struct arguments *a)
{
	static const char *const widths[] = { "0", "128", "256", "512" };

	for (size_t i = 0; i < ARRAY_SIZE(widths); i++)
		if (strcmp(text, widths[i]) == 0) {
			a->edit.limits_vectors = true;
			a->edit.vector_bits = (unsigned)strtoul(text, NULL, 10);
			return true;
		}
	fprintf(stderr, "morph optimize: --vector-width: \"%s\" is none of 0, 128, 256, 512\n", SHOWN(text));
	return false;
}

static bool argument_take(int option, struct arguments *a)
{
	switch (option) {
	case 'p': a->profile = optarg; return true;
	case 'o': a->out = optarg; return true;
	case 'j': return unsigned_take("--jobs", optarg, JOBS_MOST, &a->edit.n_threads);
	case OPT_REPORT: a->report = optarg; return true;
	case OPT_CPU: return cpu_take("--cpu", optarg, true, &a->edit.cpu);
	case OPT_TUNE: return cpu_take("--tune", optarg, false, &a->edit.tune);
	case OPT_LAYOUT_ONLY: a->edit.layout_only = true; return true;
	case OPT_NO_FALLBACK: a->no_fallback = true; return true;
	case OPT_COPIES: return copies_take(optarg, a);
	case OPT_NO_UNROLL: a->edit.no_unroll = true; return true;
	case OPT_VECTOR_WIDTH: return vectors_take(optarg, a);
	case OPT_REBASE: a->edit.rebase = true; return true;
	case OPT_TRUST_FACTS: a->edit.trusts_facts = true; return true;
	case OPT_USER: a->user = optarg; return true;
	case OPT_WORK: a->work = absolute(optarg); return true;
	case OPT_MEMORY: return memory_take(optarg, a);
	case OPT_TIMEOUT: return unsigned_take("--timeout", optarg, SECONDS_MOST, &a->timeout_s);
	case OPT_SELFTEST_TIMEOUT:
		return unsigned_take("--selftest-timeout", optarg, SECONDS_MOST, &a->selftest_timeout_s);
	case OPT_SELFTEST: a->selftest = true; return true;
	case OPT_NO_SELFTEST: a->no_selftest = true; return true;
	case OPT_KEEP: a->keep = true; return true;
	case OPT_CHECK: a->edit.checks_only = true; return true;
	case OPT_IR: a->edit.ir_of = optarg; return true;
	case OPT_LIBRARY: return library_take(optarg, a);
	case OPT_AS_SHIPPED: return function_name((struct edit_kept){ .name = optarg }, a);
	case OPT_AS_SHIPPED_IF: return function_take_if(optarg, a);
	case OPT_AS_SHIPPED_FROM: return functions_read(optarg, a);
	case OPT_WITHOUT: return pass_leave_out(optarg, a);
	case OPT_MEMO: a->memo = optarg; return true;
	case OPT_CODE_CACHE: a->code_cache = optarg; return true;
	case OPT_FORCE: a->force = true; return true;
	case OPT_JSON: a->json = true; return true;
	case OPT_SIDECARS: a->edit.sidecar_dir = absolute(optarg); return true;
	default: return false;
	}
}

int arguments_parse(int argc, char **argv, struct arguments *ret)
{
	bool lists_passes = false;
	int option;

	*ret = (struct arguments){ .memory_bytes = DEFAULT_MEMORY_BYTES,
				   .timeout_s = DEFAULT_TIMEOUT_S,
				   .selftest_timeout_s = SELFTEST_TIMEOUT_S };
	while ((option = getopt_long(argc, argv, "p:o:j:h", long_options, NULL)) != -1) {
		if (option == 'h')
			return usage(stdout);
		if (option == OPT_VERSION)
			return version_print();
		if (option == OPT_PASSES)
			lists_passes = true;
		else if (!argument_take(option, ret))
			return ret->unreadable ? 1 : usage(stderr);
	}
	if (lists_passes)
		return passes_print(ret->json);
	/* What only is placed anew keeps its instructions. */
	if (!ret->edit.cpu)
		ret->edit.cpu = ret->edit.layout_only ? "shipped" : "native";
	if (strcmp(ret->edit.cpu, "shipped") == 0)
		ret->edit.cpu = NULL;
	if (optind != argc - 1 || (ret->n_libraries && ret->edit.ir_of) ||
	    (!arguments_edit(ret) && (ret->edit.n_as_shipped || ret->edit.passes_off || ret->memo)) ||
	    (ret->edit.ir_of && (ret->edit.checks_only || ret->profile || ret->json)) ||
	    (ret->code_cache && !ret->edit.checks_only) || (!ret->edit.checks_only && !ret->out) ||
	    (arguments_edit(ret) && !ret->profile))
		return usage(stderr);
	ret->program = argv[optind];
	functions_sort(ret);
	return 0;
}

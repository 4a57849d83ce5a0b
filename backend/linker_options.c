/* SPDX-License-Identifier: Apache-2.0 */

#include "backend/linker_options.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/file.h"

enum fate {
	KEEP,	   /* part of how the program is linked */
	KEEP_FILE, /* names a file that the link reads, by content */
	DROP,	   /* an input, an output, a report, or LTO */
};

enum shape {
	ALONE,	/* --name */
	WORD,	/* --name value, and --name=value */
	JOINED, /* -nvalue or -n value */
	PREFIX, /* anything that starts so */
};

struct option_rule {
	const char *name; /* without leading dashes */
	enum shape shape;
	enum fate fate;
};

/* What is not listed is kept as one word (ld.lld 22's options; unknown ones it would have refused). */
static const struct option_rule rules[] = {
	{ "o", JOINED, DROP }, { "output", WORD, DROP }, { "L", JOINED, DROP }, { "library-path", WORD, DROP },
	{ "l", JOINED, DROP }, { "library", WORD, DROP },
	{ "start-group", ALONE, DROP }, { "end-group", ALONE, DROP }, { "(", ALONE, DROP }, { ")", ALONE, DROP },
	{ "start-lib", ALONE, DROP }, { "end-lib", ALONE, DROP },
	{ "whole-archive", ALONE, DROP }, { "no-whole-archive", ALONE, DROP },
	{ "as-needed", ALONE, DROP }, { "no-as-needed", ALONE, DROP },
	{ "push-state", ALONE, DROP }, { "pop-state", ALONE, DROP },
	{ "Bstatic", ALONE, DROP }, { "Bdynamic", ALONE, DROP }, { "dn", ALONE, DROP }, { "dy", ALONE, DROP },
	{ "non_shared", ALONE, DROP }, { "call_shared", ALONE, DROP },
	{ "plugin", WORD, DROP }, { "plugin-opt", PREFIX, DROP }, { "lto", PREFIX, DROP },
	{ "thinlto", PREFIX, DROP }, { "mllvm", WORD, DROP }, { "fat-lto-objects", ALONE, DROP },
	{ "no-fat-lto-objects", ALONE, DROP }, { "save-temps", PREFIX, DROP },
	{ "Map", WORD, DROP }, { "M", ALONE, DROP }, { "print-map", ALONE, DROP }, { "cref", ALONE, DROP },
	{ "t", ALONE, DROP }, { "trace", ALONE, DROP }, { "dependency-file", WORD, DROP },
	{ "reproduce", WORD, DROP }, { "time-trace", PREFIX, DROP }, { "why-extract", WORD, DROP },
	{ "print-gc-sections", ALONE, DROP }, { "print-icf-sections", ALONE, DROP },
	{ "print-symbol-order", WORD, DROP }, { "print-archive-stats", WORD, DROP }, { "stats", ALONE, DROP },
	{ "verbose", ALONE, DROP }, { "v", ALONE, DROP }, { "V", ALONE, DROP },
	{ "strip-all", ALONE, DROP }, { "s", ALONE, DROP }, { "threads", PREFIX, DROP },
	{ "version-script", WORD, KEEP_FILE }, { "dynamic-list", WORD, KEEP_FILE }, { "T", JOINED, KEEP_FILE },
	{ "script", WORD, KEEP_FILE }, { "default-script", WORD, KEEP_FILE }, { "dT", WORD, KEEP_FILE },
	{ "retain-symbols-file", WORD, KEEP_FILE }, { "export-dynamic-symbol-list", WORD, KEEP_FILE },
	{ "just-symbols", WORD, KEEP_FILE }, { "symbol-ordering-file", WORD, KEEP_FILE },
	{ "call-graph-ordering-file", WORD, KEEP_FILE }, { "section-ordering-file", WORD, KEEP_FILE },
	{ "m", JOINED, KEEP }, { "z", JOINED, KEEP }, { "h", JOINED, KEEP }, { "soname", WORD, KEEP },
	{ "e", JOINED, KEEP }, { "entry", WORD, KEEP }, { "u", JOINED, KEEP }, { "undefined", WORD, KEEP },
	{ "f", JOINED, KEEP }, { "F", JOINED, KEEP }, { "auxiliary", WORD, KEEP }, { "filter", WORD, KEEP },
	{ "dynamic-linker", WORD, KEEP }, { "I", JOINED, KEEP }, { "rpath", WORD, KEEP }, { "R", JOINED, KEEP },
	{ "rpath-link", WORD, DROP }, { "init", WORD, KEEP }, { "fini", WORD, KEEP }, { "defsym", WORD, KEEP },
	{ "wrap", WORD, KEEP }, { "y", JOINED, DROP }, { "trace-symbol", WORD, DROP },
	{ "exclude-libs", WORD, DROP }, { "export-dynamic-symbol", WORD, KEEP },
	{ "hash-style", WORD, KEEP }, { "image-base", WORD, KEEP }, { "section-start", WORD, KEEP },
	{ "Ttext", WORD, KEEP }, { "Tdata", WORD, KEEP }, { "Tbss", WORD, KEEP }, { "sort-section", WORD, KEEP },
	{ "require-defined", WORD, KEEP }, { "undefined-glob", WORD, KEEP }, { "sysroot", WORD, DROP },
	{ "compress-debug-sections", WORD, KEEP }, { "unresolved-symbols", WORD, KEEP },
};

/* Name after one or two dashes; NULL for an input. */
static const char *option_name(const char *argument)
{
	if (argument[0] != '-' || !argument[1])
		return NULL;
	return argument + (argument[1] == '-' ? 2 : 1);
}

static bool rule_matches(const struct option_rule *rule, const char *argument)
{
	const char *name = option_name(argument);
	size_t n = strlen(rule->name);

	if (strncmp(name, rule->name, n) != 0)
		return false;
	switch (rule->shape) {
	case ALONE:
		return !name[n];
	case WORD:
		return !name[n] || name[n] == '=';
	case JOINED: /* one dash only: --output is not -o */
		return argument[1] != '-' || !name[n];
	case PREFIX:
		return true;
	}
	return false;
}

/* Long names first: -rpath is not -r, -soname is not -s. */
static const struct option_rule *rule_find(const char *argument)
{
	const struct option_rule *best = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (rule_matches(&rules[i], argument) &&
		    (!best || strlen(rules[i].name) > strlen(best->name) ||
		     (best->shape == JOINED && rules[i].shape != JOINED)))
			best = &rules[i];
	/* "-export-dynamic" is no "-e xport-dynamic": letters that join are followed by a value only. */
	if (best && best->shape == JOINED && strlen(option_name(argument)) > strlen(best->name) &&
	    strchr("ehfuR", best->name[0]) && strlen(best->name) == 1 && strchr(argument, '-') != strrchr(argument, '-'))
		return NULL;
	return best;
}

/* The option's value: within the word, or the next word (then *i moves). NULL: has none. */
static const char *option_value(const struct option_rule *rule, int argc, char **argv, int *i)
{
	const char *rest = option_name(argv[*i]) + strlen(rule->name);

	if (rule->shape == WORD && *rest == '=')
		return rest + 1;
	if (rule->shape == JOINED && *rest)
		return rest;
	if ((rule->shape == WORD || rule->shape == JOINED) && *i + 1 < argc)
		return argv[++*i];
	return NULL;
}

bool linker_options_is_strip(const char *argument)
{
	return strcmp(argument, "-s") == 0 || strcmp(argument, "--strip-all") == 0 ||
	       strcmp(argument, "-strip-all") == 0;
}

static bool plugin_option_read(const char *text, struct linker_options *ret)
{
	if (strncmp(text, "thinlto", 7) == 0 && (!text[7] || text[7] == '='))
		ret->thin = true;
	else if (strncmp(text, "mcpu=", 5) == 0)
		ret->cpu = text + 5;
	else if (text[0] == 'O' && isdigit((unsigned char)text[1]) && !text[2])
		ret->opt_level = (unsigned)(text[1] - '0');
	else
		return text[0] == '-'; /* -plugin-opt=-NAME is -mllvm -NAME */
	return false;
}

static void option_read(const char *name, const char *value, struct linker_options *ret)
{
	if (strcmp(name, "o") == 0 || strcmp(name, "output") == 0)
		ret->output = value;
	else if (strcmp(name, "mllvm") == 0 && value)
		ret->codegen[ret->n_codegen++] = value;
}

int linker_options_read(int argc, char **argv, struct linker_options *ret, struct fault *reterr)
{
	bool has_input = false, asks_version = false;

	*ret = (struct linker_options){ .output = "a.out", .opt_level = 2 };
	ret->codegen = calloc((size_t)argc + 1, sizeof(*ret->codegen));
	if (!ret->codegen)
		return fault_errno(reterr, -ENOMEM, "reading the linker's options");
	for (int i = 1; i < argc; i++) {
		const char *name = option_name(argv[i]), *argument = argv[i];
		const struct option_rule *rule = name ? rule_find(argv[i]) : NULL;

		has_input |= !name;
		if (!name)
			continue;
		asks_version |= strcmp(name, "version") == 0 || strcmp(name, "v") == 0 || strcmp(name, "help") == 0;
		ret->relocatable |= strcmp(name, "r") == 0 || strcmp(name, "relocatable") == 0;
		ret->pic |= strcmp(name, "pie") == 0 || strcmp(name, "pic-executable") == 0 ||
			    strcmp(name, "shared") == 0 || strcmp(name, "Bshareable") == 0;
		ret->strip_all |= linker_options_is_strip(argument);
		ret->has_build_id |= strncmp(name, "build-id", 8) == 0 && strcmp(name, "build-id=none") != 0;
		if (strncmp(name, "plugin-opt=", 11) == 0) {
			if (plugin_option_read(name + 11, ret))
				ret->codegen[ret->n_codegen++] = name + 11;
		} else if (strncmp(name, "lto-O", 5) == 0 && isdigit((unsigned char)name[5])) {
			ret->opt_level = (unsigned)(name[5] - '0');
		} else if (rule && rule->shape != ALONE && rule->shape != PREFIX) {
			option_read(rule->name, option_value(rule, argc, argv, &i), ret);
		}
	}
	ret->only_information = asks_version && !has_input;
	return 0;
}

void linker_options_done(struct linker_options *options)
{
	free(options->codegen);
}

static int file_keep(const struct option_rule *rule, const char *path, struct link_plan *plan, struct fault *reterr)
{
	char option[64];
	struct file_map map;
	int r = file_map_open(path, &map, reterr);

	snprintf(option, sizeof(option), "--%s=", strcmp(rule->name, "T") == 0 ? "script" : rule->name);
	if (r == 0 && link_plan_add(plan, LINK_FILE, option, map.data, map.size) < 0)
		r = fault_errno(reterr, -ENOMEM, "link plan");
	return r;
}

int linker_options_plan(int argc, char **argv, struct link_plan *plan, struct fault *reterr)
{
	int r = 0;

	for (int i = 1; i < argc && r == 0; i++) {
		const struct option_rule *rule = option_name(argv[i]) ? rule_find(argv[i]) : NULL;
		int first = i;
		const char *value = NULL;

		if (!option_name(argv[i]))
			continue;
		if (rule && (rule->shape == WORD || rule->shape == JOINED))
			value = option_value(rule, argc, argv, &i);
		if (rule && rule->fate == DROP)
			continue;
		if (rule && rule->fate == KEEP_FILE && value) {
			r = file_keep(rule, value, plan, reterr);
			continue;
		}
		for (int k = first; k <= i && r == 0; k++)
			if (link_plan_add(plan, LINK_ARGUMENT, argv[k], NULL, 0) < 0)
				r = fault_errno(reterr, -ENOMEM, "link plan");
	}
	return r;
}

/* One word in GNU response file quoting: quotes of both kinds, backslash takes the next byte as it is. */
static const char *word_take(const char *p, const char *end, struct buffer *ret)
{
	char quote = 0;

	for (; p < end && (quote || !isspace((unsigned char)*p)); p++) {
		if (*p == '\\' && p + 1 < end)
			buffer_u8(ret, (uint8_t)*++p);
		else if (quote ? *p == quote : *p == '"' || *p == '\'')
			quote = quote ? 0 : *p;
		else
			buffer_u8(ret, (uint8_t)*p);
	}
	buffer_u8(ret, 0);
	return p;
}

struct words {
	char **list;
	int n, capacity;
};

static int word_add(struct words *words, char *word)
{
	if (words->n + 1 >= words->capacity) {
		int capacity = words->capacity ? words->capacity * 2 : 256;
		char **list = reallocarray(words->list, (size_t)capacity, sizeof(*list));

		if (!list)
			return -ENOMEM;
		words->list = list;
		words->capacity = capacity;
	}
	words->list[words->n++] = word;
	words->list[words->n] = NULL;
	return 0;
}

static int response_file_add(const char *path, struct words *words, struct fault *reterr)
{
	_clean_(file_map_donep) struct file_map map = { 0 };
	int r = file_map_open(path, &map, reterr);
	const char *p = (const char *)map.data, *end = p ? p + map.size : p;

	while (r == 0 && p < end) {
		struct buffer word = { 0 };

		if (isspace((unsigned char)*p)) {
			p++;
			continue;
		}
		p = word_take(p, end, &word);
		if (word.bad || word_add(words, (char *)word.data) < 0)
			r = fault_errno(reterr, -ENOMEM, "%s", path);
	}
	return r;
}

int linker_options_expand(int argc, char **argv, int *retargc, char ***retargv, struct fault *reterr)
{
	struct words words = { 0 };
	int r = 0;

	for (int i = 0; i < argc && r == 0; i++) {
		if (i && argv[i][0] == '@')
			r = response_file_add(argv[i] + 1, &words, reterr);
		else if (word_add(&words, argv[i]) < 0)
			r = fault_errno(reterr, -ENOMEM, "reading the linker's options");
	}
	*retargc = words.n;
	*retargv = words.list;
	return r;
}

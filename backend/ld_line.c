/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Options as ld.lld 22 takes them (`ld.lld --help`): long ones with one dash or two and "=VALUE" or a
 * separate value, short ones with the value joined or separate. What the table does not name is a
 * flag without a value that is kept.
 */

#define _GNU_SOURCE
#include "backend/ld_line.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "module/array.h"

enum value_style {
	VALUE_NONE,
	VALUE_OPTIONAL, /* "=VALUE" or nothing */
	VALUE_NEXT,	/* "=VALUE" or the next word */
	VALUE_JOINED,	/* short: joined or the next word */
};

struct option_rule {
	const char *name;
	enum value_style style;
	enum ld_item_kind kind;
};

static const struct option_rule long_rules[] = {
	{ "Bdynamic", VALUE_NONE, LD_DROP },
	{ "Bstatic", VALUE_NONE, LD_DROP },
	{ "Map", VALUE_NEXT, LD_DROP },
	{ "Tbss", VALUE_NEXT, LD_KEEP },
	{ "Tdata", VALUE_NEXT, LD_KEEP },
	{ "Ttext", VALUE_NEXT, LD_KEEP },
	{ "accept-unknown-input-arch", VALUE_NONE, LD_GNU },
	{ "add-needed", VALUE_NONE, LD_GNU },
	{ "as-needed", VALUE_NONE, LD_DROP },
	{ "auxiliary", VALUE_NEXT, LD_KEEP },
	{ "bp-compression-sort", VALUE_NEXT, LD_DROP },
	{ "bp-startup-sort", VALUE_NEXT, LD_DROP },
	{ "build-id", VALUE_OPTIONAL, LD_BUILD_ID },
	{ "call-graph-ordering-file", VALUE_NEXT, LD_DROP },
	{ "call-graph-profile-sort", VALUE_NEXT, LD_DROP },
	{ "call_shared", VALUE_NONE, LD_DROP },
	{ "chroot", VALUE_NEXT, LD_DROP },
	{ "color-diagnostics", VALUE_OPTIONAL, LD_DROP },
	{ "compress-debug-sections", VALUE_NEXT, LD_KEEP },
	{ "compress-sections", VALUE_NEXT, LD_KEEP },
	{ "copy-dt-needed-entries", VALUE_NONE, LD_GNU },
	{ "cref", VALUE_NONE, LD_DROP },
	{ "default-script", VALUE_NEXT, LD_FILE },
	{ "defsym", VALUE_NEXT, LD_KEEP },
	{ "dependency-file", VALUE_NEXT, LD_DROP },
	{ "dn", VALUE_NONE, LD_DROP },
	{ "dy", VALUE_NONE, LD_DROP },
	{ "dynamic-linker", VALUE_NEXT, LD_KEEP },
	{ "dynamic-list", VALUE_NEXT, LD_FILE },
	{ "end-group", VALUE_NONE, LD_DROP },
	{ "end-lib", VALUE_NONE, LD_DROP },
	{ "entry", VALUE_NEXT, LD_KEEP },
	{ "error-handling-script", VALUE_NEXT, LD_DROP },
	{ "error-limit", VALUE_NEXT, LD_DROP },
	{ "exclude-libs", VALUE_NEXT, LD_EXCLUDE_LIBS },
	{ "export-dynamic-symbol", VALUE_NEXT, LD_KEEP },
	{ "export-dynamic-symbol-list", VALUE_NEXT, LD_FILE },
	{ "fat-lto-objects", VALUE_NONE, LD_CODEGEN },
	{ "filter", VALUE_NEXT, LD_KEEP },
	{ "fini", VALUE_NEXT, LD_KEEP },
	{ "force-exe-suffix", VALUE_NONE, LD_GNU },
	{ "force-group-allocation", VALUE_NONE, LD_DROP },
	{ "format", VALUE_NEXT, LD_PASS },
	{ "gpsize", VALUE_OPTIONAL, LD_GNU },
	{ "hash-size", VALUE_OPTIONAL, LD_GNU },
	{ "hash-style", VALUE_NEXT, LD_KEEP },
	{ "help", VALUE_NONE, LD_PASS },
	{ "image-base", VALUE_NEXT, LD_KEEP },
	{ "init", VALUE_NEXT, LD_KEEP },
	{ "irpgo-profile", VALUE_NEXT, LD_DROP },
	{ "just-symbols", VALUE_NEXT, LD_FILE },
	{ "keep-unique", VALUE_NEXT, LD_KEEP },
	{ "ld-generated-unwind-info", VALUE_NONE, LD_GNU },
	{ "library", VALUE_NEXT, LD_LIBRARY },
	{ "library-path", VALUE_NEXT, LD_DROP },
	{ "load-pass-plugin", VALUE_NEXT, LD_PASS },
	{ "lto", VALUE_NEXT, LD_CODEGEN },
	{ "lto-aa-pipeline", VALUE_NEXT, LD_CODEGEN },
	{ "lto-basic-block-address-map", VALUE_NONE, LD_CODEGEN },
	{ "lto-basic-block-sections", VALUE_NEXT, LD_PASS },
	{ "lto-cs-profile-file", VALUE_NEXT, LD_CODEGEN },
	{ "lto-cs-profile-generate", VALUE_NONE, LD_CODEGEN },
	{ "lto-emit-asm", VALUE_NONE, LD_PASS },
	{ "lto-emit-llvm", VALUE_NONE, LD_PASS },
	{ "lto-known-safe-vtables", VALUE_NEXT, LD_CODEGEN },
	{ "lto-newpm-passes", VALUE_NEXT, LD_CODEGEN },
	{ "lto-partitions", VALUE_NEXT, LD_CODEGEN },
	{ "lto-sample-profile", VALUE_NEXT, LD_CODEGEN },
	{ "lto-whole-program-visibility", VALUE_NONE, LD_CODEGEN },
	{ "map-whole-files", VALUE_NONE, LD_GNU },
	{ "max-cache-size", VALUE_OPTIONAL, LD_GNU },
	{ "mllvm", VALUE_NEXT, LD_CODEGEN },
	{ "morph-benchmark", VALUE_NEXT, LD_OURS },
	{ "morph-linker", VALUE_NEXT, LD_OURS },
	{ "morph-selftest", VALUE_NEXT, LD_OURS },
	{ "morph-verify", VALUE_NONE, LD_OURS },
	{ "no-as-needed", VALUE_NONE, LD_DROP },
	{ "no-color-diagnostics", VALUE_NONE, LD_DROP },
	{ "no-ctf-variables", VALUE_NONE, LD_GNU },
	{ "no-fat-lto-objects", VALUE_NONE, LD_CODEGEN },
	{ "no-map-whole-files", VALUE_NONE, LD_GNU },
	{ "no-print-gc-sections", VALUE_NONE, LD_DROP },
	{ "no-strip-discarded", VALUE_NONE, LD_GNU },
	{ "no-warn-execstack", VALUE_NONE, LD_GNU },
	{ "no-warn-rwx-segments", VALUE_NONE, LD_GNU },
	{ "no-whole-archive", VALUE_NONE, LD_DROP },
	{ "non_shared", VALUE_NONE, LD_DROP },
	{ "oformat", VALUE_NEXT, LD_PASS },
	{ "opt-remarks-filename", VALUE_NEXT, LD_DROP },
	{ "opt-remarks-format", VALUE_NEXT, LD_DROP },
	{ "opt-remarks-hotness-threshold", VALUE_NEXT, LD_DROP },
	{ "opt-remarks-passes", VALUE_NEXT, LD_DROP },
	{ "opt-remarks-with-hotness", VALUE_NONE, LD_DROP },
	{ "orphan-handling", VALUE_NEXT, LD_KEEP },
	{ "output", VALUE_NEXT, LD_OUTPUT },
	{ "pack-dyn-relocs", VALUE_NEXT, LD_KEEP },
	{ "package-metadata", VALUE_NEXT, LD_KEEP },
	{ "plugin", VALUE_NEXT, LD_CODEGEN },
	{ "plugin-opt", VALUE_NEXT, LD_CODEGEN },
	{ "pop-state", VALUE_NONE, LD_DROP },
	{ "print-archive-stats", VALUE_NEXT, LD_DROP },
	{ "print-gc-sections", VALUE_OPTIONAL, LD_DROP },
	{ "print-icf-sections", VALUE_NONE, LD_DROP },
	{ "print-map", VALUE_NONE, LD_DROP },
	{ "print-map-discarded", VALUE_NONE, LD_GNU },
	{ "print-memory-usage", VALUE_NONE, LD_DROP },
	{ "print-output-format", VALUE_NONE, LD_GNU },
	{ "print-symbol-order", VALUE_NEXT, LD_DROP },
	{ "push-state", VALUE_NONE, LD_DROP },
	{ "reduce-memory-overheads", VALUE_NONE, LD_GNU },
	{ "relocatable", VALUE_NONE, LD_PASS },
	{ "remap-inputs", VALUE_NEXT, LD_DROP },
	{ "remap-inputs-file", VALUE_NEXT, LD_DROP },
	{ "reproduce", VALUE_NEXT, LD_DROP },
	{ "retain-symbols-file", VALUE_NEXT, LD_FILE },
	{ "rpath", VALUE_NEXT, LD_KEEP },
	{ "rpath-link", VALUE_NEXT, LD_DROP },
	{ "rsp-quoting", VALUE_NEXT, LD_DROP },
	{ "save-temps", VALUE_OPTIONAL, LD_DROP },
	{ "script", VALUE_NEXT, LD_FILE },
	{ "section-start", VALUE_NEXT, LD_KEEP },
	{ "shuffle-sections", VALUE_NEXT, LD_KEEP },
	{ "soname", VALUE_NEXT, LD_KEEP },
	{ "sort-section", VALUE_NEXT, LD_KEEP },
	{ "spare-dynamic-tags", VALUE_OPTIONAL, LD_GNU },
	{ "start-group", VALUE_NONE, LD_DROP },
	{ "start-lib", VALUE_NONE, LD_DROP },
	{ "static", VALUE_NONE, LD_STATIC },
	{ "strip-all", VALUE_NONE, LD_STRIP_ALL },
	{ "strip-discarded", VALUE_NONE, LD_GNU },
	{ "symbol-ordering-file", VALUE_NEXT, LD_DROP },
	{ "sysroot", VALUE_NEXT, LD_DROP },
	{ "thinlto-cache-dir", VALUE_NEXT, LD_CODEGEN },
	{ "thinlto-cache-policy", VALUE_NEXT, LD_CODEGEN },
	{ "thinlto-distributor", VALUE_NEXT, LD_PASS },
	{ "thinlto-emit-imports-files", VALUE_NONE, LD_PASS },
	{ "thinlto-index-only", VALUE_OPTIONAL, LD_PASS },
	{ "thinlto-jobs", VALUE_NEXT, LD_CODEGEN },
	{ "thinlto-single-module", VALUE_NEXT, LD_PASS },
	{ "threads", VALUE_NEXT, LD_DROP },
	{ "time-trace", VALUE_OPTIONAL, LD_DROP },
	{ "time-trace-granularity", VALUE_NEXT, LD_DROP },
	{ "trace", VALUE_NONE, LD_DROP },
	{ "trace-symbol", VALUE_NEXT, LD_DROP },
	{ "traditional-format", VALUE_NONE, LD_GNU },
	{ "undefined", VALUE_NEXT, LD_KEEP },
	{ "undefined-glob", VALUE_NEXT, LD_KEEP },
	{ "unresolved-symbols", VALUE_NEXT, LD_KEEP },
	{ "verbose", VALUE_NONE, LD_DROP },
	{ "version", VALUE_NONE, LD_PASS },
	{ "version-script", VALUE_NEXT, LD_FILE },
	{ "warn-alternate-em", VALUE_NONE, LD_GNU },
	{ "warn-backrefs-exclude", VALUE_NEXT, LD_DROP },
	{ "warn-constructors", VALUE_NONE, LD_GNU },
	{ "warn-multiple-gp", VALUE_NONE, LD_GNU },
	{ "warn-rwx-segments", VALUE_NONE, LD_GNU },
	{ "warn-section-align", VALUE_NONE, LD_GNU },
	{ "warn-textrel", VALUE_NONE, LD_GNU },
	{ "whole-archive", VALUE_NONE, LD_DROP },
	{ "why-extract", VALUE_NEXT, LD_DROP },
	{ "why-live", VALUE_NEXT, LD_DROP },
	{ "wrap", VALUE_NEXT, LD_KEEP },
};

static const struct option_rule short_rules[] = {
	{ "(", VALUE_NONE, LD_DROP },	   { ")", VALUE_NONE, LD_DROP },
	{ "F", VALUE_JOINED, LD_KEEP },	   { "I", VALUE_JOINED, LD_KEEP },
	{ "L", VALUE_JOINED, LD_DROP },	   { "M", VALUE_NONE, LD_DROP },
	{ "O", VALUE_JOINED, LD_KEEP },	   { "R", VALUE_JOINED, LD_KEEP },
	{ "T", VALUE_JOINED, LD_FILE },	   { "V", VALUE_NONE, LD_GNU },
	{ "b", VALUE_JOINED, LD_PASS },	   { "e", VALUE_JOINED, LD_KEEP },
	{ "f", VALUE_JOINED, LD_KEEP },	   { "h", VALUE_JOINED, LD_KEEP },
	{ "l", VALUE_JOINED, LD_LIBRARY }, { "m", VALUE_JOINED, LD_KEEP },
	{ "o", VALUE_JOINED, LD_OUTPUT },  { "r", VALUE_NONE, LD_PASS },
	{ "s", VALUE_NONE, LD_STRIP_ALL }, { "t", VALUE_NONE, LD_DROP },
	{ "u", VALUE_JOINED, LD_KEEP },	   { "v", VALUE_NONE, LD_DROP },
	{ "w", VALUE_NONE, LD_DROP },	   { "y", VALUE_JOINED, LD_DROP },
	{ "d", VALUE_NONE, LD_DROP },	   { "g", VALUE_NONE, LD_DROP },
	{ "G", VALUE_JOINED, LD_DROP },	   { "z", VALUE_JOINED, LD_KEEP },
};

static const struct option_rule *long_rule_find(const char *name)
{
	size_t n = strcspn(name, "=");

	for (size_t i = 0; i < ARRAY_SIZE(long_rules); i++)
		if (strlen(long_rules[i].name) == n && strncmp(long_rules[i].name, name, n) == 0)
			return &long_rules[i];
	return NULL;
}

static const struct option_rule *short_rule_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(short_rules); i++)
		if (short_rules[i].name[0] == name[0] &&
		    (short_rules[i].style == VALUE_JOINED || name[1] == '\0'))
			return &short_rules[i];
	return NULL;
}

/* Long flags without a value that a single dash would make a short option with a joined one. */
static bool is_long_flag(const char *name)
{
	static const char *const flags[] = { "be8",
					     "branch-to-branch",
					     "eh-frame-hdr",
					     "emit-relocs",
					     "enable-new-dtags",
					     "enable-non-contiguous-regions",
					     "error-unresolved-symbols",
					     "execute-only",
					     "export-dynamic",
					     "fatal-warnings",
					     "fix-cortex-a53-843419",
					     "fix-cortex-a8",
					     "force-group-allocation",
					     "fortran-common",
					     "merge-exidx-entries",
					     "mmap-output-file",
					     "undefined-version",
					     "unique",
					     "use-android-relr-tags" };

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		if (strcmp(flags[i], name) == 0)
			return true;
	return false;
}

/* --lto-O2, --lto-CGO3: the only long options with a joined value. */
static const struct option_rule *lto_level_rule(const char *name)
{
	static const struct option_rule rule = { "lto-O", VALUE_NONE, LD_CODEGEN };

	return strncmp(name, "lto-O", 5) == 0 || strncmp(name, "lto-CGO", 7) == 0 ? &rule : NULL;
}

static const struct option_rule *rule_find(const char *word, const char **retname)
{
	bool two = word[1] == '-';
	const struct option_rule *rule;

	*retname = word + 1 + two;
	rule = long_rule_find(*retname);
	if (!rule)
		rule = lto_level_rule(*retname);
	if (rule || two || is_long_flag(*retname))
		return rule;
	return short_rule_find(*retname);
}

static int item_add(struct ld_line *line, struct ld_item item)
{
	if (!array_reserve(line->items, line->n_items, &line->capacity))
		return -ENOMEM;
	line->items[line->n_items++] = item;
	return 0;
}

static unsigned level_of(const char *digit)
{
	return *digit >= '0' && *digit <= '3' ? (unsigned)(*digit - '0') : 2;
}

/* Options of the code generator come as --lto-X, as -mllvm X and as --plugin-opt=X. */
static void codegen_note(struct ld_line *line, const char *name, const char *value)
{
	bool plugin = strncmp(name, "plugin-opt", 10) == 0;

	if (plugin && value && value[0] == 'O')
		line->lto_level = level_of(value + 1);
	else if (plugin && value && strcmp(value, "thinlto") == 0)
		line->is_thin = true;
	else if (plugin && value && strncmp(value, "mcpu=", 5) == 0)
		line->cpu = value + 5;
	else if (plugin && value &&
		 (strncmp(value, "emit-", 5) == 0 || strncmp(value, "thinlto-index-only", 18) == 0 ||
		  strncmp(value, "obj-path", 8) == 0))
		line->passes = true;
	else if (strncmp(name, "lto-O", 5) == 0)
		line->lto_level = level_of(name + 5);
	else if (strncmp(name, "lto-CGO", 7) == 0)
		line->codegen_level = level_of(name + 7);
	else if (strncmp(name, "lto-newpm-passes", 16) == 0)
		line->has_pipeline = true;
	else if (strncmp(name, "lto=", 4) == 0)
		line->is_thin = strcmp(name + 4, "thin") == 0;
}

static void flag_note(struct ld_line *line, const char *name)
{
	if (strcmp(name, "shared") == 0 || strcmp(name, "Bshareable") == 0)
		line->is_shared = true;
	else if (strcmp(name, "pie") == 0 || strcmp(name, "pic-executable") == 0)
		line->is_pie = true;
	else if (strcmp(name, "no-pie") == 0 || strcmp(name, "no-pic-executable") == 0)
		line->is_pie = false;
	else if (strcmp(name, "undefined-version") == 0 || strcmp(name, "no-undefined-version") == 0)
		line->judges_versions = true;
	else if (strcmp(name, "gc-sections") == 0 || strcmp(name, "no-gc-sections") == 0)
		line->collects = name[0] == 'g';
}

/* -z */
static void keyword_note(struct ld_line *line, const char *keyword)
{
	if (strcmp(keyword, "start-stop-gc") == 0 || strcmp(keyword, "nostart-stop-gc") == 0)
		line->judges_starts = true;
	else if (strcmp(keyword, "execstack") == 0 || strcmp(keyword, "noexecstack") == 0)
		line->judges_stack = true;
}

static void item_note(struct ld_line *line, const struct ld_item *item, const char *name)
{
	switch (item->kind) {
	case LD_OUTPUT: line->output = item->value; break;
	case LD_STATIC: line->is_static = true; break;
	case LD_STRIP_ALL: line->strips = true; break;
	case LD_BUILD_ID:
		line->refuses_build_id = item->value && strcmp(item->value, "none") == 0;
		line->has_build_id = !line->refuses_build_id;
		line->chooses_build_id = item->value && (strncasecmp(item->value, "0x", 2) == 0 ||
							 strcmp(item->value, "uuid") == 0);
		break;
	case LD_PASS:
		line->passes = true;
		line->is_relocatable |= strcmp(name, "r") == 0 || strcmp(name, "relocatable") == 0;
		break;
	case LD_CODEGEN:
		codegen_note(line, name, item->value);
		line->has_cache |= strcmp(item->option, "thinlto-cache-dir") == 0;
		break;
	case LD_EXCLUDE_LIBS: line->excludes_libs = true; break;
	case LD_OURS:
		if (strcmp(item->option, "morph-selftest") == 0)
			line->selftest = item->value;
		else if (strcmp(item->option, "morph-benchmark") == 0)
			line->benchmark = item->value;
		else if (strcmp(item->option, "morph-verify") == 0)
			line->verifies = true;
		else
			line->wants_lld = true;
		break;
	case LD_DROP:
		if (strcmp(item->option, "sysroot") == 0)
			line->sysroot = item->value;
		line->wants_trace |= strcmp(name, "t") == 0 || strcmp(name, "trace") == 0;
		break;
	case LD_KEEP:
		if (item->option && strcmp(item->option, "m") == 0)
			line->is_aarch64 = item->value && strncmp(item->value, "aarch64", 7) == 0;
		if (item->option && strcmp(item->option, "z") == 0 && item->value)
			keyword_note(line, item->value);
		flag_note(line, name);
		break;
	default: break;
	}
}

/* Fills the item's value and how many words it takes. */
static void value_take(const struct ld_line *line, const struct option_rule *rule, const char *name,
		       struct ld_item *item)
{
	const char *next = item->first + 1 < line->words.n ? line->words.v[item->first + 1] : NULL;
	const char *equals = strchr(name, '=');

	switch (rule->style) {
	case VALUE_NONE: return;
	case VALUE_OPTIONAL: item->value = equals ? equals + 1 : NULL; return;
	case VALUE_JOINED:
		if (name[1])
			item->value = name + 1;
		break;
	case VALUE_NEXT:
		if (equals)
			item->value = equals + 1;
		break;
	}
	if (!item->value && next) {
		item->value = next;
		item->n = 2;
	}
}

static int word_parse(struct ld_line *line, size_t i, size_t *retn)
{
	const char *word = line->words.v[i], *name;
	struct ld_item item = { .kind = LD_KEEP, .first = i, .n = 1 };
	const struct option_rule *rule;

	if (word[0] != '-' || !word[1]) {
		item.kind = LD_INPUT;
		item.value = word;
	} else {
		rule = rule_find(word, &name);
		if (rule) {
			item.kind = rule->kind;
			item.option = rule->name;
			value_take(line, rule, name, &item);
		}
		item_note(line, &item, name);
	}
	*retn = item.n;
	return item_add(line, item);
}

int ld_line_parse(int argc, char *const argv[], struct ld_line *ret, struct fault *reterr)
{
	_clean_(ld_line_donep) struct ld_line line = { .output = "a.out", .lto_level = 2 };
	int r = arguments_expand(argc, argv, &line.words, reterr);

	if (r < 0)
		return r;
	for (size_t i = 0, n; i < line.words.n; i += n) {
		r = word_parse(&line, i, &n);
		if (r < 0)
			return fault_errno(reterr, r, "command line");
	}
	if (!line.codegen_level) /* as lld derives it: never below "default" */
		line.codegen_level = line.lto_level < 2 ? 2 : line.lto_level;
	*ret = line;
	line = (struct ld_line){ 0 };
	return 0;
}

void ld_line_done(struct ld_line *line)
{
	arguments_done(&line->words);
	free(line->items);
	line->items = NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morph translate PATH [ADDRESS...]: addresses of a generation in terms of the shipped file, and back. Lines of crash
 * reports are taken as they are; without an address they come from standard input, one by one.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/shared/demangle.h"
#include "cli/shared/shipped.h"
#include "cli/verb.h"
#include "debug/crash_line.h"
#include "debug/pair.h"

int translate_run(int argc, char **argv);

struct translate {
	const char *path, *shipped, *store, *sidecar_dir, *name;
	bool from_shipped, file_offsets, returns, json;
	uint64_t base;
	struct pair pair;
	struct json out;
	size_t n_found, n_unknown;
};

static void place_json(struct json *json, const char *key, uint64_t address, const struct image *image,
		       const struct block_map *map)
{
	struct place_name place = place_of(image, map, address);
	uint64_t offset;

	json_object_begin(json, key);
	json_u64(json, "address", address);
	if (image_address_to_offset(image, address, &offset))
		json_u64(json, "file_offset", offset);
	json_string(json, "function", place.function);
	demangled_json(json, place.function);
	if (place.function)
		json_u64(json, "function_offset", place.function_offset);
	if (place.block != BLOCK_NONE) {
		json_u64(json, "block", place.block);
		json_u64(json, "block_offset", place.block_offset);
	}
	json_object_end(json);
}

static void place_print(uint64_t address, const struct image *image, const struct block_map *map)
{
	struct place_name place = place_of(image, map, address);

	printf("0x%" PRIx64, address);
	if (place.function)
		printf(" %s+0x%" PRIx64, SHOWN(demangled(place.function)), place.function_offset);
	if (place.block != BLOCK_NONE)
		printf(" (block %u+0x%" PRIx64 ")", place.block, place.block_offset);
}

static void known_print(struct translate *t, const struct match_insn *insn)
{
	const struct pair *p = &t->pair;

	if (t->json) {
		json_object_begin(&t->out, NULL);
		json_string(&t->out, "known", match_kind_name(insn->kind));
		place_json(&t->out, "generation", insn->address, p->generation, p->generation_data->map);
		if (insn->kind != MATCH_NONE)
			place_json(&t->out, "shipped", insn->shipped, p->shipped, p->shipped_data->map);
		json_object_end(&t->out);
		return;
	}
	if (t->from_shipped)
		place_print(insn->shipped, p->shipped, p->shipped_data->map);
	else
		place_print(insn->address, p->generation, p->generation_data->map);
	fputs(" -> ", stdout);
	if (insn->kind == MATCH_NONE)
		fputs("not known", stdout);
	else if (t->from_shipped)
		place_print(insn->address, p->generation, p->generation_data->map);
	else
		place_print(insn->shipped, p->shipped, p->shipped_data->map);
	printf(insn->kind == MATCH_NONE ? "\n" : " [%s]\n", match_kind_name(insn->kind));
}

static int from_shipped(struct translate *t, uint64_t address, struct fault *reterr)
{
	_clean_(freep) struct match_insn *insns = NULL;
	struct match_insn none = { .shipped = address };
	size_t n = 0;

	if (match_from_shipped(t->pair.match, address, &insns, &n) < 0)
		return fault_errno(reterr, -ENOMEM, "%s", t->path);
	for (size_t i = 0; i < n; i++)
		known_print(t, &insns[i]);
	if (!n && !t->json) {
		place_print(none.shipped, t->pair.shipped, t->pair.shipped_data->map);
		puts(" -> not known");
	}
	t->n_unknown += !n;
	return 0;
}

static int translate(struct translate *t, uint64_t address, bool is_return, struct fault *reterr)
{
	const struct image *image = t->from_shipped ? t->pair.shipped : t->pair.generation;
	struct match_insn insn;

	if (t->file_offsets && !image_offset_to_address(image, address, &address))
		return fault_set(reterr, -EINVAL, "%s: no code is at file offset 0x%" PRIx64,
				 image_path(image), address);
	t->n_found++;
	address -= is_return; /* the call, not what follows it */
	if (t->from_shipped)
		return from_shipped(t, address, reterr);
	if (match_address(t->pair.match, address, &insn) < 0)
		return fault_errno(reterr, -ENOMEM, "%s", t->path);
	known_print(t, &insn);
	t->n_unknown += insn.kind == MATCH_NONE;
	return 0;
}

/* @strict: what names no address is a mistake, else another line of the report. */
static int text_translate(struct translate *t, const char *text, bool strict, struct fault *reterr)
{
	const struct image *image = t->from_shipped ? t->pair.shipped : t->pair.generation;
	struct crash_line line;

	if (crash_line_find(text, t->name, image, t->base, &line))
		return translate(t, line.address, line.is_return || t->returns, reterr);
	if (strict)
		return fault_set(reterr, -EINVAL,
				 "\"%s\" is no address of %s; give a hexadecimal number, or a line of "
				 "a crash report that names it (--name)",
				 text, t->name);
	return 0;
}

static int input_translate(struct translate *t, struct fault *reterr)
{
	_clean_(freep) char *line = NULL;
	size_t capacity = 0;
	ssize_t n;
	int r = 0;

	while (r == 0 && (n = getline(&line, &capacity, stdin)) >= 0) {
		line[strcspn(line, "\r\n")] = '\0';
		r = text_translate(t, line, false, reterr);
		fflush(stdout);
	}
	if (r == 0 && !t->n_found)
		r = fault_set(reterr, -ENODATA,
			      "no line of the input names an address of %s; if reports call it "
			      "something else, say so with --name",
			      t->name);
	return r;
}

static int all_translate(struct translate *t, char **texts, int n, struct fault *reterr)
{
	char path[PATH_MAX];
	int r = t->shipped ? 0 : shipped_find(t->path, t->store, path, reterr);

	if (r == 0)
		r = pair_open(t->path, t->shipped ? t->shipped : path, t->sidecar_dir, &t->pair, reterr);
	if (r < 0)
		return r;
	t->out = json_to(stdout);
	if (t->json) {
		json_object_begin(&t->out, NULL);
		json_array_begin(&t->out, "addresses");
	}
	for (int i = 0; i < n && r == 0; i++)
		r = text_translate(t, texts[i], true, reterr);
	if (!n)
		r = input_translate(t, reterr);
	if (t->json) {
		json_array_end(&t->out);
		json_u64(&t->out, "unknown", t->n_unknown);
		json_object_end(&t->out);
	}
	return r;
}

enum { SHIPPED = 1000, STORE, SIDECARS, NAME, FROM_SHIPPED, BASE, OFFSETS, RETURNS };

static const struct option options[] = { { "shipped", required_argument, NULL, SHIPPED },
					 { "store", required_argument, NULL, STORE },
					 { "sidecar-dir", required_argument, NULL, SIDECARS },
					 { "name", required_argument, NULL, NAME },
					 { "from-shipped", no_argument, NULL, FROM_SHIPPED },
					 { "base", required_argument, NULL, BASE },
					 { "file-offsets", no_argument, NULL, OFFSETS },
					 { "return-addresses", no_argument, NULL, RETURNS },
					 { "json", no_argument, NULL, 'j' },
					 { "help", no_argument, NULL, 'h' },
					 { NULL } };

/* -1: taken; else the exit code. */
static int option_take(struct translate *t, int c)
{
	char *end;

	switch (c) {
	case SHIPPED: t->shipped = optarg; return -1;
	case STORE: t->store = optarg; return -1;
	case SIDECARS: t->sidecar_dir = optarg; return -1;
	case NAME: t->name = optarg; return -1;
	case FROM_SHIPPED: t->from_shipped = true; return -1;
	case OFFSETS: t->file_offsets = true; return -1;
	case RETURNS: t->returns = true; return -1;
	case 'j': t->json = true; return -1;
	case BASE:
		t->base = strtoull(optarg, &end, 16);
		return *optarg && !*end ? -1 : verb_usage("translate");
	case 'h': return verb_help("translate");
	default: return verb_usage("translate");
	}
}

int translate_run(int argc, char **argv)
{
	struct translate t = { 0 };
	struct fault fault;
	int c, r;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) >= 0) {
		r = option_take(&t, c);
		if (r >= 0)
			return r;
	}
	if (optind >= argc)
		return verb_usage("translate");
	t.path = argv[optind++];
	if (!t.name)
		t.name = strrchr(t.path, '/') ? strrchr(t.path, '/') + 1 : t.path;
	r = all_translate(&t, argv + optind, argc - optind, &fault);
	pair_done(&t.pair);
	return r < 0 ? verb_fail("translate", &fault) : VERB_DONE;
}

/* SPDX-License-Identifier: Apache-2.0 */

/* morph profile diff: how far two profiles agree, and where they do not. */

#include "cli/profile/profile.h"

#include <errno.h>
#include <getopt.h>

#include "base/json.h"
#include "base/table.h"
#include "cli/shared/demangle.h"
#include "cli/verb.h"
#include "profiles/store/comparison.h"
#include "profiles/store/function_order.h"
#include "profiles/store/seen.h"

#define DEFAULT_TOP 10u

static const char *note_of(const struct comparison_function *f)
{
	if (!f->a)
		return "only in the second";
	if (!f->b)
		return "only in the first";
	return f->is_changed ? "another graph" : "";
}

static const char *name_of(const struct comparison_function *f, char guid[FUNCTION_NAME_BYTES])
{
	return function_name(f->a ? f->a : f->b, guid);
}

static int comparison_print(const struct comparison *comparison, size_t top)
{
	_clean_(table_freep) struct table *table = table_new("function|>first|>second|>change|");

	printf("functions   overlap %.3f of their samples (%.3f if only chance told them apart)\n",
	       comparison->functions, comparison->functions_expected);
	printf("blocks      overlap %.3f of their executions\n\n", comparison->blocks);
	for (size_t i = 0; table && i < MIN(top, comparison->n); i++) {
		const struct comparison_function *f = &comparison->list[i];
		char guid[FUNCTION_NAME_BYTES];

		table_cell(table, "%s", demangled(name_of(f, guid)));
		table_cell(table, "%.2f %%", 100 * f->share_a);
		table_cell(table, "%.2f %%", 100 * f->share_b);
		table_cell(table, "%+.2f", 100 * (f->share_b - f->share_a));
		table_cell(table, "%s", note_of(f));
	}
	return table ? table_print(table, stdout) : -ENOMEM;
}

static void comparison_print_json(const struct comparison *comparison, size_t top)
{
	struct json json = json_to(stdout);

	json_object_begin(&json, NULL);
	json_double(&json, "function_overlap", comparison->functions);
	json_double(&json, "function_overlap_by_chance", comparison->functions_expected);
	json_double(&json, "block_overlap", comparison->blocks);
	json_array_begin(&json, "functions");
	for (size_t i = 0; i < MIN(top, comparison->n); i++) {
		const struct comparison_function *f = &comparison->list[i];
		char guid[FUNCTION_NAME_BYTES];

		json_object_begin(&json, NULL);
		json_string(&json, "name", name_of(f, guid));
		demangled_json(&json, name_of(f, guid));
		json_double(&json, "first", f->share_a);
		json_double(&json, "second", f->share_b);
		json_bool(&json, "in_first", f->a != NULL);
		json_bool(&json, "in_second", f->b != NULL);
		json_bool(&json, "graph_changed", f->is_changed);
		json_object_end(&json);
	}
	json_array_end(&json);
	json_object_end(&json);
}

static int diff(char *const paths[2], size_t top, bool as_json, struct fault *reterr)
{
	_clean_(comparison_done) struct comparison comparison = { 0 };
	_clean_(profile_freep) struct profile *a = NULL, *b = NULL;
	int r = profile_read(paths[0], &a, reterr);

	if (r == 0)
		r = profile_read(paths[1], &b, reterr);
	if (r == 0)
		r = seen_none(a, paths[0], reterr);
	if (r == 0)
		r = seen_none(b, paths[1], reterr);
	if (r < 0)
		return r;
	r = comparison_make(a, b, &comparison);
	if (r == 0 && as_json)
		comparison_print_json(&comparison, top);
	else if (r == 0)
		r = comparison_print(&comparison, top);
	return r < 0 ? fault_errno(reterr, r, "profiles") : 0;
}

int profile_diff_run(int argc, char **argv)
{
	static const struct option options[] = {
		{ "top", required_argument, NULL, 'n' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	size_t top = DEFAULT_TOP;
	bool as_json = false;
	struct fault fault;
	int c;

	while ((c = getopt_long(argc, argv, "n:h", options, NULL)) != -1)
		if (c == 'j')
			as_json = true;
		else if (c == 'h')
			return profile_help("diff");
		else if (c != 'n' || !top_parse(optarg, &top))
			return profile_usage("diff");
	if (argc - optind != 2)
		return profile_usage("diff");
	return diff(argv + optind, top, as_json, &fault) < 0 ? profile_failed("diff", &fault) : VERB_DONE;
}

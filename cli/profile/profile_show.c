/* SPDX-License-Identifier: Apache-2.0 */

/* morph profile show: where the samples came from, the top functions and blocks, and the verdict.
 */

#include "cli/profile/profile.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "base/table.h"
#include "base/text.h"
#include "cli/shared/demangle.h"
#include "cli/verb.h"
#include "profiles/store/function_order.h"
#include "profiles/store/history.h"
#include "profiles/store/seen.h"

#define DEFAULT_TOP 10u
#define CHANGE 0.10 /* less overlap than chance explains, to be called a change of use */

/* One IR block, to be sorted by executions. */
struct hot_block {
	const struct profile_function *function;
	uint32_t index; /* from 1 */
	struct profile_count count;
};

/* Everything that both kinds of output show. */
struct view {
	const char *path;
	const struct profile *profile;		   /* borrowed */
	const struct profile_function **functions; /* owned; hottest first */
	struct hot_block *blocks;		   /* owned; hottest first, those that ran */
	size_t n_blocks, n_sampled;		   /* blocks that ran; functions with samples */
	double function_samples, executions;	   /* sums */
	double confidence;			   /* of the functions, weighted by their samples, 0..1 */
	double coverage;			   /* share of the module's samples that fell into blocks */
	struct verdict verdict;
};

static int compare_blocks(const void *a, const void *b)
{
	const struct hot_block *x = a, *y = b;

	if (x->count.executions != y->count.executions)
		return x->count.executions < y->count.executions ? 1 : -1;
	if (x->function->guid != y->function->guid)
		return x->function->guid > y->function->guid ? 1 : -1;
	return (x->index > y->index) - (x->index < y->index);
}

static int blocks_collect(struct view *view)
{
	const struct profile *profile = view->profile;
	size_t n = 0;

	for (size_t i = 0; i < profile->n_functions; i++)
		n += profile->functions[i].n_counts;
	view->blocks = calloc(n + 1, sizeof(*view->blocks));
	if (!view->blocks)
		return -ENOMEM;
	for (size_t i = 0; i < profile->n_functions; i++) {
		const struct profile_function *f = &profile->functions[i];

		for (uint32_t j = 0; j < f->n_counts; j++) {
			if (!f->counts[j].executions)
				continue;
			view->blocks[view->n_blocks++] = (struct hot_block){ f, j + 1, f->counts[j] };
			view->executions += (double)f->counts[j].executions;
		}
	}
	qsort(view->blocks, view->n_blocks, sizeof(*view->blocks), compare_blocks);
	return 0;
}

static int view_make(const struct profile *profile, const char *path, struct view *ret, struct fault *reterr)
{
	double all = profile->samples + profile->unmapped;

	*ret = (struct view){ .path = path, .profile = profile };
	ret->functions = function_order(profile);
	if (!ret->functions || blocks_collect(ret) < 0)
		return fault_errno(reterr, -ENOMEM, "%s", path);
	for (size_t i = 0; i < profile->n_functions; i++) {
		const struct profile_function *f = &profile->functions[i];

		ret->n_sampled += f->samples > 0;
		ret->function_samples += f->samples;
		ret->confidence += f->samples * f->confidence / 255;
	}
	ret->confidence = ret->function_samples > 0 ? ret->confidence / ret->function_samples : 0;
	ret->coverage = all > 0 ? profile->samples / all : 0;
	verdict_of(profile, &ret->verdict);
	return 0;
}

static void view_done(struct view *view)
{
	free(view->functions);
	free(view->blocks);
}

static double part(double v, double whole)
{
	return whole > 0 ? v / whole : 0;
}

static uint32_t n_running(const struct profile_function *f)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->n_counts; i++)
		n += f->counts[i].executions > 0;
	return n;
}

static const char *time_text(uint64_t ns, char ret[32])
{
	time_t seconds = (time_t)(ns / 1000000000u);
	struct tm tm;

	if (!ns || !localtime_r(&seconds, &tm) || !strftime(ret, 32, "%Y-%m-%d %H:%M", &tm))
		strcpy(ret, "unknown");
	return ret;
}

/* "3.2 d", "45 min": as much as anyone wants to know. */
static const char *span_text(uint64_t ns, char ret[32])
{
	double s = (double)ns / 1e9;

	if (s >= 2 * 86400)
		snprintf(ret, 32, "%.1f d", s / 86400);
	else if (s >= 2 * 3600)
		snprintf(ret, 32, "%.1f h", s / 3600);
	else if (s >= 120)
		snprintf(ret, 32, "%.0f min", s / 60);
	else
		snprintf(ret, 32, "%.1f s", s);
	return ret;
}

static uint64_t age_ns(const struct profile *profile)
{
	struct timespec now;
	uint64_t now_ns;

	clock_gettime(CLOCK_REALTIME, &now);
	now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	return profile->last_ns && now_ns > profile->last_ns ? now_ns - profile->last_ns : 0;
}

static const char *use_text(const struct profile *profile)
{
	const struct profile_epoch *latest, *before;

	if (profile->n_epochs < 2)
		return "only one stretch of time was seen";
	latest = &profile->epochs[profile->n_epochs - 1];
	before = latest - 1;
	if (history_overlap(latest, before) < history_overlap_expected(latest, before) - CHANGE)
		return "has changed in the latest stretch";
	return "is steady";
}

static void head_print(const struct view *view)
{
	const struct profile *p = view->profile;
	char id[BUILD_ID_MAX_TEXT], from[32], to[32], active[32], age[32];

	printf("profile     %s\n", SHOWN(view->path));
	printf("module      %s, build %s\n", SHOWN(p->path ? p->path : "unknown"),
	       p->build_id.size ? build_id_text(&p->build_id, id) : "unknown");
	printf("samples     %.0f, %.1f %% of those in the module; estimator %s\n", p->samples,
	       100 * view->coverage, SHOWN(p->estimator ? p->estimator : "unknown"));
	if (p->n_seen)
		printf("seen        %.0f samples, from which no counts were estimated; `morph profile prior` "
		       "does\n",
		       seen_samples(p));
	if (p->last_ns)
		printf("observed    %s to %s, %s active; the last %s ago\n", time_text(p->first_ns, from),
		       time_text(p->last_ns, to), span_text(p->activity_ns, active),
		       span_text(age_ns(p), age));
	if (p->carried > 0 || p->dropped > 0)
		printf("carried     %.1f %% of the samples are of an earlier build; functions that "
		       "changed since "
		       "had %.0f more\n",
		       100 * p->carried, p->dropped);
	printf("functions   %zu, %zu of them sampled; %zu blocks ran; confidence %.0f %%\n", p->n_functions,
	       view->n_sampled, view->n_blocks, 100 * view->confidence);
	printf("use         %s\n", use_text(p));
}

static int functions_print(const struct view *view, size_t top)
{
	_clean_(table_freep) struct table *table =
		table_new("function|>samples|>share|>confidence|>blocks|>running");

	for (size_t i = 0; table && i < MIN(top, view->n_sampled); i++) {
		const struct profile_function *f = view->functions[i];
		char guid[FUNCTION_NAME_BYTES];

		table_cell(table, "%s", demangled(function_name(f, guid)));
		table_cell(table, "%.0f", f->samples);
		table_cell(table, "%.1f %%", 100 * part(f->samples, view->function_samples));
		table_cell(table, "%.0f %%", f->confidence / 2.55);
		table_cell(table, "%u", f->n_counts);
		table_cell(table, "%u", n_running(f));
	}
	putchar('\n');
	return table ? table_print(table, stdout) : -ENOMEM;
}

static int blocks_print(const struct view *view, size_t top)
{
	_clean_(table_freep) struct table *table = table_new("block|>executions|>share|>confidence");

	for (size_t i = 0; table && i < MIN(top, view->n_blocks); i++) {
		const struct hot_block *b = &view->blocks[i];
		char guid[FUNCTION_NAME_BYTES];

		table_cell(table, "%s:%u", demangled(function_name(b->function, guid)), b->index);
		table_cell(table, "%" PRIu64, b->count.executions);
		table_cell(table, "%.2f %%", 100 * part((double)b->count.executions, view->executions));
		table_cell(table, "%.0f %%", b->count.confidence / 2.55);
	}
	putchar('\n');
	return table ? table_print(table, stdout) : -ENOMEM;
}

static int epochs_print(const struct profile *profile)
{
	_clean_(table_freep) struct table *table =
		table_new("from|to|>samples|>overlap with the latest|>by chance");
	const struct profile_epoch *latest = &profile->epochs[profile->n_epochs - 1];

	for (size_t i = 0; table && i < profile->n_epochs; i++) {
		const struct profile_epoch *e = &profile->epochs[i];
		char from[32], to[32];

		table_cell(table, "%s", time_text(e->first_ns, from));
		table_cell(table, "%s", time_text(e->last_ns, to));
		table_cell(table, "%.0f", e->samples);
		table_cell(table, "%.2f", history_overlap(e, latest));
		table_cell(table, "%.2f", e == latest ? 1 : history_overlap_expected(e, latest));
	}
	putchar('\n');
	return table ? table_print(table, stdout) : -ENOMEM;
}

/* All blocks of one function. */
static int function_print(const struct view *view, const struct profile_function *f)
{
	_clean_(table_freep) struct table *table = table_new(">block|>executions|>confidence");
	char guid[FUNCTION_NAME_BYTES];

	printf("%s: %.0f samples, %.1f %% of all, confidence %.0f %%, CFG hash %016" PRIx64 "\n\n",
	       SHOWN(demangled(function_name(f, guid))), f->samples,
	       100 * part(f->samples, view->function_samples), f->confidence / 2.55, f->cfg_hash);
	for (uint32_t i = 0; table && i < f->n_counts; i++) {
		table_cell(table, "%u", i + 1);
		table_cell(table, "%" PRIu64, f->counts[i].executions);
		if (f->counts[i].confidence)
			table_cell(table, "%.0f %%", f->counts[i].confidence / 2.55);
		else
			table_cell(table, "unknown");
	}
	return table ? table_print(table, stdout) : -ENOMEM;
}

static void function_json(struct json *json, const struct view *view, const struct profile_function *f)
{
	char text[FUNCTION_NAME_BYTES];

	json_object_begin(json, NULL);
	json_string(json, "name", f->name);
	demangled_json(json, f->name);
	snprintf(text, sizeof(text), "%016" PRIx64, f->guid);
	json_string(json, "guid", text);
	snprintf(text, sizeof(text), "%016" PRIx64, f->cfg_hash);
	json_string(json, "cfg_hash", text);
	json_double(json, "samples", f->samples);
	json_double(json, "share", part(f->samples, view->function_samples));
	json_double(json, "confidence", f->confidence / 255.0);
	json_u64(json, "blocks", f->n_counts);
	json_u64(json, "blocks_running", n_running(f));
	json_object_end(json);
}

static void block_json(struct json *json, const struct view *view, const struct hot_block *block)
{
	char guid[FUNCTION_NAME_BYTES];

	json_object_begin(json, NULL);
	json_string(json, "function", function_name(block->function, guid));
	demangled_json(json, block->function->name);
	json_u64(json, "block", block->index);
	json_u64(json, "executions", block->count.executions);
	json_double(json, "share", part((double)block->count.executions, view->executions));
	json_double(json, "confidence", block->count.confidence / 255.0);
	json_object_end(json);
}

static void epochs_json(struct json *json, const struct profile *profile)
{
	json_array_begin(json, "epochs");
	for (size_t i = 0; i < profile->n_epochs; i++) {
		const struct profile_epoch *e = &profile->epochs[i];
		const struct profile_epoch *latest = &profile->epochs[profile->n_epochs - 1];

		json_object_begin(json, NULL);
		json_u64(json, "first_ns", e->first_ns);
		json_u64(json, "last_ns", e->last_ns);
		json_double(json, "samples", e->samples);
		json_double(json, "overlap_with_latest", history_overlap(e, latest));
		json_double(json, "overlap_by_chance", e == latest ? 1 : history_overlap_expected(e, latest));
		json_object_end(json);
	}
	json_array_end(json);
}

static void head_json(struct json *json, const struct view *view)
{
	const struct profile *p = view->profile;
	char id[BUILD_ID_MAX_TEXT];

	json_string(json, "profile", view->path);
	json_string(json, "module", p->path);
	json_string(json, "build_id", build_id_text(&p->build_id, id));
	json_string(json, "estimator", p->estimator);
	json_double(json, "samples", p->samples);
	if (p->n_seen)
		json_double(json, "seen_samples", seen_samples(p));
	json_double(json, "unmapped", p->unmapped);
	json_double(json, "coverage", view->coverage);
	json_u64(json, "first_ns", p->first_ns);
	json_u64(json, "last_ns", p->last_ns);
	json_u64(json, "activity_ns", p->activity_ns);
	json_u64(json, "age_ns", age_ns(p));
	json_double(json, "carried", p->carried);
	json_double(json, "dropped", p->dropped);
	json_u64(json, "functions_known", p->n_functions);
	json_u64(json, "functions_sampled", view->n_sampled);
	json_u64(json, "blocks_running", view->n_blocks);
	json_double(json, "confidence", view->confidence);
	json_string(json, "verdict", verdict_name(view->verdict.level));
	json_string(json, "verdict_sentence", view->verdict.sentence);
	json_double(json, "noise", view->verdict.noise);
	json_double(json, "missing_samples", view->verdict.missing);
	json_string(json, "use", use_text(p));
}

static void view_print_json(const struct view *view, size_t top)
{
	struct json json = json_to(stdout);

	json_object_begin(&json, NULL);
	head_json(&json, view);
	json_array_begin(&json, "functions");
	for (size_t i = 0; i < MIN(top, view->n_sampled); i++)
		function_json(&json, view, view->functions[i]);
	json_array_end(&json);
	json_array_begin(&json, "blocks");
	for (size_t i = 0; i < MIN(top, view->n_blocks); i++)
		block_json(&json, view, &view->blocks[i]);
	json_array_end(&json);
	epochs_json(&json, view->profile);
	json_object_end(&json);
}

static void function_blocks_json(const struct view *view, const struct profile_function *f)
{
	struct json json = json_to(stdout);

	json_object_begin(&json, NULL);
	json_array_begin(&json, "functions");
	function_json(&json, view, f);
	json_array_end(&json);
	json_array_begin(&json, "blocks");
	for (uint32_t i = 0; i < f->n_counts; i++) {
		const struct hot_block block = { f, i + 1, f->counts[i] };

		block_json(&json, view, &block);
	}
	json_array_end(&json);
	json_object_end(&json);
}

static int view_print(const struct view *view, size_t top)
{
	int r = 0;

	head_print(view);
	if (view->n_sampled)
		r = functions_print(view, top);
	if (r == 0 && view->n_blocks)
		r = blocks_print(view, top);
	if (r == 0 && view->profile->n_epochs > 1)
		r = epochs_print(view->profile);
	printf("\n%s\n", view->verdict.sentence);
	return r;
}

static const struct profile_function *function_named(const struct profile *profile, const char *name)
{
	for (size_t i = 0; i < profile->n_functions; i++) {
		char guid[FUNCTION_NAME_BYTES];

		if (strcmp(function_name(&profile->functions[i], guid), name) == 0)
			return &profile->functions[i];
	}
	for (size_t i = 0; i < profile->n_functions; i++)
		if (profile->functions[i].name && demangled_is(profile->functions[i].name, name))
			return &profile->functions[i];
	return NULL;
}

static int show(const char *path, const char *function, size_t top, bool as_json, struct fault *reterr)
{
	_clean_(profile_freep) struct profile *profile = NULL;
	_clean_(view_done) struct view view = { 0 };
	const struct profile_function *f = NULL;
	int r = profile_read(path, &profile, reterr);

	if (r == 0)
		r = view_make(profile, path, &view, reterr);
	if (r < 0)
		return r;
	if (function) {
		f = function_named(profile, function);
		if (!f)
			return fault_set(reterr, -ENOENT, "%s: nothing is known about a function \"%s\"",
					 path, function);
	}
	if (as_json && f)
		function_blocks_json(&view, f);
	else if (as_json)
		view_print_json(&view, top);
	else
		r = f ? function_print(&view, f) : view_print(&view, top);
	return r < 0 ? fault_errno(reterr, r, "%s", path) : 0;
}

bool top_parse(const char *text, size_t *ret)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (end == text || *end || *text == '-' || value > 1000000)
		return false;
	*ret = value;
	return true;
}

int profile_show_run(int argc, char **argv)
{
	static const struct option options[] = {
		{ "top", required_argument, NULL, 'n' },
		{ "function", required_argument, NULL, 'f' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	const char *function = NULL;
	size_t top = DEFAULT_TOP;
	bool as_json = false;
	struct fault fault;
	int c;

	while ((c = getopt_long(argc, argv, "n:h", options, NULL)) != -1)
		if (c == 'f')
			function = optarg;
		else if (c == 'j')
			as_json = true;
		else if (c == 'h')
			return profile_help("show");
		else if (c != 'n' || !top_parse(optarg, &top))
			return profile_usage("show");
	if (argc - optind != 1)
		return profile_usage("show");
	if (show(argv[optind], function, top, as_json, &fault) < 0)
		return profile_failed("show", &fault);
	return VERB_DONE;
}

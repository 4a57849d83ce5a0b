/* SPDX-License-Identifier: Apache-2.0 */

/* morph diff: two sets of sample logs, of two builds, two generations, two days: what got slower, and how sure is that? */

#include "cli/diff/diff.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>

#include "cli/shared/number.h"
#include "cli/verb.h"
#include "profiles/samples/sample_log.h"

#define MAX_LOGS 1024u
#define MAX_PROGRAMS 64u
#define DEFAULT_TOP 20u

struct request {
	char *logs[2][MAX_LOGS];
	size_t n_logs[2];
	char *programs[MAX_PROGRAMS];
	size_t n_programs;
	struct names_options names;
	double top;
	bool shares, json;
};

/* What is read, and must outlive the tally. */
struct reading {
	const struct request *request;
	struct image *programs[MAX_PROGRAMS];
	bool seen[MAX_PROGRAMS];
	struct sample_log **logs; /* those of the first set, then those of the second */
	double *rates;
	size_t n;
	struct sampled_files files[2];
	struct diff_pairs pairs;
	struct tally tally;
};

static void reading_done(struct reading *reading)
{
	for (size_t i = 0; i < reading->request->n_programs; i++)
		image_free(reading->programs[i]);
	for (size_t i = 0; reading->logs && i < reading->n; i++)
		sample_log_free(reading->logs[i]);
	free(reading->logs);
	free(reading->rates);
	diff_pairs_done(&reading->pairs);
	sampled_files_done(&reading->files[0]);
	sampled_files_done(&reading->files[1]);
	tally_done(&reading->tally);
}

/* --- reading -------------------------------------------------------------------------------------- */

static bool is_asked_for(struct reading *reading, const struct sample_module *module)
{
	return sampled_is_asked_for(module, reading->programs, reading->request->n_programs, reading->seen);
}

static int logs_read(struct reading *reading, struct fault *reterr)
{
	const struct request *request = reading->request;
	int r = 0;

	for (size_t i = 0; r == 0 && i < request->n_programs; i++)
		r = image_open(request->programs[i], &reading->programs[i], reterr);
	for (size_t i = 0; r == 0 && i < reading->n; i++) {
		unsigned set = i >= request->n_logs[0];

		r = tally_log_read(request->logs[set][i - (set ? request->n_logs[0] : 0)], &reading->logs[i],
				   reterr);
		if (r == 0)
			reading->rates[i] = reading->logs[i]->rate_hz;
	}
	return r;
}

static int files_open(struct reading *reading, struct fault *reterr)
{
	for (size_t i = 0; i < reading->n; i++)
		for (size_t k = 0; k < reading->logs[i]->n_modules; k++) {
			const struct sample_module *module = &reading->logs[i]->modules[k];
			unsigned set = i >= reading->request->n_logs[0];

			if (module->kind == SAMPLE_MODULE_FILE && is_asked_for(reading, module) &&
			    !sampled_files_find(&reading->files[set], module))
				return fault_errno(reterr, -ENOMEM, "%s", module->path);
		}
	for (size_t i = 0; i < reading->request->n_programs; i++)
		if (!reading->seen[i])
			return fault_set(
				reterr, -ENODATA,
				"%s: no log has samples of this very file; name the builds that ran, "
				"the one of the first set, too",
				reading->request->programs[i]);
	return 0;
}

static const struct diff_pair *pair_of(const struct reading *reading, unsigned set,
				       const struct sample_module *module)
{
	for (size_t i = 0; i < reading->pairs.n; i++) {
		const struct sampled_file *file = reading->pairs.list[i].files[set];

		if (file && sampled_file_is(file, module))
			return &reading->pairs.list[i];
	}
	return NULL;
}

static int module_tally(struct reading *reading, size_t column, const struct sample_module *module)
{
	unsigned set = column >= reading->request->n_logs[0];
	const struct diff_pair *pair =
		module->kind == SAMPLE_MODULE_FILE ? pair_of(reading, set, module) : NULL;
	int r = 0;

	if (module->kind != SAMPLE_MODULE_FILE && !reading->request->n_programs)
		return tally_add(&reading->tally, module->path, sample_module_kind_name(module->kind), column,
				 (double)module->total);
	for (size_t i = 0; pair && r == 0 && i < module->n_counts; i++) {
		const struct sample_count *count = &module->counts[i];

		r = pair->names ? names_tally(pair->names, set, count->offset, (double)count->count,
					      &reading->tally, pair->files[1]->path, column) :
				  tally_add(&reading->tally, pair->files[set]->path,
					    sampled_function(pair->files[set], count->offset), column,
					    (double)count->count);
	}
	return r;
}

static int reading_open(struct reading *reading, struct fault *reterr)
{
	const struct request *request = reading->request;
	int r;

	reading->n = request->n_logs[0] + request->n_logs[1];
	reading->logs = calloc(reading->n + 1, sizeof(struct sample_log *));
	reading->rates = calloc(reading->n + 1, sizeof(*reading->rates));
	for (unsigned set = 0; set < 2; set++) {
		reading->files[set].copies = request->programs;
		reading->files[set].n_copies = request->n_programs;
	}
	if (!reading->logs || !reading->rates || tally_init(&reading->tally, reading->n) < 0)
		return fault_errno(reterr, -ENOMEM, "sample logs");
	r = logs_read(reading, reterr);
	if (r == 0)
		r = files_open(reading, reterr);
	if (r == 0)
		r = diff_pairs_make(reading->files, request->n_programs == 2, &request->names,
				    &reading->pairs, reterr);
	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < reading->n; i++)
		for (size_t k = 0; r == 0 && k < reading->logs[i]->n_modules; k++)
			r = module_tally(reading, i, &reading->logs[i]->modules[k]);
	if (r == 0)
		r = tally_settle(&reading->tally);
	return r < 0 ? fault_errno(reterr, r, "sample logs") : 0;
}

static int show(const struct request *request, struct fault *reterr)
{
	_clean_(reading_done) struct reading reading = { .request = request };
	_clean_(diff_result_done) struct diff_result result = { 0 };
	struct diff_columns columns = { .n = { request->n_logs[0], request->n_logs[1] },
					.shares = request->shares };
	struct diff_view view = { &result, &reading.pairs, &columns, (size_t)request->top };
	int r = reading_open(&reading, reterr);

	if (r < 0)
		return r;
	columns.rates = reading.rates;
	r = diff_make(&reading.tally, &columns, &result);
	if (r == 0)
		r = request->json ? diff_json(&view) : diff_text(&view);
	return r < 0 ? fault_errno(reterr, r, "differences") : 0;
}

/* --- options -------------------------------------------------------------------------------------- */

enum { PROGRAM = 1000, SHARE, INLINED, SHIPPED, STORE, SIDECARS };

static const struct option options[] = { { "first", required_argument, NULL, 'a' },
					 { "second", required_argument, NULL, 'b' },
					 { "program", required_argument, NULL, PROGRAM },
					 { "share", no_argument, NULL, SHARE },
					 { "inlined", no_argument, NULL, INLINED },
					 { "shipped", required_argument, NULL, SHIPPED },
					 { "store", required_argument, NULL, STORE },
					 { "sidecar-dir", required_argument, NULL, SIDECARS },
					 { "top", required_argument, NULL, 'n' },
					 { "json", no_argument, NULL, 'j' },
					 { "help", no_argument, NULL, 'h' },
					 { NULL } };

static int option_take(int option, char *value, struct request *request)
{
	unsigned set = option == 'b';

	switch (option) {
	case 'a':
	case 'b':
		if (request->n_logs[set] == MAX_LOGS)
			return verb_usage("diff");
		request->logs[set][request->n_logs[set]++] = value;
		return 0;
	case PROGRAM:
		if (request->n_programs == MAX_PROGRAMS)
			return verb_usage("diff");
		request->programs[request->n_programs++] = value;
		return 0;
	case SHARE: request->shares = true; return 0;
	case INLINED: request->names.inlined = true; return 0;
	case SHIPPED: request->names.shipped = value; return 0;
	case STORE: request->names.store = value; return 0;
	case SIDECARS: request->names.sidecar_dir = value; return 0;
	case 'n': return number_parse(value, 1, 1e9, &request->top) ? 0 : verb_usage("diff");
	case 'j': request->json = true; return 0;
	default: return verb_usage("diff");
	}
}

int diff_run(int argc, char **argv)
{
	static struct request request = { .top = DEFAULT_TOP };
	struct fault fault;
	int c, r;

	while ((c = getopt_long(argc, argv, "a:b:n:h", options, NULL)) != -1) {
		if (c == 'h')
			return verb_help("diff");
		r = option_take(c, optarg, &request);
		if (r)
			return r;
	}
	if (argc - optind != 0 && argc - optind != 2)
		return verb_usage("diff");
	for (unsigned set = 0; set < 2; set++)
		if (argc - optind == 2 && option_take(set ? 'b' : 'a', argv[optind + (int)set], &request))
			return VERB_USAGE;
	if (!request.n_logs[0] || !request.n_logs[1])
		return verb_usage("diff");
	return show(&request, &fault) < 0 ? verb_fail("diff", &fault) : VERB_DONE;
}

/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/shared/analysis.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/text.h"
#include "cli/shared/debug_symbols.h"
#include "cli/shared/demangle.h"
#include "cli/shared/kernel_file.h"
#include "cli/shared/number.h"
#include "cli/shared/sampled_file.h"
#include "cli/shared/typed_function.h"

#define LINE_BYTES 64u
#define HOT_SHARE 0.99
#define ANALYSIS_DEFAULT_LOG "morph.samples" /* what `morph record` writes without -o */

/* The number after the last "=" of "FUNCTION[+OFFSET]=EXECUTIONS"; 0: there is none */
static double executions_of(const char *text)
{
	const char *equals = strrchr(text, '=');
	char *end = NULL;
	double executions = equals ? strtod(equals + 1, &end) : 0;

	return equals && end != equals + 1 && !*end && executions > 0 && isfinite(executions) ? executions :
												0;
}

int analysis_option(int option, char *value, char *logs[ANALYSIS_MAX_LOGS], struct analysis_request *request)
{
	double ghz;

	switch (option) {
	case 's':
		if (request->n_samples == ANALYSIS_MAX_LOGS)
			return -EINVAL;
		request->samples = logs;
		logs[request->n_samples++] = value;
		return 1;
	case 'c':
		if (executions_of(value) <= 0)
			fprintf(stderr, "--count %s: not FUNCTION[+OFFSET]=EXECUTIONS\n", SHOWN(value));
		if (executions_of(value) <= 0 || request->n_anchors == ANALYSIS_MAX_COUNTS)
			return -EINVAL;
		request->anchors[request->n_anchors++] = value;
		return 1;
	case 'g':
		if (!number_parse(value, 0.01, 100, &ghz))
			return -EINVAL;
		request->clock_hz = ghz * 1e9;
		return 1;
	case 'd': request->sidecar_dir = value; return 1;
	case 'f': request->faults = value; return 1;
	case 'y': request->debug_dir = value; return 1;
	default: return 0;
	}
}

bool analysis_default(const char *verb, char *logs[ANALYSIS_MAX_LOGS], struct analysis_request *request)
{
	static char name[] = ANALYSIS_DEFAULT_LOG;

	if (!request->n_samples && access(name, R_OK) == 0)
		(void)analysis_option('s', name, logs, request);
	if (!request->n_samples)
		fprintf(stderr,
			"morph %s: no sample log is named, and there is no %s here; `morph record` makes "
			"one\n",
			verb, name);
	return request->n_samples > 0;
}

int sample_logs_sum(char *const *paths, size_t n, struct sample_log **ret, struct fault *reterr)
{
	_clean_(sample_log_freep) struct sample_log *sum = sample_log_new();

	if (!sum)
		return fault_errno(reterr, -ENOMEM, "sample logs");
	for (size_t i = 0; i < n; i++) {
		_clean_(sample_log_freep) struct sample_log *log = NULL;
		int r = sample_log_read(paths[i], &log, reterr);

		if (r == 0 && sample_log_merge(sum, log) < 0)
			r = fault_errno(reterr, -ENOMEM, "%s", paths[i]);
		if (r < 0)
			return r;
	}
	if (sample_log_unite(sum) < 0)
		return fault_errno(reterr, -ENOMEM, "sample logs");
	*ret = TAKE(sum);
	return 0;
}

/* --- which samples -------------------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "";
}

static const char *file_path(const struct sample_module *module)
{
	return module->kind == SAMPLE_MODULE_FILE ? module->path : NULL;
}

static const char *no_file(const struct sample_module *module)
{
	return module->kind == SAMPLE_MODULE_KERNEL ?
		       "the kernel's instructions cannot be read without its vmlinux: name that of the build "
		       "that was sampled, from the package of its debug files; `morph report` tells its "
		       "functions" :
		       "code that is in no file, such as a program generates while it runs: there is nothing "
		       "to read it "
		       "from; `morph report` tells whose it was";
}

/*
 * A program that is no file here, but by its name in the logs: the path there. Of several of one name that with most samples.
 * Return: NULL with @reterr: what it names cannot be looked into; else a path, which may be that of nothing
 */
static const char *program_path(struct analysis *a, const char *program, const char *debug_dir,
				struct fault *reterr)
{
	const struct sample_module *found = NULL;

	if (access(program, F_OK) == 0)
		return program;
	if (strcmp(program, "kernel") == 0)
		program = "[kernel]";
	for (size_t i = 0; i < a->log->n_modules; i++) {
		const struct sample_module *module = &a->log->modules[i];
		bool is_it = strcmp(module->path ? module->path : "", program) == 0 ||
			     (!strchr(program, '/') && strcmp(base_name(file_path(module)), program) == 0);

		if (is_it && (!found || module->total > found->total))
			found = module;
	}
	if (!found || file_path(found))
		return found ? found->path : program;
	if (found->kind == SAMPLE_MODULE_KERNEL)
		a->kernel_path = kernel_file_find(found, debug_dir);
	if (a->kernel_path)
		return a->kernel_path;
	fault_set(reterr, -ENOTSUP, "%s: %s", program, no_file(found));
	return NULL;
}

const struct sample_module *analysis_elsewhere(const struct analysis *a)
{
	const struct sample_module *most = a->module;

	for (size_t i = 0; i < a->log->n_modules; i++)
		if (a->log->modules[i].total > most->total)
			most = &a->log->modules[i];
	return most != a->module ? most : NULL;
}

static int module_find(struct analysis *a, struct fault *reterr)
{
	const char *path = image_path(a->image);

	for (size_t i = 0; i < a->log->n_modules && !a->module; i++)
		if (sampled_is(&a->log->modules[i], a->image))
			a->module = &a->log->modules[i];
	for (size_t i = 0; i < a->log->n_modules && !a->module; i++)
		if (kernel_file_is(&a->log->modules[i], a->image)) {
			a->kernel = kernel_file_samples(&a->log->modules[i], a->image);
			a->module = a->kernel;
			if (!a->kernel)
				return fault_errno(reterr, -ENOMEM, "%s", path);
		}
	if (a->module)
		return 0;
	for (size_t i = 0; i < a->log->n_modules; i++) {
		const struct sample_module *module = &a->log->modules[i];
		char theirs[BUILD_ID_MAX_TEXT], ours[BUILD_ID_MAX_TEXT];

		if (module->kind == SAMPLE_MODULE_FILE &&
		    strcmp(base_name(module->path), base_name(path)) == 0)
			return fault_set(
				reterr, -ENODATA,
				"%s: the samples are of another file of that name (build %s, this is "
				"%s): it was replaced since; name the file that was sampled",
				path,
				module->build_id.size ? build_id_text(&module->build_id, theirs) : "unknown",
				image_build_id(a->image)->size ?
					build_id_text(image_build_id(a->image), ours) :
					"unknown");
	}
	return fault_set(reterr, -ENODATA, "%s: the sample logs have no samples of it", path);
}

/* --- what the rest of the log says ---------------------------------------------------------------- */

struct line {
	uint64_t number, samples;
};

static int more_samples(const void *pa, const void *pb)
{
	const struct line *a = pa, *b = pb;

	return a->samples < b->samples ? 1 : a->samples > b->samples ? -1 : 0;
}

/* Lines that hold HOT_SHARE of all samples in files; 0: no memory. */
static double hot_lines(const struct sample_log *log)
{
	_clean_(freep) struct line *lines = NULL;
	size_t n = 0, capacity = 0, hot = 0;
	double all = 0, sum = 0;

	for (size_t i = 0; i < log->n_modules; i++)
		capacity += log->modules[i].n_counts;
	lines = calloc(capacity + 1, sizeof(*lines));
	for (size_t i = 0; lines && i < log->n_modules; i++) {
		const struct sample_module *module = &log->modules[i];
		size_t first = n;

		for (size_t k = 0; module->kind == SAMPLE_MODULE_FILE && k < module->n_counts; k++) {
			uint64_t number = module->counts[k].offset / LINE_BYTES;

			if (n == first || lines[n - 1].number != number)
				lines[n++] = (struct line){ .number = number };
			lines[n - 1].samples += module->counts[k].count;
			all += (double)module->counts[k].count;
		}
	}
	if (n)
		qsort(lines, n, sizeof(*lines), more_samples);
	while (hot < n && sum < HOT_SHARE * all)
		sum += (double)lines[hot++].samples;
	return (double)hot;
}

/* --- the map -------------------------------------------------------------------------------------- */

static int map_recover(struct analysis *a, const struct analysis_request *request, struct fault *reterr)
{
	const struct sample_module *module = a->module;
	_clean_(freep) uint64_t *addresses = calloc(module->n_counts + 1, sizeof(*addresses));
	_clean_(freep) double *weights = calloc(module->n_counts + 1, sizeof(*weights));
	_clean_(freep) struct recover_jump *jumps = calloc(module->n_branches + 1, sizeof(*jumps));
	struct recover_question question = {
		.addresses = addresses, .weights = weights, .jumps = jumps, .symbols = a->symbols
	};

	if (!addresses || !weights || !jumps)
		return fault_errno(reterr, -ENOMEM, "%s", image_path(a->image));
	for (size_t i = 0; i < module->n_counts; i++) {
		size_t n = question.n_addresses;

		if (!image_offset_to_address(a->image, module->counts[i].offset, &addresses[n]))
			continue;
		weights[question.n_addresses++] = (double)module->counts[i].count;
	}
	/* The function that is asked for matters more than all others. */
	if (request->function) {
		int r = typed_function(a->image, a->symbols, module, request->function,
				       &addresses[question.n_addresses]);

		if (r == -ENOMEM)
			return fault_errno(reterr, r, "%s", image_path(a->image));
		if (r == 0)
			weights[question.n_addresses++] = INFINITY;
	}
	for (size_t i = 0; i < module->n_branches; i++) {
		struct recover_jump *jump = &jumps[question.n_jumps];

		if (image_offset_to_address(a->image, module->branches[i].from, &jump->from) &&
		    image_offset_to_address(a->image, module->branches[i].to, &jump->to))
			question.n_jumps++;
	}
	a->is_recovered = true;
	return block_map_recover(a->image, &question, &a->left, &a->map, reterr);
}

static int map_find(struct analysis *a, const struct analysis_request *request, struct fault *reterr)
{
	int r = morph_data_load(a->image, request->sidecar_dir, &a->data, reterr);

	a->symbols = debug_symbols_open(a->image, request->debug_dir);
	if (r == 0 && a->data->map)
		a->map = a->data->map;
	return a->map ? 0 : map_recover(a, request, reterr);
}

/* --- the anchor ----------------------------------------------------------------------------------- */

static const struct block_function *function_named(const struct block_map *map, const char *name, size_t n)
{
	for (size_t i = 0; i < map->n_functions; i++) {
		const char *other = map->functions[i].name;

		if (other && strlen(other) == n && memcmp(other, name, n) == 0)
			return &map->functions[i];
	}
	return NULL;
}

static int anchor_set(const struct analysis *a, const char *text, struct cycles_anchor *ret,
		      struct fault *reterr)
{
	const char *equals = strrchr(text, '='), *plus;
	const struct block_function *function;
	char *end = NULL;

	ret->executions = executions_of(text); /* analysis_option() took no other */
	plus = memchr(text, '+', (size_t)(equals - text));
	function = function_named(a->map, text, (size_t)((plus ? plus : equals) - text));
	if (function)
		ret->address = function->address + (plus ? strtoull(plus + 1, &end, 0) : 0);
	else
		ret->address = strtoull(text, &end, 0);
	if ((plus || !function) && end != equals)
		return fault_set(reterr, -EINVAL, "--count %s: no sampled function of that name", text);
	return 0;
}

/* --- page faults ---------------------------------------------------------------------------------- */

/* Of another run of the same work: how many come to a page fault there is by how long both took. */
static int faults_read(const struct analysis_request *request, struct analysis *a,
		       struct cycles_options *options, struct fault *reterr)
{
	int r;

	if (!request->faults)
		return 0;
	r = sample_logs_sum((char *const *)&request->faults, 1, &a->faults, reterr);
	if (r < 0)
		return r;
	if (a->faults->source != SAMPLE_SOURCE_FAULTS && a->faults->source != SAMPLE_SOURCE_IMPORT)
		return fault_set(reterr, -EINVAL,
				 "%s: holds no page faults; `morph record --clock faults` counts them",
				 request->faults);
	options->knows_faults = true;
	options->fault_worth = a->faults->duration_ns && a->log->duration_ns ?
				       (double)a->log->duration_ns / (double)a->faults->duration_ns :
				       1;
	options->n_faults = (double)(a->faults->user + a->faults->kernel) * options->fault_worth;
	for (size_t i = 0; i < a->faults->n_modules && !options->faults; i++)
		if (sampled_is(&a->faults->modules[i], a->image))
			options->faults = &a->faults->modules[i];
	return 0;
}

/* --- all of it ------------------------------------------------------------------------------------ */

static int cycles_make(const struct analysis_request *request, struct analysis *a, struct fault *reterr)
{
	struct cycles_options options = {
		.clock_hz = request->clock_hz,
		.rate_hz = a->log->rate_hz,
		.kernel_samples = (double)a->log->kernel,
		.hot_lines = hot_lines(a->log),
	};
	_clean_(freep) struct cycles_anchor *anchors = NULL;
	int r;

	if (a->log->source == SAMPLE_SOURCE_EXACT || !(a->log->rate_hz > 0))
		return fault_set(reterr, -ENODATA, "%s: the sample logs hold counts, not samples of a clock",
				 image_path(a->image));
	if (!(options.clock_hz > 0)) {
		options.clock_hz = clock_measure();
		a->is_clock_measured = true;
	}
	if (!(options.clock_hz > 0))
		return fault_set(reterr, -ENODATA,
				 "the rate of this CPU's clock is not known; say it with --clock");
	a->clock_hz = options.clock_hz;
	r = faults_read(request, a, &options, reterr);
	if (r < 0)
		return r;
	anchors = calloc(request->n_anchors + 1, sizeof(*anchors));
	r = anchors ? 0 : fault_errno(reterr, -ENOMEM, "%s", image_path(a->image));
	for (size_t i = 0; r == 0 && i < request->n_anchors; i++)
		r = anchor_set(a, request->anchors[i], &anchors[options.n_anchors++], reterr);
	options.anchors = anchors;
	return r < 0 ? r : cycles_read(a->map, a->image, a->module, &options, &a->cycles, reterr);
}

int analysis_make(const struct analysis_request *request, struct analysis *ret, struct fault *reterr)
{
	_clean_(analysis_done) struct analysis a = { 0 };
	const char *path;
	int r = request->log ? 0 : sample_logs_sum(request->samples, request->n_samples, &a.own_log, reterr);

	if (r < 0)
		return r;
	a.log = request->log ? request->log : a.own_log;
	path = program_path(&a, request->program, request->debug_dir, reterr);
	r = path ? image_open(path, &a.image, reterr) : -ENOTSUP;
	if (r == 0)
		r = module_find(&a, reterr);
	if (r == 0)
		r = map_find(&a, request, reterr);
	if (r == 0)
		r = cycles_make(request, &a, reterr);
	if (r < 0)
		return r;
	*ret = a;
	a = (struct analysis){ 0 };
	return 0;
}

void analysis_done(struct analysis *a)
{
	cycles_done(&a->cycles);
	if (a->is_recovered)
		block_map_free(a->map);
	morph_data_free(a->data);
	sample_log_free(a->own_log);
	sample_log_free(a->faults);
	kernel_samples_free(a->kernel);
	free(a->kernel_path);
	image_free(a->symbols);
	image_free(a->image);
	*a = (struct analysis){ 0 };
}

static int function_compare(const void *pa, const void *pb)
{
	const struct analysed_function *a = pa, *b = pb;

	if (a->summary.samples != b->summary.samples)
		return a->summary.samples < b->summary.samples ? 1 : -1;
	return a->function->address < b->function->address ? -1 : a->function->address > b->function->address;
}

int analysis_functions(const struct analysis *a, struct analysed_function **ret, size_t *retn)
{
	struct analysed_function *list = calloc(a->map->n_functions + 1, sizeof(*list));
	size_t n = 0;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < a->map->n_functions; i++) {
		const struct block_function *f = &a->map->functions[i];

		list[n] = (struct analysed_function){ .function = f };
		for (uint32_t b = f->first_block; b < f->first_block + f->n_blocks; b++)
			list[n].fell += a->cycles.code.blocks[b].samples;
		if (!(list[n].fell > 0))
			continue;
		cycles_sum(&a->cycles, f->first_block, f->n_blocks, &list[n++].summary);
	}
	if (n)
		qsort(list, n, sizeof(*list), function_compare);
	*ret = list;
	*retn = n;
	return 0;
}

const struct analysed_function *analysed_find(const struct analysis *a,
					      const struct analysed_function *functions, size_t n,
					      const char *name, struct fault *reterr)
{
	uint64_t address;
	uint32_t block = BLOCK_NONE;

	for (size_t i = 0; i < n; i++) {
		char text[ANALYSED_NAME_BYTES];

		if (strcmp(analysed_name(functions[i].function, text), name) == 0)
			return &functions[i];
	}
	if (typed_function(a->image, a->symbols, a->module, name, &address) == 0)
		block = block_map_find(a->map, address);
	for (size_t i = 0; block != BLOCK_NONE && i < n; i++)
		if (block - functions[i].function->first_block < functions[i].function->n_blocks)
			return &functions[i];
	for (size_t i = 0; i < n; i++)
		if (functions[i].function->name && demangled_is(functions[i].function->name, name))
			return &functions[i];
	fault_set(reterr, -ENOENT, "%s: no samples in a function \"%s\"", image_path(a->image), name);
	return NULL;
}

const char *analysed_name(const struct block_function *function, char ret[ANALYSED_NAME_BYTES])
{
	if (function->name)
		return function->name;
	snprintf(ret, ANALYSED_NAME_BYTES, "0x%" PRIx64, function->address);
	return ret;
}

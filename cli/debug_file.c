/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morph debug-file PATH: lines and symbols of a generation, in a file that debuggers find by its build ID.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/shared/debug_symbols.h"
#include "cli/shared/shipped.h"
#include "cli/verb.h"
#include "debug/debug_file.h"

int debug_file_run(int argc, char **argv);

struct debug_file {
	const char *path, *output, *dir, *shipped, *store, *sidecar_dir, *debug_dir;
	bool json;
	struct pair pair;
};

static int output_name(const struct debug_file *d, char ret[PATH_MAX], struct fault *reterr)
{
	char *slash;
	int r;

	if (d->output)
		r = snprintf(ret, PATH_MAX, "%s", d->output) < PATH_MAX ? 0 : -ENAMETOOLONG;
	else
		r = debug_path(image_build_id(d->pair.generation), d->dir, ret);
	if (r < 0)
		return fault_errno(reterr, r, "%s", d->output ? d->output : d->dir);
	if (d->output)
		return 0;
	slash = strrchr(ret, '/');
	*slash = '\0';
	r = file_mkdirs(ret, 0755, reterr);
	*slash = '/';
	return r;
}

static void result_show(const struct debug_file *d, const char *output,
			const struct debug_file_report *report)
{
	struct json json = json_to(stdout);
	char id[BUILD_ID_MAX_TEXT];

	if (!d->json) {
		printf("%s\n", SHOWN(output));
		return;
	}
	json_object_begin(&json, NULL);
	json_string(&json, "program", d->path);
	json_string(&json, "build_id", build_id_text(image_build_id(d->pair.generation), id));
	json_string(&json, "debug_file", output);
	json_u64(&json, "functions", report->n_functions);
	json_u64(&json, "functions_with_lines", report->n_described);
	json_u64(&json, "bytes", report->bytes_code);
	json_u64(&json, "bytes_with_lines", report->bytes_lines);
	json_object_end(&json);
}

static int debug_file(struct debug_file *d, struct fault *reterr)
{
	_clean_(source_freep) struct source *source = NULL;
	struct debug_file_report report;
	char shipped[PATH_MAX], output[PATH_MAX];
	int r = d->shipped ? 0 : shipped_find(d->path, d->store, shipped, reterr);

	if (r == 0)
		r = pair_open(d->path, d->shipped ? d->shipped : shipped, d->sidecar_dir, &d->pair, reterr);
	if (r == 0)
		r = source_read(d->shipped ? d->shipped : shipped, d->debug_dir, &source, reterr);
	if (r == 0)
		r = output_name(d, output, reterr);
	if (r == 0)
		r = debug_file_write(&d->pair, source, output, &report, reterr);
	if (r == 0)
		result_show(d, output, &report);
	return r;
}

enum { DIR = 1000, SHIPPED, STORE, SIDECARS, DEBUG };

int debug_file_run(int argc, char **argv)
{
	static const struct option options[] = { { "output", required_argument, NULL, 'o' },
						 { "dir", required_argument, NULL, DIR },
						 { "shipped", required_argument, NULL, SHIPPED },
						 { "store", required_argument, NULL, STORE },
						 { "sidecar-dir", required_argument, NULL, SIDECARS },
						 { "debug-dir", required_argument, NULL, DEBUG },
						 { "json", no_argument, NULL, 'j' },
						 { "help", no_argument, NULL, 'h' },
						 { NULL } };
	struct debug_file d = { 0 };
	struct fault fault;
	int c, r;

	while ((c = getopt_long(argc, argv, "o:h", options, NULL)) >= 0)
		switch (c) {
		case 'o': d.output = optarg; break;
		case DIR: d.dir = optarg; break;
		case SHIPPED: d.shipped = optarg; break;
		case STORE: d.store = optarg; break;
		case SIDECARS: d.sidecar_dir = optarg; break;
		case DEBUG: d.debug_dir = optarg; break;
		case 'j': d.json = true; break;
		case 'h': return verb_help("debug-file");
		default: return verb_usage("debug-file");
		}
	if (optind + 1 != argc || (d.output && d.dir))
		return verb_usage("debug-file");
	d.path = argv[optind];
	r = debug_file(&d, &fault);
	pair_done(&d.pair);
	return r < 0 ? verb_fail("debug-file", &fault) : VERB_DONE;
}

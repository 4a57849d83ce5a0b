/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morph-fleet: all that talks to the fleet's database. `morph fleet` starts it for operators; morphd for a machine's batches
 * and profiles, as a job of a user of its own in a sandbox with a network: only this program has libpq, which reads what
 * others send.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "fleet/counts_file.h"
#include "fleet/exchange.h"
#include "fleet/machines.h"
#include "fleet/schema.h"

enum { EXIT_LATER = 3, EXIT_NOT_OF_THE_FLEET = 4 };

/* After that no other batch is begun, however many there are: who waits for a report must have it. */
#define VISIT_S 200

struct options {
	const char *url, *credential, *output, *report, *for_url;
	uint64_t stream;
	unsigned days, timeout_s;
	bool json;
	char **words; /* what is not an option */
	int n;
};

struct fleet_verb {
	const char *name, *synopsis;
	int min, max; /* words */
	int (*run)(const struct options *o, struct database *db, struct fault *reterr);
};

/* ---- operators ---- */

static int run_init(_unused_ const struct options *o, struct database *db, struct fault *reterr)
{
	struct schema_report report;
	int r = schema_install(db, &report, reterr);

	if (r == 0 && report.before == report.after)
		printf("the fleet is there: version %d of the tables\n", report.after);
	else if (r == 0)
		printf("the fleet has version %d of the tables%s\n", report.after,
		       report.before ? ", brought there from an older one" : "");
	return r;
}

static int machine_add(const struct options *o, struct database *db, const char *name, struct fault *reterr)
{
	_clean_(freep) char *credential = NULL;
	_clean_(buffer_donep) struct buffer line = { 0 };
	int r = machines_add(db, name, o->for_url, &credential, reterr);

	if (r < 0)
		return r;
	buffer_printf(&line, "%s\n", credential);
	if (line.bad)
		return fault_errno(reterr, -ENOMEM, "%s", name);
	if (o->output)
		return file_write(o->output, line.data, line.size, 0600, reterr);
	fwrite(line.data, 1, line.size, stdout);
	return 0;
}

static bool is_of_machine(const char *word)
{
	return strcmp(word, "list") == 0 || strcmp(word, "add") == 0 || strcmp(word, "revoke") == 0;
}

static int run_machine(const struct options *o, struct database *db, struct fault *reterr)
{
	const char *what = o->words[0], *name = o->n > 1 ? o->words[1] : NULL;

	if (strcmp(what, "list") == 0 && !name)
		return machines_list(db, o->json, stdout, reterr);
	if (strcmp(what, "add") == 0 && name)
		return machine_add(o, db, name, reterr);
	if (strcmp(what, "revoke") == 0 && name)
		return machines_revoke(db, name, reterr);
	return fault_set(reterr, -EINVAL, "say machine add NAME, machine revoke NAME or machine list");
}

static int run_status(const struct options *o, struct database *db, struct fault *reterr)
{
	return machines_status(db, o->json, stdout, reterr);
}

static int run_top(const struct options *o, struct database *db, struct fault *reterr)
{
	return machines_top(db, o->days, o->json, stdout, reterr);
}

static int run_diff(const struct options *o, struct database *db, struct fault *reterr)
{
	return machines_diff(db, o->days, o->json, stdout, reterr);
}

static int run_name(const struct options *o, struct database *db, struct fault *reterr)
{
	struct build_id id;

	if (build_id_parse(o->words[0], &id) < 0)
		return fault_set(reterr, -EINVAL, "%.80s: not a build ID; `morph inspect FILE` shows it",
				 o->words[0]);
	return machines_name_module(db, o->words[0], o->words[1], reterr);
}

/* ---- machines ---- */

/* "SEQUENCE=FILE" */
static int batch_of(const char *word, uint64_t *retsequence, const char **retpath)
{
	char *end;

	*retsequence = strtoull(word, &end, 10);
	*retpath = end + 1;
	return *end == '=' && end != word && end[1] && *retsequence && *retsequence <= INT64_MAX ? 0 :
												   -EINVAL;
}

/* One line for each batch that was tried: its number, what became of it, and why not. */
static int batches_push(const struct options *o, struct exchange *x, struct buffer *report,
			struct fault *reterr)
{
	const uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + VISIT_S * 1000000000ull;
	uint64_t before = 0;

	for (int i = 0; i < o->n && clock_ns(CLOCK_MONOTONIC) < end_ns; i++) {
		enum exchange_outcome outcome;
		struct fault fault = { "" };
		uint64_t sequence;
		const char *path;
		int r = batch_of(o->words[i], &sequence, &path);

		if (r < 0 || sequence <= before)
			return fault_set(reterr, -EINVAL, "%.100s: not NUMBER=FILE, in the order of numbers",
					 o->words[i]);
		before = sequence;
		r = exchange_push(x, sequence, path, &outcome, &fault);
		buffer_printf(report, "%" PRIu64 " %s%s%s\n", sequence, exchange_outcome_name(outcome),
			      fault.text[0] ? " " : "", SHOWN(fault.text));
		if (r < 0) {
			*reterr = fault;
			return r;
		}
	}
	return 0;
}

/* @r: of what is reported, which counts more than that it cannot be */
static int report_write(const struct options *o, const struct buffer *report, int r, struct fault *reterr)
{
	struct fault fault = { "" };
	int written;

	if (report->bad)
		return fault_errno(reterr, -ENOMEM, "report");
	written = o->report ? file_write(o->report, report->data, report->size, 0644, &fault) :
		  fwrite(report->data, 1, report->size, stdout) == report->size ? 0 :
										  -EIO;
	if (r == 0 && written < 0)
		*reterr = fault;
	return r < 0 ? r : written;
}

static int run_push(const struct options *o, struct database *db, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer report = { 0 };
	struct exchange x;
	int r = exchange_begin(db, o->stream, &x, reterr);

	if (r < 0)
		return r;
	buffer_printf(&report, "last %" PRIu64 "\n", x.last);
	r = batches_push(o, &x, &report, reterr);
	return report_write(o, &report, r, reterr);
}

/* "BUILD-ID=FILE" */
static int build_of(char *word, struct build_id *ret, const char **retpath)
{
	char *equals = strchr(word, '=');
	int r;

	if (!equals || !equals[1])
		return -EINVAL;
	*equals = '\0';
	*retpath = equals + 1;
	r = build_id_parse(word, ret);
	return r;
}

/* One line for each build: its ID, what the fleet said, and why not. After an answer that makes no sense nothing else comes. */
static int builds_pull(const struct options *o, struct exchange *x, struct buffer *report,
		       struct fault *reterr)
{
	int r = 0;

	for (int i = 0; r == 0 && i < o->n; i++) {
		struct fault fault = { "" };
		struct build_id id;
		const char *path;

		if (build_of(o->words[i], &id, &path) < 0)
			return fault_set(reterr, -EINVAL, "%.100s: not BUILD-ID=FILE", o->words[i]);
		r = exchange_pull(x, &id, path, &fault);
		buffer_printf(report, "%s %s%s%s\n", o->words[i],
			      r == 0			   ? "known" :
			      r == -ENODATA		   ? "unknown" :
			      r == -EBADMSG || r == -EFBIG ? "refused" :
							     "later",
			      fault.text[0] ? " " : "", SHOWN(fault.text));
		if (r < 0)
			*reterr = fault;
		if (r == -ENODATA)
			r = 0;
	}
	return r;
}

static int run_pull(const struct options *o, struct database *db, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer report = { 0 };
	struct build_id id;
	struct exchange x;
	int r;

	if (o->output && (o->n != 1 || build_id_parse(o->words[0], &id) < 0))
		return fault_set(reterr, -EINVAL, "say pull BUILD-ID -o FILE, or pull BUILD-ID=FILE...");
	r = exchange_begin(db, o->stream, &x, reterr);
	if (r < 0)
		return r;
	if (o->output)
		return exchange_pull(&x, &id, o->output, reterr);
	r = builds_pull(o, &x, &report, reterr);
	return report_write(o, &report, r, reterr);
}

static int run_export(const struct options *o, struct database *db, struct fault *reterr)
{
	struct counts_report report;
	struct exchange x;
	int r;

	if (!o->output)
		return fault_set(reterr, -EINVAL, "say export PACKAGE -o FILE");
	r = exchange_begin(db, o->stream, &x, reterr);
	if (r == 0)
		r = counts_file_write(&x, o->words[0], o->output, &report, reterr);
	if (r == 0)
		printf("%s: %.0f samples of %zu programs%s\n", SHOWN(o->output), report.samples,
		       report.n_programs,
		       report.n_unknown ? "; others carry IR, and the fleet does not know them" : "");
	return r;
}

/* ---- the command line ---- */

static const struct fleet_verb verbs[] = {
	{ "init", "URL", 0, 1, run_init },
	{ "machine", "add NAME [-o FILE] [--for URL] | revoke NAME | list [--json]", 1, 2, run_machine },
	{ "status", "[--json]", 0, 0, run_status },
	{ "top", "[--days N] [--json]", 0, 0, run_top },
	{ "diff", "[--days N] [--json]", 0, 0, run_diff },
	{ "name", "BUILD-ID NAME", 2, 2, run_name },
	{ "push", "--stream N [--report FILE] NUMBER=FILE...", 1, 1024, run_push },
	{ "pull", "BUILD-ID -o FILE | [--report FILE] BUILD-ID=FILE...", 1, 1024, run_pull },
	{ "export", "PACKAGE|PATH -o FILE", 1, 1, run_export },
	{ NULL },
};

static int usage(FILE *out)
{
	fputs("usage: morph fleet VERB [--url URL | --credential FILE]\n", out);
	for (const struct fleet_verb *v = verbs; v->name; v++)
		fprintf(out, "  %-8s %s\n", v->name, v->synopsis);
	fputs("The URL may stand in MORPH_FLEET_URL. See morph-fleet(1).\n", out);
	return out == stderr ? 2 : 0;
}

static bool number_read(const char *text, uint64_t max, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, 10);
	return !errno && *text >= '0' && *text <= '9' && !*end && *ret <= max;
}

static int no_verb(const char *of, const char *name)
{
	fprintf(stderr, "morph %s: no verb \"%s\"; `morph fleet --help` lists them\n", of, SHOWN(name));
	return 2;
}

/* 0; 1: --help; -EINVAL */
static int options_parse(int argc, char **argv, struct options *o)
{
	enum { URL = 256, CREDENTIAL, REPORT, FOR, STREAM, DAYS, TIMEOUT, JSON };
	static const struct option options[] = { { "url", required_argument, NULL, URL },
						 { "output", required_argument, NULL, 'o' },
						 { "credential", required_argument, NULL, CREDENTIAL },
						 { "report", required_argument, NULL, REPORT },
						 { "for", required_argument, NULL, FOR },
						 { "stream", required_argument, NULL, STREAM },
						 { "days", required_argument, NULL, DAYS },
						 { "timeout", required_argument, NULL, TIMEOUT },
						 { "json", no_argument, NULL, JSON },
						 { "help", no_argument, NULL, 'h' },
						 { NULL } };
	uint64_t number;
	bool good = true;
	int c;

	while ((c = getopt_long(argc, argv, "o:h", options, NULL)) >= 0) {
		if (c == 'h')
			return 1;
		else if (c == URL)
			o->url = optarg;
		else if (c == CREDENTIAL)
			o->credential = optarg;
		else if (c == 'o')
			o->output = optarg;
		else if (c == REPORT)
			o->report = optarg;
		else if (c == FOR)
			o->for_url = optarg;
		else if (c == STREAM)
			good &= number_read(optarg, INT64_MAX, &o->stream);
		else if (c == DAYS)
			good &= number_read(optarg, 400, &number), o->days = (unsigned)number;
		else if (c == TIMEOUT)
			good &= number_read(optarg, 86400, &number), o->timeout_s = (unsigned)number;
		else if (c == JSON)
			o->json = true;
		else
			good = false;
	}
	o->words = argv + optind;
	o->n = argc - optind;
	return good && o->timeout_s && o->days ? 0 : -EINVAL;
}

static int connect_to(struct options *o, const struct fleet_verb *verb, struct database **ret,
		      struct fault *reterr)
{
	_clean_(freep) char *read = NULL;
	const char *url = o->url;
	int r = 0;

	if (verb->run == run_init && o->n == 1)
		url = o->words[0];
	if (!url && o->credential) {
		r = database_url_read(o->credential, &read, reterr);
		url = read;
	}
	if (!url && !o->credential)
		url = getenv("MORPH_FLEET_URL");
	if (r == 0 && !url)
		return fault_set(
			reterr, -EINVAL,
			"no database is named; say --url URL or --credential FILE, or set MORPH_FLEET_URL");
	return r < 0 ? r : database_open(url, o->timeout_s, ret, reterr);
}

static int exit_of(int code)
{
	switch (code) {
	case 0: return 0;
	case -EACCES: return EXIT_NOT_OF_THE_FLEET;
	case -EAGAIN:
	case -EIO:
	case -ETIMEDOUT:
	case -EDQUOT: return EXIT_LATER;
	default: return 1;
	}
}

int main(int argc, char **argv)
{
	struct options o = { .days = 7, .timeout_s = DATABASE_TIMEOUT_S };
	_clean_(database_freep) struct database *db = NULL;
	const struct fleet_verb *verb = verbs;
	struct fault fault = { "" };
	int r;

	log_init("morph-fleet", LOG_LEVEL_INFO);
	database_environment();
	if (argc < 2)
		return usage(stderr);
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return usage(stdout);
	while (verb->name && strcmp(verb->name, argv[1]) != 0)
		verb++;
	if (!verb->name)
		return no_verb("fleet", argv[1]);
	r = options_parse(argc - 1, argv + 1, &o);
	if (r != 0 || o.n < verb->min || o.n > verb->max)
		return usage(r > 0 ? stdout : stderr);
	if (verb->run == run_machine && !is_of_machine(o.words[0]))
		return no_verb("fleet machine", o.words[0]);
	r = connect_to(&o, verb, &db, &fault);
	if (r == 0)
		r = verb->run(&o, db, &fault);
	if (r < 0)
		fprintf(stderr, "morph fleet %s: %s\n", verb->name, SHOWN(fault.text));
	return exit_of(r);
}

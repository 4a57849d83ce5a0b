/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morph-fetch: one sidecar, by build ID and SHA-256, from debuginfod servers into a file. A process of its own: as a job of
 * morphd's it is a user of its own in a sandbox with a network and no file of the system's but what names and certificates
 * need; `morph fetch` starts it as the caller. It knows no program: what it has to do with one is two numbers.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "fetch/fetch.h"

#define EXIT_NOBODY_HAS_IT 3

struct options {
	const char *output;
	struct fetch_request request;
	bool bad;
};

static bool is_hexadecimal(const char *text, size_t min, size_t max)
{
	size_t n = strspn(text, "0123456789abcdef");

	return n >= min && n <= max && !text[n];
}

static void hash_read(const char *text, struct options *o)
{
	if (!is_hexadecimal(text, SHA256_TEXT - 1, SHA256_TEXT - 1)) {
		o->bad = true;
		return;
	}
	for (size_t i = 0; i < SHA256_BYTES; i++)
		sscanf(text + 2 * i, "%2hhx", &o->request.sha256[i]);
}

static unsigned long long number_read(const char *text, unsigned long long max, struct options *o)
{
	char *end;
	unsigned long long ret = strtoull(text, &end, 10);

	o->bad |= *end || end == text || !ret || ret > max;
	return ret;
}

static void options_parse(int argc, char **argv, struct options *o)
{
	static const struct option options[] = {
		{ "build-id", required_argument, NULL, 'b' }, { "sha256", required_argument, NULL, 's' },
		{ "limit", required_argument, NULL, 'l' },    { "timeout", required_argument, NULL, 't' },
		{ "output", required_argument, NULL, 'o' },   { NULL }
	};
	bool has_hash = false;
	int c;

	while ((c = getopt_long(argc, argv, "o:", options, NULL)) >= 0) {
		if (c == 'b')
			o->request.build_id = optarg;
		else if (c == 's')
			hash_read(optarg, o), has_hash = true;
		else if (c == 'l')
			o->request.max_bytes = number_read(optarg, 1ull << 40, o);
		else if (c == 't')
			o->request.timeout_s = (unsigned)number_read(optarg, 86400, o);
		else if (c == 'o')
			o->output = optarg;
		else
			o->bad = true;
	}
	o->request.urls = (const char *const *)argv + optind;
	o->bad |= !has_hash || !o->output || optind == argc || !o->request.build_id ||
		  !is_hexadecimal(o->request.build_id, 16, 128);
}

int main(int argc, char **argv)
{
	struct options o = { .request = { .max_bytes = 64u << 20, .timeout_s = 120 } };
	_clean_(buffer_donep) struct buffer bytes = { 0 };
	struct fault fault = { "" };
	int r;

	log_init("morph-fetch", LOG_LEVEL_INFO);
	options_parse(argc, argv, &o);
	if (o.bad) {
		fputs("usage: morph-fetch --build-id HEX --sha256 HEX -o FILE [--limit BYTES] [--timeout "
		      "SECONDS] URL...\n"
		      "(`morph fetch` and morphd start it)\n",
		      stderr);
		return 2;
	}
	r = fetch_sidecar(&o.request, &bytes, &fault);
	if (r == 0)
		r = file_write(o.output, bytes.data, bytes.size, 0644, &fault);
	if (r < 0)
		fprintf(stderr, "%s\n", SHOWN(fault.text));
	return r == 0 ? 0 : r == -ENODATA ? EXIT_NOBODY_HAS_IT : 1;
}

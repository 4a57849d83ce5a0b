/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench-input: data for the workloads, the same bytes on every machine
 *
 *	bench-input KIND SEED SIZE [WIDTH]
 *
 *	text	SIZE bytes of sentences; word frequencies follow Zipf's law
 *	log	SIZE bytes of a web server's log
 *	records	SIZE bytes of small binary records: counters, flags, slowly moving floats
 *	lines	SIZE lines "WORD NUMBER WORD", for sorting
 *	image	a PPM picture of WIDTH x SIZE pixels: sky, discs, stripes, grain
 *	frames	SIZE frames of YUV4MPEG2 video, WIDTH pixels wide (16:9, multiples of 16): a moving
 *picture cnf	a random 3-SAT formula (DIMACS) of SIZE variables, WIDTH clauses per 1000 variables
 *
 * Different seeds share nothing but the shape: they are the difference between training and test
 *data.
 */

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/stats.h"

#define WORDS 6000u

struct input {
	struct stats_random random;
	uint64_t size, width;
	char words[WORDS][16];
};

static size_t below(struct input *in, size_t n)
{
	return stats_random_below(&in->random, n);
}

/* Pronounceable words of one to five syllables, the frequent ones short. */
static void words_make(struct input *in)
{
	static const char *const onsets[] = { "b", "c", "d", "f", "g", "h",  "l",  "m",	 "n",  "p",
					      "r", "s", "t", "v", "w", "st", "tr", "ch", "pl", "" };
	static const char *const rhymes[] = { "a",  "e",  "i",	"o",  "u",  "an",  "er", "in",
					      "on", "us", "ea", "ou", "at", "ing", "ed", "y" };

	for (size_t i = 0; i < WORDS; i++) {
		size_t n = 1 + below(in, i < 60 ? 1 : i < 800 ? 2 : 4);
		char *w = in->words[i];

		for (size_t j = 0; j < n && strlen(w) < 10; j++) {
			strcat(w, onsets[below(in, ARRAY_SIZE(onsets))]);
			strcat(w, rhymes[below(in, ARRAY_SIZE(rhymes))]);
		}
	}
}

/* Zipf with exponent 1: rank = WORDS^u for uniform u. */
static const char *word(struct input *in)
{
	double u = (double)(stats_random_next(&in->random) >> 11) / 9007199254740992.0;
	size_t rank = (size_t)(exp(u * log(WORDS)) - 1);

	return in->words[MIN(rank, WORDS - 1)];
}

static void text_print(struct input *in)
{
	uint64_t at = 0, column = 0;

	while (at < in->size) {
		size_t n = 4 + below(in, 16);

		for (size_t i = 0; i < n; i++) {
			const char *w = word(in), *end = i + 1 < n ? (below(in, 9) ? "" : ",") : ".";
			int len = printf("%c%s%s%c", i ? w[0] : w[0] - 32 * (w[0] >= 'a'), w + 1, end,
					 column > 70 ? '\n' : ' ');

			at += (uint64_t)len;
			column = column > 70 ? 0 : column + (uint64_t)len;
		}
		if (below(in, 12) == 0) {
			at += (uint64_t)printf("\n\n");
			column = 0;
		}
	}
}

/* The draws stand in statements of their own: C leaves the order of a call's arguments open. */
static void log_print(struct input *in)
{
	static const char *const methods[] = { "GET", "GET", "GET", "GET", "POST", "HEAD" };
	static const unsigned status[] = { 200, 200, 200, 200, 200, 304, 301, 404, 500 };
	uint64_t second = 0;

	for (uint64_t at = 0; at < in->size;) {
		size_t draws[8];
		const char *words[3];

		for (size_t i = 0; i < ARRAY_SIZE(draws); i++)
			draws[i] = below(in, 65536);
		for (size_t i = 0; i < ARRAY_SIZE(words); i++)
			words[i] = word(in);
		second += draws[0] % 3;
		at += (uint64_t)printf("10.%zu.%zu.%zu - - [12/Mar/2024:%02u:%02u:%02u +0000] ", draws[1] % 4,
				       draws[1] % 16, draws[2] % 250, (unsigned)(second / 3600 % 24),
				       (unsigned)(second / 60 % 60), (unsigned)(second % 60));
		at += (uint64_t)printf("\"%s /%s/%s.%s HTTP/1.1\" %u %zu \"-\" \"%s/%zu.0\"\n",
				       methods[draws[3] % 6], words[0], words[1],
				       draws[4] % 3 ? "html" : "png", status[draws[5] % 9], draws[6],
				       words[2], draws[7] % 90);
	}
}

static void records_print(struct input *in)
{
	double level[8] = { 0 };

	for (uint64_t at = 0, n = 0; at < in->size; at += 48, n++) {
		struct {
			uint32_t serial;
			uint16_t flags, channel;
			float values[8];
			uint64_t checksum;
		} record = { (uint32_t)n, (uint16_t)(1u << below(in, 4)), (uint16_t)below(in, 12), { 0 }, 0 };

		for (size_t i = 0; i < 8; i++) {
			level[i] += ((double)below(in, 200) - 99.5) / 64;
			record.values[i] = (float)(floor(level[i] * 16) / 16);
		}
		record.checksum = record.serial * 0x9e3779b97f4a7c15ull >> (8 * below(in, 4));
		fwrite(&record, sizeof(record), 1, stdout);
	}
}

static void lines_print(struct input *in)
{
	for (uint64_t i = 0; i < in->size; i++) {
		const char *first = word(in), *last = word(in);

		printf("%s %zu %s\n", first, below(in, 1000000), last);
	}
}

/* One sample of the test picture, 0..255: @x, @y in 0..1, @t the time. */
static double picture(struct input *in, double x, double y, double t, unsigned channel)
{
	double shade = 120 + 90 * y - 30.0 * channel * x;

	for (unsigned i = 0; i < 6; i++) {
		double cx = 0.5 + 0.4 * sin(t / 17 + i * 1.7 + in->size % 7);
		double cy = 0.5 + 0.4 * cos(t / 23 + i * 2.3), r = 0.05 + 0.02 * i;

		if ((x - cx) * (x - cx) + (y - cy) * (y - cy) < r * r)
			shade = 40 + 35 * ((i + channel) % 6);
	}
	if (y > 0.75)
		shade += 50 * sin(40 * x + 12 * y + t / 9);
	shade += (double)below(in, 12) - 6;
	return shade < 0 ? 0 : shade > 255 ? 255 : shade;
}

static void image_print(struct input *in)
{
	double t = (double)below(in, 1000);

	printf("P6\n%llu %llu\n255\n", (unsigned long long)in->width, (unsigned long long)in->size);
	for (uint64_t y = 0; y < in->size; y++)
		for (uint64_t x = 0; x < in->width; x++)
			for (unsigned c = 0; c < 3; c++)
				putchar((int)picture(in, (double)x / (double)in->width,
						     (double)y / (double)in->size, t, c));
}

static void plane_print(struct input *in, uint64_t width, uint64_t height, double t, unsigned channel)
{
	for (uint64_t y = 0; y < height; y++)
		for (uint64_t x = 0; x < width; x++)
			putchar((int)picture(in, (double)x / (double)width, (double)y / (double)height, t,
					     channel));
}

static void frames_print(struct input *in)
{
	uint64_t height = in->width * 9 / 16 / 16 * 16;
	double start = (double)below(in, 1000);

	printf("YUV4MPEG2 W%llu H%llu F25:1 Ip A1:1 C420mpeg2\n", (unsigned long long)in->width,
	       (unsigned long long)height);
	for (uint64_t i = 0; i < in->size; i++) {
		printf("FRAME\n");
		plane_print(in, in->width, height, start + (double)i, 0);
		plane_print(in, in->width / 2, height / 2, start + (double)i, 1);
		plane_print(in, in->width / 2, height / 2, start + (double)i, 2);
	}
}

static void cnf_print(struct input *in)
{
	uint64_t clauses = in->size * in->width / 1000;

	printf("p cnf %llu %llu\n", (unsigned long long)in->size, (unsigned long long)clauses);
	for (uint64_t i = 0; i < clauses; i++) {
		size_t v[3];

		do {
			for (size_t j = 0; j < 3; j++)
				v[j] = 1 + below(in, in->size);
		} while (v[0] == v[1] || v[1] == v[2] || v[0] == v[2]);
		for (size_t j = 0; j < 3; j++)
			printf("%s%zu ", below(in, 2) ? "-" : "", v[j]);
		puts("0");
	}
}

static const struct kind {
	const char *name;
	void (*print)(struct input *in);
	uint64_t least_size, least_width;
} kinds[] = {
	{ "text", text_print, 0, 0 },	{ "log", log_print, 0, 0 },	{ "records", records_print, 0, 0 },
	{ "lines", lines_print, 0, 0 }, { "image", image_print, 1, 1 }, { "frames", frames_print, 1, 32 },
	{ "cnf", cnf_print, 3, 1 },
};

static const struct kind *kind_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(kinds[i].name, name) == 0)
			return &kinds[i];
	return NULL;
}

int main(int argc, char **argv)
{
	static struct input in;
	const struct kind *kind = argc >= 4 ? kind_find(argv[1]) : NULL;

	if (!kind || argc > 5) {
		fputs("usage: bench-input text|log|records|lines|image|frames|cnf SEED SIZE "
		      "[WIDTH]\n",
		      stderr);
		return 2;
	}
	/* Spread the seed: neighbours must not start alike. */
	in.random.state = (strtoull(argv[2], NULL, 10) + 1) * 0x9e3779b97f4a7c15ull;
	in.size = strtoull(argv[3], NULL, 10);
	in.width = argc > 4 ? strtoull(argv[4], NULL, 10) : 0;
	if (in.size < kind->least_size || in.width < kind->least_width) {
		fprintf(stderr,
			"bench-input: %s needs a SIZE of at least %llu and a WIDTH of at least "
			"%llu\n",
			kind->name, (unsigned long long)kind->least_size,
			(unsigned long long)kind->least_width);
		return 2;
	}
	words_make(&in);
	kind->print(&in);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		fprintf(stderr, "bench-input: cannot write standard output: %s\n", strerror(errno));
		return 1;
	}
	return 0;
}

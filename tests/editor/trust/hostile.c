/* SPDX-License-Identifier: Apache-2.0 */

/*
 * hostile MORPH PROGRAM PROFILE WORK RUNS [SEED]: edits of a program whose IR was damaged on purpose
 *
 * Every run writes WORK/victim, which is PROGRAM with other bitcode in its Morph data, one mutation away from the real
 * one, or up to eight, and lets `morph optimize` try. Whatever the compiler does
 * with it, the command must end with status 0 or 1, say why in a line, leave no file, and end in time. What it
 * makes all the same must answer as the program does.
 */

#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/file.h"
#include "module/image_edit.h"
#include "module/morph_data.h"

struct campaign {
	const char *morph, *program, *profile;
	const struct image *image; /* of the program */
	char victim[PATH_MAX / 4], place[PATH_MAX / 4], out[PATH_MAX / 4];
	uint64_t random;
	struct buffer expected; /* what the program prints */
	unsigned n_unreadable, n_untrusted, n_untested, n_crashed, n_otherwise, n_made;
};

static uint64_t draw(struct campaign *c, uint64_t below)
{
	c->random ^= c->random << 13;
	c->random ^= c->random >> 7;
	c->random ^= c->random << 17;
	return below ? c->random % below : 0;
}

/* What bitstream readers trip over: a bit, a byte, a word, a stretch of another place, an end too early. */
static void mutate(struct campaign *c, uint8_t *bytes, size_t *size)
{
	static const uint32_t words[] = { 0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffffe };
	size_t at = draw(c, *size), n = 1 + draw(c, 32), from = draw(c, *size);

	switch (draw(c, 5)) {
	case 0: bytes[at] ^= (uint8_t)(1u << draw(c, 8)); break;
	case 1: bytes[at] = (uint8_t)draw(c, 256); break;
	case 2:
		if (at + 4 <= *size)
			memcpy(bytes + (at & ~(size_t)3), &words[draw(c, ARRAY_SIZE(words))], 4);
		break;
	case 3:
		n = MIN(n, *size - MAX(at, from));
		memmove(bytes + at, bytes + from, n);
		break;
	case 4:
		if (draw(c, 8) == 0)
			*size = MAX((*size - draw(c, *size / 4)) & ~(size_t)3, 4u);
		else
			bytes[at] ^= (uint8_t)(1u << draw(c, 8));
		break;
	}
}

static int victim_write(struct campaign *c, const struct morph_data *original, struct fault *reterr)
{
	static const char *const dropped[] = { MORPH_SECTION, NULL };
	_clean_(buffer_donep) struct buffer container = { 0 }, file = { 0 };
	struct morph_data data = *original;
	struct morph_module modules[64];
	size_t victim = draw(c, data.n_modules), n = draw(c, 2) ? 1 : 1 + draw(c, 8), size;
	_clean_(freep) uint8_t *bytes = malloc(data.modules[victim].size);
	int r;

	if (!bytes || data.n_modules > ARRAY_SIZE(modules))
		return -ENOMEM;
	memcpy(modules, data.modules, data.n_modules * sizeof(modules[0]));
	size = modules[victim].size;
	memcpy(bytes, modules[victim].bitcode, size);
	while (n--)
		mutate(c, bytes, &size);
	modules[victim].bitcode = bytes;
	modules[victim].size = size;
	data.modules = modules;
	r = morph_data_encode(&data, &container);
	if (r == 0)
		r = image_edit(c->image, dropped,
			       &(struct image_new_section){ MORPH_SECTION, SHT_PROGBITS, container.data,
							    container.size },
			       1, &file, reterr);
	return r < 0 ? r : file_write(c->victim, file.data, file.size, 0755, reterr);
}

static int program_run(const char *program, struct buffer *ret, struct fault *reterr)
{
	char *argv[] = { (char *)program, (char[]){ "3000" }, (char[]){ "2" }, NULL };
	struct child_options options = { .retout = ret, .timeout_s = 60 };
	int status = 0, r = child_run(argv, &options, &status, reterr);

	return r < 0 ? r : status == 0 ? 0 : fault_set(reterr, -ECHILD, "%s: status %d", program, status);
}

static bool place_is_empty(const char *place)
{
	DIR *directory = opendir(place);
	unsigned n = 0;

	while (directory && readdir(directory))
		n++;
	if (directory)
		closedir(directory);
	return n == 2;
}

static int outcome_judge(struct campaign *c, int status, const struct buffer *said, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer printed = { 0 };
	const char *text = said->size ? (const char *)said->data : "";
	int r;

	if (!WIFEXITED(status) || WEXITSTATUS(status) > 1)
		return fault_set(reterr, -ECHILD, "ended with status %#x: %s", status, text);
	if (!place_is_empty(c->place))
		return fault_set(reterr, -EEXIST, "something is left in %s", c->place);
	if (WEXITSTATUS(status) == 1) {
		if (!strstr(text, "morph optimize: ") || access(c->out, F_OK) == 0)
			return fault_set(reterr, -EBADMSG, "a failed edit %s",
					 access(c->out, F_OK) ? "said nothing" : "left a file");
		*(strstr(text, "signal")	  ? &c->n_crashed :
		  strstr(text, "cannot be read")  ? &c->n_unreadable :
		  strstr(text, "not the program") ? &c->n_untrusted :
		  strstr(text, "self-test")	  ? &c->n_untested :
						    &c->n_otherwise) += 1;
		return 0;
	}
	r = program_run(c->out, &printed, reterr);
	if (r == 0 &&
	    (printed.size != c->expected.size || memcmp(printed.data, c->expected.data, printed.size) != 0))
		r = fault_set(reterr, -EBADMSG, "the new file prints something else");
	c->n_made++;
	unlink(c->out);
	return r;
}

static int edit_try(struct campaign *c, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer said = { 0 };
	char *argv[] = { (char *)c->morph,
			 (char[]){ "optimize" },
			 c->victim,
			 (char[]){ "--profile" },
			 (char *)c->profile,
			 (char[]){ "--force" },
			 (char[]){ "-o" },
			 c->out,
			 (char[]){ "--work-dir" },
			 c->place,
			 (char[]){ "--timeout" },
			 (char[]){ "60" },
			 NULL };
	struct child_options options = { .retout = &said, .reterrout = &said, .timeout_s = 90 };
	int status = 0, r = child_run(argv, &options, &status, reterr);

	return r < 0 ? r : outcome_judge(c, status, &said, reterr);
}

static int campaign_run(struct campaign *c, unsigned n_runs, struct fault *reterr)
{
	_clean_(morph_data_freep) struct morph_data *data = NULL;
	_clean_(image_freep) struct image *image = NULL;
	int r = image_open(c->program, &image, reterr);

	c->image = image;
	if (r == 0)
		r = morph_data_load(image, NULL, &data, reterr);
	if (r == 0)
		r = morph_data_unpack(data, reterr);
	if (r == 0)
		r = program_run(c->program, &c->expected, reterr);
	for (unsigned i = 0; i < n_runs && r == 0; i++) {
		uint64_t seed = c->random;

		r = victim_write(c, data, reterr);
		if (r == 0)
			r = edit_try(c, reterr);
		if (r < 0)
			fprintf(stderr, "run %u, seed %llu: ", i, (unsigned long long)seed);
	}
	return r;
}

int main(int argc, char **argv)
{
	struct campaign c = { .random = 0x9e3779b97f4a7c15 };
	struct fault fault = { "no memory" };
	int r;

	if (argc < 6) {
		fprintf(stderr, "usage: %s MORPH PROGRAM PROFILE WORK RUNS [SEED]\n", argv[0]);
		return 2;
	}
	c.morph = argv[1];
	c.program = argv[2];
	c.profile = argv[3];
	snprintf(c.victim, sizeof(c.victim), "%s/victim", argv[4]);
	snprintf(c.place, sizeof(c.place), "%s/place", argv[4]);
	snprintf(c.out, sizeof(c.out), "%s/out", argv[4]);
	if (argc > 6)
		c.random = strtoull(argv[6], NULL, 10) | 1;
	r = campaign_run(&c, (unsigned)strtoul(argv[5], NULL, 10), &fault);
	if (r < 0)
		fprintf(stderr, "%s\n", fault.text);
	printf("%u made; refused: %u not bitcode, %u not the program, %u by the self-test, %u otherwise; "
	       "%u crashes of the compiler\n",
	       c.n_made, c.n_unreadable, c.n_untrusted, c.n_untested, c.n_otherwise, c.n_crashed);
	buffer_done(&c.expected);
	return r < 0;
}

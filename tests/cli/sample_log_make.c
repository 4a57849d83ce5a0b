/* SPDX-License-Identifier: Apache-2.0 */

/*
 * sample-log-make OUT <DESCRIPTION: a sample log from words on standard input, one thing a line:
 *
 *	rate HZ				samples per second; 0: none
 *	source NAME			cpu-clock, exact
 *	time START_NS DURATION_NS
 *	lost N
 *	kernel N			kernel samples without a place
 *	module KIND PATH BUILD USER SPACE	KIND: file, kernel, vdso, anonymous; BUILD: hexadecimal, "=" that of the
 *						file, "-" none (then size and time of the file, if it is there);
 *						USER: a number, or "-"
 *	at OFFSET N			samples of the last module
 *	in SYMBOL+N COUNT		likewise, N bytes into a function of the file
 *	stack COUNT PROCESS FRAME...	samples of a stack, outermost frame first; FRAME: PATH@SYMBOL+N of a file, PATH@0xN,
 *					"!1" or "!2": cut for that reason (enum stack_cut), else memory without a name
 *	owner COUNT USER PROCESS UNIT	USER: a number, or "-"
 *
 * In PATH, %XX is a byte.
 */

#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "module/image.h"
#include "profiles/samples/sample_log.h"

static _noreturn_ void fail(const char *what)
{
	fprintf(stderr, "sample-log-make: %s\n", what);
	exit(1);
}

static void unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; to++) {
		unsigned byte;

		if (*from == '%' && sscanf(from + 1, "%2x", &byte) == 1) {
			*to = (char)byte;
			from += 3;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

static struct sample_module *module_add(struct sample_log *log, char *words)
{
	char kind[16], path[4096], build[80], user[16];
	struct sample_module like = { .user = SAMPLE_USER_UNKNOWN };
	struct image *image = NULL;
	struct sample_module *module;
	struct stat st;
	int n = sscanf(words, "%15s %4095s %79s %15s %" SCNu32, kind, path, build, user, &like.space);

	if (n != 5)
		fail("module KIND PATH BUILD USER SPACE");
	like.kind = kind[0] == 'f' ? SAMPLE_MODULE_FILE :
		    kind[0] == 'k' ? SAMPLE_MODULE_KERNEL :
		    kind[0] == 'v' ? SAMPLE_MODULE_VDSO :
				     SAMPLE_MODULE_ANONYMOUS;
	unescape(path);
	like.path = path;
	if (user[0] != '-')
		like.user = (uint32_t)strtoul(user, NULL, 10);
	if (build[0] == '=' && image_open(path, &image, NULL) == 0)
		like.build_id = *image_build_id(image);
	else if (build[0] != '-' && build_id_parse(build, &like.build_id) < 0)
		fail("a build ID");
	if (stat(path, &st) == 0) {
		like.file_size = (uint64_t)st.st_size;
		like.mtime_ns = (uint64_t)stat_mtime_ns(&st);
	}
	module = sample_log_module_like(log, &like);
	image_free(image);
	return module;
}

static uint64_t symbol_offset(const char *path, char *text)
{
	char *plus = strrchr(text, '+');
	struct image *image;
	uint64_t offset;

	if (!plus || image_open(path, &image, NULL) < 0)
		fail("in SYMBOL+N COUNT");
	*plus = '\0';
	for (size_t i = 0; i < image_n_symbols(image); i++) {
		const struct image_symbol *s = image_symbol_at(image, i);

		if (strcmp(s->name, text) == 0 &&
		    image_address_to_offset(image, s->address + strtoull(plus + 1, NULL, 0), &offset)) {
			image_free(image);
			return offset;
		}
	}
	fail(text);
}

static struct stack_frame frame_make(struct sample_log *log, char *text)
{
	struct sample_module like = { .kind = SAMPLE_MODULE_ANONYMOUS,
				      .path = text,
				      .user = SAMPLE_USER_UNKNOWN };
	char *at = strchr(text, '@');
	struct stack_frame frame = { 0 };
	struct image *image = NULL;

	if (text[0] == '!') {
		frame.image = stacks_special(&log->stacks, STACK_CUT, "", SAMPLE_USER_UNKNOWN);
		frame.offset = strtoull(text + 1, NULL, 10);
		return frame;
	}
	if (at) {
		*at++ = '\0';
		like.kind = text[0] == '[' ? SAMPLE_MODULE_KERNEL : SAMPLE_MODULE_FILE;
		frame.offset = strncmp(at, "0x", 2) == 0 ? strtoull(at, NULL, 16) : symbol_offset(text, at);
		if (image_open(text, &image, NULL) == 0)
			like.build_id = *image_build_id(image);
	}
	unescape(text);
	frame.image = stacks_image(&log->stacks, &like);
	image_free(image);
	return frame;
}

static void stack_take(struct sample_log *log, char *words)
{
	struct stack_frame frames[STACKS_MAX_FRAMES + 1];
	char *save = NULL, *count = strtok_r(words, " ", &save), *name = strtok_r(NULL, " ", &save), *word;
	size_t n = 0;

	if (!count || !name)
		fail("stack COUNT PROCESS FRAME...");
	unescape(name);
	frames[n++] =
		(struct stack_frame){ stacks_special(&log->stacks, STACK_PROCESS, name, SAMPLE_USER_UNKNOWN),
				      0 };
	while (n < STACKS_MAX_FRAMES && (word = strtok_r(NULL, " ", &save)))
		frames[n++] = frame_make(log, word);
	if (stacks_add(&log->stacks, frames, n, strtoull(count, NULL, 10)) < 0)
		fail("no memory");
}

static void owner_take(struct sample_log *log, const char *words)
{
	char user[16], process[300], unit[300];
	uint64_t count;

	if (sscanf(words, "%" SCNu64 " %15s %299s %299s", &count, user, process, unit) != 4)
		fail("owner COUNT USER PROCESS UNIT");
	unescape(process);
	unescape(unit);
	if (owners_add(&log->owners, process, unit,
		       user[0] == '-' ? SAMPLE_USER_UNKNOWN : (uint32_t)strtoul(user, NULL, 10), count) < 0)
		fail("no memory");
}

static void line_take(struct sample_log *log, struct sample_module **module, char *line)
{
	char word[4096], rest[4096];
	uint64_t a = 0, b = 0;

	if (sscanf(line, "%4095s %4095[^\n]", word, rest) < 2)
		return;
	sscanf(rest, "%" SCNu64 " %" SCNu64, &a, &b);
	if (strcmp(word, "rate") == 0)
		log->rate_hz = strtod(rest, NULL);
	else if (strcmp(word, "source") == 0)
		log->source = rest[0] == 'e' ? SAMPLE_SOURCE_EXACT : SAMPLE_SOURCE_CPU_CLOCK;
	else if (strcmp(word, "time") == 0)
		log->start_ns = a, log->duration_ns = b;
	else if (strcmp(word, "lost") == 0)
		log->lost[SAMPLE_LOSS_NO_MAPPING] = a;
	else if (strcmp(word, "kernel") == 0)
		log->kernel = a;
	else if (strcmp(word, "stack") == 0)
		stack_take(log, rest);
	else if (strcmp(word, "owner") == 0)
		owner_take(log, rest);
	else if (strcmp(word, "module") == 0)
		*module = module_add(log, rest);
	else if (!*module)
		fail("a place before a module");
	else if (strcmp(word, "at") == 0)
		sample_module_add(*module, a, b);
	else if (strcmp(word, "in") == 0 && sscanf(rest, "%4095s %" SCNu64, word, &b) == 2)
		sample_module_add(*module, symbol_offset((*module)->path, word), b);
	else
		fail(line);
}

int main(int argc, char **argv)
{
	struct sample_log *log = sample_log_new();
	struct sample_module *module = NULL;
	uint64_t kernel;
	struct fault fault;
	char line[8192];

	if (argc != 2 || !log)
		fail("OUT, and a description on standard input");
	log->source = SAMPLE_SOURCE_CPU_CLOCK;
	log->n_cpus = 1;
	while (fgets(line, sizeof(line), stdin))
		line_take(log, &module, line);
	sample_log_normalize(log);
	kernel = log->kernel;
	sample_log_balance(log);
	log->kernel += kernel;
	log->fired += kernel;
	if (sample_log_check(log, &fault) < 0 || sample_log_write(log, argv[1], &fault) < 0)
		fail(fault.text);
	sample_log_free(log);
	return 0;
}

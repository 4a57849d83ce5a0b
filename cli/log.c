/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morph log [PATH] [--event=KIND]...: what Morph's services wrote into the system's journal: becomes journalctl(1), which
 * knows the rest (who may see it, pagers, times).
 */

#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/daemon.h"
#include "cli/shared/whose.h"
#include "manager/keep/message_id.h"

#define WORDS_MAX 64

int log_run(int argc, char **argv);

struct words {
	char *rows[WORDS_MAX + 1]; /* NULL-terminated, owned; they live until execvp() */
	size_t n;
	bool bad;
};

static void _printf_(2, 3) word_add(struct words *words, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	if (words->n == WORDS_MAX || vasprintf(&words->rows[words->n], format, ap) < 0)
		words->bad = true;
	else
		words->n++;
	va_end(ap);
}

static int kinds_print(bool as_json)
{
	struct json json = json_to(stdout);

	if (as_json) {
		json_object_begin(&json, NULL);
		json_array_begin(&json, "events");
		for (const struct message_id *m = message_ids; m->kind; m++) {
			json_object_begin(&json, NULL);
			json_string(&json, "event", m->kind);
			json_string(&json, "message_id", m->id);
			json_object_end(&json);
		}
		json_array_end(&json);
		json_object_end(&json);
		return VERB_DONE;
	}
	for (const struct message_id *m = message_ids; m->kind; m++)
		printf("%-12s %s\n", m->kind, m->id);
	return VERB_DONE;
}

static int event_add(struct words *words, const char *kind, struct fault *reterr)
{
	if (!message_id_find(kind))
		return fault_set(reterr, -EINVAL,
				 "--event=%s: no such event; `morph log --events` lists them", kind);
	word_add(words, "MORPH_EVENT=%s", kind);
	return 0;
}

/* Everything, or what is about one program, or of some kinds. */
static int matches_add(struct words *words, const struct words *events, const char *path,
		       struct fault *reterr)
{
	static const char *const identifiers[] = { "morphd", "morph-monitor", "morph-worker", "morph-mount",
						   "morph-fetch" };
	_clean_(freep) char *real = path ? daemon_path(path, reterr) : NULL;
	_clean_(freep) char *shown = real ? text_escaped(real) : NULL; /* as it is in the journal */
	int r = path && !shown ? -ENOENT : 0;

	for (size_t i = 0; r == 0 && i < events->n; i++)
		r = event_add(words, events->rows[i], reterr);
	if (r == 0 && path)
		word_add(words, "MORPH_PATH=%s", shown);
	for (size_t i = 0; r == 0 && !path && !events->n && i < ARRAY_SIZE(identifiers); i++)
		word_add(words, "--identifier=%s", identifiers[i]);
	return r;
}

static int become(struct words *words, const struct words *events, const char *path)
{
	struct fault fault = { "" };

	if (matches_add(words, events, path, &fault) < 0)
		return verb_refuse("log", &fault);
	if (words->bad) {
		fault_set(&fault, -E2BIG, "too many options");
		return verb_refuse("log", &fault);
	}
	fflush(stdout);
	execvp(words->rows[0], words->rows);
	fault_errno(&fault, -errno,
		    "cannot run journalctl; without systemd's journal, `morph history` tells of events");
	return verb_fail("log", &fault);
}

int log_run(int argc, char **argv)
{
	static const struct option table[] = { { "event", required_argument, NULL, 'e' },
					       { "events", no_argument, NULL, 'E' },
					       { "follow", no_argument, NULL, 'f' },
					       { "lines", required_argument, NULL, 'n' },
					       { "since", required_argument, NULL, 's' },
					       { "explain", no_argument, NULL, 'x' },
					       { "json", no_argument, NULL, 'j' },
					       { "help", no_argument, NULL, 'h' },
					       { NULL } };
	static struct words words, events;
	bool lists_kinds = false, as_json = false;
	int option;

	word_add(&words, "journalctl");
	if (whose_is_user())
		word_add(&words, "--user");
	while ((option = getopt_long(argc, argv, "fn:xh", table, NULL)) != -1) {
		switch (option) {
		case 'e': word_add(&events, "%s", optarg); break;
		case 'E': lists_kinds = true; break;
		case 'f': word_add(&words, "--follow"); break;
		case 'n': word_add(&words, "--lines=%s", optarg); break;
		case 's': word_add(&words, "--since=%s", optarg); break;
		case 'x': word_add(&words, "--catalog"); break;
		case 'j':
			as_json = true;
			word_add(&words, "--output=json");
			break;
		case 'h': return verb_help("log");
		default: return verb_usage("log");
		}
	}
	if (optind + 1 < argc || events.bad || (lists_kinds && optind < argc))
		return verb_usage("log");
	if (lists_kinds)
		return kinds_print(as_json);
	return become(&words, &events, argv[optind]);
}

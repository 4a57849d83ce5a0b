/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "cli/shared/demangle.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <search.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/shared/demangle_child.h"

/* --- the process that reads names ----------------------------------------------------------------- */

static struct reader {
	pid_t pid; /* 0: there is none */
	int fd;
	unsigned n_silent; /* ended because it did not answer */
	unsigned n_ended;  /* since the last answer, for whatever reason */
} reader;

static void reader_end(void)
{
	close(reader.fd);
	kill(reader.pid, SIGKILL);
	while (waitpid(reader.pid, NULL, 0) < 0 && errno == EINTR)
		;
	reader.pid = 0;
	reader.n_ended++;
}

static bool reader_begin(void)
{
	int fds[2];
	pid_t parent = getpid();

	if (reader.pid)
		return true;
	if (reader.n_silent >= DEMANGLE_SILENT || reader.n_ended >= DEMANGLE_ENDED ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return false;
	reader.pid = fork();
	if (reader.pid == 0)
		demangle_child_run(fds[1], parent);
	close(fds[1]);
	reader.fd = fds[0];
	if (reader.pid > 0)
		return true;
	close(fds[0]);
	reader.pid = 0;
	reader.n_silent = DEMANGLE_SILENT;
	return false;
}

/* Return: bytes of the answer in @ret, which is terminated; 0: none. */
static size_t ask(const char *symbol, size_t size, char ret[DEMANGLE_BYTES])
{
	struct pollfd wait = { .events = POLLIN };
	ssize_t n = -1;
	int ready = 1;

	if (!reader_begin())
		return 0;
	wait.fd = reader.fd;
	if (send(reader.fd, symbol, size, MSG_NOSIGNAL) == (ssize_t)size) {
		do
			ready = poll(&wait, 1, DEMANGLE_MS);
		while (ready < 0 && errno == EINTR);
		n = recv(reader.fd, ret, DEMANGLE_BYTES - 1, MSG_DONTWAIT);
	}
	if (n <= 0) {
		reader.n_silent += ready <= 0;
		reader_end();
		return 0;
	}
	reader.n_ended = 0;
	ret[n] = 0;
	return strlen(ret);
}

/* --- what was asked before ------------------------------------------------------------------------ */

struct known {
	char *symbol;
	char *text; /* NULL: it stays as it is */
};

static void *known_names; /* tsearch(3) */

static int known_compare(const void *pa, const void *pb)
{
	const struct known *a = pa, *b = pb;

	return strcmp(a->symbol, b->symbol);
}

/* C++: _Z; Rust: _R, and before 2021 as C++. */
static bool is_mangled(const char *symbol)
{
	return symbol[0] == '_' && (symbol[1] == 'Z' || symbol[1] == 'R');
}

static char *text_make(const char *symbol)
{
	const char *number = strchrnul(symbol, '#');
	size_t size = (size_t)(number - symbol), n;
	char answer[DEMANGLE_BYTES], *text;

	if (size >= DEMANGLE_BYTES)
		return NULL;
	n = ask(symbol, size, answer);
	if (!n || asprintf(&text, "%s%s", answer, number) < 0)
		return NULL;
	return text;
}

const char *demangled(const char *symbol)
{
	struct known wanted = { .symbol = (char *)symbol }, *known, **found;

	if (!symbol || !is_mangled(symbol))
		return symbol;
	found = tfind(&wanted, &known_names, known_compare);
	if (found)
		return (*found)->text ?: symbol;
	known = malloc(sizeof(*known));
	wanted.symbol = strdup(symbol);
	wanted.text = text_make(symbol);
	if (known && wanted.symbol) {
		*known = wanted;
		if (tsearch(known, &known_names, known_compare))
			return known->text ?: symbol;
	}
	free(known);
	free(wanted.symbol);
	free(wanted.text);
	return symbol;
}

/* --- what people type ----------------------------------------------------------------------------- */

/* "area" of "geo::area(geo::shape const&)": all letters of it are in the symbol, too, side by side. */
static size_t last_word(const char *text, const char **ret)
{
	const char *end = text + strcspn(text, "(<"), *word;

	if (strstr(text, "operator")) /* the symbol has a code for it */
		return 0;
	while (end > text && !isalnum((unsigned char)end[-1]) && end[-1] != '_')
		end--;
	for (word = end; word > text && (isalnum((unsigned char)word[-1]) || word[-1] == '_');)
		word--;
	*ret = word;
	return (size_t)(end - word);
}

bool demangled_is(const char *symbol, const char *text)
{
	const char *word, *name;
	size_t n = strlen(text), n_word = last_word(text, &word);

	if (strcmp(symbol, text) == 0)
		return true;
	if (!is_mangled(symbol) || (n_word && !memmem(symbol, strlen(symbol), word, n_word)))
		return false;
	name = demangled(symbol);
	return strncmp(name, text, n) == 0 && (!name[n] || name[n] == '(');
}

void demangled_json(struct json *json, const char *symbol)
{
	const char *name = demangled(symbol);

	if (name != symbol)
		json_string(json, "demangled", name);
}

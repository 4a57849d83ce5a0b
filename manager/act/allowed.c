/* SPDX-License-Identifier: Apache-2.0 */

#include "manager/act/allowed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "manager/act/activation.h"
#include "module/array.h"

struct answer {
	char *path; /* owned */
	uint64_t asked_ns;
	int code;
	struct fault fault;
};

struct allowed {
	struct answer *answers; /* owned; sorted by path */
	size_t n, capacity;
};

void allowed_free(struct allowed *allowed)
{
	for (size_t i = 0; allowed && i < allowed->n; i++)
		free(allowed->answers[i].path);
	if (allowed)
		free(allowed->answers);
	free(allowed);
}

static uint64_t age_ns(const struct manager *m)
{
	return ALLOWED_INTERVALS * m->settings.decide_interval_s * 1000000000u;
}

/* What nobody asked for in the meantime is of programs that are no more. */
static void old_forget(struct allowed *allowed, uint64_t now_ns, uint64_t longest_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < allowed->n; i++)
		if (now_ns - allowed->answers[i].asked_ns <= longest_ns)
			allowed->answers[kept++] = allowed->answers[i];
		else
			free(allowed->answers[i].path);
	allowed->n = kept;
}

static size_t place_of(const struct allowed *allowed, const char *path)
{
	return LOWER_BOUND(0, allowed->n, i, strcmp(allowed->answers[i].path, path) < 0);
}

/* A place for @path; NULL: no memory, and then nothing is remembered. */
static struct answer *answer_new(struct allowed *allowed, const char *path)
{
	size_t at = place_of(allowed, path);
	char *copy;

	if (at < allowed->n && strcmp(allowed->answers[at].path, path) == 0)
		return &allowed->answers[at];
	if (!array_reserve(allowed->answers, allowed->n, &allowed->capacity) || !(copy = strdup(path)))
		return NULL;
	memmove(&allowed->answers[at + 1], &allowed->answers[at],
		(allowed->n - at) * sizeof(*allowed->answers));
	allowed->n++;
	allowed->answers[at] = (struct answer){ .path = copy };
	return &allowed->answers[at];
}

int allowed_remembered(struct manager *m, const char *path, struct fault *reterr)
{
	const uint64_t now_ns = manager_monotonic_ns();
	struct fault fault = { "" };
	struct answer *answer;
	size_t at;
	int r;

	if (!m->allowed && !(m->allowed = calloc(1, sizeof(*m->allowed))))
		return fault_errno(reterr, -ENOMEM, "%s", path);
	at = place_of(m->allowed, path);
	if (at < m->allowed->n && strcmp(m->allowed->answers[at].path, path) == 0 &&
	    now_ns - m->allowed->answers[at].asked_ns < age_ns(m)) {
		if (m->allowed->answers[at].code < 0 && reterr)
			*reterr = m->allowed->answers[at].fault;
		return m->allowed->answers[at].code;
	}
	r = activation_may(m, path, &fault);
	if (r < 0 && reterr)
		*reterr = fault;
	old_forget(m->allowed, now_ns, 2 * age_ns(m));
	answer = answer_new(m->allowed, path);
	if (answer) {
		answer->asked_ns = now_ns;
		answer->code = r;
		answer->fault = fault;
	}
	return r;
}

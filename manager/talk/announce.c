/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/talk/announce.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <syslog.h>

#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

#include "base/text.h"
#include "manager/keep/message_id.h"

struct announcer {
	struct manager *manager; /* borrowed */
	int64_t last;		 /* event that was announced */
	sd_event_source *post;
};

static bool journal_is_there(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat st;

	return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
	       fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

#define FIELDS_MAX 8

struct fields {
	struct iovec rows[FIELDS_MAX]; /* owned texts */
	int n;
};

static void fields_done(struct fields *fields)
{
	for (int i = 0; i < fields->n; i++)
		free(fields->rows[i].iov_base);
}

/* One that there is no memory for is left out. */
static void field_add(struct fields *fields, const char *name, const char *before, const char *value)
{
	char *text = NULL;
	int n = asprintf(&text, "%s=%s%s", name, before, value);

	if (n >= 0)
		fields->rows[fields->n++] = (struct iovec){ text, (size_t)n };
}

static void send(const char *kind, const char *path, const char *build_id, const char *text)
{
	const struct message_id *message = message_id_find(kind);
	_clean_(freep) char *shown_path = text_escaped(path ?: ""), *shown_text = text_escaped(text);
	_clean_(freep) char *begin = NULL;
	_clean_(fields_done) struct fields fields = { 0 };
	char priority[2] = { (char)('0' + (message ? message->priority : LOG_INFO)), 0 };

	if (!shown_path || !shown_text || asprintf(&begin, "%s%s", shown_path, path ? ": " : "") < 0)
		return;
	field_add(&fields, "MESSAGE", begin, shown_text);
	field_add(&fields, "PRIORITY", "", priority);
	field_add(&fields, "SYSLOG_IDENTIFIER", "", "morphd");
	field_add(&fields, "MORPH_EVENT", "", kind);
	field_add(&fields, "MORPH_EVENT_TEXT", "", shown_text);
	if (message)
		field_add(&fields, "MESSAGE_ID", "", message->id);
	if (path)
		field_add(&fields, "MORPH_PATH", "", shown_path);
	/* Files without one have another key (docs/format-store.md). */
	if (build_id && !strchr(build_id, ':'))
		field_add(&fields, "MORPH_BUILD_ID", "", build_id);
	sd_journal_sendv(fields.rows, fields.n);
}

static int on_post(_unused_ sd_event_source *source, void *userdata)
{
	struct announcer *a = userdata;
	_clean_(statement_freep) sqlite3_stmt *row = NULL;
	struct fault fault = { "" };
	int r = state_prepare(
		a->manager->state, &row, &fault,
		"SELECT e.id, e.kind, e.path, m.key, e.text, m.path FROM event e LEFT JOIN module m ON "
		"m.id = e.module WHERE e.id > ? ORDER BY e.id LIMIT ?",
		"ii", a->last, (int64_t)ANNOUNCE_AT_ONCE);

	while (r == 0 && (r = state_step(a->manager->state, row, &fault)) == 1) {
		a->last = sqlite3_column_int64(row, 0);
		send((const char *)sqlite3_column_text(row, 1),
		     (const char *)sqlite3_column_text(row, 2) ?: (const char *)sqlite3_column_text(row, 5),
		     (const char *)sqlite3_column_text(row, 3),
		     (const char *)sqlite3_column_text(row, 4) ?: "");
		r = 0;
	}
	if (r < 0)
		manager_log_fault(a->manager, r, &fault);
	return 0;
}

int announce_open(struct manager *m, struct announcer **ret, struct fault *reterr)
{
	_clean_(announcer_freep) struct announcer *a = NULL;
	int r;

	*ret = NULL;
	if (!journal_is_there())
		return 0;
	a = calloc(1, sizeof(*a));
	if (!a)
		return fault_errno(reterr, -ENOMEM, "journal");
	a->manager = m;
	r = state_integer(m->state, &a->last, reterr, "SELECT coalesce(max(id), 0) FROM event", "");
	if (r < 0)
		return r;
	r = sd_event_add_post(m->event, &a->post, on_post, a);
	if (r < 0)
		return fault_errno(reterr, r, "cannot follow events");
	*ret = TAKE(a);
	return 0;
}

void announcer_free(struct announcer *a)
{
	if (!a)
		return;
	sd_event_source_disable_unref(a->post);
	free(a);
}

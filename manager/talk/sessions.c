/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/talk/sessions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "manager/act/queue.h"

#define LOGIN "org.freedesktop.login1"
#define LOGIN_PATH "/org/freedesktop/login1"
#define PROPERTIES "org.freedesktop.DBus.Properties"

#define SESSIONS_MAX 64
#define CLOSE_NS 50000000u /* between two looks, however many signals there are */
#define EDIT_LOOK_US 2000000u

struct sessions {
	struct manager *manager; /* borrowed */
	sd_bus *bus;		 /* borrowed */
	sd_event_source *timer, *post;
	sd_bus_slot *matches[2], *calls[SESSIONS_MAX + 1]; /* the last call is the one for the list */
	unsigned n_open;				   /* calls without an answer */
	bool is_due;					   /* a signal came while it was looked */
	bool is_edited;					   /* an edit is under way, and is watched over */
	uint64_t looked_ns;
	char used_by[sizeof(((struct manager *)0)->used_by)]; /* of this look, so far */
};

/* What step 2 wants to know. */
struct session {
	const char *id, *class;
	int remote, active, idle, locked;
	uint64_t idle_since; /* 0: its hint was never set */
};

static bool is_worked_in(const struct session *session)
{
	return strcmp(session->class, "user") == 0 && !session->remote && session->active && !session->idle &&
	       session->idle_since && !session->locked;
}

/* ---- step 3 ---- */

static void look(struct sessions *s);

static void look_in(struct sessions *s, uint64_t us)
{
	if (sd_event_source_set_time_relative(s->timer, us) >= 0)
		sd_event_source_set_enabled(s->timer, SD_EVENT_ONESHOT);
}

static void look_end(struct sessions *s)
{
	struct manager *m = s->manager;

	if (strcmp(m->used_by, s->used_by) != 0)
		log_debug("%s%s",
			  *s->used_by ? "somebody works at the machine, in session " :
					"nobody works at the machine",
			  s->used_by);
	strcpy(m->used_by, s->used_by);
	if (s->is_due)
		look(s);
	else if (s->is_edited)
		look_in(s, EDIT_LOOK_US);
	else if (*m->used_by)
		look_in(s, m->settings.decide_interval_s * 1000000);
}

static void call_ended(struct sessions *s)
{
	if (--s->n_open == 0)
		look_end(s);
}

/* ---- step 2 ---- */

static int property_read(sd_bus_message *m, const char *name, struct session *ret)
{
	static const struct {
		const char *name, *type;
		size_t at;
	} wanted[] = {
		{ "Id", "s", offsetof(struct session, id) },
		{ "Class", "s", offsetof(struct session, class) },
		{ "Remote", "b", offsetof(struct session, remote) },
		{ "Active", "b", offsetof(struct session, active) },
		{ "IdleHint", "b", offsetof(struct session, idle) },
		{ "LockedHint", "b", offsetof(struct session, locked) },
		{ "IdleSinceHint", "t", offsetof(struct session, idle_since) },
	};

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		if (strcmp(name, wanted[i].name) == 0)
			return sd_bus_message_read(m, "v", wanted[i].type, (char *)ret + wanted[i].at);
	return sd_bus_message_skip(m, "v");
}

static int session_read(sd_bus_message *m, struct session *ret)
{
	const char *name;
	int r = sd_bus_message_enter_container(m, 'a', "{sv}");

	while (r >= 0 && (r = sd_bus_message_enter_container(m, 'e', "sv")) > 0) {
		r = sd_bus_message_read(m, "s", &name);
		if (r >= 0)
			r = property_read(m, name, ret);
		if (r >= 0)
			r = sd_bus_message_exit_container(m);
	}
	return r;
}

/* One that ended meanwhile answers with an error. */
static int on_session(sd_bus_message *m, void *userdata, _unused_ sd_bus_error *error)
{
	struct session session = { .id = "", .class = "" };
	struct sessions *s = userdata;

	if (!sd_bus_message_is_method_error(m, NULL) && session_read(m, &session) >= 0 &&
	    is_worked_in(&session) && !*s->used_by)
		snprintf(s->used_by, sizeof(s->used_by), "%s", *session.id ? session.id : "?");
	call_ended(s);
	return 1;
}

/* ---- step 1 ---- */

static int call(struct sessions *s, sd_bus_slot **slot, const char *path, const char *interface,
		const char *method, const char *argument, sd_bus_message_handler_t handler)
{
	_clean_(sd_bus_message_unrefp) sd_bus_message *m = NULL;
	int r;

	*slot = sd_bus_slot_unref(*slot);
	r = sd_bus_message_new_method_call(s->bus, &m, LOGIN, path, interface, method);
	if (r >= 0)
		r = sd_bus_message_set_auto_start(m, 0);
	if (r >= 0 && argument)
		r = sd_bus_message_append(m, "s", argument);
	if (r >= 0)
		r = sd_bus_call_async(s->bus, slot, m, handler, s, 0);
	s->n_open += r >= 0;
	return r;
}

static int on_list(sd_bus_message *m, void *userdata, _unused_ sd_bus_error *error)
{
	struct sessions *s = userdata;
	const char *path;
	int r = sd_bus_message_is_method_error(m, NULL) ? -ENODATA :
							  sd_bus_message_enter_container(m, 'a', "(susso)");

	for (size_t i = 0; r >= 0 && i < SESSIONS_MAX; i++) {
		r = sd_bus_message_read(m, "(susso)", NULL, NULL, NULL, NULL, &path);
		if (r <= 0)
			break;
		r = call(s, &s->calls[i], path, PROPERTIES, "GetAll", LOGIN ".Session", on_session);
	}
	call_ended(s);
	return 1;
}

static void look(struct sessions *s)
{
	s->is_due = s->n_open > 0;
	if (s->is_due)
		return;
	s->looked_ns = manager_monotonic_ns();
	s->used_by[0] = '\0';
	sd_event_source_set_enabled(s->timer, SD_EVENT_OFF);
	if (call(s, &s->calls[SESSIONS_MAX], LOGIN_PATH, LOGIN ".Manager", "ListSessions", NULL, on_list) < 0)
		look_end(s);
}

static int on_timer(_unused_ sd_event_source *source, _unused_ uint64_t usec, void *userdata)
{
	struct sessions *s = userdata;

	s->is_edited = queue_module(s->manager->queue) != 0;
	look(s);
	return 0;
}

/* Anybody may change the hints of his own session as often as he likes. */
static int on_signal(_unused_ sd_bus_message *m, void *userdata, _unused_ sd_bus_error *error)
{
	struct sessions *s = userdata;
	uint64_t passed_ns = manager_monotonic_ns() - s->looked_ns;

	if (passed_ns >= CLOSE_NS)
		look(s);
	else
		look_in(s, (CLOSE_NS - passed_ns) / 1000);
	return 0;
}

/* After whatever else happened in the loop. */
static int on_post(_unused_ sd_event_source *source, void *userdata)
{
	struct sessions *s = userdata;

	if (s->is_edited || !queue_module(s->manager->queue))
		return 0;
	s->is_edited = true;
	look(s);
	return 0;
}

static int signals_match(struct sessions *s)
{
	int r = sd_bus_add_match_async(s->bus, &s->matches[0],
				       "type='signal',sender='" LOGIN "',interface='" PROPERTIES
				       "',member='PropertiesChanged',path_namespace='" LOGIN_PATH "'",
				       on_signal, NULL, s);

	return r < 0 ? r :
		       sd_bus_add_match_async(s->bus, &s->matches[1],
					      "type='signal',sender='" LOGIN "',interface='" LOGIN
					      ".Manager',path='" LOGIN_PATH "'",
					      on_signal, NULL, s);
}

int sessions_open(struct manager *manager, sd_bus *bus, struct sessions **ret)
{
	struct sessions *s = calloc(1, sizeof(*s));
	int r = s ? 0 : -ENOMEM;

	if (r < 0)
		return r;
	s->manager = manager;
	s->bus = bus;
	r = sd_event_add_time_relative(manager->event, &s->timer, CLOCK_MONOTONIC, 0, 0, on_timer, s);
	if (r >= 0)
		r = sd_event_add_post(manager->event, &s->post, on_post, s);
	if (r >= 0)
		r = signals_match(s);
	if (r < 0) {
		sessions_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

void sessions_free(struct sessions *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(s->calls); i++)
		sd_bus_slot_unref(s->calls[i]);
	for (size_t i = 0; i < ARRAY_SIZE(s->matches); i++)
		sd_bus_slot_unref(s->matches[i]);
	sd_event_source_disable_unref(s->timer);
	sd_event_source_disable_unref(s->post);
	free(s);
}

/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/talk/polkit.h"

#include <errno.h>
#include <string.h>

#include "base/macro.h"

enum answer { ANSWER_PENDING, ANSWER_YES, ANSWER_NO };

/* One question under way, or answered and not yet looked at by the handler that runs again. */
struct question {
	struct question *next;
	sd_bus_message *message; /* owned; its sender is the subject */
	sd_bus_slot *slot;
	uid_t uid;
	enum answer answer;
};

static struct question *questions;

static struct question *question_find(sd_bus_message *message)
{
	for (struct question *q = questions; q; q = q->next)
		if (q->message == message)
			return q;
	return NULL;
}

static void question_free(struct question *question)
{
	for (struct question **at = &questions; *at; at = &(*at)->next) {
		if (*at == question) {
			*at = question->next;
			break;
		}
	}
	sd_bus_slot_unref(question->slot);
	sd_bus_message_unref(question->message);
	free(question);
}

bool polkit_was_asked(sd_bus_message *message)
{
	return question_find(message) != NULL;
}

void polkit_forget(const sd_bus *bus)
{
	for (struct question *q = questions, *next; q; q = next) {
		next = q->next;
		if (sd_bus_message_get_bus(q->message) == bus)
			question_free(q);
	}
}

static int refuse(sd_bus_error *error, const char *refusal)
{
	return sd_bus_error_set(error, SD_BUS_ERROR_ACCESS_DENIED, refusal);
}

/* Each may wait for as long as somebody likes to look at a dialog, and one user may have hundreds of clients. */
static bool is_one_too_many(sd_bus_message *message, uid_t uid)
{
	const char *sender = sd_bus_message_get_sender(message);
	unsigned n = 0, n_own = 0, n_users = 0;

	for (struct question *q = questions; q; q = q->next) {
		const char *other = sd_bus_message_get_sender(q->message);

		n++;
		n_users += q->uid == uid;
		n_own += sender && other && strcmp(sender, other) == 0;
	}
	return n >= POLKIT_QUESTIONS_MAX || n_users >= POLKIT_PER_USER || n_own >= POLKIT_PER_SENDER;
}

static int on_answer(sd_bus_message *reply, void *userdata, _unused_ sd_bus_error *error)
{
	struct question *question = userdata;
	sd_bus_message *message = sd_bus_message_ref(question->message);
	int authorized = 0, challenge;

	if (!sd_bus_message_is_method_error(reply, NULL) &&
	    sd_bus_message_enter_container(reply, 'r', "bba{ss}") > 0 &&
	    sd_bus_message_read(reply, "bb", &authorized, &challenge) < 0)
		authorized = 0;
	question->answer = authorized ? ANSWER_YES : ANSWER_NO;
	/* Dispatch the message again; its handler calls polkit_check() and finds the answer. */
	if (sd_bus_message_rewind(message, 1) < 0 ||
	    sd_bus_enqueue_for_read(sd_bus_message_get_bus(message), message) < 0)
		question_free(question);
	sd_bus_message_unref(message);
	return 1;
}

static int ask(sd_bus_message *message, const char *action, struct question *question)
{
	_clean_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
	const char *sender = sd_bus_message_get_sender(message);
	sd_bus *bus = sd_bus_message_get_bus(message);
	int interactive = sd_bus_message_get_allow_interactive_authorization(message) > 0;
	int r = sender ? sd_bus_message_new_method_call(bus, &call, "org.freedesktop.PolicyKit1",
							"/org/freedesktop/PolicyKit1/Authority",
							"org.freedesktop.PolicyKit1.Authority",
							"CheckAuthorization") :
			 -EBADMSG;

	if (r >= 0)
		r = sd_bus_message_append(call, "(sa{sv})sa{ss}us", "system-bus-name", 1, "name", "s", sender,
					  action, 0, interactive ? 1u : 0u, NULL);
	/* No time limit: somebody may be typing. */
	return r < 0 ? r : sd_bus_call_async(bus, &question->slot, call, on_answer, question, UINT64_MAX);
}

int polkit_check(sd_bus_message *message, uid_t uid, const char *action, const char *refusal,
		 sd_bus_error *error)
{
	struct question *question = question_find(message);

	if (question && question->answer != ANSWER_PENDING) {
		bool yes = question->answer == ANSWER_YES;

		question_free(question);
		return yes ? 1 : refuse(error, refusal);
	}
	if (!question && is_one_too_many(message, uid))
		return sd_bus_error_set(error, SD_BUS_ERROR_LIMITS_EXCEEDED,
					"too many questions to polkit; answer those first");
	question = question ? NULL : calloc(1, sizeof(*question));
	if (!question)
		return refuse(error, refusal);
	question->message = sd_bus_message_ref(message);
	question->uid = uid;
	question->next = questions;
	questions = question;
	if (ask(message, action, question) >= 0)
		return 0;
	question_free(question);
	return refuse(error, refusal);
}

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * polkit.h - ask polkit whether the sender of a system bus message may do something
 *
 * The answer may take as long as it takes a person to type a password, so it is awaited beside
 * everything else: the first call of a method sends the question and returns, the answer calls the
 * method's handler again, which then finds it.
 */

#include <stdbool.h>
#include <sys/types.h>
#include <systemd/sd-bus.h>

#define POLKIT_QUESTIONS_MAX 64u
#define POLKIT_PER_USER 8u
#define POLKIT_PER_SENDER 4u

/**
 * polkit_check() - @action: e.g. "org.morph.manage", defined in systemd/org.morph.policy
 * @uid: whose message it is; @refusal: what to say when it is not permitted
 * No more than POLKIT_QUESTIONS_MAX questions are under way, no more than POLKIT_PER_USER of one user's, and no more than
 * POLKIT_PER_SENDER of one client's.
 * Return: 1: permitted; 0: asked, the handler will run again, so return 1 from it now; negative with
 * @error set: refused, or there is no polkit.
 */
int polkit_check(sd_bus_message *message, uid_t uid, const char *action, const char *refusal,
		 sd_bus_error *error);

/** polkit_was_asked() - does the handler of @message run again, because of a question about it? */
bool polkit_was_asked(sd_bus_message *message);

/** polkit_forget() - all questions about messages of @bus, which is being left: nobody will answer them */
void polkit_forget(const sd_bus *bus);

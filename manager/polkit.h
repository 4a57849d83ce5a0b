/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * polkit.h - ask polkit whether the sender of a system bus message may do something
 *
 * The answer may take as long as it takes a person to type a password, so it is awaited beside
 * everything else: the first call of a method sends the question and returns, the answer calls the
 * method's handler again, which then finds it.
 */

#include <systemd/sd-bus.h>

/**
 * polkit_check() - @action: e.g. "org.morph.manage", defined in systemd/org.morph.policy
 * Return: 1: permitted; 0: asked, the handler will run again, so return 1 from it now; negative with
 * @error set: refused, or there is no polkit.
 */
int polkit_check(sd_bus_message *message, const char *action, sd_bus_error *error);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * exceptions.h - what edits of a program leave as it was shipped (manager/keep/kept.h), as words for the editor
 */

#include "manager/keep/catalog.h"
#include "manager/keep/context.h"

/**
 * exceptions_words() - --as-shipped-if=HASH:FUNCTION, --without=PASS, --cpu=shipped for every path where the module stands
 * @asked_for: the path that somebody asked for; NULL: nobody did
 * @ret: NULL-terminated, owned by the caller (paths_free()); empty when there are none
 * Return: 0; -EINVAL: there are some, and the configured command has no {kept} to put them; -errno
 */
int exceptions_words(struct manager *manager, const struct module_row *module, const char *asked_for,
		     char ***ret, struct fault *reterr);

/**
 * exceptions_learn() - from the editor's report: which of them held, and which have lapsed; the latter is an event
 * What the report does not name stays as it was. Call it while the report lies in the work directory.
 */
int exceptions_learn(struct manager *manager, const struct module_row *module, const char *asked_for,
		     struct fault *reterr);

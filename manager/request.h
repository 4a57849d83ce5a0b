/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * request.h - what users ask of morphd: the queue of edits; rollback and pins are in manager.h
 */

#include "manager/manager.h"

/** requests_free() - every waiting request hears -ECANCELED */
void requests_free(struct manager *manager);

/** edit_start_failed() - enter in the module's record that no edit could be started; returns 0 or an error */
int edit_start_failed(struct manager *manager, int64_t module, int code, struct fault *reterr);

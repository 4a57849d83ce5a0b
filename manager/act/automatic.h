/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * automatic.h - which programs are edited without anybody asking
 */

#include "manager/act/queue.h"

/**
 * automatic_edits() - the verdict on every module that carries IR, noted; the first that may be edited goes into @queue, at once
 * or half a second later, when the machine was quiet meanwhile (quiet.h)
 */
int automatic_edits(struct manager *manager, struct queue *queue, struct fault *reterr);

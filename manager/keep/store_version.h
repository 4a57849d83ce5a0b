/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * store_version.h - STORE/version: which Morph's descriptions these are, so that an older one leaves them alone
 */

#include "base/fault.h"

#define STORE_VERSION \
	2 /* of the descriptions; 1, or a store without a number: targets do not tell how many names they had */

/**
 * store_check_version() - may this Morph write to it?
 * Return: 0; -EPROTONOSUPPORT: a newer one wrote it, and has to be installed again; -EBADMSG: its number cannot be read
 */
int store_check_version(const char *store, struct fault *reterr);
/** store_put_version() - write it down; nothing happens when it is there already. After store_check_version() */
int store_put_version(const char *store, struct fault *reterr);

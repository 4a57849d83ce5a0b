/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * bus_name.h - the names under which morphd and its clients meet (docs/decisions/0060)
 */

#define BUS_NAME "org.morph.Manager1"
#define BUS_PATH "/org/morph/Manager1"
#define BUS_INTERFACE "org.morph.Manager1"
#define BUS_ERROR "org.morph.Error.Failed"
#define BUS_ERROR_NOT_KNOWN \
	"org.morph.Error.NotKnown" /* by a reader, of a path without a row that the caller may see */

#define BUS_SOCKET_DIRECTORY "/run/morph"
#define BUS_SOCKET_NAME "socket" /* in the runtime directory */

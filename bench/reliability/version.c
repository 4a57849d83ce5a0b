/* SPDX-License-Identifier: Apache-2.0 */
/* Linked to programs that are upgraded: each says which version it is. */

#include <stdio.h>

__attribute__((constructor)) static void version_say(void)
{
	fprintf(stderr, "version %d\n", VERSION);
}

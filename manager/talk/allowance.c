/* SPDX-License-Identifier: Apache-2.0 */

#include "manager/talk/allowance.h"

#include "base/macro.h"

bool allowance_take(struct allowance *a, uid_t uid, uint64_t now_ns)
{
	unsigned at = 0;
	bool known = false;

	for (unsigned i = 0; i < ALLOWANCE_USERS && !known; i++) {
		known = a->users[i].last_ns && a->users[i].uid == uid;
		if (known || a->users[i].last_ns < a->users[at].last_ns)
			at = i;
	}
	if (!known) {
		a->users[at].uid = uid;
		a->users[at].tokens = ALLOWANCE_BURST;
	} else {
		a->users[at].tokens += (double)(now_ns - a->users[at].last_ns) / 1e9 * ALLOWANCE_PER_SECOND;
		a->users[at].tokens = MIN(a->users[at].tokens, (double)ALLOWANCE_BURST);
	}
	a->users[at].last_ns = now_ns;
	if (a->users[at].tokens < 1)
		return false;
	a->users[at].tokens--;
	return true;
}

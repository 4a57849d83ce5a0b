/* SPDX-License-Identifier: Apache-2.0 */

#include "manager/keep/message_id.h"

#include <stddef.h>
#include <string.h>
#include <syslog.h>

#include "manager/keep/journal.h"

const struct message_id message_ids[] = {
	{ EVENT_SEEN, "d223ee0c6bc940b796c1d8fb5139f758", LOG_INFO },
	{ EVENT_DAMAGED, "e944378edadc4fce9c63c028fd11768a", LOG_WARNING },
	{ EVENT_FETCHED, "033c89b291c54ddc9b7cad5be6a0ece0", LOG_INFO },
	{ EVENT_PRIOR, "89b4e27946ac4a079018f7010d20b7a8", LOG_INFO },
	{ EVENT_STARTED, "22832f97db8d454e8a1180ecfee7e3a4", LOG_INFO },
	{ EVENT_FAILED, "c054d35259794e4b9ce83f91751f80b9", LOG_WARNING },
	{ EVENT_BUILT, "9df4c39dc04148fe963929c094953917", LOG_INFO },
	{ EVENT_ACTIVATED, "2652c9ff9c584c48a029842f984a6928", LOG_NOTICE },
	{ EVENT_ROLLED_BACK, "a30e286294d045229d3d6d7c1682aebe", LOG_NOTICE },
	{ EVENT_UPGRADED, "45dfc51c8d0342cea33426e0d3a45856", LOG_INFO },
	{ EVENT_PINNED, "be3120f2e936449283ec1ef69b2790f4", LOG_INFO },
	{ EVENT_UNPINNED, "d832fae37dc3447682c55fa943978632", LOG_INFO },
	{ EVENT_LAPSED, "d3451803186d427f856b46d42bee9ccc", LOG_NOTICE },
	{ EVENT_CRASHED, "86bcb595baa94c60a68b4a1818a6a115", LOG_WARNING },
	{ EVENT_CONDEMNED, "a108da9979b34b548ee9b168aa6a420d", LOG_WARNING },
	{ EVENT_PARDONED, "5ed99adc88e540a7a8339581e466ff37", LOG_INFO },
	{ EVENT_WATCHED, "d2340f2a7f624120a32579ca0faae84b", LOG_INFO },
	{ EVENT_REPAIRED, "59b324a245c84f04b3b526d423d6c000", LOG_NOTICE },
	{ EVENT_DATABASE, "4d567906d6b34f49a995643f4fd633d2", LOG_WARNING },
	{ EVENT_DROPPED, "20aecd1b8ad341a582b5c7cb778746b6", LOG_INFO },
	{ NULL, NULL, 0 },
};

const struct message_id *message_id_find(const char *kind)
{
	for (const struct message_id *m = message_ids; m->kind; m++)
		if (strcmp(m->kind, kind) == 0)
			return m;
	return NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */

#include "profiles/samples/import.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define ROW(name) &importer_##name,

static const struct importer *const importers[] = { IMPORTERS(ROW) };

struct named importer_at(size_t i)
{
	return i < ARRAY_SIZE(importers) ? (struct named){ importers[i]->name, importers[i]->title } :
					   (struct named){ NULL, NULL };
}

int import_read(const char *path, const char *event, struct sample_log **ret,
		struct import_summary *retsummary, struct fault *reterr)
{
	_clean_(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	uint8_t head[IMPORT_HEAD_BYTES];
	char list[128];
	ssize_t n;

	if (fd < 0)
		return fault_errno(reterr, -errno, "%s", path);
	n = read(fd, head, sizeof(head));
	if (n < 0 && errno != EISDIR)
		return fault_errno(reterr, -errno, "%s", path);
	for (size_t i = 0; i < ARRAY_SIZE(importers); i++)
		if (importers[i]->knows(head, n > 0 ? (size_t)n : 0))
			return importers[i]->read(path, event, ret, retsummary, reterr);
	return fault_set(reterr, -EBADMSG, "%s: nothing that can be imported; what can: %s", path,
			 names_join(importer_at, list, sizeof(list)));
}

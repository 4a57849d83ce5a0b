/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * config_tree.h - a configuration file and the drop-ins beside it, as systemd and many others have them
 *
 * FILE first, then every FILE.d/NAME.conf in the order of the bytes of NAME; a later line for a key replaces an
 * earlier one. Packages and administrators' tools write drop-ins and leave the file alone. Names that begin with a
 * dot, and what does not end in ".conf", do not count. A link that leads to no file is an error: what it would have said
 * is not known.
 */

#include "base/config_file.h"
#include "base/macro.h"

struct config_origin {
	char *file; /* owned; NULL: the value is not from a file */
	unsigned line;
};

/** Where each value is from: an entry for each key, in the order of the table. */
struct config_origins {
	struct config_origin *at;
	size_t n;
};

void config_origins_done(struct config_origins *origins);
static inline void config_origins_donep(struct config_origins *origins)
{
	config_origins_done(origins);
}

/**
 * config_tree_read() - take FILE and its drop-ins into @settings
 * @origins: zeroed, or NULL; filled also when an error is returned
 * Return: 0; -ENOENT when there is neither @path nor a drop-in; -EBADMSG: a drop-in leads nowhere; else as
 * config_file_read(). After an error @settings is valid, but may hold values from before.
 */
int config_tree_read(const char *path, const struct config_key *keys, void *settings,
		     struct config_origins *origins, struct fault *reterr);

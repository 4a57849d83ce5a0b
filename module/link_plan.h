/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * link_plan.h - all that linking the program again needs, on a machine with runtime libraries only
 *
 * The linker's command line in order, with every input replaced by what it was:
 *	an argument	kept as it is (-z now, --hash-style=gnu, -dynamic-linker ...)
 *	an object	its bytes: crt files, assembly, members pulled from archives
 *	a shared library its soname, as DT_NEEDED has it: looked up again on the host, needed or not
 *	a file argument	bytes too: version script, dynamic list, linker script
 *	the IR		one marker: here stand the objects that codegen makes, in module order
 *
 * Linking again is ld.lld with these in order and -o. Not in a plan, for whoever links to decide: the
 * build ID, stripping (struct morph_data says whether the shipped file was), the order of symbols,
 * anything about LTO.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/fault.h"
#include "base/macro.h"

enum link_input_kind {
	LINK_ARGUMENT = 1, /* text */
	LINK_OBJECT = 2,   /* text: name for messages; bytes */
	LINK_SHARED = 3,   /* text: soname */
	LINK_FILE = 4,	   /* text: option that takes the file, "--version-script="; bytes */
	LINK_IR = 5,
};

struct link_input {
	enum link_input_kind kind;
	char *text;	      /* owned */
	const uint8_t *bytes; /* borrowed from whoever built the plan, or from its encoded form */
	size_t size;
};

struct link_plan {
	struct link_input *inputs; /* owned */
	size_t n_inputs, capacity;
};

/** link_plan_add() - append; @text is copied, @bytes borrowed; 0 or -ENOMEM */
int link_plan_add(struct link_plan *plan, enum link_input_kind kind, const char *text, const void *bytes,
		  size_t size);
void link_plan_free(struct link_plan *plan); /* accepts NULL */
DEFINE_CLEANUP(struct link_plan *, link_plan_free);

void link_plan_encode(const struct link_plan *plan, struct buffer *ret);
/** link_plan_decode() - @bytes must outlive the plan; -EBADMSG with @reterr, -ENOMEM */
int link_plan_decode(const void *bytes, size_t size, struct link_plan **ret, struct fault *reterr);

/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/steps/proofs.h"

#include <errno.h>
#include <stdlib.h>

#include "editor/steps/objects.h"
#include "editor/trust/facts.h"

#define PROOFS_BYTES (4u << 20) /* of bitcode; in memory it is some ten times that */

struct proof {
	struct buffer bitcode[2]; /* with facts, without */
	const struct name_set *wanted;
	struct name_set *unproven;
};

struct proofs {
	struct proof list[PROOFS_MAX];
	size_t n, bytes;
};

struct proofs *proofs_new(void)
{
	return calloc(1, sizeof(struct proofs));
}

static void proofs_forget(struct proofs *proofs)
{
	for (size_t i = 0; i < proofs->n; i++) {
		buffer_done(&proofs->list[i].bitcode[0]);
		buffer_done(&proofs->list[i].bitcode[1]);
	}
	proofs->n = 0;
	proofs->bytes = 0;
}

void proofs_free(struct proofs *proofs)
{
	if (proofs)
		proofs_forget(proofs);
	free(proofs);
}

int proofs_add(struct proofs *proofs, LLVMModuleRef module, const struct name_set *wanted,
	       struct name_set *unproven, struct fault *reterr)
{
	struct proof *proof = &proofs->list[proofs->n];
	int r;

	if (proofs->n == PROOFS_MAX)
		return fault_set(reterr, -ENOMEM, "proving code: more than %u modules at once", PROOFS_MAX);
	*proof = (struct proof){ .wanted = wanted, .unproven = unproven };
	r = facts_proof_make(module, wanted, proof->bitcode, unproven, reterr);
	proofs->n++;
	proofs->bytes += proof->bitcode[0].size + proof->bitcode[1].size;
	return r;
}

bool proofs_are_many(const struct proofs *proofs)
{
	return proofs->n == PROOFS_MAX || proofs->bytes >= PROOFS_BYTES;
}

static int codes_generate(struct proofs *proofs, struct edit *edit, struct fault *reterr)
{
	struct codegen_input inputs[2 * PROOFS_MAX];

	for (size_t i = 0; i < 2 * proofs->n; i++) {
		const struct buffer *bitcode = &proofs->list[i / 2].bitcode[i % 2];

		inputs[i] = (struct codegen_input){ i % 2 ? "without facts" : "with facts", bitcode->data,
						    bitcode->size };
	}
	return objects_generate(edit, inputs, 2 * proofs->n, (const char *[]){ NULL }, "proof", reterr);
}

static int codes_compare(struct proofs *proofs, struct edit *edit, size_t i, struct fault *reterr)
{
	const struct proof *proof = &proofs->list[i];
	char with[PATH_MAX], without[PATH_MAX];

	edit_path(edit, with, "proof-%zu.o", 2 * i);
	edit_path(edit, without, "proof-%zu.o", 2 * i + 1);
	return facts_proof_compare(with, without, proof->wanted, proof->unproven, reterr);
}

int proofs_run(struct proofs *proofs, struct edit *edit, struct fault *reterr)
{
	int r = proofs->n ? codes_generate(proofs, edit, reterr) : 0;

	for (size_t i = 0; i < proofs->n && r == 0; i++)
		r = codes_compare(proofs, edit, i, reterr);
	proofs_forget(proofs);
	return r;
}

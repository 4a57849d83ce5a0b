/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>

#include "arch/arch.h"
#include "editor/count/prediction.h"
#include "editor/steps/generation.h"
#include "editor/steps/objects.h"

int pass_sign(struct edit *edit, struct fault *reterr)
{
	_clean_(image_freep) struct image *image = NULL;
	_clean_(block_map_freep) struct block_map *map = NULL;
	int r = linked_open(edit->out, &image, &map, reterr);

	if (r < 0)
		return r;
	if (block_map_adopt_probes(map, edit->counted) < 0)
		return fault_errno(reterr, -ENOMEM, "describing the generation");
	block_map_free(edit->counted);
	edit->counted = NULL;
	r = arch_require(image_machine(edit->program), image_path(edit->program), reterr);
	if (r < 0)
		return r;
	/* pass_dispatch() may have asked already. */
	if ((!(edit->report->before.instructions > 0) &&
	     prediction_make(edit->program, edit->data->map, edit->profile, &edit->report->before) < 0) ||
	    prediction_make(image, map, edit->profile, &edit->report->after) < 0)
		return fault_errno(reterr, -ENOMEM, "predicting the gain");
	edit->report->text_after = generation_text_bytes(image);
	return generation_sign(edit->out, map, edit->data, edit->options, edit->report, reterr);
}

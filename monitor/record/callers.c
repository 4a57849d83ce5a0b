/* SPDX-License-Identifier: Apache-2.0 */

#include "monitor/record/callers.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

/* What of a drain is the same for many frames. */
struct work {
	const struct callers *callers;
	struct stacks *stacks;
	uint32_t *images; /* owned; of the catalog's modules, + 1; 0: not looked for yet */
	size_t n_images;
	uint32_t cut, anonymous, unknown; /* images */
};

static uint32_t image_of(struct work *work, uint32_t number)
{
	const struct catalog_module *module = catalog_at(work->callers->catalog, number);
	struct sample_module like = { .kind = module->kind,
				      .build_id = module->build_id,
				      .path = module->path,
				      .file_size = module->size,
				      .mtime_ns = module->mtime_ns,
				      .space = module->space,
				      .user = SAMPLE_USER_UNKNOWN };
	uint32_t image;

	if (number < work->n_images && work->images[number])
		return work->images[number] - 1;
	image = stacks_image(work->stacks, &like);
	if (number < work->n_images && image != INTERNED_NONE)
		work->images[number] = image + 1;
	return image;
}

static struct stack_frame frame_of(struct work *work, uint32_t module, uint32_t user, uint64_t offset)
{
	const struct callers *callers = work->callers;
	uint32_t number = CATALOG_NONE;

	switch (module) {
	case SAMPLER_ANONYMOUS: return (struct stack_frame){ work->anonymous, 0 };
	case SAMPLER_KERNEL:
		if (!offset || !kernel_map_find(callers->kernel, offset, &number, &offset))
			number = CATALOG_NONE;
		break;
	case SAMPLER_VDSO: number = catalog_vdso(callers->catalog); break;
	default:
		if (module >= SAMPLER_FIRST_FILE)
			number = resolver_find(callers->resolver, module, user);
	}
	if (number == CATALOG_NONE)
		return (struct stack_frame){ work->unknown, 0 };
	return (struct stack_frame){ image_of(work, number), offset };
}

/* The kernel side has innermost frames first. */
static int stack_add(struct work *work, const struct sampler_stack *stack, uint64_t count)
{
	struct stack_frame frames[SAMPLER_FRAMES + 2];
	char name[SAMPLER_COMM_BYTES + 1] = "";
	size_t n = 0, n_frames = MIN(stack->n, SAMPLER_FRAMES);

	static_assert(ARRAY_SIZE(frames) <= STACKS_MAX_FRAMES, "a stack has room for all");
	memcpy(name, stack->comm, SAMPLER_COMM_BYTES);
	frames[n++].image = stacks_special(work->stacks, STACK_PROCESS, name, stack->user);
	frames[0].offset = 0;
	if (stack->cut)
		frames[n++] = (struct stack_frame){ work->cut, stack->cut };
	for (size_t i = n_frames; i-- > 0;)
		frames[n++] = frame_of(work, stack->modules[i], stack->user, stack->offsets[i]);
	return stacks_add(work->stacks, frames, n, count);
}

int callers_add(const struct callers *callers, const struct sampler_drained *drained, struct stacks *ret)
{
	/* The kernel's modules, at most, come in while we work: they are looked for each time. */
	size_t n = catalog_size(callers->catalog);
	_clean_(freep) uint32_t *images = calloc(n + 1, sizeof(*images));
	struct work work = { callers, ret, images, n, 0, 0, 0 };
	uint64_t lost = drained->counters.n[SAMPLER_STACKS_LOST];
	int r = 0;

	if (!images)
		return -ENOMEM;
	work.cut = stacks_special(ret, STACK_CUT, "", SAMPLE_USER_UNKNOWN);
	work.anonymous = stacks_special(ret, SAMPLE_MODULE_ANONYMOUS, "[anonymous]", SAMPLE_USER_UNKNOWN);
	work.unknown = stacks_special(ret, SAMPLE_MODULE_ANONYMOUS, "[unknown]", SAMPLE_USER_UNKNOWN);
	for (size_t i = 0; r == 0 && i < drained->n_stacks; i++)
		r = stack_add(&work, &drained->stacks[i], drained->stack_every);
	ret->n_lost += lost * drained->stack_every;
	return r;
}

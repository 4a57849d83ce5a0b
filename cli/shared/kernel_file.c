/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "cli/shared/kernel_file.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/macro.h"
#include "cli/shared/debug_symbols.h"

static const struct image_symbol *text_symbol(const struct image *image)
{
	for (size_t i = 0; i < image_n_symbols(image); i++)
		if (strcmp(image_symbol_at(image, i)->name, "_text") == 0)
			return image_symbol_at(image, i);
	return NULL;
}

bool kernel_file_is(const struct sample_module *module, const struct image *image)
{
	return module->kind == SAMPLE_MODULE_KERNEL && module->build_id.size &&
	       build_id_is_equal(image_build_id(image), &module->build_id) && text_symbol(image);
}

/* By build ID, else by the name of the kernel that runs, if it is the one that was sampled. */
char *kernel_file_find(const struct sample_module *module, const char *directory)
{
	char paths[2][PATH_MAX] = { "", "" };
	struct utsname names;

	if (module->build_id.size >= 2)
		(void)debug_path(&module->build_id, directory, paths[0]);
	if (uname(&names) == 0)
		(void)snprintf(paths[1], PATH_MAX, "%s/boot/vmlinux-%s",
			       directory ? directory : DEBUG_DIRECTORY, names.release);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		_clean_(image_freep) struct image *image = NULL;

		if (image_open(paths[i], &image, NULL) == 0 && kernel_file_is(module, image))
			return strdup(paths[i]);
	}
	return NULL;
}

struct sample_module *kernel_file_samples(const struct sample_module *module, const struct image *image)
{
	const struct image_symbol *text = text_symbol(image);
	struct sample_module *ret = calloc(1, sizeof(*ret));

	if (!ret)
		return NULL;
	*ret = (struct sample_module){ .kind = SAMPLE_MODULE_FILE,
				       .build_id = module->build_id,
				       .user = module->user,
				       .total = module->total };
	ret->counts = calloc(module->n_counts + 1, sizeof(*ret->counts));
	for (size_t i = 0; ret->counts && text && i < module->n_counts; i++) {
		struct sample_count *count = &ret->counts[ret->n_counts];

		if (!image_address_to_offset(image, text->address + module->counts[i].offset, &count->offset))
			continue;
		count->count = module->counts[i].count;
		ret->n_counts++;
	}
	if (!ret->counts) {
		free(ret);
		return NULL;
	}
	return ret;
}

void kernel_samples_free(struct sample_module *samples)
{
	if (samples)
		free(samples->counts);
	free(samples);
}

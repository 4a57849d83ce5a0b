/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/benchmark/benchmark_of.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "module/image.h"
#include "module/morph_data.h"

int benchmark_of(const char *path, const char *sidecar_dir, char **ret, struct fault *reterr)
{
	_clean_(image_freep) struct image *image = NULL;
	_clean_(morph_data_freep) struct morph_data *data = NULL;
	int r = image_open(path, &image, reterr);

	if (r == 0)
		r = morph_data_load(image, sidecar_dir, &data, reterr);
	if (r < 0)
		return r;
	if (!data->benchmark)
		return fault_set(
			reterr, -ENODATA,
			"%s: its packager gave no benchmark (morph cc --morph-benchmark=); give a command",
			SHOWN(path));
	*ret = strdup(data->benchmark);
	return *ret ? 0 : fault_errno(reterr, -ENOMEM, "%s", path);
}

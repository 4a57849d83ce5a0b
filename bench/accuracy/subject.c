/* SPDX-License-Identifier: Apache-2.0 */

#include "bench/accuracy/subject.h"

#include <errno.h>
#include <string.h>

static int program_counts(struct subject *p, char *paths, struct fault *reterr)
{
	const char *path = image_path(p->image), *slash = strrchr(path, '/');
	struct callgrind callgrind = { 0 };
	int r = 0;

	for (char *at = strtok(paths, ","); r == 0 && at; at = strtok(NULL, ","))
		r = callgrind_read(&callgrind, at, slash ? slash + 1 : path, reterr);
	if (r == 0 && truth_init(&callgrind, p->image, p->map, &p->truth) < 0)
		r = fault_errno(reterr, -ENOMEM, "%s", path);
	callgrind_done(&callgrind);
	return r;
}

int subject_open(struct subject *p, char *spec, struct fault *reterr)
{
	char *binary = strchr(spec, '='), *samples = binary ? strchr(binary, ',') : NULL;
	char *counts = samples ? strchr(samples + 1, ',') : NULL;
	int r;

	if (!counts)
		return fault_set(reterr, -EINVAL, "\"%s\" is not NAME=BINARY,SAMPLES,CALLGRIND...", spec);
	*binary++ = *samples++ = *counts++ = '\0';
	p->name = spec;
	r = image_open(binary, &p->image, reterr);
	if (r == 0)
		r = morph_data_load(p->image, NULL, &p->data, reterr);
	if (r == 0 && !(p->map = p->data->map))
		r = fault_set(reterr, -ENODATA, "%s: its Morph data has no block map", binary);
	if (r == 0)
		r = sample_log_read(samples, &p->log, reterr);
	if (r == 0)
		r = sample_log_unite(p->log);
	if (r < 0)
		return fault_prefix(reterr, r, "%s", p->name);
	p->module = sample_log_find(p->log, image_build_id(p->image));
	if (!p->module)
		return fault_set(reterr, -ENOENT, "%s: no samples of %s in %s", p->name, binary, samples);
	return program_counts(p, counts, reterr);
}

void subject_done(struct subject *p)
{
	truth_done(&p->truth);
	sample_log_free(p->log);
	morph_data_free(p->data);
	image_free(p->image);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* morph dump: sample logs, events, profiles, block maps, and what a linked program carries, as text or JSON. */

#include "cli/verb.h"

#include <errno.h>
#include <string.h>

#include "base/container.h"
#include "base/file.h"
#include "cli/file_verb.h"
#include "module/block_map.h"
#include "module/morph_data.h"
#include "profiles/samples/lifecycle.h"
#include "profiles/samples/sample_log.h"
#include "profiles/store/profile.h"

int dump_run(int argc, char **argv);

static int sample_log_show(const struct file_map *map, bool as_json, struct fault *reterr)
{
	_clean_(sample_log_freep) struct sample_log *log = NULL;
	int r = sample_log_decode(map->data, map->size, &log, reterr);

	if (r == 0 && as_json)
		sample_log_dump_json(log, stdout);
	else if (r == 0)
		sample_log_dump(log, stdout);
	return r;
}

static int events_show(const struct file_map *map, bool as_json, struct fault *reterr)
{
	_clean_(lifecycle_donep) struct lifecycle events = { 0 };
	int r = lifecycle_decode((const char *)map->data, map->size, &events, reterr);

	if (r == 0 && as_json)
		lifecycle_dump_json(&events, stdout);
	else if (r == 0)
		lifecycle_dump(&events, stdout);
	return r;
}

static bool is_events(const struct file_map *map)
{
	return map->size >= strlen(LIFECYCLE_MAGIC) &&
	       memcmp(map->data, LIFECYCLE_MAGIC, strlen(LIFECYCLE_MAGIC)) == 0;
}

static int profile_show(const struct file_map *map, bool as_json, struct fault *reterr)
{
	_clean_(profile_freep) struct profile *profile = NULL;
	int r = profile_decode(map->data, map->size, &profile, reterr);

	if (r == 0 && as_json)
		profile_dump_json(profile, stdout);
	else if (r == 0)
		profile_dump(profile, stdout);
	return r;
}

static int map_show(const struct block_map *map, bool as_json)
{
	if (as_json)
		block_map_dump_json(map, stdout);
	else
		block_map_dump(map, stdout);
	return 0;
}

static int data_show(const struct morph_data *data, bool as_json)
{
	if (as_json)
		morph_data_dump_json(data, stdout);
	else
		morph_data_dump(data, stdout);
	return 0;
}

static int sidecar_show(const struct file_map *map, bool as_json, struct fault *reterr)
{
	_clean_(morph_data_freep) struct morph_data *data = NULL;
	int r = morph_data_decode(map->data, map->size, &data, reterr);

	return r < 0 ? r : data_show(data, as_json);
}

static int block_map_show(const struct file_map *file, bool as_json, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer payload = { 0 };
	_clean_(block_map_freep) struct block_map *map = NULL;
	int r = container_unpack(file->data, file->size, CONTAINER_BLOCK_MAP, BLOCK_MAP_VERSION, &payload,
				 reterr);

	if (r == 0)
		r = block_map_decode(payload.data, payload.size, &map, reterr);
	return r < 0 ? r : map_show(map, as_json);
}

/* A linked program: its Morph data, or the linker's own sections where nothing was packed. */
static int program_show(const char *path, const char *dir, bool as_json, struct fault *reterr)
{
	_clean_(morph_data_freep) struct morph_data *data = NULL;
	_clean_(block_map_freep) struct block_map *map = NULL;
	_clean_(image_freep) struct image *image = NULL;
	int r = image_open(path, &image, reterr);

	if (r < 0)
		return r;
	r = morph_data_load(image, dir, &data, reterr);
	if (r == 0)
		return data_show(data, as_json);
	if (r == -ENODATA && block_map_build(image, &map, NULL) == 0)
		return map_show(map, as_json);
	return r;
}

static int file_show(const char *path, const struct file_map *map, bool as_json, struct fault *reterr)
{
	unsigned kind, version;
	int r;

	if (is_events(map)) {
		r = events_show(map, as_json, reterr);
		return r < 0 ? fault_prefix(reterr, r, "%s", path) : 0;
	}
	r = container_peek(map->data, map->size, &kind, &version, reterr);
	if (r == 0) {
		switch (kind) {
		case CONTAINER_SAMPLE_LOG: r = sample_log_show(map, as_json, reterr); break;
		case CONTAINER_PROFILE: r = profile_show(map, as_json, reterr); break;
		case CONTAINER_MORPH: r = sidecar_show(map, as_json, reterr); break;
		case CONTAINER_BLOCK_MAP: r = block_map_show(map, as_json, reterr); break;
		default:
			r = fault_set(reterr, -EPROTONOSUPPORT,
				      "of a kind (%u) that this Morph does not know", kind);
		}
	}
	return r < 0 ? fault_prefix(reterr, r, "%s", path) : 0;
}

static int dump(const char *path, const char *dir, bool as_json, struct fault *reterr)
{
	_clean_(file_map_donep) struct file_map map = { 0 };
	int r = file_map_open(path, &map, reterr);

	if (r < 0)
		return r;
	if (map.size >= SELFMAG && memcmp(map.data, ELFMAG, SELFMAG) == 0)
		return program_show(path, dir, as_json, reterr);
	return file_show(path, &map, as_json, reterr);
}

int dump_run(int argc, char **argv)
{
	return file_verb_run("dump", dump, argc, argv);
}

/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "debug/debug_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "debug/describe.h"
#include "debug/dwarf_write.h"
#include "debug/elf_debug.h"

/* A function is called what the shipped file calls it: of those that the editor renamed. */
static const char *shipped_name(void *context, const char *name, uint64_t address)
{
	const struct pair *pair = context;
	const struct block_map *map = pair->generation_data->map;
	uint32_t function = block_map_function_at(map, address);
	uint32_t shipped = function == BLOCK_NONE ? BLOCK_NONE : match_function(pair->match, function);

	if (shipped == BLOCK_NONE || !map->functions[function].name ||
	    strcmp(map->functions[function].name, name) != 0)
		return NULL;
	return pair->shipped_data->map->functions[shipped].name;
}

static void count(const struct block_map *map, uint32_t function, const struct description *d,
		  struct debug_file_report *report)
{
	const struct block_function *f = &map->functions[function];

	for (uint32_t i = 0; i < f->n_blocks; i++)
		report->bytes_code += map->blocks[f->first_block + i].size;
	for (size_t i = 0; i + 1 < d->n_rows; i++)
		if (d->rows[i].line)
			report->bytes_lines += d->rows[i + 1].address - d->rows[i].address;
	report->n_functions++;
	report->n_described += d->n_rows > 0;
}

static int functions_describe(const struct pair *pair, const struct source *source,
			      struct dwarf_sections *ret, struct debug_file_report *report)
{
	const struct block_map *map = pair->generation_data->map;
	_clean_(dwarf_writer_freep) struct dwarf_writer *writer = NULL;
	_clean_(describer_freep) struct describer *describer = NULL;
	int r = describer_new(pair, source, &describer);

	if (r == 0)
		r = dwarf_writer_new(source, &writer);
	for (uint32_t i = 0; r >= 0 && i < map->n_functions; i++) {
		_clean_(description_done) struct description d = { 0 };

		r = describe(describer, i, &d);
		if (r == 0)
			r = dwarf_writer_add(writer, &d);
		if (r >= 0)
			count(map, i, &d, report);
	}
	return r < 0 ? r : dwarf_writer_finish(writer, ret);
}

int debug_file_write(const struct pair *pair, const struct source *source, const char *path,
		     struct debug_file_report *retreport, struct fault *reterr)
{
	_clean_(dwarf_sections_done) struct dwarf_sections sections = { 0 };
	_clean_(fd_closep) int fd = -1;
	char temp[PATH_MAX];
	int r;

	*retreport = (struct debug_file_report){ 0 };
	if (!image_build_id(pair->generation)->size)
		return fault_set(reterr, -ENODATA, "%s: has no build ID to be found by",
				 image_path(pair->generation));
	r = functions_describe(pair, source, &sections, retreport);
	if (r < 0)
		return fault_errno(reterr, r, "describing %s", image_path(pair->generation));
	if (snprintf(temp, sizeof(temp), "%s.XXXXXX", path) >= (int)sizeof(temp))
		return fault_errno(reterr, -ENAMETOOLONG, "%s", path);
	fd = mkostemp(temp, O_CLOEXEC);
	if (fd < 0)
		return fault_errno(reterr, -errno, "%s", path);
	r = elf_debug_write(pair->generation, &sections, shipped_name, (void *)pair, fd, reterr);
	if (r == 0 && (fchmod(fd, 0644) < 0 || fsync(fd) < 0 || rename(temp, path) < 0))
		r = fault_errno(reterr, -errno, "%s", path);
	if (r < 0)
		unlink(temp);
	return r;
}

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The bytes of docs/format-sample-log.md. Offsets are stored as differences from the one before, so
 * a reader gets them sorted and unique or refuses; columns (all offsets, then all counts) deflate
 * better than pairs.
 */

#include "profiles/samples/sample_log.h"

#include <errno.h>
#include <string.h>

#include "base/container.h"
#include "base/file.h"

#define MODULE_TICK_SYNCHRONOUS 1u
#define SAMPLE_LOG_OLDEST 1u /* that is still read */
#define COMPRESSION_LEVEL 6
#define PATH_MAX_BYTES 65536u
/* kind, flags, build ID length, path length, size, mtime, two lengths */
#define MODULE_MIN_BYTES 8u

static uint64_t double_bits(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static double bits_double(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static void module_encode(const struct sample_module *module, struct buffer *buffer)
{
	uint64_t previous = 0;

	buffer_u8(buffer, (uint8_t)module->kind);
	buffer_u8(buffer, module->tick_synchronous ? MODULE_TICK_SYNCHRONOUS : 0);
	buffer_string(buffer, (const char *)module->build_id.bytes, module->build_id.size);
	buffer_string(buffer, module->path, strlen(module->path));
	buffer_uleb(buffer, module->file_size);
	buffer_uleb(buffer, module->mtime_ns);
	buffer_uleb(buffer, module->file.device);
	if (module->file.device) {
		buffer_uleb(buffer, module->file.inode);
		buffer_uleb(buffer, module->file.changed_ns);
		buffer_uleb(buffer, module->file.size);
	}
	buffer_uleb(buffer, module->space);
	buffer_uleb(buffer, module->user == SAMPLE_USER_UNKNOWN ? 0 : (uint64_t)module->user + 1);
	buffer_uleb(buffer, module->n_counts);
	for (size_t i = 0; i < module->n_counts; i++) {
		buffer_uleb(buffer, module->counts[i].offset - previous);
		previous = module->counts[i].offset;
	}
	for (size_t i = 0; i < module->n_counts; i++)
		buffer_uleb(buffer, module->counts[i].count);
	buffer_uleb(buffer, module->n_branches);
	previous = 0;
	for (size_t i = 0; i < module->n_branches; i++) {
		const struct sample_branch *branch = &module->branches[i];

		buffer_uleb(buffer, branch->from - previous);
		buffer_sleb(buffer, (int64_t)(branch->to - branch->from));
		buffer_uleb(buffer, branch->count);
		previous = branch->from;
	}
}

int sample_log_encode(const struct sample_log *log, struct buffer *retcontainer)
{
	_clean_(buffer_donep) struct buffer buffer = { 0 };

	buffer_uleb(&buffer, log->source);
	buffer_u64(&buffer, double_bits(log->rate_hz));
	buffer_u64(&buffer, log->start_ns);
	buffer_uleb(&buffer, log->duration_ns);
	buffer_uleb(&buffer, log->n_cpus);
	buffer_uleb(&buffer, log->fired);
	buffer_uleb(&buffer, log->idle);
	buffer_uleb(&buffer, log->kernel);
	buffer_uleb(&buffer, log->user);
	buffer_uleb(&buffer, log->attributed);
	buffer_uleb(&buffer, log->anonymous);
	buffer_uleb(&buffer, log->set_aside);
	buffer_uleb(&buffer, log->scaled_in);
	buffer_uleb(&buffer, SAMPLE_LOSS_END);
	for (unsigned i = 0; i < SAMPLE_LOSS_END; i++)
		buffer_uleb(&buffer, log->lost[i]);
	buffer_uleb(&buffer, log->n_modules);
	for (size_t i = 0; i < log->n_modules; i++)
		module_encode(&log->modules[i], &buffer);
	stacks_encode(&log->stacks, &buffer);
	owners_encode(&log->owners, &buffer);
	if (buffer.bad)
		return -ENOMEM;
	return container_pack(CONTAINER_SAMPLE_LOG, SAMPLE_LOG_VERSION, buffer.data, buffer.size,
			      COMPRESSION_LEVEL, retcontainer);
}

/* The next of a strictly ascending series; the first may be anything. */
static uint64_t next_offset(struct reader *reader, uint64_t previous, bool first)
{
	uint64_t step = reader_uleb(reader), offset;

	if (__builtin_add_overflow(previous, step, &offset) || (!first && !step))
		reader->bad = true;
	return offset;
}

static int counts_decode(struct reader *reader, struct sample_module *module)
{
	uint64_t n = reader_uleb(reader), previous = 0;

	if (n > reader_left(reader) / 2)
		reader->bad = true;
	if (reader->bad || !n)
		return 0;
	/* sample_module_add() fits the capacity to its own growth rule. */
	for (uint64_t i = 0; i < n && !reader->bad; i++) {
		previous = next_offset(reader, previous, i == 0);
		if (!reader->bad && sample_module_add(module, previous, 0) < 0)
			return -ENOMEM;
	}
	for (uint64_t i = 0; i < n && !reader->bad; i++) {
		uint64_t count = reader_uleb(reader);

		if (!count || __builtin_add_overflow(module->total, count, &module->total))
			reader->bad = true;
		module->counts[i].count = count;
	}
	return 0;
}

static int branches_decode(struct reader *reader, struct sample_module *module)
{
	uint64_t n = reader_uleb(reader);
	struct sample_branch last = { 0 };

	if (n > reader_left(reader) / 3)
		reader->bad = true;
	for (uint64_t i = 0; i < n && !reader->bad; i++) {
		struct sample_branch branch;

		branch.from = next_offset(reader, last.from, true);
		branch.to = branch.from + (uint64_t)reader_sleb(reader);
		branch.count = reader_uleb(reader);
		if (!branch.count || (i && branch.from == last.from && branch.to <= last.to))
			reader->bad = true;
		if (!reader->bad &&
		    sample_module_add_branch(module, branch.from, branch.to, branch.count) < 0)
			return -ENOMEM;
		last = branch;
	}
	return 0;
}

/* Whose file, which, and where the path is its name; nothing of it is in version 1. */
static void owner_decode(struct reader *reader, struct sample_module *module)
{
	uint64_t space, user;

	module->file.device = reader_uleb(reader);
	if (module->file.device) {
		module->file.inode = reader_uleb(reader);
		module->file.changed_ns = reader_uleb(reader);
		module->file.size = reader_uleb(reader);
	}
	space = reader_uleb(reader);
	user = reader_uleb(reader);
	if (space > UINT32_MAX || user > UINT32_MAX ||
	    (module->file.device && module->kind != SAMPLE_MODULE_FILE))
		reader->bad = true;
	module->space = (uint32_t)space;
	module->user = user ? (uint32_t)(user - 1) : SAMPLE_USER_UNKNOWN;
}

static int module_decode(struct reader *reader, unsigned version, struct sample_module *module)
{
	uint8_t kind = reader_u8(reader), flags = reader_u8(reader);
	size_t n_id, n_path;
	const char *id = reader_string(reader, &n_id), *path = reader_string(reader, &n_path);
	int r;

	if (kind < SAMPLE_MODULE_FILE || kind > SAMPLE_MODULE_ANONYMOUS || flags & ~MODULE_TICK_SYNCHRONOUS ||
	    n_id > BUILD_ID_MAX_BYTES || n_path > PATH_MAX_BYTES || (path && memchr(path, '\0', n_path)))
		reader->bad = true;
	if (reader->bad)
		return 0;
	module->kind = kind;
	module->tick_synchronous = flags & MODULE_TICK_SYNCHRONOUS;
	module->build_id.size = (uint8_t)n_id;
	memcpy(module->build_id.bytes, id, n_id);
	module->path = strndup(path, n_path);
	module->file_size = reader_uleb(reader);
	module->mtime_ns = reader_uleb(reader);
	module->user = SAMPLE_USER_UNKNOWN;
	if (version > 1)
		owner_decode(reader, module);
	r = module->path ? counts_decode(reader, module) : -ENOMEM;
	return r < 0 ? r : branches_decode(reader, module);
}

static void head_decode(struct reader *reader, struct sample_log *log)
{
	uint64_t source = reader_uleb(reader), n_cpus, n_losses;

	log->rate_hz = bits_double(reader_u64(reader));
	log->start_ns = reader_u64(reader);
	log->duration_ns = reader_uleb(reader);
	n_cpus = reader_uleb(reader);
	log->fired = reader_uleb(reader);
	log->idle = reader_uleb(reader);
	log->kernel = reader_uleb(reader);
	log->user = reader_uleb(reader);
	log->attributed = reader_uleb(reader);
	log->anonymous = reader_uleb(reader);
	log->set_aside = reader_uleb(reader);
	log->scaled_in = reader_uleb(reader);
	n_losses = reader_uleb(reader);
	if (source < SAMPLE_SOURCE_TICK || source > SAMPLE_SOURCE_LAST || n_cpus > UINT32_MAX ||
	    n_losses != SAMPLE_LOSS_END || !(log->rate_hz >= 0 && log->rate_hz <= 1e12))
		reader->bad = true;
	for (unsigned i = 0; i < SAMPLE_LOSS_END; i++)
		log->lost[i] = reader_uleb(reader);
	log->source = (enum sample_source)source;
	log->n_cpus = (uint32_t)n_cpus;
}

static int modules_decode(struct reader *reader, unsigned version, struct sample_log *log)
{
	uint64_t n = reader_uleb(reader);

	if (n > reader_left(reader) / MODULE_MIN_BYTES)
		reader->bad = true;
	if (reader->bad || !n)
		return 0;
	log->modules = calloc(n, sizeof(*log->modules));
	if (!log->modules)
		return -ENOMEM;
	log->capacity = n;
	while (log->n_modules < n && !reader->bad) {
		struct sample_module *module = &log->modules[log->n_modules++];
		int r = module_decode(reader, version, module);

		module->branches_one_way = !sample_log_sees_both_ways(log);
		if (r < 0)
			return r;
	}
	return 0;
}

static int payload_decode(struct reader *reader, unsigned version, struct sample_log *log)
{
	int r;

	head_decode(reader, log);
	r = modules_decode(reader, version, log);
	if (r == 0 && version > 2)
		r = stacks_decode(reader, &log->stacks);
	return r == 0 && version > 2 ? owners_decode(reader, &log->owners) : r;
}

int sample_log_decode(const void *container, size_t size, struct sample_log **ret, struct fault *reterr)
{
	_clean_(sample_log_freep) struct sample_log *log = sample_log_new();
	_clean_(buffer_donep) struct buffer payload = { 0 };
	unsigned kind = 0, version = SAMPLE_LOG_VERSION;
	struct reader reader;
	int r;

	if (!log)
		return fault_errno(reterr, -ENOMEM, "sample log");
	/* What cannot even be peeked at is refused in words by what follows. */
	if (container_peek(container, size, &kind, &version, NULL) < 0 || version < SAMPLE_LOG_OLDEST ||
	    version > SAMPLE_LOG_VERSION)
		version = SAMPLE_LOG_VERSION;
	r = container_unpack(container, size, CONTAINER_SAMPLE_LOG, version, &payload, reterr);
	if (r < 0)
		return r;
	reader = reader_of(payload.data, payload.size);
	r = payload_decode(&reader, version, log);
	if (r < 0)
		return fault_errno(reterr, r, "sample log");
	if (reader.bad || reader_left(&reader))
		return fault_set(reterr, -EBADMSG,
				 "damaged sample log: nonsense near byte %zu of its payload",
				 reader_offset(&reader));
	*ret = TAKE(log);
	return 0;
}

int sample_log_read(const char *path, struct sample_log **ret, struct fault *reterr)
{
	_clean_(file_map_donep) struct file_map map = { 0 };
	int r = file_map_open(path, &map, reterr);

	if (r < 0)
		return r;
	r = sample_log_decode(map.data, map.size, ret, reterr);
	return r < 0 ? fault_prefix(reterr, r, "%s", path) : 0;
}

int sample_log_write(const struct sample_log *log, const char *path, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer container = { 0 };
	/* Who called what, and whose time it was, is for those who may see it all. */
	bool is_of_others = log->stacks.n_nodes || log->owners.n;
	int r = sample_log_encode(log, &container);

	if (r < 0)
		return fault_errno(reterr, r, "%s: cannot encode the sample log", path);
	return file_write(path, container.data, container.size, is_of_others ? 0640 : 0644, reterr);
}

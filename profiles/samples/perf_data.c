/* SPDX-License-Identifier: Apache-2.0 */

/*
 * 1. choose the events
 * 2. in the order of time: mmap, fork and exec records change the address spaces, samples are
 *    looked up in them and counted
 * 3. totals, by the sample log's conservation law
 */

#include "profiles/samples/perf_data.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "profiles/samples/address_space.h"
#include "profiles/samples/perf_sample.h"
#include "profiles/samples/perf_stacks.h"

#define NO_MODULE SIZE_MAX
#define PID_KERNEL UINT32_MAX
#define KERNEL_HALF (1ull << 63)

/* A mapped file, met in an mmap record. */
struct mapped_file {
	const char *name; /* borrowed */
	struct build_id build_id;
	enum sample_module_kind kind;
	size_t module; /* index in log->modules, NO_MODULE until it is sampled */
};

struct import {
	const struct perf_file *file;
	bool taken[PERF_FILE_MAX_EVENTS];
	struct address_spaces *spaces;
	struct mapped_file *files; /* owned */
	size_t n_files, capacity;
	uint32_t *table; /* owned; hash of the name -> index in files[] + 1; a power of two */
	size_t n_table;
	struct sample_log *log;
	struct perf_stacks *stacks;
	struct import_summary summary;
	uint64_t first_ns, last_ns; /* of the samples taken */
	uint64_t lost_records, lost_samples;
};

enum event_class { CLASS_CYCLES, CLASS_CPU_CLOCK, CLASS_TASK_CLOCK, CLASS_REF_CYCLES, CLASS_NONE };

static enum event_class event_class(const struct perf_event *event)
{
	uint32_t config = (uint32_t)event->config; /* the upper half tells hybrid PMUs apart */

	if (event->type == PERF_TYPE_HARDWARE && config == PERF_COUNT_HW_CPU_CYCLES)
		return CLASS_CYCLES;
	if (event->type == PERF_TYPE_HARDWARE && config == PERF_COUNT_HW_REF_CPU_CYCLES)
		return CLASS_REF_CYCLES;
	if (event->type == PERF_TYPE_SOFTWARE && config == PERF_COUNT_SW_CPU_CLOCK)
		return CLASS_CPU_CLOCK;
	if (event->type == PERF_TYPE_SOFTWARE && config == PERF_COUNT_SW_TASK_CLOCK)
		return CLASS_TASK_CLOCK;
	return CLASS_NONE;
}

static bool event_is_named(const struct perf_event *event, const char *name)
{
	size_t n = strlen(name);

	return strncmp(event->name, name, n) == 0 && (!event->name[n] || event->name[n] == ':');
}

static int events_none(const struct perf_file *file, const char *name, struct fault *reterr)
{
	struct fault list = { "" };

	for (size_t i = 0; i < file->n_events; i++) {
		size_t n = strlen(list.text);

		snprintf(list.text + n, sizeof(list.text) - n, "%s%s", i ? ", " : "", file->events[i].name);
	}
	if (name)
		return fault_set(reterr, -ENODATA, "no event \"%s\"; the file holds %.300s", name, list.text);
	return fault_set(reterr, -ENODATA,
			 "no event that samples time; the file holds %.300s: record with "
			 "`perf record -e cycles` or `-e cpu-clock`",
			 list.text);
}

static int events_choose(struct import *import, const char *name, struct fault *reterr)
{
	const struct perf_file *file = import->file;
	enum event_class best = CLASS_NONE;
	const struct perf_event *first = NULL;

	for (size_t i = 0; i < file->n_events && !name; i++)
		best = MIN(best, event_class(&file->events[i]));
	for (size_t i = 0; i < file->n_events; i++) {
		const struct perf_event *event = &file->events[i];

		import->taken[i] =
			name ? event_is_named(event, name) : best != CLASS_NONE && event_class(event) == best;
		if (import->taken[i] && !first)
			first = event;
	}
	if (!first)
		return events_none(file, name, reterr);
	memcpy(import->summary.event, first->name, sizeof(first->name));
	return 0;
}

static enum sample_module_kind kind_of(const char *name)
{
	static const char *const anonymous[] = { "[",	      "//",	     "/memfd:",	      "/SYSV",
						 "/dev/zero", "anon_inode:", "/anon_hugepage" };

	if (strcmp(name, "[vdso]") == 0 || strcmp(name, "[vsyscall]") == 0)
		return SAMPLE_MODULE_VDSO;
	for (size_t i = 0; i < ARRAY_SIZE(anonymous); i++)
		if (strncmp(name, anonymous[i], strlen(anonymous[i])) == 0)
			return SAMPLE_MODULE_ANONYMOUS;
	return SAMPLE_MODULE_FILE;
}

/* FNV-1a, of name and build ID. */
static uint64_t identity_hash(const char *name, const struct build_id *id)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (const char *p = name; *p; p++)
		hash = (hash ^ (uint8_t)*p) * 0x100000001b3u;
	for (unsigned i = 0; i < id->size; i++)
		hash = (hash ^ id->bytes[i]) * 0x100000001b3u;
	return hash ^ hash >> 32;
}

static int table_grow(struct import *import)
{
	size_t n = MAX(import->n_table * 2, 256u);
	uint32_t *table = calloc(n, sizeof(*table));

	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < import->n_files; i++) {
		uint64_t at = identity_hash(import->files[i].name, &import->files[i].build_id);

		while (table[at & (n - 1)])
			at++;
		table[at & (n - 1)] = (uint32_t)i + 1;
	}
	free(import->table);
	import->table = table;
	import->n_table = n;
	return 0;
}

static int file_add(struct import *import, const char *name, const struct build_id *id)
{
	if (import->n_files == import->capacity) {
		size_t capacity = MAX(import->capacity * 2, 64u);
		void *files = reallocarray(import->files, capacity, sizeof(struct mapped_file));

		if (!files)
			return -ENOMEM;
		import->files = files;
		import->capacity = capacity;
	}
	import->files[import->n_files++] = (struct mapped_file){
		.name = name, .build_id = *id, .kind = kind_of(name), .module = NO_MODULE
	};
	return 0;
}

/* The number of the file with this name and build ID, added when new. */
static int file_intern(struct import *import, const char *name, const struct build_id *id, uint32_t *ret)
{
	uint64_t at = identity_hash(name, id);

	if (import->n_files * 2 >= import->n_table && table_grow(import) < 0)
		return -ENOMEM;
	for (;; at++) {
		uint32_t *slot = &import->table[at & (import->n_table - 1)];
		const struct mapped_file *found = *slot ? &import->files[*slot - 1] : NULL;

		if (!found) {
			if (file_add(import, name, id) < 0)
				return -ENOMEM;
			*slot = (uint32_t)import->n_files;
		} else if (strcmp(found->name, name) != 0 || !build_id_is_equal(&found->build_id, id)) {
			continue;
		}
		*ret = *slot - 1;
		return 0;
	}
}

/* The build ID in an MMAP2 record that has one in place of the inode. */
static void mmap2_build_id(struct reader *in, bool has_build_id, struct build_id *ret)
{
	uint8_t size = reader_u8(in);
	const uint8_t *bytes;

	reader_bytes(in, 3);
	bytes = reader_bytes(in, 20);
	if (!has_build_id || !bytes || size > 20)
		return;
	ret->size = size;
	memcpy(ret->bytes, bytes, size);
}

static int mmap_apply(struct import *import, const struct perf_record *record)
{
	struct reader in = perf_record_reader(import->file, record);
	struct address_mapping mapping = { 0 };
	struct build_id id = { 0 };
	const struct build_id *known;
	const char *name;
	uint32_t pid = reader_u32(&in), protection = 0;

	reader_u32(&in);
	mapping.start = reader_u64(&in);
	mapping.end = mapping.start + reader_u64(&in);
	mapping.offset = reader_u64(&in);
	if (record->type == PERF_RECORD_MMAP2) {
		mmap2_build_id(&in, record->misc & PERF_RECORD_MISC_MMAP_BUILD_ID, &id);
		protection = reader_u32(&in);
		reader_u32(&in);
	}
	name = (const char *)in.at;
	if (in.bad || !memchr(name, 0, reader_left(&in)) || strnlen(name, PATH_MAX) == PATH_MAX)
		return -EBADMSG;
	if (pid == PID_KERNEL || (record->misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER ||
	    mapping.end <= mapping.start)
		return 0;
	if (record->type == PERF_RECORD_MMAP2 ? !(protection & 4 /* PROT_EXEC */) :
						record->misc & PERF_RECORD_MISC_MMAP_DATA)
		return 0;
	known = id.size ? NULL : perf_file_build_id(import->file, name);
	if (file_intern(import, name, known ? known : &id, &mapping.file) < 0)
		return -ENOMEM;
	return address_spaces_map(import->spaces, pid, &mapping);
}

static int fork_apply(struct import *import, const struct perf_record *record)
{
	struct reader in = perf_record_reader(import->file, record);
	uint32_t pid = reader_u32(&in), parent = reader_u32(&in);

	/* Written by perf for a process that was there before: its mmap records follow. */
	if (in.bad || (record->misc & PERF_RECORD_MISC_FORK_EXEC))
		return in.bad ? -EBADMSG : 0;
	if (perf_stacks_fork(import->stacks, pid, parent) < 0)
		return -ENOMEM;
	return address_spaces_fork(import->spaces, pid, parent);
}

static int comm_apply(struct import *import, const struct perf_record *record)
{
	struct reader in = perf_record_reader(import->file, record);
	uint32_t pid = reader_u32(&in), thread = reader_u32(&in);

	/* A thread may have a name of its own; the process is called as its first one. */
	if (pid == thread && perf_stacks_name(import->stacks, pid, (const char *)in.at, reader_left(&in)) < 0)
		return -ENOMEM;
	if (in.bad || !(record->misc & PERF_RECORD_MISC_COMM_EXEC))
		return in.bad ? -EBADMSG : 0;
	return address_spaces_exec(import->spaces, pid);
}

/* NULL: out of memory. The pointer is valid until the next call. */
static struct sample_module *module_of(struct import *import, uint32_t number)
{
	struct mapped_file *file = &import->files[number];
	struct sample_module *module;

	if (file->module != NO_MODULE)
		return &import->log->modules[file->module];
	if (file->kind == SAMPLE_MODULE_ANONYMOUS)
		module = sample_log_module(import->log, file->kind, NULL, "[anon]", 0, 0);
	else
		module = sample_log_module(import->log, file->kind, &file->build_id, file->name, 0, 0);
	if (module)
		file->module = (size_t)(module - import->log->modules);
	return module;
}

static bool is_kernel(const struct perf_record *record, uint64_t address)
{
	unsigned mode = record->misc & PERF_RECORD_MISC_CPUMODE_MASK;

	if (mode == PERF_RECORD_MISC_CPUMODE_UNKNOWN)
		return address >= KERNEL_HALF;
	return mode != PERF_RECORD_MISC_USER;
}

static int ip_count(struct import *import, const struct perf_record *record, const struct perf_sample *sample)
{
	const struct address_mapping *mapping;
	struct sample_log *log = import->log;
	struct sample_module *module;

	if (is_kernel(record, sample->ip)) {
		*(sample->pid ? &log->kernel : &log->idle) += 1;
		return 0;
	}
	mapping = address_spaces_find(import->spaces, sample->pid, sample->ip);
	if (!mapping) {
		log->lost[SAMPLE_LOSS_NO_MAPPING]++;
		return 0;
	}
	module = module_of(import, mapping->file);
	if (!module)
		return -ENOMEM;
	if (module->kind == SAMPLE_MODULE_ANONYMOUS)
		return sample_module_add(module, 0, 1);
	import->summary.without_build_id += module->kind == SAMPLE_MODULE_FILE && !module->build_id.size;
	return sample_module_add(module, sample->ip - mapping->start + mapping->offset, 1);
}

static int branch_count(struct import *import, uint32_t pid, uint64_t from, uint64_t to)
{
	const struct address_mapping *source = address_spaces_find(import->spaces, pid, from);
	const struct address_mapping *target = address_spaces_find(import->spaces, pid, to);
	struct sample_module *module;

	if (!source || !target || source->file != target->file ||
	    import->files[source->file].kind != SAMPLE_MODULE_FILE) {
		import->summary.branches_dropped++;
		return 0;
	}
	module = module_of(import, source->file);
	if (!module)
		return -ENOMEM;
	import->summary.branches++;
	return sample_module_add_branch(module, from - source->start + source->offset,
					to - target->start + target->offset, 1);
}

static int sample_count(struct import *import, const struct perf_record *record)
{
	struct perf_sample sample;
	int r;

	if (record->event >= import->file->n_events) {
		import->summary.others++;
		return 0;
	}
	if (perf_sample_get(import->file, record, &sample) < 0)
		return -EBADMSG;
	while (reader_left(&sample.branches)) {
		uint64_t from = reader_u64(&sample.branches), to = reader_u64(&sample.branches);

		reader_u64(&sample.branches);
		if (!from || !to || from >= KERNEL_HALF || to >= KERNEL_HALF)
			continue;
		r = branch_count(import, sample.pid, from, to);
		if (r < 0)
			return r;
	}
	if (!import->taken[record->event]) {
		import->summary.others++;
		return 0;
	}
	if (!import->summary.samples++)
		import->first_ns = record->time_ns;
	import->last_ns = record->time_ns;
	r = perf_stacks_add(import->stacks, sample.pid, &sample.chain, is_kernel(record, sample.ip));
	return r < 0 ? r : ip_count(import, record, &sample);
}

/* perf_stacks_new()'s function. */
static bool stack_address_find(void *closure, uint32_t pid, uint64_t address, struct sample_module *ret,
			       uint64_t *retoffset)
{
	struct import *import = closure;
	const struct address_mapping *mapping = address_spaces_find(import->spaces, pid, address);
	const struct mapped_file *file = mapping ? &import->files[mapping->file] : NULL;

	if (!file)
		return false;
	ret->kind = file->kind;
	ret->path = (char *)(file->kind == SAMPLE_MODULE_ANONYMOUS ? "[anon]" : file->name);
	ret->build_id = file->build_id;
	*retoffset = file->kind == SAMPLE_MODULE_ANONYMOUS ? 0 : address - mapping->start + mapping->offset;
	return true;
}

static void lost_count(struct import *import, const struct perf_record *record)
{
	struct reader in = perf_record_reader(import->file, record);
	uint64_t *sum = &import->lost_samples;

	if (record->type == PERF_RECORD_LOST) {
		reader_u64(&in);
		sum = &import->lost_records;
	}
	if (__builtin_add_overflow(*sum, reader_u64(&in), sum))
		*sum = UINT64_MAX;
}

static int record_apply(struct import *import, const struct perf_record *record)
{
	switch (record->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2: return mmap_apply(import, record);
	case PERF_RECORD_FORK: return fork_apply(import, record);
	case PERF_RECORD_COMM: return comm_apply(import, record);
	case PERF_RECORD_SAMPLE: return sample_count(import, record);
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES: lost_count(import, record); return 0;
	default: return 0;
	}
}

static int records_apply(struct import *import, struct fault *reterr)
{
	for (size_t i = 0; i < import->file->n_records; i++) {
		const struct perf_record *record = &import->file->records[i];
		int r = record_apply(import, record);

		if (r == -EBADMSG)
			return fault_set(reterr, r, "damaged: the record at byte %" PRIu64 " is not whole",
					 record->offset);
		if (r == -E2BIG)
			return fault_set(reterr, r, "more than %u mappings", ADDRESS_SPACE_MAX_MAPPINGS);
		if (r < 0)
			return fault_errno(reterr, r, "samples");
	}
	return 0;
}

/* Samples per second and busy CPU; what was seen when the event does not say it. */
static double rate_of(const struct import *import)
{
	const struct sample_log *log = import->log;

	for (size_t i = 0; i < import->file->n_events; i++) {
		const struct perf_event *event = &import->file->events[i];

		if (!import->taken[i] || !event->period)
			continue;
		if (event->is_frequency)
			return (double)event->period;
		if (event->type == PERF_TYPE_SOFTWARE)
			return 1e9 / (double)event->period;
	}
	return log->duration_ns ? (double)log->fired * 1e9 / (double)log->duration_ns / log->n_cpus : 0;
}

static void totals_set(struct import *import, uint64_t end_ns)
{
	struct sample_log *log = import->log;
	uint64_t kernel = log->kernel;

	sample_log_normalize(log);
	/* LOST counts records of every kind, LOST_SAMPLES samples again where they are known. */
	log->lost[SAMPLE_LOSS_RING_FULL] = MAX(import->lost_records, import->lost_samples);
	sample_log_balance(log);
	log->kernel = kernel;
	if (__builtin_add_overflow(log->fired, kernel, &log->fired))
		log->fired = UINT64_MAX;
	log->source = SAMPLE_SOURCE_IMPORT;
	log->n_cpus = import->file->n_cpus ? import->file->n_cpus : 1;
	log->duration_ns = import->last_ns - import->first_ns;
	log->start_ns = end_ns > log->duration_ns ? end_ns - log->duration_ns : 0;
	log->rate_hz = rate_of(import);
}

static void import_done(struct import *import)
{
	address_spaces_free(import->spaces);
	perf_stacks_free(import->stacks);
	sample_log_free(import->log);
	free(import->files);
	free(import->table);
}

int perf_data_decode(const void *bytes, size_t size, const char *event, uint64_t end_ns,
		     struct sample_log **ret, struct import_summary *retsummary, struct fault *reterr)
{
	_clean_(perf_file_done) struct perf_file file = { 0 };
	_clean_(import_done) struct import import = { .file = &file };
	int r = perf_file_parse(bytes, size, &file, reterr);

	if (r < 0)
		return r;
	r = events_choose(&import, event, reterr);
	if (r < 0)
		return r;
	import.spaces = address_spaces_new();
	import.log = sample_log_new();
	if (import.log)
		import.stacks = perf_stacks_new(&import.log->stacks, stack_address_find, &import);
	if (!import.spaces || !import.log || !import.stacks)
		return fault_errno(reterr, -ENOMEM, "samples");
	r = records_apply(&import, reterr);
	if (r < 0)
		return r;
	totals_set(&import, end_ns);
	if (retsummary)
		*retsummary = import.summary;
	*ret = TAKE(import.log);
	return 0;
}

int perf_data_read(const char *path, const char *event, struct sample_log **ret,
		   struct import_summary *retsummary, struct fault *reterr)
{
	_clean_(file_map_donep) struct file_map map = { 0 };
	struct stat st;
	uint64_t end_ns;
	int r;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return fault_set(reterr, -EISDIR,
				 "%s: a directory (perf record --threads); record without --threads", path);
	r = file_map_open(path, &map, reterr);
	if (r < 0)
		return r;
	end_ns = (uint64_t)map.st.st_mtim.tv_sec * 1000000000u + (uint64_t)map.st.st_mtim.tv_nsec;
	r = perf_data_decode(map.data, map.size, event, end_ns, ret, retsummary, reterr);
	return r < 0 ? fault_prefix(reterr, r, "%s", path) : 0;
}

/* Also what perf_file_parse() says more of: other versions, the other order of bytes, a directory. */
static bool perf_data_knows(const uint8_t *head, size_t n)
{
	static const char *const marks[] = { "PERFILE2", "2ELIFREP", "PERFFILE" };

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		if (n >= 8 && memcmp(head, marks[i], 8) == 0)
			return true;
	return n == 0;
}

const struct importer importer_perf_data = {
	.name = "perf.data",
	.title = "what `perf record` leaves",
	.knows = perf_data_knows,
	.read = perf_data_read,
};

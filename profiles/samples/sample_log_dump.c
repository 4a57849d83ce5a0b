/* SPDX-License-Identifier: Apache-2.0 */

/* What `morph dump` shows of a sample log: the accounting first, then the modules by weight. */

#include "profiles/samples/sample_log.h"

#include <inttypes.h>
#include <time.h>

#include "base/json.h"
#include "base/table.h"

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void time_dump(const struct sample_log *log, FILE *out)
{
	time_t seconds = (time_t)(log->start_ns / 1000000000u);
	char text[64] = "unknown";
	struct tm tm;

	if (log->start_ns && gmtime_r(&seconds, &tm))
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &tm);
	fprintf(out, "start       %s\n", text);
}

static void account_dump(const struct sample_log *log, FILE *out)
{
	struct fault fault;

	fprintf(out, "fired       %" PRIu64 " = idle %" PRIu64 " + kernel %" PRIu64 " + user %" PRIu64 "\n",
		log->fired, log->idle, log->kernel, log->user);
	fprintf(out, "user        %" PRIu64 " = attributed %" PRIu64 " + anonymous %" PRIu64, log->user,
		log->attributed, log->anonymous);
	for (unsigned i = 0; i < SAMPLE_LOSS_END; i++)
		if (log->lost[i])
			fprintf(out, " + %s %" PRIu64, sample_loss_name(i), log->lost[i]);
	fputc('\n', out);
	if (log->set_aside || log->scaled_in)
		fprintf(out,
			"replaced    %" PRIu64 " tick samples of tick-synchronous modules by %" PRIu64
			" scaled reference samples\n",
			log->set_aside, log->scaled_in);
	fprintf(out, "drained     %" PRIu64 "\n", sample_log_drained(log));
	for (unsigned i = 0; i < SAMPLE_LOSS_END; i++)
		if (log->lost[i])
			fprintf(out, "lost        %" PRIu64 " (%.3f %% of user): %s\n", log->lost[i],
				percent(log->lost[i], log->user), sample_loss_sentence(i));
	if (sample_log_check(log, &fault) < 0)
		fprintf(out, "WRONG       %s\n", fault.text);
}

static int heavier(const void *pa, const void *pb)
{
	const struct sample_module *a = *(const struct sample_module *const *)pa;
	const struct sample_module *b = *(const struct sample_module *const *)pb;

	if (a->total != b->total)
		return a->total < b->total ? 1 : -1;
	return (a > b) - (a < b);
}

/* Pointers to the modules, heaviest first; NULL when there are none or memory is short. */
static const struct sample_module **by_weight(const struct sample_log *log)
{
	const struct sample_module **order = calloc(log->n_modules + 1, sizeof(*order));

	for (size_t i = 0; order && i < log->n_modules; i++)
		order[i] = &log->modules[i];
	if (order)
		qsort(order, log->n_modules, sizeof(*order), heavier);
	return order;
}

static void stacks_dump(const struct sample_log *log, FILE *out)
{
	const struct stacks *stacks = &log->stacks;

	if (!stacks->n_nodes && !stacks->n_lost)
		return;
	fprintf(out,
		"\nstacks      of %" PRIu64 " samples, %zu frames in a tree; %" PRIu64 " found no room\n",
		stacks->n_samples, stacks->n_nodes, stacks->n_lost);
}

static int owner_heavier(const void *pa, const void *pb)
{
	const struct owner *a = *(const struct owner *const *)pa, *b = *(const struct owner *const *)pb;

	if (a->count != b->count)
		return a->count < b->count ? 1 : -1;
	return (a > b) - (a < b);
}

/* Pointers to them, most samples first; NULL when there are none or memory is short. */
static const struct owner **owners_by_weight(const struct owners *owners)
{
	const struct owner **order = calloc(owners->n + 1, sizeof(*order));

	for (size_t i = 0; order && i < owners->n; i++)
		order[i] = &owners->list[i];
	if (order)
		qsort(order, owners->n, sizeof(*order), owner_heavier);
	return order;
}

static void owners_dump(const struct owners *owners, FILE *out)
{
	_clean_(freep) const struct owner **order = owners_by_weight(owners);
	_clean_(table_freep) struct table *table = table_new(">samples|>user|process|unit");

	if (!owners->n || !order || !table)
		return;
	fputc('\n', out);
	for (size_t i = 0; i < owners->n; i++) {
		table_cell(table, "%" PRIu64, order[i]->count);
		if (order[i]->user == SAMPLE_USER_UNKNOWN)
			table_cell(table, "-");
		else
			table_cell(table, "%" PRIu32, order[i]->user);
		table_cell(table, "%s", order[i]->process);
		table_cell(table, "%s", order[i]->unit);
	}
	table_print(table, out);
	if (owners->n_nobody)
		fprintf(out, "%" PRIu64 " samples of others\n", owners->n_nobody);
}

void sample_log_dump(const struct sample_log *log, FILE *out)
{
	_clean_(freep) const struct sample_module **order = by_weight(log);
	_clean_(table_freep) struct table *table =
		table_new(">samples|>share|>offsets|>branches|kind|build ID|>user|path");
	uint64_t seen = log->kernel + log->user;

	fprintf(out, "source      %s, %.4g Hz per busy CPU, %u CPUs, %.3f s\n",
		sample_source_name(log->source), log->rate_hz, log->n_cpus, (double)log->duration_ns / 1e9);
	time_dump(log, out);
	account_dump(log, out);
	if (!order || !table)
		return;
	fputc('\n', out);
	for (size_t i = 0; i < log->n_modules; i++) {
		const struct sample_module *module = order[i];
		char id[BUILD_ID_MAX_TEXT];

		table_cell(table, "%" PRIu64, module->total);
		table_cell(table, "%.2f %%", percent(module->total, seen));
		table_cell(table, "%zu", module->n_counts);
		table_cell(table, "%zu", module->n_branches);
		table_cell(table, "%s", sample_module_kind_name(module->kind));
		table_cell(table, "%s", module->build_id.size ? build_id_text(&module->build_id, id) : "-");
		if (module->user == SAMPLE_USER_UNKNOWN)
			table_cell(table, "-");
		else
			table_cell(table, "%" PRIu32, module->user);
		table_cell(table, "%s%s%s", module->path,
			   module->tick_synchronous ? " (tick-synchronous)" : "",
			   module->space ? " (name in another mount namespace)" : "");
	}
	table_print(table, out);
	stacks_dump(log, out);
	owners_dump(&log->owners, out);
}

static void module_json(const struct sample_module *module, struct json *json)
{
	char id[BUILD_ID_MAX_TEXT];

	json_object_begin(json, NULL);
	json_string(json, "kind", sample_module_kind_name(module->kind));
	json_string(json, "path", module->path);
	json_string(json, "build_id", module->build_id.size ? build_id_text(&module->build_id, id) : NULL);
	json_u64(json, "file_size", module->file_size);
	json_u64(json, "mtime_ns", module->mtime_ns);
	if (file_identity_is_known(&module->file)) {
		json_u64(json, "device", module->file.device);
		json_u64(json, "inode", module->file.inode);
		json_u64(json, "changed_ns", module->file.changed_ns);
		json_u64(json, "size", module->file.size);
	}
	json_u64(json, "mount_namespace", module->space);
	if (module->user != SAMPLE_USER_UNKNOWN)
		json_u64(json, "user", module->user);
	json_bool(json, "tick_synchronous", module->tick_synchronous);
	json_u64(json, "samples", module->total);
	json_array_begin(json, "counts");
	for (size_t i = 0; i < module->n_counts; i++) {
		json_object_begin(json, NULL);
		json_u64(json, "offset", module->counts[i].offset);
		json_u64(json, "count", module->counts[i].count);
		json_object_end(json);
	}
	json_array_end(json);
	json_array_begin(json, "branches");
	for (size_t i = 0; i < module->n_branches; i++) {
		json_object_begin(json, NULL);
		json_u64(json, "from", module->branches[i].from);
		json_u64(json, "to", module->branches[i].to);
		json_u64(json, "count", module->branches[i].count);
		json_object_end(json);
	}
	json_array_end(json);
	json_object_end(json);
}

static const char *image_kind_name(int kind)
{
	return kind == STACK_PROCESS ? "process" :
	       kind == STACK_CUT     ? "cut" :
				       sample_module_kind_name((enum sample_module_kind)kind);
}

static void stacks_json(const struct stacks *stacks, struct json *json)
{
	char id[BUILD_ID_MAX_TEXT];

	json_object_begin(json, "stacks");
	json_u64(json, "samples", stacks->n_samples);
	json_u64(json, "lost", stacks->n_lost);
	json_array_begin(json, "images");
	for (size_t i = 0; i < stacks->n_images; i++) {
		const struct sample_module *image = &stacks->images[i];

		json_object_begin(json, NULL);
		json_string(json, "kind", image_kind_name((int)image->kind));
		json_string(json, "path", image->path);
		json_string(json, "build_id",
			    image->build_id.size ? build_id_text(&image->build_id, id) : NULL);
		json_object_end(json);
	}
	json_array_end(json);
	json_array_begin(json, "nodes");
	for (size_t i = 0; i < stacks->n_nodes; i++) {
		const struct stack_node *node = &stacks->nodes[i];

		json_object_begin(json, NULL);
		if (node->parent != STACKS_ROOT)
			json_u64(json, "parent", node->parent);
		json_u64(json, "image", node->frame.image);
		json_u64(json, "offset", node->frame.offset);
		json_u64(json, "count", node->count);
		json_object_end(json);
	}
	json_array_end(json);
	json_object_end(json);
}

static void owners_json(const struct owners *owners, struct json *json)
{
	json_array_begin(json, "owners");
	for (size_t i = 0; i < owners->n; i++) {
		json_object_begin(json, NULL);
		json_string(json, "process", owners->list[i].process);
		json_string(json, "unit", owners->list[i].unit);
		if (owners->list[i].user != SAMPLE_USER_UNKNOWN)
			json_u64(json, "user", owners->list[i].user);
		json_u64(json, "samples", owners->list[i].count);
		json_object_end(json);
	}
	json_array_end(json);
	json_u64(json, "samples_of_others", owners->n_nobody);
}

void sample_log_dump_json(const struct sample_log *log, FILE *out)
{
	_clean_(freep) const struct sample_module **order = by_weight(log);
	struct json json = json_to(out);

	json_object_begin(&json, NULL);
	json_string(&json, "type", "sample log");
	json_string(&json, "source", sample_source_name(log->source));
	json_double(&json, "rate_hz", log->rate_hz);
	json_u64(&json, "start_ns", log->start_ns);
	json_double(&json, "duration_s", (double)log->duration_ns / 1e9);
	json_u64(&json, "n_cpus", log->n_cpus);
	json_u64(&json, "fired", log->fired);
	json_u64(&json, "idle", log->idle);
	json_u64(&json, "kernel", log->kernel);
	json_u64(&json, "user", log->user);
	json_u64(&json, "attributed", log->attributed);
	json_u64(&json, "anonymous", log->anonymous);
	json_object_begin(&json, "lost");
	for (unsigned i = 0; i < SAMPLE_LOSS_END; i++)
		json_u64(&json, sample_loss_name(i), log->lost[i]);
	json_object_end(&json);
	json_u64(&json, "set_aside", log->set_aside);
	json_u64(&json, "scaled_in", log->scaled_in);
	json_u64(&json, "drained", sample_log_drained(log));
	json_bool(&json, "adds_up", sample_log_check(log, NULL) == 0);
	json_array_begin(&json, "modules");
	for (size_t i = 0; order && i < log->n_modules; i++)
		module_json(order[i], &json);
	json_array_end(&json);
	stacks_json(&log->stacks, &json);
	owners_json(&log->owners, &json);
	json_object_end(&json);
}

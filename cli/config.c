/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morph config [KEY...]: what the configuration files say, and which line of which file says it. It reads the files
 * as morphd and morph-monitor do, so a mistake in them is told as they would tell it.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <string.h>

#include "base/json.h"
#include "base/table.h"
#include "base/text.h"
#include "cli/shared/whose.h"
#include "cli/verb.h"
#include "manager/keep/settings.h"
#include "monitor/settings.h"

/* One program's configuration, with the defaults beside it. */
struct part {
	const char *program, *file;
	const struct config_key *keys;
	const void *settings, *defaults;
	struct config_origins origins;
};

struct config {
	const char *root; /* "" or a directory */
	char *const *wanted;
	int n_wanted;
	bool explain, json;
	struct settings morphd, morphd_defaults;
	struct monitor_settings monitor, monitor_defaults;
	struct part parts[2];
};

static void config_free(struct config *c)
{
	settings_done(&c->morphd);
	settings_done(&c->morphd_defaults);
	monitor_settings_done(&c->monitor);
	monitor_settings_done(&c->monitor_defaults);
	for (size_t i = 0; i < ARRAY_SIZE(c->parts); i++)
		config_origins_done(&c->parts[i].origins);
}

static int part_read(struct config *c, struct part *part, void *settings, struct fault *reterr)
{
	char path[PATH_MAX];
	int r;

	if (!c->root[0])
		whose_config(part->file, path);
	else if (snprintf(path, sizeof(path), "%s/etc/morph/%s", c->root, part->file) >= PATH_MAX)
		return fault_errno(reterr, -ENAMETOOLONG, "%s", c->root);
	r = config_tree_read(path, part->keys, settings, &part->origins, reterr);
	return r == -ENOENT ? 0 : r;
}

/* morph-monitor.service of a user samples by "user" (systemd/morph-monitor-user.service.in). */
static int monitor_take(struct monitor_settings *settings, struct fault *reterr)
{
	int r = monitor_settings_init(settings);

	if (r < 0)
		return fault_errno(reterr, r, "defaults");
	if (!whose_is_user())
		return 0;
	r = monitor_settings_set(settings, "source", "user", reterr);
	return r < 0 ? r : monitor_settings_finish(settings, reterr);
}

static int config_take(struct config *c, struct fault *reterr)
{
	int r = whose_settings_init(&c->morphd, reterr);

	if (r == 0)
		r = whose_settings_init(&c->morphd_defaults, reterr);
	if (r == 0)
		r = monitor_take(&c->monitor, reterr);
	if (r == 0)
		r = monitor_take(&c->monitor_defaults, reterr);
	if (r < 0)
		return r;
	c->parts[0] = (struct part){ "morphd",	 SETTINGS_NAME,	      settings_keys,
				     &c->morphd, &c->morphd_defaults, { 0 } };
	c->parts[1] = (struct part){ "morph-monitor", MONITOR_CONFIG_NAME,  monitor_settings_keys,
				     &c->monitor,     &c->monitor_defaults, { 0 } };
	r = part_read(c, &c->parts[0], &c->morphd, reterr);
	if (r == 0)
		r = settings_check(&c->morphd, reterr);
	return r == 0 ? part_read(c, &c->parts[1], &c->monitor, reterr) : r;
}

static bool is_wanted(const struct config *c, const char *key)
{
	for (int i = 0; i < c->n_wanted; i++)
		if (strcmp(c->wanted[i], key) == 0)
			return true;
	return c->n_wanted == 0;
}

static int wanted_check(const struct config *c, struct fault *reterr)
{
	for (int i = 0; i < c->n_wanted; i++) {
		bool known = false;

		for (size_t k = 0; k < ARRAY_SIZE(c->parts); k++)
			for (const struct config_key *key = c->parts[k].keys; key->name; key++)
				known |= strcmp(key->name, c->wanted[i]) == 0;
		if (!known)
			return fault_set(reterr, -EINVAL, "no key \"%s\"; `morph config` lists them all",
					 c->wanted[i]);
	}
	return 0;
}

/* ---- one key as text ---- */

static const char *value_text(const struct config_key *key, const void *settings, struct buffer *text)
{
	text->size = 0;
	config_value_print(key, settings, text);
	buffer_u8(text, '\0');
	return text->bad ? "?" : (const char *)text->data;
}

static const char *origin_text(const struct part *part, size_t key, char *ret, size_t size)
{
	const struct config_origin *origin = &part->origins.at[key];

	if (!origin->file)
		return "default";
	snprintf(ret, size, "%s:%u", origin->file, origin->line);
	return ret;
}

static void key_explain(const struct part *part, size_t i)
{
	const struct config_key *key = &part->keys[i];
	_clean_(buffer_donep) struct buffer value = { 0 }, standard = { 0 }, limits = { 0 };
	char from[PATH_MAX + 16];

	printf("%s = ", key->name);
	text_print(stdout, value_text(key, part->settings, &value));
	printf("\n    %s\n    ", key->what);
	printf("Of %s; %s", part->program, config_type_text(key->type));
	if (key->max > key->min) {
		config_number_print(key, key->min, &limits);
		buffer_printf(&limits, " to ");
		config_number_print(key, key->max, &limits);
		buffer_u8(&limits, '\0');
		printf(", %s", limits.bad ? "?" : (const char *)limits.data);
	}
	printf(".\n    Default: ");
	text_print(stdout, value_text(key, part->defaults, &standard));
	printf("\n    From: ");
	text_print(stdout, origin_text(part, i, from, sizeof(from)));
	printf("\n");
}

static int part_print(const struct config *c, const struct part *part, struct table *table)
{
	_clean_(buffer_donep) struct buffer value = { 0 };
	char from[PATH_MAX + 16];

	for (size_t i = 0; part->keys[i].name; i++) {
		if (!is_wanted(c, part->keys[i].name))
			continue;
		if (c->explain) {
			key_explain(part, i);
			continue;
		}
		table_cell(table, "%s", part->program);
		table_cell(table, "%s", part->keys[i].name);
		table_cell(table, "%s", origin_text(part, i, from, sizeof(from)));
		table_cell(table, "%s", value_text(&part->keys[i], part->settings, &value));
	}
	return 0;
}

static int config_print_all(const struct config *c)
{
	_clean_(table_freep) struct table *table = table_new("program|key|from|value");

	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(c->parts); i++)
		part_print(c, &c->parts[i], table);
	return c->explain ? 0 : table_print(table, stdout);
}

static void part_json(struct json *json, const struct config *c, const struct part *part)
{
	_clean_(buffer_donep) struct buffer value = { 0 };

	for (size_t i = 0; part->keys[i].name; i++) {
		const struct config_key *key = &part->keys[i];
		const struct config_origin *origin = &part->origins.at[i];

		if (!is_wanted(c, key->name))
			continue;
		json_object_begin(json, NULL);
		json_string(json, "program", part->program);
		json_string(json, "key", key->name);
		json_string(json, "value", value_text(key, part->settings, &value));
		json_string(json, "default", value_text(key, part->defaults, &value));
		json_string(json, "file", origin->file);
		if (origin->file)
			json_u64(json, "line", origin->line);
		json_string(json, "what", key->what);
		json_object_end(json);
	}
}

static void config_json(const struct config *c)
{
	struct json json = json_to(stdout);

	json_object_begin(&json, NULL);
	json_array_begin(&json, "settings");
	for (size_t i = 0; i < ARRAY_SIZE(c->parts); i++)
		part_json(&json, c, &c->parts[i]);
	json_array_end(&json);
	json_object_end(&json);
}

/* Return: -1 to go on, else an exit code. */
static int options_take(struct config *c, int argc, char **argv)
{
	static const struct option table[] = {
		{ "explain", no_argument, NULL, 'e' },
		{ "json", no_argument, NULL, 'j' },
		{ "root", required_argument, NULL, 'r' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL },
	};
	int option;

	while ((option = getopt_long(argc, argv, "h", table, NULL)) != -1)
		switch (option) {
		case 'e': c->explain = true; break;
		case 'j': c->json = true; break;
		case 'r': c->root = optarg; break;
		case 'h': return verb_help("config");
		default: return verb_usage("config");
		}
	c->wanted = argv + optind;
	c->n_wanted = argc - optind;
	return -1;
}

int config_run(int argc, char **argv)
{
	_clean_(config_free) struct config c = { .root = "" };
	struct fault fault = { "" };
	int code = options_take(&c, argc, argv), r;

	if (code >= 0)
		return code;
	r = config_take(&c, &fault);
	if (r == 0)
		r = wanted_check(&c, &fault);
	if (r < 0)
		return verb_fail("config", &fault);
	if (c.json)
		config_json(&c);
	else if (config_print_all(&c) < 0)
		return verb_fail("config", &(struct fault){ "no memory" });
	return VERB_DONE;
}

/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "base/config_file.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"

struct unit {
	const char *name;
	double factor;
};

static const struct unit byte_units[] = {
	{ "", 1 }, { "K", 0x1p10 }, { "M", 0x1p20 }, { "G", 0x1p30 }, { "T", 0x1p40 }, { NULL },
};
static const struct unit time_units[] = {
	{ "", 1 }, { "s", 1 }, { "min", 60 }, { "h", 3600 }, { "d", 86400 }, { NULL },
};
static const struct unit no_units[] = { { "", 1 }, { NULL } };

static const struct config_key *key_find(const struct config_key *keys, const char *name)
{
	for (; keys->name; keys++)
		if (strcmp(keys->name, name) == 0)
			return keys;
	return NULL;
}

static int text_set(char **slot, const char *value)
{
	char *copy = strdup(value);

	if (!copy)
		return -ENOMEM;
	free(*slot);
	*slot = copy;
	return 0;
}

static int bool_set(bool *slot, const char *value)
{
	static const char *const yes[] = { "yes", "true", "on", "1" };
	static const char *const no[] = { "no", "false", "off", "0" };

	for (size_t i = 0; i < ARRAY_SIZE(yes); i++) {
		if (strcasecmp(value, yes[i]) == 0 || strcasecmp(value, no[i]) == 0) {
			*slot = strcasecmp(value, yes[i]) == 0;
			return 0;
		}
	}
	return -EINVAL;
}

static const struct unit *unit_find(const struct unit *units, const char *name)
{
	for (; units->name; units++)
		if (strcmp(units->name, name) == 0)
			return units;
	return NULL;
}

static int number_parse(const struct config_key *key, const char *value, double *ret)
{
	const struct unit *units = key->type == CONFIG_BYTES	? byte_units :
				   key->type == CONFIG_DURATION ? time_units :
								  no_units;
	const struct unit *unit;
	double number;
	char *end;

	if (!isdigit((unsigned char)value[0]) &&
	    !(key->type == CONFIG_REAL && value[0] == '-' && isdigit((unsigned char)value[1])))
		return -EINVAL;
	number = strtod(value, &end);
	while (*end == ' ' || *end == '\t')
		end++;
	unit = unit_find(units, end);
	if (!unit || !isfinite(number))
		return -EINVAL;
	*ret = number * unit->factor;
	if ((key->min || key->max) && (*ret < key->min || *ret > key->max))
		return -ERANGE;
	return 0;
}

static int uint_set(const struct config_key *key, const char *value, uint64_t *slot)
{
	unsigned long long number;
	char *end;

	if (!isdigit((unsigned char)value[0]))
		return -EINVAL;
	errno = 0;
	number = strtoull(value, &end, 10);
	if (errno == ERANGE)
		return -ERANGE;
	if (*end)
		return -EINVAL;
	if ((key->min || key->max) && ((double)number < key->min || (double)number > key->max))
		return -ERANGE;
	*slot = number;
	return 0;
}

static int quantity_set(const struct config_key *key, const char *value, uint64_t *slot)
{
	double number;
	int r = number_parse(key, value, &number);

	if (r == 0 && number >= 0x1p64)
		r = -ERANGE;
	if (r == 0)
		*slot = (uint64_t)number;
	return r;
}

static int real_set(const struct config_key *key, const char *value, double *slot)
{
	double number;
	int r = number_parse(key, value, &number);

	if (r == 0)
		*slot = number;
	return r;
}

static int value_set(const struct config_key *key, const char *value, void *settings)
{
	void *slot = (char *)settings + key->offset;

	switch (key->type) {
	case CONFIG_PATH: return value[0] == '/' ? text_set(slot, value) : -EINVAL;
	case CONFIG_TEXT: return text_set(slot, value);
	case CONFIG_BOOL: return bool_set(slot, value);
	case CONFIG_REAL: return real_set(key, value, slot);
	case CONFIG_UINT: return uint_set(key, value, slot);
	case CONFIG_BYTES:
	case CONFIG_DURATION: return quantity_set(key, value, slot);
	}
	return -EINVAL;
}

const char *config_type_text(enum config_type type)
{
	switch (type) {
	case CONFIG_PATH: return "an absolute path";
	case CONFIG_BOOL: return "yes or no";
	case CONFIG_UINT: return "a whole number";
	case CONFIG_REAL: return "a number";
	case CONFIG_BYTES: return "a number of bytes such as 512M or 4G";
	case CONFIG_DURATION: return "a time such as 30s, 10min, 2h or 7d";
	case CONFIG_TEXT: break;
	}
	return "text";
}

int config_set(const struct config_key *keys, const char *key, const char *value, void *settings,
	       struct fault *reterr)
{
	const struct config_key *found = key_find(keys, key);
	int r;

	if (!found)
		return fault_set(reterr, -EINVAL, "unknown key \"%s\"", key);
	r = value_set(found, value, settings);
	if (r == -ERANGE)
		return found->max == 0 ? fault_set(reterr, -EINVAL, "%s = %s: too large", key, value) :
					 fault_set(reterr, -EINVAL, "%s = %s: must be between %g and %g", key,
						   value, found->min, found->max);
	if (r == -EINVAL)
		return fault_set(reterr, r, "%s = %s: must be %s", key, value, config_type_text(found->type));
	return r < 0 ? fault_errno(reterr, r, "%s", key) : 0;
}

static char *trimmed(char *start, char *end)
{
	while (end > start && isspace((unsigned char)end[-1]))
		end--;
	*end = '\0';
	while (isspace((unsigned char)*start))
		start++;
	return start;
}

struct taker {
	config_taken *func; /* or NULL */
	void *userdata;
};

/* @line, the @number-th, ends before @end, where a byte may be overwritten. */
static int line_parse(char *line, char *end, unsigned number, const struct config_key *keys, void *settings,
		      const struct taker *taker, struct fault *reterr)
{
	char *equals, *value, *text, *key;
	int r;

	if (memchr(line, '\0', (size_t)(end - line)))
		return fault_set(reterr, -EINVAL, "holds a NUL byte");
	text = trimmed(line, end);
	if (*text == '\0' || *text == '#' || *text == ';')
		return 0;
	equals = strchr(text, '=');
	if (!equals)
		return fault_set(reterr, -EINVAL, "\"%.60s\" is not \"key = value\"", text);
	value = trimmed(equals + 1, equals + 1 + strlen(equals + 1));
	key = trimmed(text, equals);
	r = config_set(keys, key, value, settings, reterr);
	if (r == 0 && taker->func)
		taker->func((size_t)(key_find(keys, key) - keys), number, taker->userdata);
	return r;
}

int config_parse_told(const char *text, size_t size, const char *name, const struct config_key *keys,
		      void *settings, config_taken *taken, void *userdata, struct fault *reterr)
{
	_clean_(freep) char *copy = malloc(size + 1);
	unsigned number = 1;

	if (!copy)
		return fault_errno(reterr, -ENOMEM, "%s", name);
	if (size)
		memcpy(copy, text, size);
	copy[size] = '\n';
	for (char *line = copy, *end; line <= copy + size; line = end + 1, number++) {
		int r;

		end = memchr(line, '\n', (size_t)(copy + size - line) + 1);
		r = line_parse(line, end, number, keys, settings, &(struct taker){ taken, userdata }, reterr);
		if (r < 0)
			return fault_prefix(reterr, r, "%s:%u", name, number);
	}
	return 0;
}

int config_parse(const char *text, size_t size, const char *name, const struct config_key *keys,
		 void *settings, struct fault *reterr)
{
	return config_parse_told(text, size, name, keys, settings, NULL, NULL, reterr);
}

int config_file_read_told(const char *path, const struct config_key *keys, void *settings,
			  config_taken *taken, void *userdata, struct fault *reterr)
{
	_clean_(file_map_donep) struct file_map map = { 0 };
	int r = file_map_open(path, &map, reterr);

	if (r < 0)
		return r;
	if (map.size > CONFIG_FILE_MAX_BYTES)
		return fault_errno(reterr, -EFBIG, "%s", path);
	return config_parse_told((const char *)map.data, map.size, path, keys, settings, taken, userdata,
				 reterr);
}

int config_file_read(const char *path, const struct config_key *keys, void *settings, struct fault *reterr)
{
	return config_file_read_told(path, keys, settings, NULL, NULL, reterr);
}

/* In the largest unit of which it is a whole number. */
static void quantity_print(uint64_t value, const struct unit *units, struct buffer *ret)
{
	const struct unit *best = units;

	for (const struct unit *unit = units; unit->name; unit++)
		if (value && value % (uint64_t)unit->factor == 0)
			best = unit;
	buffer_printf(ret, "%llu%s", (unsigned long long)(value / (uint64_t)best->factor), best->name);
}

void config_number_print(const struct config_key *key, double number, struct buffer *ret)
{
	if (key->type == CONFIG_BYTES || key->type == CONFIG_DURATION)
		quantity_print((uint64_t)number, key->type == CONFIG_BYTES ? byte_units : time_units, ret);
	else
		buffer_printf(ret, "%g", number);
}

void config_value_print(const struct config_key *key, const void *settings, struct buffer *ret)
{
	const void *slot = (const char *)settings + key->offset;

	switch (key->type) {
	case CONFIG_TEXT:
	case CONFIG_PATH: buffer_printf(ret, "%s", *(char *const *)slot ?: ""); return;
	case CONFIG_BOOL: buffer_printf(ret, "%s", *(const bool *)slot ? "yes" : "no"); return;
	case CONFIG_REAL: buffer_printf(ret, "%g", *(const double *)slot); return;
	case CONFIG_UINT: buffer_printf(ret, "%llu", (unsigned long long)*(const uint64_t *)slot); return;
	case CONFIG_BYTES: quantity_print(*(const uint64_t *)slot, byte_units, ret); return;
	case CONFIG_DURATION: quantity_print(*(const uint64_t *)slot, time_units, ret); return;
	}
}

void config_print(const struct config_key *keys, const void *settings, struct buffer *ret)
{
	for (; keys->name; keys++) {
		const void *slot = (const char *)settings + keys->offset;

		switch (keys->type) {
		case CONFIG_TEXT:
		case CONFIG_PATH:
			if (*(char *const *)slot && **(char *const *)slot) /* no line can say "empty" */
				buffer_printf(ret, "%s = %s\n", keys->name, *(char *const *)slot);
			break;
		case CONFIG_BOOL:
			buffer_printf(ret, "%s = %s\n", keys->name, *(const bool *)slot ? "yes" : "no");
			break;
		case CONFIG_REAL:
			buffer_printf(ret, "%s = %.17g\n", keys->name, *(const double *)slot);
			break;
		case CONFIG_UINT:
		case CONFIG_BYTES:
		case CONFIG_DURATION:
			buffer_printf(ret, "%s = %llu\n", keys->name,
				      (unsigned long long)*(const uint64_t *)slot);
			break;
		}
	}
}

void config_done(const struct config_key *keys, void *settings)
{
	for (; keys->name; keys++) {
		char **slot = (char **)((char *)settings + keys->offset);

		if (keys->type != CONFIG_TEXT && keys->type != CONFIG_PATH)
			continue;
		free(*slot);
		*slot = NULL;
	}
}

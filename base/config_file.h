/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * config_file.h - "key = value" files: the programs' configuration, the store's descriptions
 *
 * One setting a line; blank lines and lines that start with '#' or ';' are skipped; blanks around key
 * and value do not count; the last line for a key wins. Every key is declared in a table that says
 * where its value goes, so that an unknown key, a bad number or one out of range is an error that
 * names file and line. Nothing continues over lines and nothing is quoted.
 *
 * A value replaces what stands in the settings already, so the caller fills in defaults first.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/fault.h"

#define CONFIG_FILE_MAX_BYTES (1u << 20)

enum config_type {
	CONFIG_TEXT,	 /* char *, owned by the settings */
	CONFIG_PATH,	 /* the same; must start with '/' */
	CONFIG_BOOL,	 /* bool: yes, no, true, false, on, off, 1, 0 */
	CONFIG_UINT,	 /* uint64_t */
	CONFIG_REAL,	 /* double */
	CONFIG_BYTES,	 /* uint64_t bytes: a number and perhaps K, M, G or T (powers of 1024) */
	CONFIG_DURATION, /* uint64_t seconds: a number and perhaps s, min, h or d */
};

struct config_key {
	const char *name; /* NULL ends a table */
	enum config_type type;
	size_t offset;	 /* of the value in the settings struct */
	double min, max; /* inclusive, for numbers; both 0: any */
	const char
		*what; /* for people: what it decides, in sentences; NULL in files that only programs write */
};

/** Told of each value that was taken: which key of the table, and in which line, from 1 */
typedef void config_taken(size_t key, unsigned line, void *userdata);

/**
 * config_parse() - take @size bytes of text into @settings
 * @name: what to call the text in messages
 * Return: 0; -EINVAL with @reterr ("NAME:LINE: ..."); -ENOMEM. After an error @settings is valid, but
 * may hold values from the lines before.
 */
int config_parse(const char *text, size_t size, const char *name, const struct config_key *keys,
		 void *settings, struct fault *reterr);

/** config_parse_told() - config_parse() that tells @taken (may be NULL) of every value */
int config_parse_told(const char *text, size_t size, const char *name, const struct config_key *keys,
		      void *settings, config_taken *taken, void *userdata, struct fault *reterr);

/** config_file_read() - the same for a file; -ENOENT when there is none, -EFBIG beyond CONFIG_FILE_MAX_BYTES */
int config_file_read(const char *path, const struct config_key *keys, void *settings, struct fault *reterr);

/** config_file_read_told() - config_file_read() that tells @taken (may be NULL) of every value */
int config_file_read_told(const char *path, const struct config_key *keys, void *settings,
			  config_taken *taken, void *userdata, struct fault *reterr);

/** config_set() - one value, as if "KEY = VALUE" had been read; for command line options */
int config_set(const struct config_key *keys, const char *key, const char *value, void *settings,
	       struct fault *reterr);

/** config_print() - append every key with its value, unless that is an empty text, in the syntax that config_parse() reads */
void config_print(const struct config_key *keys, const void *settings, struct buffer *ret);

/** config_value_print() - append one value as a person would write it: "2h", "8G"; nothing for a text that is not set */
void config_value_print(const struct config_key *key, const void *settings, struct buffer *ret);

/** config_number_print() - append @number, of that key's type, in the same form: for its limits */
void config_number_print(const struct config_key *key, double number, struct buffer *ret);

/** config_type_text() - what a value of that type looks like: "a time such as 30s, 10min, 2h or 7d" */
const char *config_type_text(enum config_type type);

/** config_done() - free the texts that @keys points to */
void config_done(const struct config_key *keys, void *settings);

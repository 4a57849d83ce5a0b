/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * daemon.h - what the verbs that talk to morphd share: options, connection, times as text
 */

#include <getopt.h>

#include "cli/verb.h"
#include "manager/talk/client.h"

enum { DAEMON_OPTION_SOCKET = 1000, DAEMON_OPTION_BUS, DAEMON_OPTION_ALL_USERS };

/* For the option table of a verb that talks to morphd; a verb's own options come before. */
#define DAEMON_OPTIONS                                                                                     \
	{ "json", no_argument, NULL, 'j' }, { "socket", required_argument, NULL, DAEMON_OPTION_SOCKET },   \
		{ "bus", required_argument, NULL, DAEMON_OPTION_BUS }, { "help", no_argument, NULL, 'h' }, \
	{                                                                                                  \
		NULL                                                                                       \
	}

/* The same for one that reads. */
#define DAEMON_READER_OPTIONS { "all-users", no_argument, NULL, DAEMON_OPTION_ALL_USERS }, DAEMON_OPTIONS

struct daemon_options {
	struct client_options client;
	bool json, all_users;
};

/**
 * daemon_option() - take what getopt_long() returned
 * Return: -1: taken, go on; else the exit code (of --help, or of an unknown option).
 */
int daemon_option(struct daemon_options *options, int option, const char *verb);

struct daemon_part {
	const char *path, *kind, *name; /* kind: "function", "pass" */
	uint64_t cfg_hash;		/* of a function; 0: as it is found */
};

/** daemon_pin_part() - it stays as shipped from now on, because of @reason; NULL: not any more. 0 or -errno */
int daemon_pin_part(const struct daemon_options *options, const struct daemon_part *part, const char *reason,
		    struct fault *reterr);

/** daemon_only_options() - for a verb without options of its own: parse all; -1, or the exit code */
int daemon_only_options(struct daemon_options *options, int argc, char **argv, const char *verb);

/** daemon_call() - connect, call, hang up; @types 's' (texts) and 'x' (int64_t) */
int daemon_call(const struct daemon_options *options, const char *method, sd_bus_message **retreply,
		struct fault *reterr, const char *types, const char *path, const char *text, int64_t number);

/**
 * daemon_read() - the same for a method that reads, of everybody's programs when that was asked for; see client_call()
 * @path: morphd compares it as text, so symbolic links are resolved here, with the caller's rights; NULL: none
 */
int daemon_read(const struct daemon_options *options, const char *method, sd_bus_message **retreply,
		struct fault *reterr, const char *path);

/**
 * daemon_status() - morphd's status: of itself, and of all modules
 * @retreply: what follows in the answer is read next; unreferenced by the caller, also after an error, as the records are
 */
int daemon_status(const struct daemon_options *options, sd_bus_message **retreply, struct record *retdaemon,
		  struct records *retmodules, struct fault *reterr);

/** daemon_path() - @path made absolute, without following symbolic links; owned by the caller */
char *daemon_path(const char *path, struct fault *reterr);

#define DAEMON_TIME_TEXT 24
/** daemon_time() - CLOCK_REALTIME nanoseconds as local time; "never" for 0 */
const char *daemon_time(int64_t time_ns, char ret[DAEMON_TIME_TEXT]);
/** daemon_percent() - "12.3 %", "-" for NAN */
const char *daemon_percent(double share, char ret[16]);

#define DAEMON_MEASURED_TEXT 64
/** daemon_measured() - the measured gain of a row and its interval, "7.9 % (5.1 .. 10.6)"; "-": not known */
const char *daemon_measured(const struct record *row, char ret[DAEMON_MEASURED_TEXT]);

/** daemon_generations_print(), daemon_events_print() - tables */
int daemon_generations_print(const struct records *generations, int64_t active);
int daemon_events_print(const struct records *events, bool with_path);

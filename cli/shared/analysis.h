/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * analysis.h - a program and samples of it, analysed: what `morph annotate` and `morph blocks` show
 */

#include "module/morph_data.h"
#include "profiles/cycles/cycles.h"
#include "profiles/cycles/recover.h"
#include "profiles/samples/sample_log.h"

#define ANALYSIS_MAX_COUNTS 64u

struct analysis_request {
	const char *program;  /* a path; without a slash also the name of a file in the logs, or "kernel" */
	const char *function; /* that must be analysed, whatever else is; NULL: none */
	char *const *samples; /* sample logs; several are summed */
	size_t n_samples;
	const struct sample_log *log; /* instead of these: their sum, as of sample_logs_sum() */
	const char *sidecar_dir;      /* or NULL */
	const char *debug_dir;	      /* NULL: DEBUG_DIRECTORY */
	double clock_hz;	      /* 0: what the machine does now is measured */
	/* "FUNCTION[+OFFSET]=EXECUTIONS" or "0xADDRESS=...": counts that are known */
	const char *anchors[ANALYSIS_MAX_COUNTS];
	size_t n_anchors;
	const char *faults; /* a log of page faults of the same work; NULL: not known */
};

#define ANALYSIS_MAX_LOGS 1024u

/**
 * analysis_option() - of a verb's options those that say what is analysed: 's' a log, 'c' a count, 'g' GHz of the clock, 'd'
 * the directory of sidecars, 'f' a log of page faults, 'y' the directory of debug files
 * @logs: room for the logs' names; @request->samples points there
 * Return: 1: taken; 0: not one of these; -EINVAL: not usable
 */
int analysis_option(int option, char *value, char *logs[ANALYSIS_MAX_LOGS], struct analysis_request *request);

/**
 * analysis_default() - where no log was named: the one that `morph record` writes, if it is here
 * @logs: as of analysis_option(). Return: there is a log; else it is said for @verb
 */
bool analysis_default(const char *verb, char *logs[ANALYSIS_MAX_LOGS], struct analysis_request *request);

struct analysis {
	struct image *image;
	struct image *symbols;	 /* owned: its debug file; NULL: it has its own symbols, or none */
	struct morph_data *data; /* NULL: the file carries none */
	struct block_map *map;	 /* of the file, or recovered (then owned) */
	bool is_recovered, is_clock_measured;
	struct recover_left left;	    /* functions that were too large to be analysed */
	struct sample_log *own_log;	    /* NULL: the log is the caller's */
	const struct sample_log *log;	    /* borrowed */
	const struct sample_module *module; /* borrowed from log, or kernel */
	struct sample_module *kernel;	    /* owned: the kernel's, by offsets in its file; or NULL */
	char *kernel_path;		    /* owned: where that was found; NULL: it was named */
	struct sample_log *faults;	    /* NULL: not known */
	double clock_hz;
	struct cycles cycles;
};

/**
 * analysis_make() - all of it
 * Return: 0; -EFBIG: more code than is analysed at once; -ENODATA: the logs have no samples of this file, or of another build of it; -EINVAL: an anchor that names
 * nothing; else as image_open(), sample_log_read(), cycles_read(); @reterr says what to do.
 */
int analysis_make(const struct analysis_request *request, struct analysis *ret, struct fault *reterr);
void analysis_done(struct analysis *analysis);

/* A function of the map with its sums, to be sorted by samples. */
struct analysed_function {
	const struct block_function *function; /* borrowed */
	struct cycles_summary summary;
	double fell; /* samples as they fell */
};

/** analysis_elsewhere() - what has most samples in the logs, if it is not this; else NULL */
const struct sample_module *analysis_elsewhere(const struct analysis *analysis);

/** analysis_functions() - those that have samples, most first; @ret is freed by the caller; 0 or -ENOMEM */
int analysis_functions(const struct analysis *analysis, struct analysed_function **ret, size_t *retn);

/**
 * analysed_find() - in the list of @analysis the one that is meant by @name (typed_function.h)
 * Return: NULL with @reterr: there is none
 */
const struct analysed_function *analysed_find(const struct analysis *analysis,
					      const struct analysed_function *functions, size_t n,
					      const char *name, struct fault *reterr);

#define ANALYSED_NAME_BYTES 24

/** analysed_name() - the function's name, or its address, into @ret */
const char *analysed_name(const struct block_function *function, char ret[ANALYSED_NAME_BYTES]);

/** sample_logs_sum() - read and add up; modules by build. 0; -errno with @reterr */
int sample_logs_sum(char *const *paths, size_t n, struct sample_log **ret, struct fault *reterr);

/** clock_measure() - cycles per second of the CPU that we run on, from a chain of additions; 0: not known here */
double clock_measure(void);

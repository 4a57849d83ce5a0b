/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * edit_input.h - what the jobs of an edit read: the shipped file, samples of every generation, what was carried over, what others counted
 */

#include "manager/keep/catalog.h"
#include "manager/job/job.h"
#include "manager/program/priors.h"

struct edit_input {
	struct job_file *files; /* owned, with their paths; the shipped file is the first one */
	size_t n_files;
	char **generations; /* owned, NULL-terminated: --generation=FILE for each that has samples; NULL: none */
	size_t n_generations;
	char *carried[3]; /* owned: --from=FILE --half-life=TIME; all NULL when there is nothing */
	char *priors[PRIOR_SOURCES +
		     1]; /* owned, NULL-terminated: --prior=FILE for each that there is, in their order */
	enum prior_source sources[PRIOR_SOURCES]; /* whose these are */
	size_t n_priors;
	bool has_samples; /* of this machine */
	double samples;	  /* how many the profile is made from, aged; without those of others */
};

/** edit_input_make() - empties the work directory and fills it. @ret: needs edit_input_done(), also after an error */
int edit_input_make(struct manager *manager, const struct module_row *module, struct edit_input *ret,
		    struct fault *reterr);

/**
 * edit_input_made() - likewise, with what somebody else's edit wrote into the directory @made, which only root can fill
 * @ret: the shipped file alone
 */
int edit_input_made(struct manager *manager, const struct module_row *module, const char *made,
		    struct edit_input *ret, struct fault *reterr);

/**
 * edit_input_news() - of what was sampled since the last batch for the fleet (news.h), in the directory @place
 * Its samples are marked as taken before. -ENODATA: there are none. @ret: as above
 */
int edit_input_news(struct manager *manager, const struct module_row *module, const char *place,
		    struct edit_input *ret, struct fault *reterr);
void edit_input_done(struct edit_input *input);

/* SPDX-License-Identifier: Apache-2.0 */

#include "monitor/outlet.h"

#include <errno.h>

#define MAX_PENDING_COUNTS 200000u /* 16 bytes each */

int outlet_open(const struct monitor_settings *settings, struct outlet *ret, struct fault *reterr)
{
	struct outlet outlet = { .spool.lock = -1, .output = settings->output };
	int r = 0;

	if (!settings->output)
		r = spool_open(settings->spool, settings->spool_limit_bytes, &outlet.spool, reterr);
	if (r == 0)
		*ret = outlet;
	return r;
}

void outlet_close(struct outlet *outlet)
{
	spool_close(&outlet->spool);
	sample_log_free(outlet->pending);
	*outlet = (struct outlet){ .spool.lock = -1 };
}

static size_t size_of(const struct sample_log *log)
{
	size_t n = 0;

	for (size_t i = 0; i < log->n_modules; i++)
		n += log->modules[i].n_counts;
	return n;
}

static int keep(struct outlet *outlet, struct sample_log *log)
{
	int r = 0;

	if (!outlet->pending)
		outlet->pending = TAKE(log);
	else
		r = sample_log_merge(outlet->pending, log);
	sample_log_free(log);
	outlet->n_unwritten++;
	return r;
}

static void give_up(struct outlet *outlet)
{
	outlet->n_given_up += outlet->pending->user + outlet->pending->kernel;
	sample_log_free(TAKE(outlet->pending));
	outlet->n_unwritten = 0;
}

int outlet_log(struct outlet *outlet, struct sample_log *log, struct fault *reterr)
{
	int r = keep(outlet, log);

	if (r < 0)
		return fault_errno(reterr, r, "sample log");
	if (outlet->output)
		return 0;
	r = spool_write_log(&outlet->spool, outlet->pending, reterr);
	if (r == 0) {
		sample_log_free(TAKE(outlet->pending));
		outlet->n_logs++;
		outlet->n_unwritten = 0;
	} else if (size_of(outlet->pending) > MAX_PENDING_COUNTS) {
		give_up(outlet);
	}
	return r;
}

int outlet_events(struct outlet *outlet, const struct lifecycle *events, struct fault *reterr)
{
	return outlet->output ? 0 : spool_write_events(&outlet->spool, events, reterr);
}

int outlet_finish(struct outlet *outlet, struct fault *reterr)
{
	int r = 0;

	if (!outlet->pending)
		return 0;
	if (outlet->output)
		r = sample_log_write(outlet->pending, outlet->output, reterr);
	else
		r = spool_write_log(&outlet->spool, outlet->pending, reterr);
	outlet->n_logs += r == 0;
	return r;
}

/* SPDX-License-Identifier: Apache-2.0 */

#include "monitor/record/collector.h"

#include <fcntl.h>

#include "tests/monitor/directory.h"
#include "tests/monitor/identify/file_at.h"

#define MANY_MODULES (CATALOG_MAX / 2 - 100)

/* One sample in each of the first @n files, by root, announced or (were they all forgotten) not. */
static struct sample_log *log_of_many(struct collector *collector, unsigned n, bool announce)
{
	_clean_(freep) struct sampler_row *rows = calloc(n, sizeof(*rows));
	struct sampler_drained drained = { .rows = rows, .n_rows = n };
	struct collector_head head = { .source = SAMPLE_SOURCE_TICK,
				       .n_cpus = 1,
				       .tables = 1u << SAMPLER_MAIN };
	struct sample_log *log;
	char name[256];
	struct fault fault;

	for (unsigned i = 0; i < n; i++) {
		struct sampler_module_event event = { .event = { .type = SAMPLER_EVENT_MODULE,
								 .tgid = 0x7ffffff0 } };

		snprintf(name, sizeof(name), "%u", i);
		event.event.module = file_at(in(name));
		event.event.number = SAMPLER_FIRST_FILE + i;
		event.path_bytes = (uint32_t)snprintf(event.path, sizeof(event.path), "%u%c%s%ctmp", i, 0,
						      directory + strlen("/tmp/"), 0) +
				   1;
		rows[i] = (struct sampler_row){ { .offset = 64, .module = SAMPLER_FIRST_FILE + i }, 1 };
		if (announce)
			CHECK(collector_event(collector, &event.event, sizeof(event)));
	}
	drained.counters.n[SAMPLER_FIRED] = drained.counters.n[SAMPLER_USER_MODE] =
		drained.counters.n[SAMPLER_ATTRIBUTED] = n;
	CHECK_INT(collector_add(collector, SAMPLER_MAIN, &drained, &fault), 0);
	CHECK_INT(collector_log(collector, &head, &log, &fault), 0);
	return log;
}

static void files_make(unsigned n)
{
	char name[32];

	fresh_directory();
	for (unsigned i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%u", i);
		_clean_(fd_closep) int fd = open(in(name), O_WRONLY | O_CREAT, 0600);

		CHECK(fd >= 0);
	}
}

TEST(too_many_modules_are_forgotten_when_nobody_runs_them_any_more)
{
	_clean_(collector_freep) struct collector *collector = collector_new(NULL);
	struct sample_log *log;

	files_make(MANY_MODULES);
	log = log_of_many(collector, MANY_MODULES, true);
	CHECK_INT(log->attributed, MANY_MODULES);
	CHECK_INT(log->n_modules, MANY_MODULES);
	sample_log_free(log);
	CHECK(!collector_forgotten(collector));
	/* One of them goes on. */
	log = log_of_many(collector, 1, false);
	CHECK_INT(log->attributed, 1);
	sample_log_free(log);
	CHECK(collector_forgotten(collector) && !collector_forgotten(collector));
	CHECK(collector_n_modules(collector) <= 3);
	/* Who is not announced again is a named loss, not another module's samples. */
	log = log_of_many(collector, MANY_MODULES, false);
	CHECK_INT(log->lost[SAMPLE_LOSS_UNRESOLVED], MANY_MODULES);
	sample_log_free(log);
	log = log_of_many(collector, MANY_MODULES, true);
	CHECK_INT(log->attributed, MANY_MODULES);
	sample_log_free(log);
	cleanup();
}

TEST_MAIN()

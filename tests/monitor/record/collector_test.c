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
			CHECK(collector_event(collector, &event.event, sizeof(event), NULL));
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

static bool is_announced_again(struct collector *collector, const char *path, uint64_t now_ns)
{
	struct sampler_module_event event = { .event = { .type = SAMPLER_EVENT_MODULE,
							 .tgid = 0x7ffffff0,
							 .time_ns = now_ns,
							 .number = SAMPLER_FIRST_FILE } };
	struct sampler_file again = { 0 };
	bool is_resolved;

	event.event.module = file_at(in("0"));
	event.path_bytes = (uint32_t)snprintf(event.path, sizeof(event.path), "%s%c%s%ctmp", path, 0,
					      directory + strlen("/tmp/"), 0) +
			   1;
	is_resolved = collector_event(collector, &event.event, sizeof(event), &again);
	CHECK(is_resolved || again.inode == event.event.module.inode);
	return !is_resolved;
}

/* It may be a process that we cannot see: each of its samples would cost a question. */
TEST(a_file_that_is_not_found_again_and_again_waits_and_is_found_later)
{
	_clean_(collector_freep) struct collector *collector = collector_new(NULL);
	const uint64_t now = 1000000000;
	const size_t of_the_kernel = collector_n_modules(collector);
	struct sampler_file again;
	unsigned n = 0;

	files_make(1);
	while (n < 100 && is_announced_again(collector, "elsewhere", now))
		n++;
	CHECK(n > 1 && n < 10);
	CHECK_INT(collector_n_modules(collector), of_the_kernel);
	/* Announced before its time (all are, after the catalog was made anew) it is not even looked for. */
	CHECK(!is_announced_again(collector, "0", now));
	CHECK_INT(collector_n_modules(collector), of_the_kernel);
	CHECK(!collector_due(collector, now, &again));
	CHECK(collector_due(collector, 100 * now, &again));
	CHECK(!collector_due(collector, 100 * now, &again));
	CHECK(!is_announced_again(collector, "0", 100 * now));
	CHECK_INT(collector_n_modules(collector), of_the_kernel + 1);
	cleanup();
}

TEST_MAIN()

/* SPDX-License-Identifier: Apache-2.0 */

#include "manager/verify/sample_records.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

#include "manager/verify/records_database.h"

/* Files with places and without: what a module has beyond its generations was counted before it was verified. */
#define FILES                                                                                           \
	"SELECT g.id, coalesce((SELECT t.path FROM target t WHERE t.module = m.id AND t.generation = "  \
	"g.number ORDER BY t.path LIMIT 1), m.path), m.key, g.build_id, m.kind, g.number, g.samples, "  \
	"m.first_ns, m.last_ns FROM generation g JOIN module m ON m.id = g.module WHERE g.samples > 0 " \
	"UNION ALL "                                                                                    \
	"SELECT 0, m.path, m.key, m.key, m.kind, 0, m.samples - coalesce((SELECT sum(g.samples) FROM "  \
	"generation g WHERE g.module = m.id), 0), m.first_ns, m.last_ns FROM module m"

#define PLACES "SELECT offset, sum(weight) FROM sample WHERE generation = ? AND target = -1 GROUP BY offset"

/* @measured: three columns; a database that no newer morphd has opened yet has none. */
#define GENERATIONS(measured)                                                                                \
	"SELECT coalesce(t.path, m.path) AS path, g.number, g.number = coalesce(t.generation, 0), g.state, " \
	"g.created_ns, g.gain, g.samples, g.crashes, g.reason, " measured                                    \
	" FROM generation g JOIN module m ON m.id = g.module LEFT JOIN target t ON t.module = m.id "         \
	"WHERE EXISTS (SELECT 1 FROM generation o WHERE o.module = m.id AND o.number > 0) "                  \
	"ORDER BY path, g.number"

#define HOUR_NS 3600000000000ll
#define USAGE                                                                                        \
	"SELECT n.process, n.unit, n.user, sum(u.samples), sum(u.cpu_us), min(u.hour), max(u.hour) " \
	"FROM usage u JOIN usage_name n ON n.id = u.name WHERE u.hour BETWEEN ? AND ? GROUP BY n.id"

/* Rows end with SQLITE_DONE; what a reader refuses is kept in @retrefused. */
static int totals_read(sqlite3 *db, const struct sample_records_reader *reader, int *retrefused)
{
	sqlite3_stmt *row = NULL;
	int r = sqlite3_prepare_v2(db, "SELECT key, value FROM total", -1, &row, NULL);

	while (r == SQLITE_OK && (r = sqlite3_step(row)) == SQLITE_ROW) {
		*retrefused =
			reader->total(reader->userdata, record_column(row, 0), sqlite3_column_int64(row, 1));
		r = *retrefused < 0 ? SQLITE_ABORT : SQLITE_OK;
	}
	sqlite3_finalize(row);
	return r;
}

static int places_read(sqlite3 *db, int64_t generation, const struct sample_records_reader *reader,
		       int *retrefused)
{
	sqlite3_stmt *row = NULL;
	int r = sqlite3_prepare_v2(db, PLACES, -1, &row, NULL);

	if (r == SQLITE_OK)
		r = sqlite3_bind_int64(row, 1, generation);
	while (r == SQLITE_OK && (r = sqlite3_step(row)) == SQLITE_ROW) {
		*retrefused = reader->place(reader->userdata, sqlite3_column_int64(row, 0),
					    sqlite3_column_double(row, 1));
		r = *retrefused < 0 ? SQLITE_ABORT : SQLITE_OK;
	}
	sqlite3_finalize(row);
	return r;
}

static int files_read(sqlite3 *db, const struct sample_records_reader *reader, int *retrefused)
{
	sqlite3_stmt *row = NULL;
	int r = sqlite3_prepare_v2(db, FILES, -1, &row, NULL);

	while (r == SQLITE_OK && (r = sqlite3_step(row)) == SQLITE_ROW) {
		struct sample_record record = { .path = record_column(row, 1),
						.module_key = record_column(row, 2),
						.build_id = record_column(row, 3),
						.kind = sqlite3_column_int64(row, 4),
						.number = sqlite3_column_int64(row, 5),
						.samples = sqlite3_column_int64(row, 6),
						.first_ns = sqlite3_column_int64(row, 7),
						.last_ns = sqlite3_column_int64(row, 8) };
		int64_t generation = sqlite3_column_int64(row, 0);

		r = SQLITE_OK;
		if (record.samples <= 0)
			continue;
		*retrefused = reader->file(reader->userdata, &record);
		if (*retrefused < 0)
			r = SQLITE_ABORT;
		else if (reader->place && generation)
			r = places_read(db, generation, reader, retrefused);
		r = r == SQLITE_DONE ? SQLITE_OK : r;
	}
	sqlite3_finalize(row);
	return r;
}

static double real_column(sqlite3_stmt *row, int i)
{
	return sqlite3_column_type(row, i) == SQLITE_NULL ? NAN : sqlite3_column_double(row, i);
}

static int generations_read(sqlite3 *db, const struct sample_records_reader *reader, int *retrefused)
{
	sqlite3_stmt *row = NULL;
	int r = sqlite3_prepare_v2(db, GENERATIONS("g.measured, g.measured_low, g.measured_high"), -1, &row,
				   NULL);

	if (r != SQLITE_OK)
		r = sqlite3_prepare_v2(db, GENERATIONS("NULL, NULL, NULL"), -1, &row, NULL);
	while (r == SQLITE_OK && (r = sqlite3_step(row)) == SQLITE_ROW) {
		struct generation_record record = { .path = record_column(row, 0),
						    .state = record_column(row, 3),
						    .reason = record_column(row, 8),
						    .number = sqlite3_column_int64(row, 1),
						    .is_active = sqlite3_column_int64(row, 2) != 0,
						    .created_ns = sqlite3_column_int64(row, 4),
						    .samples = sqlite3_column_int64(row, 6),
						    .crashes = sqlite3_column_int64(row, 7),
						    .gain = real_column(row, 5),
						    .measured = real_column(row, 9),
						    .measured_low = real_column(row, 10),
						    .measured_high = real_column(row, 11) };

		*retrefused = reader->generation(reader->userdata, &record);
		r = *retrefused < 0 ? SQLITE_ABORT : SQLITE_OK;
	}
	sqlite3_finalize(row);
	return r;
}

/* A database that no newer morphd has opened yet has no such table: it knows nothing of that. */
static int usage_read(sqlite3 *db, const struct sample_records_reader *reader, int *retrefused)
{
	int64_t last = reader->until_ns ? (int64_t)(reader->until_ns / HOUR_NS) : INT64_MAX / HOUR_NS;
	sqlite3_stmt *row = NULL;
	int r;

	if (sqlite3_table_column_metadata(db, NULL, "usage", "hour", NULL, NULL, NULL, NULL, NULL) !=
	    SQLITE_OK)
		return SQLITE_DONE;
	r = sqlite3_prepare_v2(db, USAGE, -1, &row, NULL);
	if (r == SQLITE_OK)
		r = sqlite3_bind_int64(row, 1, (int64_t)(reader->since_ns / HOUR_NS));
	if (r == SQLITE_OK)
		r = sqlite3_bind_int64(row, 2, last);
	while (r == SQLITE_OK && (r = sqlite3_step(row)) == SQLITE_ROW) {
		struct usage_record record = { .process = record_column(row, 0),
					       .unit = record_column(row, 1),
					       .user = sqlite3_column_int64(row, 2),
					       .samples = sqlite3_column_int64(row, 3),
					       .cpu_us = sqlite3_column_int64(row, 4),
					       .first_ns = sqlite3_column_int64(row, 5) * HOUR_NS,
					       .last_ns = (sqlite3_column_int64(row, 6) + 1) * HOUR_NS };

		*retrefused = reader->usage(reader->userdata, &record);
		r = *retrefused < 0 ? SQLITE_ABORT : SQLITE_OK;
	}
	sqlite3_finalize(row);
	return r;
}

int sample_records_read(const char *state_directory, const struct sample_records_reader *reader,
			struct fault *reterr)
{
	sqlite3 *db = NULL;
	char path[PATH_MAX];
	int refused = 0, r = records_database_open(state_directory, path, &db, reterr);

	if (r < 0)
		return r;
	r = reader->total ? totals_read(db, reader, &refused) : SQLITE_DONE;
	if (r == SQLITE_DONE && reader->file)
		r = files_read(db, reader, &refused);
	if (r == SQLITE_DONE && reader->generation)
		r = generations_read(db, reader, &refused);
	if (r == SQLITE_DONE && reader->usage)
		r = usage_read(db, reader, &refused);
	if (refused < 0)
		r = fault_errno(reterr, refused, "%s", path);
	else
		r = r == SQLITE_DONE ? 0 : fault_set(reterr, -EUCLEAN, "%s: %s", path, sqlite3_errmsg(db));
	sqlite3_close_v2(db);
	return r;
}

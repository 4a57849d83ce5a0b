/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * schema.h - the tables of state.db, version STATE_VERSION (docs/format-store.md explains each)
 *
 * Times are CLOCK_REALTIME nanoseconds. A module is a shipped file, by build ID; generation 0 is that
 * file itself, generation N its N-th edit; a target is a path at which a module is installed.
 */

/* Which file it was, and whose: version 3 has these tables anew. */
#define SCHEMA_IDENTITY                                                                                    \
	"CREATE TABLE sample("                                                                             \
	" generation INTEGER NOT NULL REFERENCES generation ON DELETE CASCADE,"                            \
	" user INTEGER NOT NULL," /* a group of users: tally_user() */                                     \
	" offset INTEGER NOT NULL,"                                                                        \
	" target INTEGER NOT NULL," /* -1: a sample; else the offset a branch from here went to */         \
	" weight REAL NOT NULL,"                                                                           \
	" PRIMARY KEY(generation, offset, target, user)) WITHOUT ROWID;"                                   \
	"CREATE TABLE verified_file(" /* files that morphd itself saw to be a generation */                \
	" device INTEGER NOT NULL, inode INTEGER NOT NULL, changed_ns INTEGER NOT NULL, size INTEGER NOT " \
	"NULL,"                                                                                            \
	" generation INTEGER NOT NULL REFERENCES generation ON DELETE CASCADE,"                            \
	" time_ns INTEGER NOT NULL,"                                                                       \
	" UNIQUE(device, inode, changed_ns, size));"                                                       \
	"CREATE INDEX verified_file_generation ON verified_file(generation);"                              \
	"CREATE TABLE pending_file(" /* others, whose counts are kept until morphd knows what they are */  \
	" module INTEGER PRIMARY KEY REFERENCES module ON DELETE CASCADE,"                                 \
	" device INTEGER NOT NULL, inode INTEGER NOT NULL, changed_ns INTEGER NOT NULL, size INTEGER NOT " \
	"NULL,"                                                                                            \
	" user INTEGER NOT NULL, last_ns INTEGER NOT NULL);"                                               \
	"CREATE TABLE pending_sample("                                                                     \
	" module INTEGER NOT NULL REFERENCES pending_file ON DELETE CASCADE,"                              \
	" user INTEGER NOT NULL, offset INTEGER NOT NULL, target INTEGER NOT NULL, weight REAL NOT NULL,"  \
	" PRIMARY KEY(module, offset, target, user)) WITHOUT ROWID;"                                       \
	"CREATE TABLE run(" /* who started a generation, and for whom it crashed */                        \
	" generation INTEGER NOT NULL REFERENCES generation ON DELETE CASCADE,"                            \
	" user INTEGER NOT NULL," /* -1: not known, or one of too many */                                  \
	" starts INTEGER NOT NULL DEFAULT 0, faults INTEGER NOT NULL DEFAULT 0, aborts INTEGER NOT NULL "  \
	"DEFAULT 0,"                                                                                       \
	" watch_ns INTEGER NOT NULL DEFAULT 0," /* the activation that the next three count from */        \
	" watch_starts INTEGER NOT NULL DEFAULT 0, watch_faults INTEGER NOT NULL DEFAULT 0,"               \
	" watch_aborts INTEGER NOT NULL DEFAULT 0,"                                                        \
	" PRIMARY KEY(generation, user)) WITHOUT ROWID;"

/* What starts cost: version 4 (manager/count/cost.h). */
#define SCHEMA_COST                                                                                       \
	"CREATE TABLE cost("                                                                              \
	" generation INTEGER NOT NULL REFERENCES generation ON DELETE CASCADE,"                           \
	" user INTEGER NOT NULL," /* a group of users: tally_user() */                                    \
	" hour INTEGER NOT NULL," /* since 1970 */                                                        \
	" starts REAL NOT NULL DEFAULT 0,"                                                                \
	" tick REAL NOT NULL DEFAULT 0, tick_s REAL NOT NULL DEFAULT 0,"   /* samples, and CPU seconds */ \
	" clock REAL NOT NULL DEFAULT 0, clock_s REAL NOT NULL DEFAULT 0," /* the same by the other */    \
	" PRIMARY KEY(generation, user, hour)) WITHOUT ROWID;"                                            \
	"CREATE TABLE cost_gap(user INTEGER NOT NULL, hour INTEGER NOT NULL, PRIMARY KEY(user, hour)) "   \
	"WITHOUT ROWID;"
#define SCHEMA_3_COST                                                                               \
	SCHEMA_COST "ALTER TABLE generation ADD COLUMN measured REAL;"                              \
		    "ALTER TABLE generation ADD COLUMN measured_low REAL;"                          \
		    "ALTER TABLE generation ADD COLUMN measured_high REAL;"                         \
		    "ALTER TABLE generation ADD COLUMN measured_starts INTEGER NOT NULL DEFAULT 0;" \
		    "ALTER TABLE generation ADD COLUMN measured_users INTEGER NOT NULL DEFAULT 0;"

/*
 * What was sampled before nobody verified: it is forgotten, and so are crashes. Generations stay where they are; they are
 * made anew when there are enough samples again.
 */
#define SCHEMA_2_IDENTITY                                                                                 \
	"DROP TABLE sample;" SCHEMA_IDENTITY                                                              \
	"ALTER TABLE module ADD COLUMN condemned_ns INTEGER NOT NULL DEFAULT 0;"                          \
	"UPDATE module SET samples = 0, edit_samples = 0 WHERE carries = 1;"                              \
	"UPDATE module SET condemned_ns = CAST(strftime('%s', 'now') AS INTEGER) * 1000000000 "           \
	" WHERE condemned IS NOT NULL AND EXISTS (SELECT 1 FROM generation WHERE module = module.id AND " \
	"state = 'condemned');"                                                                           \
	"UPDATE generation SET samples = 0, starts = 0, crashes = 0;"

static const char schema_sql[] =
	"CREATE TABLE module("
	" id INTEGER PRIMARY KEY,"
	" key TEXT NOT NULL UNIQUE,"	       /* build ID in hexadecimal; "path:..." without one */
	" kind INTEGER NOT NULL,"	       /* enum sample_module_kind */
	" path TEXT NOT NULL,"		       /* where it was last seen; any bytes */
	" carries INTEGER NOT NULL DEFAULT 0," /* enum carries */
	" note TEXT,"			       /* why it is not optimized */
	" llvm_version TEXT,"
	" samples INTEGER NOT NULL DEFAULT 0,"	    /* all of them, never aged */
	" activity_ns INTEGER NOT NULL DEFAULT 0,"  /* time covered by logs in which it was seen */
	" activity_log INTEGER NOT NULL DEFAULT 0," /* the last such log: spool_file.serial */
	" age_ns INTEGER NOT NULL DEFAULT 0,"	    /* value of activity_ns at which a weight is 1 */
	" edit_samples INTEGER NOT NULL DEFAULT 0," /* value of samples at the last edit */
	" edit_ns INTEGER NOT NULL DEFAULT 0,"
	" needed INTEGER NOT NULL DEFAULT 0,"	/* new samples that the last attempt found missing */
	" failures INTEGER NOT NULL DEFAULT 0," /* edits that failed since the last good one */
	" condemned TEXT,"			/* a generation misbehaved: leave the module alone, and why */
	" condemned_ns INTEGER NOT NULL DEFAULT 0," /* since when, when it was for crashes; 0: until somebody lifts it */
	" verdict TEXT,"
	" verdict_ns INTEGER NOT NULL DEFAULT 0,"
	" first_ns INTEGER NOT NULL,"
	" last_ns INTEGER NOT NULL,"
	" carried REAL NOT NULL DEFAULT 0,"	 /* samples of the build before that were taken over */
	" left_behind REAL NOT NULL DEFAULT 0);" /* and those in functions that have changed */
	"CREATE TABLE generation("
	" id INTEGER PRIMARY KEY,"
	" module INTEGER NOT NULL REFERENCES module ON DELETE CASCADE,"
	" number INTEGER NOT NULL,"
	" build_id TEXT NOT NULL UNIQUE,"
	" digest TEXT NOT NULL," /* SHA-256 of the file's bytes; '': not known */
	" size INTEGER NOT NULL DEFAULT 0,"
	" state TEXT NOT NULL," /* shipped, built, condemned, dropped */
	" created_ns INTEGER NOT NULL,"
	" cpu TEXT,"
	" llvm_version TEXT,"
	" gain REAL,"		 /* predicted: 0.1 is 10 % less executed; null: unknown */
	" cost_s REAL,"		 /* CPU seconds of the edit */
	" profile_samples REAL," /* aged samples that the edit used */
	" samples INTEGER NOT NULL DEFAULT 0,"
	" source INTEGER NOT NULL DEFAULT 0,"
	" rate_hz REAL NOT NULL DEFAULT 0,"
	" starts INTEGER NOT NULL DEFAULT 0," /* processes, as far as the monitor reported them */
	" crashes INTEGER NOT NULL DEFAULT 0,"
	" reason TEXT,"						 /* of its state */
	" measured REAL, measured_low REAL, measured_high REAL," /* gain, and its interval; null: not known */
	" measured_starts INTEGER NOT NULL DEFAULT 0, measured_users INTEGER NOT NULL DEFAULT 0,"
	" UNIQUE(module, number));" SCHEMA_IDENTITY SCHEMA_COST "CREATE TABLE target("
	" path TEXT NOT NULL PRIMARY KEY,"
	" module INTEGER NOT NULL REFERENCES module ON DELETE CASCADE,"
	" generation INTEGER NOT NULL," /* number of the active one */
	" uid INTEGER NOT NULL, gid INTEGER NOT NULL, mode INTEGER NOT NULL,"
	" mtime_ns INTEGER NOT NULL," /* these four of the shipped file */
	" device INTEGER, inode INTEGER, size INTEGER, changed_ns INTEGER," /* when last verified */
	" activated_ns INTEGER NOT NULL DEFAULT 0,"
	" watch_left_s INTEGER NOT NULL DEFAULT 0,"
	" watch_crashes INTEGER NOT NULL DEFAULT 0);"
	"CREATE INDEX target_module ON target(module);"
	"CREATE TABLE pin(path TEXT NOT NULL PRIMARY KEY, reason TEXT NOT NULL,"
	" time_ns INTEGER NOT NULL);"
	"CREATE TABLE swap(" /* replacements under way */
	" path TEXT NOT NULL PRIMARY KEY,"
	" module INTEGER NOT NULL,"
	" from_number INTEGER NOT NULL, to_number INTEGER NOT NULL,"
	" temp TEXT NOT NULL,"
	" reason TEXT NOT NULL,"
	" time_ns INTEGER NOT NULL);"
	"CREATE TABLE spool_file(serial INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, digest TEXT "
	"NOT NULL,"
	" UNIQUE(name, digest));"
	"CREATE TABLE event(id INTEGER PRIMARY KEY AUTOINCREMENT, time_ns INTEGER NOT NULL,"
	" module INTEGER, path TEXT, kind TEXT NOT NULL, text TEXT NOT NULL);"
	"CREATE INDEX event_module ON event(module, kind);"
	"CREATE INDEX event_path ON event(path);"
	"CREATE TABLE decision(id INTEGER PRIMARY KEY AUTOINCREMENT, time_ns INTEGER NOT NULL,"
	" module INTEGER NOT NULL REFERENCES module ON DELETE CASCADE,"
	" trigger TEXT NOT NULL," /* automatic, request */
	" samples INTEGER NOT NULL, new_samples INTEGER NOT NULL, share REAL NOT NULL,"
	" reason TEXT NOT NULL, generation INTEGER, outcome TEXT);"
	"CREATE INDEX decision_module ON decision(module);"
	"CREATE TABLE refusal(path TEXT NOT NULL PRIMARY KEY, reason TEXT NOT NULL," /* files left alone, and why */
	" time_ns INTEGER NOT NULL);"
	"CREATE TABLE total(key TEXT NOT NULL PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;";

/* Of version 3: refusals, and events by module and kind, which have quotas (journal.h). */
#define SCHEMA_2_GATE                                                                                     \
	"CREATE TABLE refusal(path TEXT NOT NULL PRIMARY KEY, reason TEXT NOT NULL, time_ns INTEGER NOT " \
	"NULL);"                                                                                          \
	"DROP INDEX event_module; CREATE INDEX event_module ON event(module, kind);"

/* What brings version N + 1 of the tables to N + 2. */
static const char *const schema_upgrades[STATE_VERSION - 1] = {
	"ALTER TABLE module ADD COLUMN carried REAL NOT NULL DEFAULT 0;"
	"ALTER TABLE module ADD COLUMN left_behind REAL NOT NULL DEFAULT 0;",
	SCHEMA_2_GATE SCHEMA_2_IDENTITY,
	SCHEMA_3_COST,
};

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

/* Parts of programs that edits leave as they were shipped: version 5 (manager/keep/kept.h). */
#define SCHEMA_KEPT                                                                   \
	"CREATE TABLE kept("                                                          \
	" path TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL,"                \
	" cfg_hash INTEGER NOT NULL DEFAULT 0," /* of a function; 0: not known yet */ \
	" reason TEXT NOT NULL, time_ns INTEGER NOT NULL,"                            \
	" lapsed TEXT," /* why it does not hold; null: it does */                     \
	" PRIMARY KEY(path, kind, name)) WITHOUT ROWID;"

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

/* What others counted: version 6 (manager/program/priors.h). */
#define SCHEMA_PRIOR                                                                                      \
	"CREATE TABLE prior("                                                                             \
	" module INTEGER NOT NULL REFERENCES module ON DELETE CASCADE,"                                   \
	" source TEXT NOT NULL,"		 /* fleet, package */                                     \
	" samples REAL NOT NULL DEFAULT 0,"	 /* of functions that the module has; 0: there is none */ \
	" of_before INTEGER NOT NULL DEFAULT 0," /* 1: counted in the build before */                     \
	" asked_ns INTEGER NOT NULL DEFAULT 0,"	 /* the fleet answered */                                 \
	" stamp TEXT," /* of the package's file when it was looked at; '': there was none; null: never */ \
	" waits_ns INTEGER," /* a profile waits to be fitted, not before; null: none */                   \
	" origin INTEGER REFERENCES module ON DELETE SET NULL," /* it is this one's; null: our own */     \
	" failures INTEGER NOT NULL DEFAULT 0,"                                                           \
	" PRIMARY KEY(module, source)) WITHOUT ROWID;"
#define SCHEMA_5_PRIOR                                                                          \
	SCHEMA_PRIOR "ALTER TABLE module ADD COLUMN prior_edit INTEGER;"                        \
		     "ALTER TABLE generation ADD COLUMN fleet_samples REAL NOT NULL DEFAULT 0;" \
		     "ALTER TABLE generation ADD COLUMN package_samples REAL NOT NULL DEFAULT 0;"

/* What somebody measured: version 7 (manager/act/tuned.h). */
#define SCHEMA_TUNED                                                                      \
	"CREATE TABLE tuned("                                                             \
	" module INTEGER PRIMARY KEY REFERENCES module ON DELETE CASCADE,"                \
	" generation INTEGER NOT NULL," /* number of the best one; 0: the shipped file */ \
	" cpu TEXT NOT NULL,"		/* where that was measured */                     \
	" text TEXT NOT NULL, time_ns INTEGER NOT NULL);"

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

/* Whose the programs are, also those that are gone (quota.h), and whose the time; beside the versions: made where they are missing. */
static const char schema_beside[] =
	"CREATE TABLE IF NOT EXISTS owner("
	" module INTEGER PRIMARY KEY REFERENCES module ON DELETE CASCADE,"
	" uid INTEGER NOT NULL,"		    /* of the shipped file, where it was last installed */
	" store_bytes INTEGER NOT NULL DEFAULT 0);" /* when it was last looked at */
	"INSERT OR IGNORE INTO owner(module, uid) SELECT module, uid FROM target;"
	"CREATE TABLE IF NOT EXISTS usage_name(" /* whose time it was (manager/count/usage.h) */
	" id INTEGER PRIMARY KEY, process TEXT NOT NULL, unit TEXT NOT NULL,"
	" user INTEGER NOT NULL," /* -1: not known */
	" UNIQUE(process, unit, user));"
	"CREATE TABLE IF NOT EXISTS usage("
	" hour INTEGER NOT NULL," /* since 1970 */
	" name INTEGER NOT NULL REFERENCES usage_name,"
	" samples INTEGER NOT NULL, cpu_us INTEGER NOT NULL,"
	" PRIMARY KEY(hour, name)) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS memo(" /* which the store has (manager/act/memos.h) */
	" module INTEGER PRIMARY KEY REFERENCES module ON DELETE CASCADE,"
	" digest TEXT NOT NULL);";

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
	" carried REAL NOT NULL DEFAULT 0,"	/* samples of the build before that were taken over */
	" left_behind REAL NOT NULL DEFAULT 0," /* and those in functions that have changed */
	" prior_edit INTEGER);" /* value of samples at the last edit, if that was mostly by others' counts */
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
	" fleet_samples REAL NOT NULL DEFAULT 0, package_samples REAL NOT NULL DEFAULT 0," /* and of others */
	" samples INTEGER NOT NULL DEFAULT 0,"
	" source INTEGER NOT NULL DEFAULT 0,"
	" rate_hz REAL NOT NULL DEFAULT 0,"
	" starts INTEGER NOT NULL DEFAULT 0," /* processes, as far as the monitor reported them */
	" crashes INTEGER NOT NULL DEFAULT 0,"
	" reason TEXT,"						 /* of its state */
	" measured REAL, measured_low REAL, measured_high REAL," /* gain, and its interval; null: not known */
	" measured_starts INTEGER NOT NULL DEFAULT 0, measured_users INTEGER NOT NULL DEFAULT 0,"
	" UNIQUE(module, number));" SCHEMA_IDENTITY SCHEMA_COST SCHEMA_PRIOR SCHEMA_TUNED
	"CREATE TABLE target("
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
	" time_ns INTEGER NOT NULL);" SCHEMA_KEPT "CREATE TABLE swap(" /* replacements under way */
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
	SCHEMA_KEPT,
	SCHEMA_5_PRIOR,
	SCHEMA_TUNED,
};

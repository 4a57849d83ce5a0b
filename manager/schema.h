/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * schema.h - the tables of state.db, version STATE_VERSION (docs/format-store.md explains each)
 *
 * Times are CLOCK_REALTIME nanoseconds. A module is a shipped file, by build ID; generation 0 is that
 * file itself, generation N its N-th edit; a target is a path at which a module is installed.
 */

static const char schema_sql[] =
	"CREATE TABLE module("
	" id INTEGER PRIMARY KEY,"
	" key TEXT NOT NULL UNIQUE,"   /* build ID in hexadecimal; "path:..." without one */
	" kind INTEGER NOT NULL,"      /* enum sample_module_kind */
	" path TEXT NOT NULL,"	       /* where it was last seen; any bytes */
	" carries INTEGER NOT NULL DEFAULT 0," /* enum carries */
	" note TEXT,"		       /* why it is not optimized */
	" llvm_version TEXT,"
	" samples INTEGER NOT NULL DEFAULT 0,"	    /* all of them, never aged */
	" activity_ns INTEGER NOT NULL DEFAULT 0,"  /* time covered by logs in which it was seen */
	" activity_log INTEGER NOT NULL DEFAULT 0," /* the last such log: spool_file.serial */
	" age_ns INTEGER NOT NULL DEFAULT 0,"	    /* value of activity_ns at which a weight is 1 */
	" edit_samples INTEGER NOT NULL DEFAULT 0," /* value of samples at the last edit */
	" edit_ns INTEGER NOT NULL DEFAULT 0,"
	" needed INTEGER NOT NULL DEFAULT 0,"   /* new samples that the last attempt found missing */
	" failures INTEGER NOT NULL DEFAULT 0," /* edits that failed since the last good one */
	" condemned TEXT,"		/* a generation misbehaved: leave the module alone, and why */
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
	" digest TEXT NOT NULL,"       /* SHA-256 of the file's bytes; '': not known */
	" size INTEGER NOT NULL DEFAULT 0,"
	" state TEXT NOT NULL,"	       /* shipped, built, condemned, dropped */
	" created_ns INTEGER NOT NULL,"
	" cpu TEXT,"
	" llvm_version TEXT,"
	" gain REAL,"		       /* predicted: 0.1 is 10 % less executed; null: unknown */
	" cost_s REAL,"		       /* CPU seconds of the edit */
	" profile_samples REAL,"       /* aged samples that the edit used */
	" samples INTEGER NOT NULL DEFAULT 0,"
	" source INTEGER NOT NULL DEFAULT 0,"
	" rate_hz REAL NOT NULL DEFAULT 0,"
	" starts INTEGER NOT NULL DEFAULT 0,"  /* processes, as far as the monitor reported them */
	" crashes INTEGER NOT NULL DEFAULT 0,"
	" reason TEXT,"		       /* of its state */
	" UNIQUE(module, number));"
	"CREATE TABLE sample("
	" generation INTEGER NOT NULL REFERENCES generation ON DELETE CASCADE,"
	" offset INTEGER NOT NULL,"
	" target INTEGER NOT NULL,"    /* -1: a sample; else the offset a branch from here went to */
	" weight REAL NOT NULL,"
	" PRIMARY KEY(generation, offset, target)) WITHOUT ROWID;"
	"CREATE TABLE target("
	" path TEXT NOT NULL PRIMARY KEY,"
	" module INTEGER NOT NULL REFERENCES module ON DELETE CASCADE,"
	" generation INTEGER NOT NULL," /* number of the active one */
	" uid INTEGER NOT NULL, gid INTEGER NOT NULL, mode INTEGER NOT NULL,"
	" mtime_ns INTEGER NOT NULL,"  /* these four of the shipped file */
	" device INTEGER, inode INTEGER, size INTEGER, changed_ns INTEGER," /* when last verified */
	" activated_ns INTEGER NOT NULL DEFAULT 0,"
	" watch_left_s INTEGER NOT NULL DEFAULT 0,"
	" watch_crashes INTEGER NOT NULL DEFAULT 0);"
	"CREATE INDEX target_module ON target(module);"
	"CREATE TABLE pin(path TEXT NOT NULL PRIMARY KEY, reason TEXT NOT NULL,"
	" time_ns INTEGER NOT NULL);"
	"CREATE TABLE swap("	       /* replacements under way */
	" path TEXT NOT NULL PRIMARY KEY,"
	" module INTEGER NOT NULL,"
	" from_number INTEGER NOT NULL, to_number INTEGER NOT NULL,"
	" temp TEXT NOT NULL,"
	" reason TEXT NOT NULL,"
	" time_ns INTEGER NOT NULL);"
	"CREATE TABLE spool_file(serial INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, digest TEXT NOT NULL,"
	" UNIQUE(name, digest));"
	"CREATE TABLE event(id INTEGER PRIMARY KEY AUTOINCREMENT, time_ns INTEGER NOT NULL,"
	" module INTEGER, path TEXT, kind TEXT NOT NULL, text TEXT NOT NULL);"
	"CREATE INDEX event_module ON event(module, kind);"
	"CREATE INDEX event_path ON event(path);"
	"CREATE TABLE decision(id INTEGER PRIMARY KEY AUTOINCREMENT, time_ns INTEGER NOT NULL,"
	" module INTEGER NOT NULL REFERENCES module ON DELETE CASCADE,"
	" trigger TEXT NOT NULL,"      /* automatic, request */
	" samples INTEGER NOT NULL, new_samples INTEGER NOT NULL, share REAL NOT NULL,"
	" reason TEXT NOT NULL, generation INTEGER, outcome TEXT);"
	"CREATE INDEX decision_module ON decision(module);"
	"CREATE TABLE refusal(path TEXT NOT NULL PRIMARY KEY, reason TEXT NOT NULL," /* files left alone, and why */
	" time_ns INTEGER NOT NULL);"
	"CREATE TABLE total(key TEXT NOT NULL PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;";

/* What brings version N + 1 of the tables to N + 2; "": a function in state.c does. */
static const char *const schema_upgrades[STATE_VERSION - 1] = {
	"ALTER TABLE module ADD COLUMN carried REAL NOT NULL DEFAULT 0;"
	"ALTER TABLE module ADD COLUMN left_behind REAL NOT NULL DEFAULT 0;",
	"",
};

/* Of version 3: refusals, and events by module and kind, which have quotas (journal.h). */
static const char upgrade_2_gate[] =
	"CREATE TABLE refusal(path TEXT NOT NULL PRIMARY KEY, reason TEXT NOT NULL, time_ns INTEGER NOT NULL);"
	"DROP INDEX event_module; CREATE INDEX event_module ON event(module, kind);";

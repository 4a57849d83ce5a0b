/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * manager.h - what morphd's parts share: settings, database, directories, the edit under way
 *
 *	intake.h	spool file -> samples per module and generation
 *	examine.h	does this file carry Morph data?
 *	installed.h	which generation stands at this path? has a package replaced it?
 *	edit.h		samples -> profile -> new generation in the store
 *	activation.h	generation -> installed file, and back
 *	watch.h		crashes of new generations, another CPU
 *	manager.c	opens all this, repairs what a crash left, and decides once in a while
 *
 * One thread, one event loop (sd-event). Nothing here waits for an editor; it reports when it ends.
 */

#include <systemd/sd-event.h>

#include "manager/catalog.h"
#include "manager/machine.h"
#include "manager/settings.h"
#include "manager/state.h"

struct edit;
struct request;

struct manager {
	struct settings settings;
	struct state *state; /* owned */
	sd_event *event;     /* owned; NULL in tests that need no loop */
	char store[PATH_MAX], work[PATH_MAX], spool[PATH_MAX]; /* under the root */
	char cpu[MACHINE_CPU_TEXT]; /* "" when unknown */
	struct edit *edit;	    /* owned; under way, or NULL */
	struct request *requests;   /* owned; waiting for their turn, first one first */
	uint64_t tick_ns;	    /* CLOCK_MONOTONIC of the last manager_tick() */
	uint64_t housekeeping_ns;   /* CLOCK_MONOTONIC of the next one */
	bool mounts_are_synced;	    /* once since the start (mounts.h) */
	uint64_t full_until_ns;	    /* CLOCK_MONOTONIC: the disk was full, leave the spool alone until then */
};

/**
 * manager_open() - take the state directory, repair, rebuild, roll back what another CPU needs
 * @settings: taken over, also on error
 * @event: a reference is taken; NULL: no editor can be run
 */
int manager_open(struct settings *settings, sd_event *event, struct manager **ret,
		 struct fault *reterr);
void manager_free(struct manager *manager); /* accepts NULL; kills an editor under way */
DEFINE_CLEANUP(struct manager *, manager_free);

/** manager_tick() - once every decide_interval: installed files, watches, decisions, housekeeping */
void manager_tick(struct manager *manager);

/** manager_decide() - verdict on one module, with all numbers looked up; see decide.h */
struct decide_input;
enum decision;
int manager_decide(struct manager *manager, const struct module_row *module, bool automatic,
		   int *retverdict, char *retreason, struct fault *reterr);

/**
 * manager_reoptimize() - edit the module installed at @path as soon as the editor is free
 * @done: called once, when the new generation is active or it failed; @text says what happened
 * Return: 0: @done will be called; negative with @reterr: it will not.
 */
typedef void (*request_done)(void *userdata, int code, const char *text);
int manager_reoptimize(struct manager *manager, const char *path, request_done done, void *userdata,
		       struct fault *reterr);
/** manager_next() - start the next request, or an automatic edit, when none is under way */
void manager_next(struct manager *manager);

/** manager_rollback() - @number: 0 the shipped file, or an earlier generation */
int manager_rollback(struct manager *manager, const char *path, int64_t number, char *rettext,
		     size_t size, struct fault *reterr);
/** manager_rollback_all() - every target back to its shipped file; *retn: how many were */
int manager_rollback_all(struct manager *manager, unsigned *retn, struct fault *reterr);
int manager_pin(struct manager *manager, const char *path, const char *reason, struct fault *reterr);
int manager_unpin(struct manager *manager, const char *path, struct fault *reterr);

/** manager_mkdir() - make @path with @mode, whatever the umask; an existing directory keeps its own */
int manager_mkdir(const char *path, mode_t mode, struct fault *reterr);

/** manager_log_fault() - one line for the administrator, and remember a full disk */
void manager_log_fault(struct manager *manager, int code, const struct fault *fault);

uint64_t manager_monotonic_ns(void);

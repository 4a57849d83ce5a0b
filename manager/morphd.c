/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morphd [OPTION...]: the daemon. Reads its configuration, opens the manager and the bus, and turns
 * three kinds of events into work: a file in the spool directory, a call from a client, the passing
 * of decide_interval. See morphd(8).
 */

#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>

#include "base/config.h"
#include "base/log.h"
#include "base/prefix.h"
#include "base/user_place.h"
#include "manager/intake/intake.h"
#include "manager/act/request.h"
#include "manager/manager.h"
#include "manager/program/arrivals.h"
#include "manager/program/installed.h"
#include "manager/shadow/links.h"
#include "manager/shadow/shadow.h"
#include "manager/shadow/shadow_watch.h"
#include "manager/talk/announce.h"
#include "manager/talk/bus.h"

#define FILES_AT_ONCE 16 /* taken between two looks at everything else */

enum {
	OPTION_CONFIG = 256,
	OPTION_ROOT,
	OPTION_BUS,
	OPTION_SET,
	OPTION_ROLLBACK,
	OPTION_ROLLBACK_ALL,
	OPTION_CHECK,
	OPTION_USER,
	OPTION_FALL_THROUGH,
	OPTION_VERSION
};

struct morphd {
	const char *config, *bus_address, *rollback;
	bool config_is_given, check_only, rollback_all, is_user, fall_through;
	char **overrides; /* borrowed from argv: "key=value" or "root=..." */
	size_t n_overrides;
	struct settings settings;
	sd_event *event;
	struct manager *manager;
	struct manager_clock clock;
	struct bus *bus;
	struct announcer *announcer;
	struct shadow_watch *shadow; /* of activation = shadow */
	sd_event_source *spool, *intake, *tick;
};

static int fail(const struct fault *fault)
{
	log_error("%s", fault->text);
	return 1;
}

/* ---- settings ---- */

static int override(struct settings *settings, const char *text, struct fault *reterr)
{
	char key[64];
	const char *equals = strchr(text, '=');

	if (!equals || (size_t)(equals - text) >= sizeof(key))
		return fault_set(reterr, -EINVAL, "--set %s: must be KEY=VALUE", text);
	snprintf(key, sizeof(key), "%.*s", (int)(equals - text), text);
	return config_set(settings_keys, key, equals + 1, settings, reterr);
}

static int settings_load(const struct morphd *d, struct settings *ret, struct fault *reterr)
{
	int r = d->is_user ? settings_init_user(ret, reterr) : settings_init(ret);

	if (r < 0)
		return d->is_user ? r : fault_errno(reterr, r, "settings");
	/* The root decides which configuration file is meant, so it goes first. */
	for (size_t i = 0; r == 0 && i < d->n_overrides; i++)
		if (strncmp(d->overrides[i], "root=", 5) == 0)
			r = override(ret, d->overrides[i], reterr);
	if (r == 0) {
		char path[PATH_MAX];
		const char *config = d->config_is_given ? d->config : settings_path(ret, d->config, path);

		r = config_tree_read(config, settings_keys, ret, NULL, reterr);
		if (r == -ENOENT && !d->config_is_given)
			r = 0;
	}
	for (size_t i = 0; r == 0 && i < d->n_overrides; i++)
		r = override(ret, d->overrides[i], reterr);
	return r < 0 ? r : settings_check(ret, reterr);
}

/* ---- events ---- */

static int on_intake(sd_event_source *source, void *userdata)
{
	struct morphd *d = userdata;
	struct fault fault = { "" };
	int n = intake_scan(d->manager, FILES_AT_ONCE, &fault);

	if (n < 0)
		log_error("%s", fault.text);
	if (n < FILES_AT_ONCE)
		sd_event_source_set_enabled(source, SD_EVENT_OFF);
	return 0;
}

static int on_spool(_unused_ sd_event_source *source, _unused_ const struct inotify_event *event,
		    void *userdata)
{
	struct morphd *d = userdata;

	return sd_event_source_set_enabled(d->intake, SD_EVENT_ON);
}

static void shadow_renew(struct morphd *d)
{
	struct fault fault = { "" };

	if (d->shadow && shadow_watch_renew(d->shadow, &fault) < 0)
		log_warning("%s", fault.text);
}

/* A program was upgraded or removed, or another one has its name: it is not waited for the next tick. */
static void on_shadow(void *userdata)
{
	struct morphd *d = userdata;
	struct fault fault = { "" };
	int r = installed_refresh(d->manager, &fault);

	if (r == 0)
		r = shadow_refresh(d->manager, &fault);
	if (r < 0)
		manager_log_fault(d->manager, r, &fault);
	shadow_renew(d);
}

static int on_tick(sd_event_source *source, _unused_ uint64_t usec, void *userdata)
{
	struct morphd *d = userdata;
	int r;

	sd_event_source_set_enabled(d->intake, SD_EVENT_ON);
	manager_tick(d->manager, &d->clock);
	shadow_renew(d);
	r = sd_event_source_set_time_relative(source, d->manager->settings.decide_interval_s * 1000000);
	return r < 0 ? r : sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int on_hangup(_unused_ sd_event_source *source, _unused_ const struct signalfd_siginfo *si,
		     void *userdata)
{
	struct morphd *d = userdata;
	struct settings settings = { 0 };
	struct fault fault = { "" };

	if (settings_load(d, &settings, &fault) < 0) {
		log_error("%s; going on with the old settings", fault.text);
		settings_done(&settings);
		return 0;
	}
	settings_done(&d->manager->settings);
	d->manager->settings = settings;
	arrivals_forget(d->manager);
	log_info("read %s again; changed directories count from the next start", d->config);
	if (d->shadow) /* shadow_path may be another, and nothing else says so */
		on_shadow(d);
	return 0;
}

static int signals_add(struct morphd *d)
{
	sigset_t set;
	int r;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	signal(SIGPIPE, SIG_IGN);
	r = sd_event_add_signal(d->event, NULL, SIGTERM, NULL, NULL);
	if (r >= 0)
		r = sd_event_add_signal(d->event, NULL, SIGINT, NULL, NULL);
	return r < 0 ? r : sd_event_add_signal(d->event, NULL, SIGHUP, on_hangup, d);
}

static int sources_add(struct morphd *d)
{
	int r = sd_event_add_defer(d->event, &d->intake, on_intake, d);

	if (r >= 0) /* calls of clients come first */
		r = sd_event_source_set_priority(d->intake, SD_EVENT_PRIORITY_IDLE);
	if (r >= 0)
		r = sd_event_source_set_enabled(d->intake, SD_EVENT_ON);
	if (r >= 0)
		r = sd_event_add_inotify(d->event, &d->spool, d->manager->spool,
					 IN_MOVED_TO | IN_CLOSE_WRITE | IN_ONLYDIR, on_spool, d);
	if (r >= 0)
		r = sd_event_add_time_relative(d->event, &d->tick, CLOCK_MONOTONIC,
					       d->manager->settings.decide_interval_s * 1000000, 100000,
					       on_tick, d);
	return r;
}

/* ---- start and end ---- */

static void shadow_end(struct morphd *d)
{
	struct fault fault = { "" };

	shadow_watch_freep(&d->shadow);
	d->shadow = NULL;
	if (d->manager && links_fall_through(&d->manager->settings, &fault) < 0)
		log_warning("%s", fault.text);
}

static void morphd_done(struct morphd *d)
{
	if (d->shadow)
		shadow_end(d);
	sd_event_source_disable_unref(d->spool);
	sd_event_source_disable_unref(d->intake);
	sd_event_source_disable_unref(d->tick);
	announcer_freep(&d->announcer);
	manager_freep(&d->manager);
	bus_freep(&d->bus); /* after the manager, so that waiting clients hear that it stopped */
	sd_event_unref(d->event);
	settings_done(&d->settings);
}

static int once(struct morphd *d)
{
	struct fault fault = { "" };
	char text[PATH_MAX + 64];
	unsigned n = 0;
	int r = manager_open(&d->settings, NULL, &d->manager, &fault);

	if (r >= 0 && d->rollback_all) {
		r = request_rollback_all(d->manager, &n, &fault);
		printf("%u programs are as shipped again\n", n);
	} else if (r >= 0) {
		r = request_rollback(d->manager, d->rollback, 0, text, sizeof(text), &fault);
		if (r >= 0)
			puts(text);
	}
	return r < 0 ? fail(&fault) : 0;
}

static int serve(struct morphd *d)
{
	struct fault fault = { "" };
	int r = sd_event_default(&d->event);

	if (r >= 0)
		r = signals_add(d);
	if (r < 0) {
		fault_errno(&fault, r, "cannot make the event loop");
		return fail(&fault);
	}
	if (manager_open(&d->settings, d->event, &d->manager, &fault) < 0 ||
	    bus_open(d->manager, d->bus_address, &d->bus, &fault) < 0 ||
	    announce_open(d->manager, &d->announcer, &fault) < 0)
		return fail(&fault);
	if (settings_shadows(&d->manager->settings)) {
		d->shadow = shadow_watch_new(d->manager, on_shadow, d);
		if (!d->shadow)
			return fail(&(struct fault){ "no memory" });
		shadow_renew(d);
	}
	d->clock.tick_ns = manager_monotonic_ns();
	r = sources_add(d);
	if (r < 0) {
		fault_errno(&fault, r, "%s: cannot watch the spool directory", d->manager->spool);
		return fail(&fault);
	}
	sd_event_set_watchdog(d->event, 1);
	sd_notify(0, "READY=1");
	log_info("ready: spool %s, state %s", d->manager->spool, d->manager->settings.state_directory);
	r = sd_event_loop(d->event);
	sd_notify(0, "STOPPING=1");
	if (r < 0) {
		fault_errno(&fault, r, "event loop");
		return fail(&fault);
	}
	return r;
}

static void help(void)
{
	puts("usage: morphd [OPTION...]\n\n"
	     "Gathers samples, re-optimizes programs when the machine is idle, puts them into place.\n\n"
	     "  --config=FILE       instead of /etc/morph/" SETTINGS_NAME "\n"
	     "  --root=DIR          everything (programs, state, /proc, /sys) is looked for under DIR\n"
	     "  --bus=ADDRESS       system, session, none, or a D-Bus address; default: system, if there is "
	     "one\n"
	     "  --user              one user's own: no root, no packaged file is changed (morphd-user(8))\n"
	     "  --set=KEY=VALUE     overrides the configuration; may be repeated\n"
	     "  --check-config      read the configuration, print it, and end\n"
	     "  --rollback=PATH     put the shipped file back at PATH, and end; no other morphd may run\n"
	     "  --rollback-all      put all shipped files back, and end\n"
	     "  --fall-through      with --user: names lead to programs as shipped, and end\n"
	     "  --verbose\n  --help\n  --version\n\nSee morphd(8) and morphd.conf(5).");
}

static int override_add(struct morphd *d, const char *prefix, const char *value)
{
	char **more = reallocarray(d->overrides, d->n_overrides + 1, sizeof(*more));
	char *text = NULL;

	if (!more || asprintf(&text, "%s%s", prefix, value) < 0)
		return -ENOMEM;
	d->overrides = more;
	more[d->n_overrides++] = text;
	return 0;
}

/* -1: they go together; else the exit code. */
static int options_check(const struct morphd *d)
{
	for (size_t i = 0; i < d->n_overrides; i++)
		if (!strchr(d->overrides[i], '=')) {
			log_error("--set %s: must be KEY=VALUE", d->overrides[i]);
			return 2;
		}
	if (!d->fall_through || d->is_user)
		return -1;
	log_error("--fall-through: goes with --user");
	return 2;
}

/* -1: go on; else the exit code. */
static int options_parse(struct morphd *d, int argc, char **argv)
{
	static const struct option options[] = {
		{ "config", required_argument, NULL, OPTION_CONFIG },
		{ "root", required_argument, NULL, OPTION_ROOT },
		{ "bus", required_argument, NULL, OPTION_BUS },
		{ "set", required_argument, NULL, OPTION_SET },
		{ "check-config", no_argument, NULL, OPTION_CHECK },
		{ "rollback", required_argument, NULL, OPTION_ROLLBACK },
		{ "rollback-all", no_argument, NULL, OPTION_ROLLBACK_ALL },
		{ "user", no_argument, NULL, OPTION_USER },
		{ "fall-through", no_argument, NULL, OPTION_FALL_THROUGH },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, OPTION_VERSION },
		{ NULL },
	};
	int option, r = 0;

	while (r == 0 && (option = getopt_long(argc, argv, "vh", options, NULL)) != -1) {
		switch (option) {
		case OPTION_CONFIG:
			d->config = optarg;
			d->config_is_given = true;
			break;
		case OPTION_ROOT: r = override_add(d, "root=", optarg); break;
		case OPTION_SET: r = override_add(d, "", optarg); break;
		case OPTION_BUS: d->bus_address = optarg; break;
		case OPTION_CHECK: d->check_only = true; break;
		case OPTION_USER: d->is_user = true; break;
		case OPTION_FALL_THROUGH: d->fall_through = true; break;
		case OPTION_ROLLBACK: d->rollback = optarg; break;
		case OPTION_ROLLBACK_ALL: d->rollback_all = true; break;
		case 'v': log_init("morphd", LOG_LEVEL_DEBUG); break;
		case 'h': help(); return 0;
		case OPTION_VERSION: puts("morphd " MORPH_VERSION); return 0;
		default: return 2;
		}
	}
	if (r == 0 && optind == argc)
		return options_check(d);
	fputs("usage: morphd [OPTION...]; `morphd --help` lists the options\n", stderr);
	return 2;
}

/* A user's own has files and a socket of its own, and no bus. */
static int user_take(struct morphd *d, char config[PATH_MAX], struct fault *reterr)
{
	if (!d->is_user)
		return 0;
	if (!d->bus_address)
		d->bus_address = "none";
	if (d->config_is_given)
		return 0;
	d->config = config;
	return user_place(USER_CONFIG, "morph/" SETTINGS_NAME, config, reterr);
}

static int run(struct morphd *d)
{
	struct fault fault = { "" };
	char config[PATH_MAX];

	if (user_take(d, config, &fault) < 0)
		return fail(&fault);
	if (settings_load(d, &d->settings, &fault) < 0)
		return fail(&fault);
	if (d->check_only) {
		_clean_(buffer_donep) struct buffer text = { 0 };

		config_print(settings_keys, &d->settings, &text);
		fwrite(text.data, 1, text.size, stdout);
		return 0;
	}
	if (d->fall_through)
		return links_fall_through(&d->settings, &fault) < 0 ? fail(&fault) : 0;
	return d->rollback || d->rollback_all ? once(d) : serve(d);
}

int main(int argc, char **argv)
{
	struct morphd d = { 0 };
	char config[PATH_MAX];
	int code;

	log_init("morphd", LOG_LEVEL_INFO);
	prefix_config(SETTINGS_NAME, config);
	d.config = config;
	umask(077);
	code = options_parse(&d, argc, argv);
	if (code < 0)
		code = run(&d);
	morphd_done(&d);
	for (size_t i = 0; i < d.n_overrides; i++)
		free(d.overrides[i]);
	free(d.overrides);
	return code;
}

/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/talk/bus.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "manager/act/request.h"
#include "manager/talk/address.h"
#include "manager/talk/allowance.h"
#include "manager/talk/audience.h"
#include "manager/talk/bus_name.h"
#include "manager/talk/peers.h"
#include "manager/talk/polkit.h"
#include "manager/talk/report.h"
#include "manager/talk/sessions.h"
#include "manager/talk/utf8.h"

/* How long one answer of the message bus may take, and how often to look for it: more and more rarely. */
#define BUS_TIMEOUT_S 5
#define BUS_RETRY_S 5
#define BUS_RETRY_MOST_S 60

#define LOCAL_NAME "org.freedesktop.DBus.Local"
#define LOCAL_PATH "/org/freedesktop/DBus/Local"

struct bus {
	struct manager *manager;   /* borrowed */
	sd_bus *bus;		   /* owned; NULL: no message bus */
	const char *address;	   /* borrowed; of the message bus; NULL: the system bus if there is one */
	sd_event_source *retry;	   /* owned */
	uint64_t retry_s;	   /* until the next look at the message bus */
	struct sessions *sessions; /* owned; on the message bus, or NULL */
	struct peers *peers;	   /* owned: the socket */
	struct allowance allowance;
};

static int reply_fault(sd_bus_error *error, const struct fault *fault)
{
	_clean_(freep) char *clean = utf8_clean(fault->text);

	return sd_bus_error_set(error, BUS_ERROR, clean ? clean : "out of memory");
}

/* ---- who may ---- */

/* Of the sender of @m; (uid_t)-1 when nobody knows. */
static uid_t sender_uid(struct bus *bus, sd_bus_message *m, bool *retis_peer)
{
	_clean_(sd_bus_creds_unrefp) sd_bus_creds *creds = NULL;
	uid_t uid;

	*retis_peer = peers_uid(bus->peers, sd_bus_message_get_bus(m), &uid);
	if (*retis_peer)
		return uid;
	if (sd_bus_query_sender_creds(m, SD_BUS_CREDS_EUID, &creds) < 0 ||
	    sd_bus_creds_get_euid(creds, &uid) < 0)
		return (uid_t)-1;
	return uid;
}

/* 1: go on; negative: too many calls. One that polkit was asked about was counted before, and must find the answer. */
static int may_call(struct bus *bus, sd_bus_message *m, uid_t uid, sd_bus_error *error)
{
	if (uid_is_trusted(uid) || polkit_was_asked(m) ||
	    allowance_take(&bus->allowance, uid, manager_monotonic_ns()))
		return 1;
	return sd_bus_error_set(error, SD_BUS_ERROR_LIMITS_EXCEEDED, "too many calls; wait a second");
}

/* 1: go on; 0: polkit was asked, and the method will be called again; negative: refused. */
static int may(sd_bus_message *m, uid_t uid, bool is_peer, const char *action, const char *refusal,
	       sd_bus_error *error)
{
	if (uid_is_trusted(uid))
		return 1;
	return is_peer ? sd_bus_error_set(error, SD_BUS_ERROR_ACCESS_DENIED, refusal) :
			 polkit_check(m, uid, action, refusal, error);
}

static int may_change(struct bus *bus, sd_bus_message *m, sd_bus_error *error)
{
	bool is_peer;
	uid_t uid = sender_uid(bus, m, &is_peer);
	int r = may_call(bus, m, uid, error);

	return r < 0 ? r :
		       may(m, uid, is_peer, "org.morph.manage",
			   "only root may change what morphd does; use sudo", error);
}

/* ---- methods that read ---- */

typedef int (*report_function)(struct manager *manager, const struct audience *audience, const char *path,
			       sd_bus_message *into, struct fault *reterr);

/* Who asks, and whether for everybody's: the methods whose names end in "All" do. Returns as may(). */
static int audience_find(struct bus *bus, sd_bus_message *m, struct audience *ret, sd_bus_error *error)
{
	const char *member = sd_bus_message_get_member(m);
	size_t n = strlen(member);
	bool is_peer, all = n > 3 && strcmp(member + n - 3, "All") == 0;
	uid_t uid = sender_uid(bus, m, &is_peer);
	int r = may_call(bus, m, uid, error);

	if (r > 0 && all)
		r = may(m, uid, is_peer, "org.morph.see-all", "only root may see what others run; use sudo",
			error);
	audience_of(&bus->manager->settings, uid, all || uid_is_trusted(uid), ret);
	return r;
}

static int answer(sd_bus_message *m, struct bus *bus, report_function report, bool has_path,
		  sd_bus_error *error)
{
	_clean_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	struct audience audience;
	struct fault fault = { "" };
	const char *path = NULL;
	int r = audience_find(bus, m, &audience, error);

	if (r <= 0)
		return r < 0 ? r : 1;
	r = sd_bus_message_new_method_return(m, &reply);
	if (r >= 0 && has_path)
		r = sd_bus_message_read(m, "s", &path);
	if (r < 0)
		return r;
	r = report(bus->manager, &audience, path, reply, &fault);
	if (r == -ENOENT)
		return sd_bus_error_set(error, BUS_ERROR_NOT_KNOWN, "not known to morphd");
	return r < 0 ? reply_fault(error, &fault) : sd_bus_send(NULL, reply, NULL);
}

static int on_status(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	return answer(m, userdata, report_status, false, error);
}

static int on_pins(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	return answer(m, userdata, report_pins, false, error);
}

static int on_explain(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	return answer(m, userdata, report_explain, true, error);
}

static int on_history(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	return answer(m, userdata, report_history, true, error);
}

/* ---- methods that change something ---- */

static void reoptimize_done(void *userdata, int code, const char *text)
{
	sd_bus_message *m = userdata;
	_clean_(freep) char *clean = utf8_clean(text);

	if (code < 0)
		sd_bus_reply_method_errorf(m, BUS_ERROR, "%s", clean ? clean : "");
	else
		sd_bus_reply_method_return(m, "s", clean ? clean : "");
	sd_bus_flush(sd_bus_message_get_bus(m));
	sd_bus_message_unref(m);
}

static int on_reoptimize(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	struct bus *bus = userdata;
	struct fault fault = { "" };
	const char *path;
	int r = may_change(bus, m, error);

	if (r <= 0)
		return r < 0 ? r : 1;
	r = sd_bus_message_read(m, "s", &path);
	if (r < 0)
		return r;
	r = request_reoptimize(bus->manager, path, reoptimize_done, sd_bus_message_ref(m), &fault);
	if (r < 0) {
		sd_bus_message_unref(m);
		return reply_fault(error, &fault);
	}
	queue_run(bus->manager->queue);
	return 1;
}

static int on_tuned(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	struct bus *bus = userdata;
	struct fault fault = { "" };
	const char *path, *directory, *text;
	int r = may_change(bus, m, error);

	if (r <= 0)
		return r < 0 ? r : 1;
	r = sd_bus_message_read(m, "sss", &path, &directory, &text);
	if (r < 0)
		return r;
	r = request_tuned(bus->manager, path, directory, text, reoptimize_done, sd_bus_message_ref(m),
			  &fault);
	if (r != 0)
		sd_bus_message_unref(m);
	if (r < 0)
		return reply_fault(error, &fault);
	if (r > 0)
		return sd_bus_reply_method_return(m, "s", *directory ? "it stays" : "as shipped stays");
	queue_run(bus->manager->queue);
	return 1;
}

static int on_rollback(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	struct bus *bus = userdata;
	_clean_(freep) char *clean = NULL;
	struct fault fault = { "" };
	char text[PATH_MAX + 64];
	const char *path;
	int64_t number;
	int r = may_change(bus, m, error);

	if (r <= 0)
		return r < 0 ? r : 1;
	r = sd_bus_message_read(m, "sx", &path, &number);
	if (r < 0)
		return r;
	r = request_rollback(bus->manager, path, number, text, sizeof(text), &fault);
	if (r < 0)
		return reply_fault(error, &fault);
	clean = utf8_clean(text);
	return sd_bus_reply_method_return(m, "s", clean ? clean : "");
}

static int on_rollback_all(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	struct bus *bus = userdata;
	struct fault fault = { "" };
	unsigned n = 0;
	int r = may_change(bus, m, error);

	if (r <= 0)
		return r < 0 ? r : 1;
	r = request_rollback_all(bus->manager, &n, &fault);
	return r < 0 ? reply_fault(error, &fault) : sd_bus_reply_method_return(m, "u", n);
}

static int on_pin(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	struct bus *bus = userdata;
	const char *path, *reason;
	struct fault fault = { "" };
	int r = may_change(bus, m, error);

	if (r <= 0)
		return r < 0 ? r : 1;
	r = sd_bus_message_read(m, "ss", &path, &reason);
	if (r < 0)
		return r;
	r = request_pin(bus->manager, path, reason, &fault);
	return r < 0 ? reply_fault(error, &fault) : sd_bus_reply_method_return(m, "");
}

/* A change of the program at one path, with nothing to answer. */
static int change_at(sd_bus_message *m, struct bus *bus,
		     int (*change)(struct manager *m, const char *path, struct fault *reterr),
		     sd_bus_error *error)
{
	struct fault fault = { "" };
	const char *path;
	int r = may_change(bus, m, error);

	if (r <= 0)
		return r < 0 ? r : 1;
	r = sd_bus_message_read(m, "s", &path);
	if (r < 0)
		return r;
	r = change(bus->manager, path, &fault);
	return r < 0 ? reply_fault(error, &fault) : sd_bus_reply_method_return(m, "");
}

static int on_pin_part(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	struct bus *bus = userdata;
	struct kept_row part = { 0 };
	struct fault fault = { "" };
	int r = may_change(bus, m, error);

	if (r <= 0)
		return r < 0 ? r : 1;
	r = sd_bus_message_read(m, "sssts", &part.path, &part.kind, &part.name, &part.cfg_hash, &part.reason);
	if (r < 0)
		return r;
	r = request_pin_part(bus->manager, &part, &fault);
	return r < 0 ? reply_fault(error, &fault) : sd_bus_reply_method_return(m, "");
}

static int on_unpin_part(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	struct bus *bus = userdata;
	const char *path, *kind, *name;
	struct fault fault = { "" };
	int r = may_change(bus, m, error);

	if (r <= 0)
		return r < 0 ? r : 1;
	r = sd_bus_message_read(m, "sss", &path, &kind, &name);
	if (r < 0)
		return r;
	r = request_unpin_part(bus->manager, path, kind, name, &fault);
	return r < 0 ? reply_fault(error, &fault) : sd_bus_reply_method_return(m, "");
}

static int on_unpin(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	return change_at(m, userdata, request_unpin, error);
}

static int on_pardon(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	return change_at(m, userdata, request_pardon, error);
}

#define METHOD(name, in, out, handler) SD_BUS_METHOD(name, in, out, handler, SD_BUS_VTABLE_UNPRIVILEGED)

static const sd_bus_vtable vtable[] = {
	SD_BUS_VTABLE_START(0),
	METHOD("Status", "", "a{sv}aa{sv}aa{sv}aa{sv}", on_status),
	METHOD("Explain", "s", "a{sv}aa{sv}aa{sv}aa{sv}", on_explain),
	METHOD("History", "s", "aa{sv}aa{sv}", on_history),
	METHOD("Pins", "", "aa{sv}", on_pins),
	METHOD("StatusAll", "", "a{sv}aa{sv}aa{sv}aa{sv}", on_status),
	METHOD("ExplainAll", "s", "a{sv}aa{sv}aa{sv}aa{sv}", on_explain),
	METHOD("HistoryAll", "s", "aa{sv}aa{sv}", on_history),
	METHOD("PinsAll", "", "aa{sv}", on_pins),
	METHOD("Reoptimize", "s", "s", on_reoptimize),
	METHOD("Tuned", "sss", "s", on_tuned),
	METHOD("Rollback", "sx", "s", on_rollback),
	METHOD("RollbackAll", "", "u", on_rollback_all),
	METHOD("Pin", "ss", "", on_pin),
	METHOD("Unpin", "s", "", on_unpin),
	METHOD("PinPart", "sssts", "", on_pin_part),
	METHOD("UnpinPart", "sss", "", on_unpin_part),
	METHOD("Pardon", "s", "", on_pardon),
	SD_BUS_VTABLE_END,
};

/* ---- the message bus ---- */

static int retry_arm(struct bus *bus)
{
	int r = sd_event_source_set_time_relative(bus->retry, bus->retry_s * 1000000);

	return r < 0 ? r : sd_event_source_set_enabled(bus->retry, SD_EVENT_ONESHOT);
}

static void bus_leave(struct bus *bus)
{
	sessions_free(TAKE(bus->sessions));
	if (bus->bus)
		polkit_forget(bus->bus);
	bus->bus = sd_bus_flush_close_unref(bus->bus);
}

/* The bus has ended the connection: it is being restarted, say. */
static int on_gone(_unused_ sd_bus_message *m, void *userdata, _unused_ sd_bus_error *error)
{
	struct bus *bus = userdata;

	fault_set(&bus->manager->bus_lack, 0, "the message bus has gone");
	log_warning("the message bus has gone; going on on the socket, and joining it when it is back");
	bus->retry_s = BUS_RETRY_S;
	return retry_arm(bus);
}

static int bus_join(struct bus *bus, struct fault *reterr)
{
	const char *address = bus->address ?: "system";
	_clean_(sd_bus_flush_close_unrefp) sd_bus *joined = NULL;
	int r = address_open(address, &joined);

	if (r >= 0)
		r = sd_bus_set_method_call_timeout(joined, BUS_TIMEOUT_S * 1000000);
	if (r < 0)
		return fault_errno(reterr, r,
				   "cannot reach the message bus \"%s\"; --bus=none does "
				   "without",
				   address);
	r = sd_bus_add_object_vtable(joined, NULL, BUS_PATH, BUS_INTERFACE, vtable, bus);
	if (r >= 0)
		r = sd_bus_match_signal(joined, NULL, LOCAL_NAME, LOCAL_PATH, LOCAL_NAME, "Disconnected",
					on_gone, bus);
	if (r >= 0)
		r = sd_bus_request_name(joined, BUS_NAME, 0);
	if (r < 0)
		return fault_errno(reterr, r, "cannot take the name %s on the message bus", BUS_NAME);
	r = sd_bus_attach_event(joined, bus->manager->event, SD_EVENT_PRIORITY_NORMAL);
	if (r < 0)
		return fault_errno(reterr, r, "message bus");
	bus->bus = TAKE(joined);
	if (sessions_open(bus->manager, bus->bus, &bus->sessions) < 0)
		log_warning("nobody tells of sessions; what others use of the CPUs must do");
	bus->manager->bus_lack = (struct fault){ "" };
	return 0;
}

static int on_retry(_unused_ sd_event_source *source, _unused_ uint64_t usec, void *userdata)
{
	struct bus *bus = userdata;

	bus_leave(bus);
	bus->manager->used_by[0] = '\0';
	if (bus_join(bus, &bus->manager->bus_lack) == 0) {
		log_info("joined the message bus");
		return 0;
	}
	bus->retry_s = MIN(2 * bus->retry_s, BUS_RETRY_MOST_S);
	return retry_arm(bus);
}

/* Without a system bus morphd works on its socket; one that was asked for by name must be there, and so must its name. */
static int bus_begin(struct bus *bus, struct fault *reterr)
{
	struct fault fault = { "" };
	int r = sd_event_add_time_relative(bus->manager->event, &bus->retry, CLOCK_MONOTONIC, 0, 0, on_retry,
					   bus);

	if (r >= 0)
		r = sd_event_source_set_enabled(bus->retry, SD_EVENT_OFF);
	if (r < 0)
		return fault_errno(reterr, r, "message bus");
	r = bus_join(bus, &fault);
	if (r == 0)
		return 0;
	if (bus->address || r == -EEXIST) /* the name is another morphd's */
		return fault_set(reterr, r, "%s", fault.text);
	log_warning("%s; going on on the socket, and joining it when it comes", fault.text);
	bus->manager->bus_lack = fault;
	bus->retry_s = BUS_RETRY_S;
	r = retry_arm(bus);
	return r < 0 ? fault_errno(reterr, r, "message bus") : 0;
}

int bus_open(struct manager *manager, const char *address, struct bus **ret, struct fault *reterr)
{
	_clean_(bus_freep) struct bus *bus = calloc(1, sizeof(*bus));
	int r;

	if (!bus)
		return fault_errno(reterr, -ENOMEM, "message bus");
	bus->manager = manager;
	bus->address = address;
	r = peers_open(manager, vtable, bus, &bus->peers, reterr);
	if (r == 0 && (!address || strcmp(address, "none") != 0))
		r = bus_begin(bus, reterr);
	if (r < 0)
		return r;
	*ret = TAKE(bus);
	return 0;
}

void bus_free(struct bus *bus)
{
	if (!bus)
		return;
	sd_event_source_disable_unref(bus->retry);
	peers_free(bus->peers);
	bus_leave(bus);
	free(bus);
}

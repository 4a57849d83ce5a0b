/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "fleet/conninfo.h"

#include <errno.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/text.h"

#define CERTIFICATES "/etc/ssl/certs/ca-certificates.crt" /* Debian's; libpq 16 could be told "system" */

static void options_freep(PQconninfoOption **options)
{
	PQconninfoFree(*options);
}

static int parse(const char *url, PQconninfoOption **ret, struct fault *reterr)
{
	*ret = PQconninfoParse(url, NULL);
	if (*ret)
		return 0;
	/* What libpq says about it quotes it, and it has a password. */
	return fault_set(reterr, -EINVAL,
			 "the URL of the database cannot be read; write "
			 "postgresql://USER@HOST/DATABASE?sslmode=verify-full, or "
			 "postgresql:///DATABASE?host=/DIRECTORY");
}

static const char *value_of(const PQconninfoOption *options, const char *keyword)
{
	for (const PQconninfoOption *o = options; o->keyword; o++)
		if (strcmp(o->keyword, keyword) == 0)
			return o->val && *o->val ? o->val : NULL;
	return NULL;
}

/* Is any host of the list reached over a network? An absolute name is a directory, "@name" an abstract socket. */
static bool is_remote(const char *hosts)
{
	for (const char *at = hosts; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (*at && *at != ',' && *at != '/')
			return true;
	return false;
}

static int add(struct conninfo *info, const char *keyword, const char *value)
{
	if (info->n + 1 >= CONNINFO_WORDS)
		return -E2BIG;
	info->owned[info->n] = strdup(value);
	if (!info->owned[info->n])
		return -ENOMEM;
	info->keywords[info->n] = keyword; /* libpq's own words, or ours: static */
	info->values[info->n] = info->owned[info->n];
	info->n++;
	return 0;
}

/* The keywords of PQconninfoParse() are static in libpq, but that is not promised. */
static const char *const keywords[] = { "host",	    "port",	   "dbname",	  "user",
					"password", "passfile",	   "sslmode",	  "sslcert",
					"sslkey",   "sslrootcert", "sslcrl",	  "sslcrldir",
					"sslsni",   "sslpassword", "requirepeer", "channel_binding" };

static int refuse(const PQconninfoOption *options, bool remote, struct fault *reterr)
{
	const char *mode = value_of(options, "sslmode");

	for (const PQconninfoOption *o = options; o->keyword; o++) {
		bool known = false;

		for (size_t i = 0; i < ARRAY_SIZE(keywords); i++)
			known |= strcmp(o->keyword, keywords[i]) == 0;
		if (o->val && *o->val && !known)
			return fault_set(reterr, -EINVAL,
					 "the URL of the database: %s= is not taken here; leave it out",
					 o->keyword);
	}
	if (remote && mode && strcmp(mode, "verify-full") != 0)
		return fault_set(reterr, -EINVAL,
				 "the URL of the database: sslmode=%s would believe any server that answers "
				 "for the host; leave it out, or write sslmode=verify-full",
				 SHOWN(mode));
	return 0;
}

static int complete(struct conninfo *info, const PQconninfoOption *options)
{
	int r = add(info, "application_name", "morph-fleet");

	if (r == 0)
		r = add(info, "client_encoding", "UTF8");
	if (r == 0)
		r = add(info, "gssencmode", "disable");
	if (r == 0 && !value_of(options, "host"))
		r = add(info, "host", "/var/run/postgresql");
	if (r < 0 || !info->is_remote)
		return r;
	if (!value_of(options, "sslmode"))
		r = add(info, "sslmode", "verify-full");
	if (r == 0 && !value_of(options, "sslrootcert"))
		r = add(info, "sslrootcert", CERTIFICATES);
	if (r == 0 && !value_of(options, "channel_binding") && !value_of(options, "sslcert"))
		r = add(info, "channel_binding", "require");
	if (r == 0)
		r = add(info, "ssl_min_protocol_version", "TLSv1.2");
	return r == 0 ? add(info, "tcp_user_timeout", "60000") : r;
}

int conninfo_read(const char *url, struct conninfo *ret, struct fault *reterr)
{
	_clean_(options_freep) PQconninfoOption *options = NULL;
	const char *host, *name;
	int r = parse(url, &options, reterr);

	if (r < 0)
		return r;
	host = value_of(options, "host");
	name = value_of(options, "dbname");
	ret->is_remote = is_remote(host);
	snprintf(ret->shown, sizeof(ret->shown), "database %.60s at %.120s", SHOWN(name ?: "(default)"),
		 SHOWN(host ?: "/var/run/postgresql"));
	r = refuse(options, ret->is_remote, reterr);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(keywords); i++)
		if (value_of(options, keywords[i])) {
			r = add(ret, keywords[i], value_of(options, keywords[i]));
			if (r < 0)
				fault_errno(reterr, r, "the URL of the database");
		}
	if (r == 0) {
		r = complete(ret, options);
		if (r < 0)
			fault_errno(reterr, r, "the URL of the database");
	}
	return r;
}

void conninfo_done(struct conninfo *info)
{
	for (int i = 0; i < info->n; i++) {
		explicit_bzero(info->owned[i], strlen(info->owned[i]));
		free(info->owned[i]);
	}
	info->n = 0;
}

/* 'value', as libpq reads it */
static void word_add(struct buffer *to, const char *keyword, const char *value)
{
	buffer_printf(to, "%s%s='", to->size ? " " : "", keyword);
	for (; *value; value++) {
		if (*value == '\'' || *value == '\\')
			buffer_u8(to, '\\');
		buffer_u8(to, (uint8_t)*value);
	}
	buffer_u8(to, '\'');
}

int conninfo_for(const char *url, const char *role, const char *password, char **ret, struct fault *reterr)
{
	static const char *const kept[] = { "host",	   "port",   "dbname",	    "sslmode",
					    "sslrootcert", "sslcrl", "requirepeer", "channel_binding" };
	_clean_(options_freep) PQconninfoOption *options = NULL;
	_clean_(buffer_donep) struct buffer text = { 0 };
	int r = parse(url, &options, reterr);

	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		if (value_of(options, kept[i]))
			word_add(&text, kept[i], value_of(options, kept[i]));
	word_add(&text, "user", role);
	word_add(&text, "password", password);
	buffer_u8(&text, '\0');
	*ret = text.bad ? NULL : strdup((const char *)text.data);
	return *ret ? 0 : fault_errno(reterr, -ENOMEM, "%s", role);
}

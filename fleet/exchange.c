/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "fleet/exchange.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/delta.h"
#include "fleet/merged.h"

const char *exchange_outcome_name(enum exchange_outcome outcome)
{
	static const char *const names[] = { "taken", "again", "refused", "later" };

	return names[outcome];
}

/* A number as SQL's bigint has it. */
static const char *bigint(uint64_t value, char ret[24])
{
	snprintf(ret, 24, "%" PRId64, (int64_t)value);
	return ret;
}

static const char *bytea(const struct build_id *id, char ret[BUILD_ID_MAX_TEXT + 2])
{
	char text[BUILD_ID_MAX_TEXT];

	snprintf(ret, BUILD_ID_MAX_TEXT + 2, "\\x%s", build_id_text(id, text));
	return ret;
}

int exchange_begin(struct database *database, uint64_t stream, struct exchange *ret, struct fault *reterr)
{
	_clean_(rows_freep) PGresult *rows = NULL;
	char number[24];
	int interface, r;

	*ret = (struct exchange){ .database = database, .stream = stream };
	r = database_ask(database, "SELECT interface, last, k, half_life FROM fleet.hello($1, 3)",
			 VALUES(bigint(stream, number)), &rows, reterr);
	if (r == -EPROTO || (r == 0 && (PQntuples(rows) != 1 || PQnfields(rows) != 4)))
		return fault_prefix(
			reterr, -EPROTONOSUPPORT,
			"the database has no fleet that this Morph can talk to (`morph fleet init`)");
	if (r < 0)
		return r;
	interface = atoi(PQgetvalue(rows, 0, 0));
	if (interface != EXCHANGE_INTERFACE)
		return fault_set(reterr, -EPROTONOSUPPORT,
				 "the fleet speaks version %d, and this Morph %d; install %s", interface,
				 EXCHANGE_INTERFACE,
				 interface > EXCHANGE_INTERFACE ?
					 "a newer Morph here" :
					 "that Morph at the database, and run `morph fleet init`");
	ret->last = strtoull(PQgetvalue(rows, 0, 1), NULL, 10);
	ret->k = (unsigned)strtoul(PQgetvalue(rows, 0, 2), NULL, 10);
	ret->half_life_days = strtod(PQgetvalue(rows, 0, 3), NULL);
	return 0;
}

static int push(struct exchange *x, uint64_t sequence, const struct profile *profile,
		const struct delta *delta, enum exchange_outcome *ret, struct fault *reterr)
{
	_clean_(rows_freep) PGresult *rows = NULL;
	char stream[24], number[24], build[BUILD_ID_MAX_TEXT + 2];
	struct database_values values = *VALUES(bigint(x->stream, stream), bigint(sequence, number),
						bytea(&profile->build_id, build));
	int r;

	for (int i = 0; i < DELTA_ARRAYS; i++, values.n++) {
		values.at[values.n] = (const char *)delta->arrays[i].data;
		values.sizes[values.n] = (int)delta->arrays[i].size;
		values.is_binary[values.n] = 1;
	}
	r = database_ask(x->database, "SELECT fleet.push($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
			 &values, &rows, reterr);
	if (r < 0)
		return r;
	if (PQntuples(rows) != 1 || PQnfields(rows) != 1)
		return fault_set(reterr, -EPROTO, "the database does not say what became of the batch");
	if (strcmp(PQgetvalue(rows, 0, 0), "taken") == 0)
		*ret = EXCHANGE_TAKEN;
	else if (strcmp(PQgetvalue(rows, 0, 0), "again") == 0)
		*ret = EXCHANGE_AGAIN;
	else
		return fault_set(reterr, -EPROTO, "the database does not say what became of the batch");
	x->last = sequence;
	return 0;
}

int exchange_push(struct exchange *x, uint64_t sequence, const char *path, enum exchange_outcome *ret,
		  struct fault *reterr)
{
	_clean_(profile_freep) struct profile *profile = NULL;
	_clean_(delta_donep) struct delta delta = { 0 };
	int r;

	*ret = sequence <= x->last ? EXCHANGE_AGAIN : EXCHANGE_LATER;
	if (*ret == EXCHANGE_AGAIN)
		return 0; /* as the database would say */
	r = profile_read(path, &profile, reterr);
	if (r == 0)
		r = profile->build_id.size < BUILD_ID_MIN_BYTES ?
			    fault_set(reterr, -ENODATA, "%s: is of no build ID", path) :
			    delta_of(profile, &delta, reterr);
	if (r == -ENODATA || r == -E2BIG || profile_is_damaged(r)) {
		*ret = EXCHANGE_REFUSED;
		return 0;
	}
	if (r < 0)
		return r;
	r = push(x, sequence, profile, &delta, ret, reterr);
	if (r == -EBADMSG) {
		*ret = EXCHANGE_REFUSED;
		return 0;
	}
	return r;
}

static int row_fields(const PGresult *row, int n, struct merged_field *ret, struct fault *reterr)
{
	if (PQnfields(row) != n || PQntuples(row) != 1)
		return fault_set(reterr, -EBADMSG, "the database answers with %d columns instead of %d",
				 PQnfields(row), n);
	for (int i = 0; i < n; i++)
		ret[i] = (struct merged_field){
			.bytes = PQgetisnull(row, 0, i) ? NULL : PQgetvalue(row, 0, i),
			.size = PQgetisnull(row, 0, i) ? 0 : (size_t)PQgetlength(row, 0, i),
		};
	return 0;
}

static int row_add(void *userdata, const PGresult *row, struct fault *reterr)
{
	struct merged_field fields[MERGED_FIELDS];
	int r = row_fields(row, MERGED_FIELDS, fields, reterr);

	return r < 0 ? r : merged_add(userdata, fields, reterr);
}

static int page_add(void *userdata, const PGresult *row, struct fault *reterr)
{
	struct merged_field fields[MERGED_SEEN_FIELDS];
	int r = row_fields(row, MERGED_SEEN_FIELDS, fields, reterr);

	return r < 0 ? r : merged_add_seen(userdata, fields, reterr);
}

int exchange_ask(struct exchange *x, const struct build_id *build_id, struct profile **ret,
		 struct fault *reterr)
{
	_clean_(merged_donep) struct merged merged = { 0 };
	char build[BUILD_ID_MAX_TEXT + 2];
	int r = merged_begin(build_id, &merged);

	if (r < 0)
		return fault_errno(reterr, r, "counts of a build");
	r = database_each(x->database,
			  "SELECT guid, hash, weight, samples, executions, spread FROM fleet.pull($1)",
			  VALUES(bytea(build_id, build)), MERGED_MAX_BYTES, row_add, &merged, reterr);
	if (r == 0)
		r = database_each(x->database,
				  "SELECT page, weight, froms, targets, weights FROM fleet.seen($1)",
				  VALUES(build), MERGED_MAX_BYTES, page_add, &merged, reterr);
	if (r < 0)
		return r;
	merged_end(&merged);
	if (!merged.profile->n_functions && !merged.profile->n_seen)
		return fault_set(reterr, -ENODATA,
				 "the fleet knows nothing of build %s, or not from %u machines yet",
				 build + 2, x->k);
	*ret = TAKE(merged.profile);
	return 0;
}

int exchange_pull(struct exchange *x, const struct build_id *build_id, const char *path, struct fault *reterr)
{
	_clean_(profile_freep) struct profile *profile = NULL;
	int r = exchange_ask(x, build_id, &profile, reterr);

	return r < 0 ? r : profile_write(profile, path, reterr);
}

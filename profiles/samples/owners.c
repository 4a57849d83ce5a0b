/* SPDX-License-Identifier: Apache-2.0 */

#include "profiles/samples/owners.h"

#include <errno.h>
#include <string.h>

#include "module/array.h"
#include "profiles/samples/sample_log.h"

#define OWNER_MIN_BYTES 4u /* two lengths, user, count */

void owners_done(struct owners *owners)
{
	for (size_t i = 0; i < owners->n; i++) {
		free(owners->list[i].process);
		free(owners->list[i].unit);
	}
	free(owners->list);
	interned_done(&owners->index);
	*owners = (struct owners){ 0 };
}

static uint64_t add(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static bool is_name(const char *name, const char *what, size_t n)
{
	return strlen(name) == n && memcmp(name, what, n) == 0;
}

static int append(struct owners *owners, const struct owner *like, size_t n_process, size_t n_unit,
		  uint64_t hash)
{
	struct owner *owner;

	if (!array_reserve(owners->list, owners->n, &owners->capacity))
		return -ENOMEM;
	owner = &owners->list[owners->n];
	*owner = *like;
	owner->process = strndup(like->process, n_process);
	owner->unit = strndup(like->unit, n_unit);
	if (!owner->process || !owner->unit || interned_put(&owners->index, hash, (uint32_t)owners->n) < 0) {
		free(owner->process);
		free(owner->unit);
		return -ENOMEM;
	}
	owners->n++;
	return 0;
}

int owners_add(struct owners *owners, const char *process, const char *unit, uint32_t user, uint64_t count)
{
	size_t n_process = strnlen(process, OWNER_MAX_BYTES), n_unit = strnlen(unit, OWNER_MAX_BYTES);
	struct owner like = { (char *)process, (char *)unit, user, count };
	uint64_t hash = interned_numbers_hash(&owners->index,
					      interned_hash(&owners->index, process, n_process) ^ user,
					      interned_hash(&owners->index, unit, n_unit));
	uint64_t at = hash;
	uint32_t number;

	while ((number = interned_next(&owners->index, hash, &at)) != INTERNED_NONE) {
		struct owner *owner = &owners->list[number];

		if (owner->user == user && is_name(owner->process, process, n_process) &&
		    is_name(owner->unit, unit, n_unit)) {
			owner->count = add(owner->count, count);
			return 0;
		}
	}
	if (owners->n == OWNERS_MAX) {
		owners->n_nobody = add(owners->n_nobody, count);
		return 0;
	}
	return append(owners, &like, n_process, n_unit, hash);
}

int owners_merge(struct owners *into, const struct owners *from)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < from->n; i++)
		r = owners_add(into, from->list[i].process, from->list[i].unit, from->list[i].user,
			       from->list[i].count);
	into->n_nobody = add(into->n_nobody, from->n_nobody);
	return r;
}

uint64_t owners_total(const struct owners *owners)
{
	uint64_t sum = owners->n_nobody;

	for (size_t i = 0; i < owners->n; i++)
		sum = add(sum, owners->list[i].count);
	return sum;
}

void owners_encode(const struct owners *owners, struct buffer *buffer)
{
	buffer_uleb(buffer, owners->n);
	for (size_t i = 0; i < owners->n; i++) {
		const struct owner *owner = &owners->list[i];

		buffer_string(buffer, owner->process, strlen(owner->process));
		buffer_string(buffer, owner->unit, strlen(owner->unit));
		buffer_uleb(buffer, owner->user == SAMPLE_USER_UNKNOWN ? 0 : (uint64_t)owner->user + 1);
		buffer_uleb(buffer, owner->count);
	}
	buffer_uleb(buffer, owners->n_nobody);
}

static const char *name_decode(struct reader *reader, char ret[OWNER_MAX_BYTES + 1])
{
	size_t n;
	const char *name = reader_string(reader, &n);

	if (!name || n > OWNER_MAX_BYTES || memchr(name, '\0', n)) {
		reader->bad = true;
		n = 0;
	}
	if (n)
		memcpy(ret, name, n);
	ret[n] = '\0';
	return ret;
}

int owners_decode(struct reader *reader, struct owners *owners)
{
	uint64_t n = reader_uleb(reader);
	int r = 0;

	if (n > reader_left(reader) / OWNER_MIN_BYTES || n > OWNERS_MAX)
		reader->bad = true;
	for (uint64_t i = 0; r == 0 && i < n && !reader->bad; i++) {
		char process[OWNER_MAX_BYTES + 1], unit[OWNER_MAX_BYTES + 1];
		uint64_t user, count;

		name_decode(reader, process);
		name_decode(reader, unit);
		user = reader_uleb(reader);
		count = reader_uleb(reader);
		if (user > UINT32_MAX || !count)
			reader->bad = true;
		if (!reader->bad)
			r = owners_add(owners, process, unit,
				       user ? (uint32_t)(user - 1) : SAMPLE_USER_UNKNOWN, count);
		if (r == 0 && !reader->bad && owners->n != i + 1)
			reader->bad = true; /* told twice */
	}
	owners->n_nobody = reader_uleb(reader);
	return r;
}

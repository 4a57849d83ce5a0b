/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/steps/memo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/container.h"
#include "base/file.h"

#define LEVEL 1 /* of zlib: a hundredth of the time that it saves */
#define TABLE_BYTES_MAX (64u << 20)

struct entry {
	uint8_t key[MEMO_KEY_BYTES];
	size_t at, size; /* in table->bytes */
	bool is_wanted;	 /* in this edit */
};

struct table {
	struct entry *entries; /* the first @n_read are sorted by key, the rest is new; owned */
	size_t n, n_read, room;
	struct buffer bytes;
};

struct memo {
	uint8_t key[SHA256_BYTES];
	struct reader read[MEMO_PARTS];	  /* containers of the file that was read; borrowed */
	struct file_map made[MEMO_PARTS]; /* containers that take their place */
	struct table tables[MEMO_PARTS];  /* of those that are */
};

struct memo *memo_new(const uint8_t key[SHA256_BYTES])
{
	struct memo *memo = calloc(1, sizeof(*memo));

	if (memo)
		memcpy(memo->key, key, sizeof(memo->key));
	return memo;
}

static void table_done(struct table *table)
{
	buffer_done(&table->bytes);
	free(table->entries);
	*table = (struct table){ 0 };
}

void memo_free(struct memo *memo)
{
	if (!memo)
		return;
	for (size_t i = 0; i < MEMO_PARTS; i++) {
		file_map_done(&memo->made[i]);
		table_done(&memo->tables[i]);
	}
	free(memo);
}

/* ---- tables ---- */

static int by_key(const void *a, const void *b)
{
	return memcmp(((const struct entry *)a)->key, ((const struct entry *)b)->key, MEMO_KEY_BYTES);
}

static int entry_add(struct table *table, const uint8_t *key, const void *bytes, size_t size, bool is_wanted)
{
	struct entry *entry;

	if (table->n == table->room) {
		size_t room = MAX(table->room * 2, (size_t)64);
		struct entry *more = reallocarray(table->entries, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		table->entries = more;
		table->room = room;
	}
	entry = &table->entries[table->n++];
	*entry = (struct entry){ .at = table->bytes.size, .size = size, .is_wanted = is_wanted };
	memcpy(entry->key, key, MEMO_KEY_BYTES);
	buffer_bytes(&table->bytes, bytes, size);
	return table->bytes.bad ? -ENOMEM : 0;
}

static int table_decode(struct memo *memo, enum memo_part part)
{
	_clean_(buffer_donep) struct buffer bytes = { 0 };
	struct table *table = &memo->tables[part];
	int r = memo_get(memo, part, TABLE_BYTES_MAX, &bytes);
	struct reader in = reader_of(bytes.data, bytes.size);

	while (r == 0 && reader_left(&in)) {
		const uint8_t *key = reader_bytes(&in, MEMO_KEY_BYTES);
		struct reader entry = reader_sub(&in, reader_uleb(&in));

		if (in.bad || table->n == MEMO_ENTRIES_MAX)
			return -EBADMSG;
		r = entry_add(table, key, entry.at, reader_left(&entry), false);
	}
	if (table->n)
		qsort(table->entries, table->n, sizeof(*table->entries), by_key);
	table->n_read = table->n;
	return r == -ENOENT ? 0 : r;
}

bool memo_find(struct memo *memo, enum memo_part part, const uint8_t key[MEMO_KEY_BYTES], struct reader *ret)
{
	struct table *table = &memo->tables[part];
	struct entry wanted, *found = NULL;

	memcpy(wanted.key, key, MEMO_KEY_BYTES);
	if (table->n_read)
		found = bsearch(&wanted, table->entries, table->n_read, sizeof(wanted), by_key);
	if (!found)
		return false;
	found->is_wanted = true;
	*ret = reader_of(table->bytes.data + found->at, found->size);
	return true;
}

int memo_add(struct memo *memo, enum memo_part part, const uint8_t key[MEMO_KEY_BYTES], const void *bytes,
	     size_t size)
{
	return entry_add(&memo->tables[part], key, bytes, size, true);
}

/* Those of this edit first, so that others go when there are too many. */
static int table_encode(const struct table *table, struct buffer *ret)
{
	_clean_(buffer_donep) struct buffer bytes = { 0 };
	size_t n = 0;

	for (int wanted = 1; wanted >= 0; wanted--)
		for (size_t i = 0; i < table->n && n < MEMO_ENTRIES_MAX; i++) {
			const struct entry *entry = &table->entries[i];

			if (entry->is_wanted != (bool)wanted ||
			    bytes.size + entry->size + 64 > TABLE_BYTES_MAX)
				continue;
			buffer_bytes(&bytes, entry->key, MEMO_KEY_BYTES);
			buffer_uleb(&bytes, entry->size);
			buffer_bytes(&bytes, table->bytes.data + entry->at, entry->size);
			n++;
		}
	return bytes.bad ? -ENOMEM :
			   container_pack(CONTAINER_MEMO, MEMO_VERSION, bytes.data, bytes.size, LEVEL, ret);
}

/* ---- the file ---- */

static int file_decode(struct memo *memo, const void *bytes, size_t size, struct buffer *payload,
		       struct fault *reterr)
{
	int r = container_unpack_limited(bytes, size, CONTAINER_MEMO, MEMO_VERSION, size, payload, reterr);
	struct reader in;
	const void *key;

	if (r < 0)
		return r;
	/* Stored, so that what was read can be read where it stands. */
	if (payload->size + CONTAINER_HEADER_BYTES != size)
		return fault_set(reterr, -EBADMSG, "damaged");
	in = reader_of((const uint8_t *)bytes + CONTAINER_HEADER_BYTES, payload->size);
	key = reader_bytes(&in, SHA256_BYTES);
	if (key && memcmp(key, memo->key, SHA256_BYTES) != 0)
		return fault_set(reterr, -ESTALE, "of another program, or another compiler");
	for (size_t i = 0; i < MEMO_PARTS; i++)
		memo->read[i] = reader_sub(&in, reader_u64(&in));
	if (in.bad || reader_left(&in))
		return fault_set(reterr, -EBADMSG, "damaged");
	for (enum memo_part table = MEMO_TABLES; table < MEMO_PARTS && r == 0; table++)
		r = table_decode(memo, table);
	return r < 0 ? fault_errno(reterr, r, "a table of it") : 0;
}

int memo_read(struct memo *memo, const void *bytes, size_t size, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer payload = { 0 };
	int r = file_decode(memo, bytes, size, &payload, reterr);

	if (r < 0) {
		memset(memo->read, 0, sizeof(memo->read));
		for (size_t i = 0; i < MEMO_PARTS; i++)
			table_done(&memo->tables[i]);
	}
	return r;
}

int memo_get(const struct memo *memo, enum memo_part part, uint64_t max, struct buffer *ret)
{
	const struct reader *in = &memo->read[part];

	if (!in->start || !reader_left(in))
		return -ENOENT;
	return container_unpack_limited(in->at, reader_left(in), CONTAINER_MEMO, MEMO_VERSION, max, ret,
					NULL);
}

int memo_put(struct memo *memo, enum memo_part part, const void *bytes, size_t size, const char *path,
	     struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer made = { 0 };
	int r = container_pack(CONTAINER_MEMO, MEMO_VERSION, bytes, size, LEVEL, &made);

	if (r < 0)
		return fault_errno(reterr, r, "memo");
	file_map_done(&memo->made[part]);
	memo->made[part] = (struct file_map){ 0 };
	r = file_write(path, made.data, made.size, 0600, reterr);
	return r < 0 ? r : file_map_open(path, &memo->made[part], reterr);
}

static bool is_new(const struct memo *memo, enum memo_part part)
{
	return memo->made[part].size || memo->tables[part].n > memo->tables[part].n_read;
}

static int part_write(const struct memo *memo, enum memo_part part, struct buffer *ret)
{
	_clean_(buffer_donep) struct buffer encoded = { 0 };
	const struct file_map *made = &memo->made[part];
	struct reader bytes = memo->read[part];
	int r = 0;

	if (made->size) {
		bytes = reader_of(made->data, made->size);
	} else if (is_new(memo, part)) {
		r = table_encode(&memo->tables[part], &encoded);
		bytes = reader_of(encoded.data, encoded.size);
	}
	buffer_u64(ret, reader_left(&bytes));
	if (reader_left(&bytes))
		buffer_bytes(ret, bytes.at, reader_left(&bytes));
	return r;
}

int memo_write(const struct memo *memo, struct buffer *ret)
{
	_clean_(buffer_donep) struct buffer payload = { 0 };
	bool is_any_new = false;
	int r = 0;

	for (enum memo_part part = 0; part < MEMO_PARTS; part++)
		is_any_new |= is_new(memo, part);
	if (!is_any_new)
		return 0;
	buffer_bytes(&payload, memo->key, SHA256_BYTES);
	for (enum memo_part part = 0; part < MEMO_PARTS && r == 0; part++)
		r = part_write(memo, part, &payload);
	if (r == 0 && payload.bad)
		r = -ENOMEM;
	return r < 0 ? r : container_pack(CONTAINER_MEMO, MEMO_VERSION, payload.data, payload.size, 0, ret);
}

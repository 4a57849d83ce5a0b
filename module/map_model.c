/* SPDX-License-Identifier: Apache-2.0 */

/*
 * One walk for both directions: a number comes from its column when the map is encoded, and goes into its column
 * either way; so encoding sees whether the columns come back. In this order:
 *	1. the build ID, the counts, the dictionary of probabilities
 *	2. functions: name, kind of GUID, address, number of blocks, IR function; then the other IR functions
 *	3. blocks: ID, flags, numbers of edges, calls and probes, gap, size; then these edges, calls and probes
 * A number's contexts are up to three things that are known of its block, and what stood before in its column.
 * IDs and indices of probes that come out of order are guessed from those of the function that did not come yet.
 */

#include "module/map_model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "module/block_map_columns.h"
#include "module/build_id.h"

#define N_COUNTS 7u /* functions, IR functions, blocks, edges, calls, probes, unplaced probes */
#define COUNT_FUNCTIONS 0u
#define COUNT_IR_FUNCTIONS 1u
#define NEAR 64u      /* IDs that are looked through for one with a probe */
#define SETTLED 4096u /* IDs of a function whose coming is noted */

/* Kinds of numbers beside the columns. */
enum {
	NUMBER_SIZE = N_COLUMNS, /* of a column that is not walked by counts */
	NUMBER_COUNT,
	NUMBER_BLOCKS,
	NUMBER_ID_SIZE,
	NUMBER_ID_BYTE,
	N_NUMBERS
};

/* Which of a function's IDs came already? */
struct settled {
	uint64_t bits[SETTLED / 64];
	uint64_t end; /* behind the highest that came */
	uint64_t low; /* the lowest that did not */
	uint64_t previous;
};

/* What the numbers of a block know of it. */
struct shape {
	uint64_t id_delta, flags, n_edges, n_calls, n_probes, size;
};

struct map_model {
	struct value_coder *coder; /* borrowed for a call, like the next */
	struct text_model *names;
	bool decodes, no_memory;
	struct reader in[N_COLUMNS];
	struct buffer out[N_COLUMNS];
	size_t left; /* bytes that may still be written */
	uint64_t counts[N_COUNTS];
	struct build_id id;
	uint64_t last[N_NUMBERS][2];
	struct value_facts facts;
	struct settled ids, probes;
	uint32_t pointers[SETTLED]; /* by place: ID of the block that an edge came from, + 1; 0: none */
	uint32_t indices[SETTLED];  /* by ID: the latest index of a probe, + 1; 0: none */
	struct shape block, before;
};

struct map_model *map_model_new(void)
{
	return calloc(1, sizeof(struct map_model));
}

static void columns_done(struct map_model *m)
{
	for (unsigned i = 0; i < N_COLUMNS; i++) {
		buffer_done(&m->out[i]);
		m->out[i] = (struct buffer){ 0 };
	}
}

struct map_model *map_model_copy(const struct map_model *m)
{
	struct map_model *ret = map_model_new();

	if (ret) {
		*ret = *m;
		memset(ret->out, 0, sizeof(ret->out));
	}
	return ret;
}

void map_model_free(struct map_model *m)
{
	if (!m)
		return;
	columns_done(m);
	free(m);
}

/* ---- numbers ---- */

static void guess(struct map_model *m, unsigned i, uint64_t v)
{
	m->facts.guesses[i] = v;
	m->facts.is_none[i] = false;
}

static void guesses_clear(struct map_model *m)
{
	memset(m->facts.is_none, true, sizeof(m->facts.is_none));
}

static bool number_run(struct map_model *m, unsigned kind, uint64_t a, uint64_t b, uint64_t c, uint64_t *v)
{
	uint32_t base = hash2(0x3a9, kind), one = hash2(base, a), two = hash2(one, b);
	struct value_facts *f = &m->facts;

	f->contexts[0] = one;
	f->contexts[1] = hash2(two, 1);
	f->contexts[2] = hash2(hash2(two, c), 2);
	f->contexts[3] = hash2(hash2(hash2(base, m->last[kind][0]), m->last[kind][1]), 3);
	f->contexts[4] = hash2(hash2(one, m->last[kind][0]), 4);
	f->kind = 512 + kind;
	for (unsigned i = 0; i < VALUE_GUESSES; i++)
		f->sources[i] = 512 + kind;
	if (!value_coder_run(m->coder, f, v))
		return false;
	m->last[kind][1] = m->last[kind][0];
	m->last[kind][0] = *v;
	guesses_clear(m);
	return true;
}

/* @out has grown from @before bytes on; is that still within bounds? */
static bool room_take(struct map_model *m, const struct buffer *out, size_t before)
{
	size_t n = out->size - before;

	if (out->bad || n > m->left) {
		m->no_memory |= out->bad;
		return false;
	}
	m->left -= n;
	return true;
}

static uint64_t zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

static int64_t zigzag_back(uint64_t v)
{
	return (int64_t)(v >> 1 ^ -(v & 1));
}

/* An unsigned number of @column. */
static bool unsigned_code(struct map_model *m, enum column column, unsigned kind, uint64_t a, uint64_t b,
			  uint64_t c, uint64_t *v)
{
	struct buffer *out = &m->out[column];
	size_t before = out->size;

	*v = m->decodes ? 0 : reader_uleb(&m->in[column]);
	if (!number_run(m, kind, a, b, c, v))
		return false;
	buffer_uleb(out, *v);
	return room_take(m, out, before);
}

/* A signed one; guesses are signed, too, and @v is what it was coded as. */
static bool signed_code(struct map_model *m, enum column column, uint64_t a, uint64_t b, uint64_t c,
			uint64_t *v)
{
	struct buffer *out = &m->out[column];
	size_t before = out->size;

	*v = m->decodes ? 0 : zigzag(reader_sleb(&m->in[column]));
	for (unsigned i = 0; i < VALUE_GUESSES; i++)
		m->facts.guesses[i] = zigzag((int64_t)m->facts.guesses[i]);
	if (!number_run(m, column, a, b, c, v))
		return false;
	buffer_sleb(out, zigzag_back(*v));
	return room_take(m, out, before);
}

static bool byte_code(struct map_model *m, enum column column, uint64_t a, uint64_t b, uint64_t c,
		      uint64_t *v)
{
	struct buffer *out = &m->out[column];
	size_t before = out->size;

	*v = m->decodes ? 0 : reader_u8(&m->in[column]);
	m->facts.width = 8;
	if (!number_run(m, column, a, b, c, v))
		return false;
	m->facts.width = 0;
	buffer_u8(out, (uint8_t)*v);
	return room_take(m, out, before);
}

/* @n bytes that look like chance, each by its place. */
static bool bytes_code(struct map_model *m, enum column column, unsigned n)
{
	uint64_t v = 0, before = 256;

	for (unsigned i = 0; i < n; i++) {
		if (!byte_code(m, column, i, before, 0, &v))
			return false;
		before = v;
	}
	return true;
}

/* ---- IDs ---- */

static void settled_begin(struct settled *s, uint64_t previous)
{
	uint64_t n = s->end < SETTLED ? s->end : SETTLED;

	memset(s->bits, 0, (n + 63) / 64 * sizeof(s->bits[0]));
	s->end = 0;
	s->low = previous + 1;
	s->previous = previous;
}

/* The first from @id on that did not come. */
static uint64_t settled_next(const struct settled *s, uint64_t id)
{
	while (id < SETTLED) {
		uint64_t rest = ~s->bits[id / 64] >> id % 64;

		if (rest)
			return id + (uint64_t)__builtin_ctzll(rest);
		id = (id / 64 + 1) * 64;
	}
	return id;
}

static void settled_note(struct settled *s, uint64_t id)
{
	s->previous = id;
	if (id >= SETTLED)
		return;
	s->bits[id / 64] |= 1ull << id % 64;
	s->end = id >= s->end ? id + 1 : s->end;
	s->low = settled_next(s, s->low);
}

/* What comes next: as a difference from the one behind the previous one. */
static void settled_guess(struct map_model *m, const struct settled *s)
{
	uint64_t behind = s->previous + 1;

	guess(m, 0, settled_next(s, behind) - behind);
	guess(m, 1, s->low - behind);
	guess(m, 2, s->end - behind);
}

/* The index that a block's probe has if probes are in the order of IDs; 0: nobody knows. */
static uint64_t index_likely(const struct map_model *m)
{
	uint64_t id = m->ids.previous;

	if (id >= SETTLED)
		return 0;
	for (unsigned i = 0; i < NEAR && id-- > 0; i++)
		if (m->indices[id])
			return m->indices[id];
	return 0;
}

/* ---- head and functions ---- */

static bool head_code(struct map_model *m, const struct build_id *expected)
{
	uint64_t v = m->id.size;

	guess(m, 0, expected->size);
	if (!number_run(m, NUMBER_ID_SIZE, 0, 0, 0, &v) || v > BUILD_ID_MAX_BYTES)
		return false;
	m->id.size = (uint8_t)v;
	for (unsigned i = 0; i < m->id.size; i++) {
		v = m->id.bytes[i];
		m->facts.width = 8;
		guess(m, 0, expected->bytes[i]);
		if (!number_run(m, NUMBER_ID_BYTE, 0, 0, 0, &v))
			return false;
		m->facts.width = 0;
		m->id.bytes[i] = (uint8_t)v;
	}
	for (unsigned i = 0; i < N_COUNTS; i++)
		if (!number_run(m, NUMBER_COUNT, i, 0, 0, &m->counts[i]))
			return false;
	return true;
}

static bool dictionary_code(struct map_model *m)
{
	uint64_t left = 0, v;

	for (struct reader all = m->in[COLUMN_DICTIONARY]; !m->decodes && reader_left(&all) && !all.bad;
	     left++)
		reader_uleb(&all);
	if (!number_run(m, NUMBER_SIZE, 0, 0, 0, &left))
		return false;
	for (uint64_t i = 0; i < left; i++)
		if (!unsigned_code(m, COLUMN_DICTIONARY, COLUMN_DICTIONARY, i < 16 ? i : 16, 0, 0, &v))
			return false;
	return true;
}

static bool name_code(struct map_model *m)
{
	struct buffer *out = &m->out[COLUMN_NAMES];
	uint8_t byte;

	do {
		byte = m->decodes ? 0 : reader_u8(&m->in[COLUMN_NAMES]);
		if (!text_model_code(m->names, m->coder, 1, &byte))
			return false;
		buffer_u8(out, byte);
		if (!room_take(m, out, out->size - 1))
			return false;
	} while (byte);
	return true;
}

static bool hash_code(struct map_model *m, uint64_t n_blocks)
{
	uint64_t v = 0, before = 0;

	for (unsigned i = 0; i < 4; i++) {
		if (!byte_code(m, COLUMN_HASH_HIGH, i, before, n_blocks, &v))
			return false;
		before = v + 1;
	}
	return bytes_code(m, COLUMN_HASH_LOW, 4);
}

static bool guid_code(struct map_model *m)
{
	uint64_t kind;

	return byte_code(m, COLUMN_GUID_KINDS, 0, 0, 0, &kind) &&
	       (kind != GUID_GIVEN || bytes_code(m, COLUMN_GUIDS, 8));
}

static bool function_code(struct map_model *m, uint64_t *n_blocks, uint64_t *n_described)
{
	uint64_t gap, is_described;

	if (!name_code(m) || !guid_code(m) || !signed_code(m, COLUMN_FUNCTIONS, 0, 0, 0, &gap) ||
	    !unsigned_code(m, COLUMN_FUNCTIONS, NUMBER_BLOCKS, gap, 0, 0, n_blocks) ||
	    !byte_code(m, COLUMN_IR, *n_blocks, gap, 0, &is_described))
		return false;
	*n_described += is_described != 0;
	return !is_described || hash_code(m, *n_blocks);
}

static bool functions_code(struct map_model *m, uint64_t *n_blocks)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < m->counts[COUNT_FUNCTIONS]; i++)
		if (!function_code(m, &n_blocks[i], &n))
			return false;
	for (; n < m->counts[COUNT_IR_FUNCTIONS]; n++)
		if (!name_code(m) || !guid_code(m) || !hash_code(m, 0))
			return false;
	return true;
}

/* ---- blocks ---- */

/* Places that edges of the function went to. */
struct targets {
	int64_t last; /* the latest that was not the next block */
	int64_t highest;
};

static void targets_note(struct map_model *m, struct targets *t, uint64_t target, int64_t place)
{
	int64_t to = (int64_t)((uint64_t)zigzag_back(target) + (uint64_t)place + 1);

	if (target)
		t->last = to;
	t->highest = MAX(t->highest, to);
	if ((uint64_t)to < SETTLED)
		m->pointers[to] = (uint32_t)m->ids.previous + 1;
}

static bool edges_code(struct map_model *m, int64_t place, struct targets *targets)
{
	const struct shape *b = &m->block;
	uint64_t kind = hash2((uint32_t)b->flags, b->n_edges), target = 0, probability = 0;

	for (uint64_t i = 0; i < b->n_edges; i++) {
		uint64_t what = hash2((uint32_t)kind, i), before = target + 1, direction;

		guess(m, 0, (uint64_t)targets->last - (uint64_t)place - 1);
		guess(m, 1, (uint64_t)targets->highest - (uint64_t)place);
		if (!signed_code(m, COLUMN_TARGETS, what, i ? before : 0,
				 hash2((uint32_t)b->id_delta, b->size), &target))
			return false;
		targets_note(m, targets, target, place);
		direction = target & 1 ? 1 : target ? 2 : 0;
		if (!unsigned_code(m, COLUMN_PROBABILITIES, COLUMN_PROBABILITIES, what,
				   i ? probability + 1 : 0, direction, &probability))
			return false;
	}
	return true;
}

static bool calls_code(struct map_model *m)
{
	const struct shape *b = &m->block;
	uint64_t at = 0, delta;

	for (uint64_t i = 0; i < b->n_calls; i++) {
		uint64_t left = b->n_calls - i;

		guess(m, 0, b->size - at);
		if (!unsigned_code(m, COLUMN_CALLS, COLUMN_CALLS, left < 4 ? left : 4, b->size - at, b->flags,
				   &delta))
			return false;
		at += delta;
	}
	return true;
}

static bool probes_code(struct map_model *m)
{
	const struct shape *b = &m->block;
	uint64_t delta, of;

	for (uint64_t i = 0; i < b->n_probes; i++) {
		uint64_t likely = index_likely(m), index;

		settled_guess(m, &m->probes);
		if (likely)
			guess(m, 3, likely - (m->probes.previous + 1));
		if (!signed_code(m, COLUMN_INDICES, hash2((uint32_t)b->id_delta, i), b->n_probes,
				 likely ? likely - m->probes.previous : 0, &delta))
			return false;
		index = m->probes.previous + 1 + (uint64_t)zigzag_back(delta);
		settled_note(&m->probes, index);
		if (m->ids.previous < SETTLED)
			m->indices[m->ids.previous] = (uint32_t)index + 1;
		if (!unsigned_code(m, COLUMN_PROBE_GUIDS, COLUMN_PROBE_GUIDS, 0, 0, 0, &of))
			return false;
		if (of == PROBE_GUID_GIVEN && !bytes_code(m, COLUMN_GUIDS, 8))
			return false;
	}
	return true;
}

static bool shape_code(struct map_model *m, uint64_t place, bool is_last)
{
	const struct shape *old = &m->before;
	struct shape *b = &m->block;
	bool is_first = place == 0;
	uint64_t edge = is_first | is_last << 1, gap, form;

	settled_guess(m, &m->ids);
	if (place < SETTLED && m->pointers[place])
		guess(m, 3, settled_next(&m->ids, m->pointers[place]) - (m->ids.previous + 1));
	if (!signed_code(m, COLUMN_IDS, hash2((uint32_t)old->flags, is_first), old->n_edges,
			 m->facts.is_none[3] ? 0 : m->facts.guesses[3] + 1, &b->id_delta))
		return false;
	settled_note(&m->ids, m->ids.previous + 1 + (uint64_t)zigzag_back(b->id_delta));
	if (!byte_code(m, COLUMN_FLAGS, hash2((uint32_t)edge, old->flags), old->n_edges, b->id_delta,
		       &b->flags) ||
	    !unsigned_code(m, COLUMN_N_EDGES, COLUMN_N_EDGES, b->flags, old->n_edges, b->id_delta,
			   &b->n_edges))
		return false;
	form = hash2((uint32_t)b->flags, b->n_edges);
	if (!unsigned_code(m, COLUMN_N_CALLS, COLUMN_N_CALLS, form, old->n_calls, edge, &b->n_calls) ||
	    !unsigned_code(m, COLUMN_N_PROBES, COLUMN_N_PROBES, form, b->id_delta, b->n_calls,
			   &b->n_probes) ||
	    !signed_code(m, COLUMN_GAPS, hash2((uint32_t)old->flags, old->n_edges), old->size, edge, &gap) ||
	    !unsigned_code(m, COLUMN_SIZES, COLUMN_SIZES, form, b->n_calls, b->n_probes, &b->size))
		return false;
	return true;
}

static bool blocks_code(struct map_model *m, uint64_t n)
{
	struct targets targets = { 0 };

	memset(m->pointers, 0, MIN(n, SETTLED) * sizeof(m->pointers[0]));
	memset(m->indices, 0, MIN(m->ids.end, SETTLED) * sizeof(m->indices[0]));
	settled_begin(&m->ids, UINT64_MAX);
	settled_begin(&m->probes, 0);
	m->before = (struct shape){ 0 };
	for (uint64_t i = 0; i < n; i++) {
		if (!shape_code(m, i, i == n - 1) || !edges_code(m, (int64_t)i, &targets) || !calls_code(m) ||
		    !probes_code(m))
			return false;
		m->before = m->block;
	}
	return true;
}

static bool map_walk(struct map_model *m, const struct build_id *id)
{
	_clean_(freep) uint64_t *n_blocks = NULL;
	uint64_t n;

	guesses_clear(m);
	if (!head_code(m, id) || !dictionary_code(m))
		return false;
	n = m->counts[COUNT_FUNCTIONS];
	/* A function takes four bytes at least. */
	if (n > m->left)
		return false;
	n_blocks = calloc(n + 1, sizeof(*n_blocks));
	m->no_memory = !n_blocks;
	if (!n_blocks || !functions_code(m, n_blocks))
		return false;
	for (uint64_t i = 0; i < n; i++)
		if (!blocks_code(m, n_blocks[i]))
			return false;
	return true;
}

/* ---- both directions ---- */

static void map_write(const struct map_model *m, struct buffer *ret)
{
	buffer_string(ret, (const char *)m->id.bytes, m->id.size);
	for (unsigned i = 0; i < N_COUNTS; i++)
		buffer_uleb(ret, m->counts[i]);
	for (unsigned i = 0; i < N_COLUMNS; i++) {
		ret->bad |= m->out[i].bad;
		buffer_string(ret, (const char *)m->out[i].data, m->out[i].size);
	}
}

static void begin(struct map_model *m, struct value_coder *coder, struct text_model *names, size_t max)
{
	m->coder = coder;
	m->names = names;
	m->left = max;
	m->no_memory = false;
	memset(m->counts, 0, sizeof(m->counts));
	columns_done(m);
}

int map_model_encode(struct map_model *m, struct value_coder *coder, struct text_model *names,
		     const struct build_id *id, const void *bytes, size_t size)
{
	_clean_(buffer_donep) struct buffer again = { 0 };
	struct reader in = reader_of(bytes, size);
	const char *own;
	size_t n_id;

	begin(m, coder, names, size);
	m->decodes = false;
	own = reader_string(&in, &n_id);
	if (!own || n_id > BUILD_ID_MAX_BYTES)
		return 1;
	m->id = (struct build_id){ .size = (uint8_t)n_id };
	memcpy(m->id.bytes, own, n_id);
	for (unsigned i = 0; i < N_COUNTS; i++)
		m->counts[i] = reader_uleb(&in);
	for (unsigned i = 0; i < N_COLUMNS; i++)
		m->in[i] = reader_sub(&in, reader_uleb(&in));
	if (in.bad || !map_walk(m, id))
		return m->no_memory ? -ENOMEM : 1;
	map_write(m, &again);
	if (again.bad)
		return -ENOMEM;
	return again.size != size || memcmp(again.data, bytes, size) != 0;
}

int map_model_decode(struct map_model *m, struct value_coder *coder, struct text_model *names,
		     const struct build_id *id, size_t max, struct buffer *ret)
{
	begin(m, coder, names, max);
	m->decodes = true;
	if (!map_walk(m, id))
		return m->no_memory ? -ENOMEM : -EBADMSG;
	map_write(m, ret);
	return ret->bad ? -ENOMEM : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The payload of version 2: header, functions, epochs (3: and what was seen), each number by models of its own. A block says whether it
 * runs (after the two blocks before), then how certain that is (after the last one that runs), then its count:
 * the number of digits (after that of the last), three digits by models, and the rest as they are.
 *
 * Nothing is allocated that the bytes left could not fill: a block is at least one decision.
 */

#include "profiles/store/profile_walk.h"

#include <errno.h>
#include <string.h>

#include "base/macro.h"
#include "module/md5.h"

#define SHARED_BITS 6u /* of a name with the one before: up to 63 bytes */
#define MODELLED_DIGITS 3u
#define LENGTHS 65u	  /* of a number in bits, 0 to 64 */
#define FUNCTION_BYTES 4u /* the checksum of its graph alone */

enum state { UNKNOWN, ZERO, RUNS, N_STATES };

enum number {
	N_FUNCTIONS,
	N_COUNTS,
	SAMPLES,
	SPAN,
	ACTIVITY,
	SHARES,
	SHARE,
	N_SEEN,
	FROM,
	DISTANCE,
	TIMES,
	NUMBERS
};

struct models {
	uint16_t text[256][256]; /* by the character before */
	uint16_t shared[1u << SHARED_BITS];
	uint16_t numbers[NUMBERS][RANGE_NUMBER_MODELS];
	uint16_t real[RANGE_NUMBER_MODELS];
	uint16_t is_named, n_epochs[16], is_jump, is_back;
	uint16_t calls[LENGTHS][RANGE_NUMBER_MODELS],
		edges[LENGTHS][RANGE_NUMBER_MODELS]; /* by length of n_counts */
	uint16_t certainty[2][256];		     /* of a function, by whether it has samples */
	uint16_t states[N_STATES][N_STATES][4];
	uint16_t zero[PROFILE_LEVELS], levels[PROFILE_LEVELS][PROFILE_LEVELS];
	uint16_t is_same_level[PROFILE_LEVELS][2], is_same_length[LENGTHS][2]; /* was the last? */
	uint16_t is_shorter[LENGTHS], steps[2][LENGTHS];		       /* else: which way, how far */
	uint16_t digits[LENGTHS][1u << MODELLED_DIGITS];		       /* by how many there are */
};

struct walk {
	struct range_coder *coder;
	struct models *models; /* owned */
	struct buffer name;    /* owned; the last one, without the final 0 */
	uint64_t n_counts;     /* of all functions so far */
};

const uint8_t profile_levels[PROFILE_LEVELS] = { 0,   16,  32,	48,  64,  76,  88,  98,	 108, 118, 127,
						 137, 146, 155, 164, 172, 180, 187, 194, 201, 207, 213,
						 219, 224, 229, 234, 239, 243, 247, 250, 253, 255 };

unsigned profile_digits(unsigned level)
{
	static const uint8_t digits[PROFILE_LEVELS] = {
		5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5,  5,  5,  5,  5,  5,
		5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 11, 12, 14, 16, 64
	};

	return digits[level];
}

static unsigned tree(struct walk *w, uint16_t *models, unsigned n, unsigned value)
{
	return range_coder_tree(w->coder, models, n, value);
}

static uint64_t number(struct walk *w, enum number which, uint64_t value)
{
	return range_coder_number(w->coder, w->models->numbers[which], value);
}

/* Most have few digits: zeros at their low end are not written. */
static void real_walk(struct walk *w, double *value)
{
	uint64_t bits;
	unsigned n;

	memcpy(&bits, value, sizeof(bits));
	n = tree(w, w->models->real, 7, bits ? 64 - (unsigned)__builtin_ctzll(bits) : 0);
	if (n > 64)
		w->coder->in.bad = true;
	if (!w->coder->in.bad)
		bits = n ? range_coder_raw(w->coder, n, bits >> (64 - n)) << (64 - n) : 0;
	if (w->coder->decodes && !w->coder->in.bad)
		memcpy(value, &bits, sizeof(bits));
}

/* A text, after what it shares with the one before. */
static int text_walk(struct walk *w, char **text)
{
	struct range_coder *c = w->coder;
	const char *from = !c->decodes && *text ? *text : "";
	unsigned shared = 0, last, next;

	while (!c->decodes && shared < (1u << SHARED_BITS) - 1 && shared < w->name.size && from[shared] &&
	       (uint8_t)from[shared] == w->name.data[shared])
		shared++;
	shared = tree(w, w->models->shared, SHARED_BITS, shared);
	c->in.bad |= shared > w->name.size;
	w->name.size = MIN((size_t)shared, w->name.size);
	for (;;) {
		last = w->name.size ? w->name.data[w->name.size - 1] : 0;
		next = tree(w, w->models->text[last], 8, c->decodes ? 0 : (uint8_t)from[w->name.size]);
		if (!next || c->in.bad)
			break;
		buffer_u8(&w->name, (uint8_t)next);
		if (w->name.bad)
			return -ENOMEM;
		c->in.bad |= w->name.size > PROFILE_MAX_NAME_BYTES;
	}
	if (c->decodes && w->name.size && !c->in.bad &&
	    !(*text = strndup((char *)w->name.data, w->name.size)))
		return -ENOMEM;
	return 0;
}

static int header_walk(struct walk *w, struct profile *p)
{
	struct range_coder *c = w->coder;
	int r;

	p->build_id.size = (uint8_t)range_coder_raw(c, 8, p->build_id.size);
	c->in.bad |= p->build_id.size > BUILD_ID_MAX_BYTES;
	for (unsigned i = 0; i < p->build_id.size && !c->in.bad; i++)
		p->build_id.bytes[i] = (uint8_t)range_coder_raw(c, 8, p->build_id.bytes[i]);
	r = text_walk(w, &p->path);
	if (r == 0)
		r = text_walk(w, &p->estimator);
	real_walk(w, &p->samples);
	real_walk(w, &p->unmapped);
	real_walk(w, &p->carried);
	real_walk(w, &p->dropped);
	real_walk(w, &p->scale);
	p->first_ns = range_coder_raw(c, 64, p->first_ns);
	p->last_ns = p->first_ns + number(w, SPAN, p->last_ns - p->first_ns);
	p->activity_ns = number(w, ACTIVITY, p->activity_ns);
	return r;
}

static void guid_walk(struct walk *w, struct profile_function *f)
{
	struct range_coder *c = w->coder;
	uint64_t of_name = f->name ? md5_guid(f->name, strlen(f->name)) : 0;

	if (f->name && range_coder_bit(c, &w->models->is_named, f->guid == of_name))
		f->guid = of_name;
	else
		f->guid = range_coder_raw(c, 64, f->guid);
}

/* The upper half of LLVM's hash holds how many calls and edges the function has; the lower is a checksum. */
static void hash_walk(struct walk *w, struct profile_function *f, unsigned length)
{
	struct range_coder *c = w->coder;
	uint64_t calls = range_coder_number(c, w->models->calls[length], f->cfg_hash >> 48);
	uint64_t edges = range_coder_number(c, w->models->edges[length], f->cfg_hash >> 32 & 0xffff);

	c->in.bad |= calls > 0xffff || edges > 0xffff;
	f->cfg_hash = calls << 48 | edges << 32 | range_coder_raw(c, 32, f->cfg_hash & 0xffffffff);
}

static unsigned level_find(uint8_t confidence)
{
	unsigned level = 0;

	while (profile_levels[level] < confidence)
		level++;
	return level;
}

/* What is often what it was: @value after @last, by @n bits if it differs. */
static unsigned change_walk(struct walk *w, uint16_t is_same[2], uint16_t *models, unsigned n, unsigned value,
			    unsigned last, bool *was_same)
{
	*was_same = range_coder_bit(w->coder, &is_same[*was_same], value == last);
	return *was_same ? last : tree(w, models, n, value);
}

/* Of the last block of the function that runs. */
struct last {
	unsigned level, length;
	bool same_level, same_length; /* as the one before it */
};

/* A number of digits is seldom far from the last one. */
static unsigned length_walk(struct walk *w, unsigned length, struct last *last)
{
	struct range_coder *c = w->coder;
	uint16_t *is_same = w->models->is_same_length[last->length];
	unsigned distance = length > last->length ? length - last->length : last->length - length, n = 1;
	bool shorter;

	last->same_length = range_coder_bit(c, &is_same[last->same_length], length == last->length);
	if (last->same_length)
		return last->length;
	shorter = range_coder_bit(c, &w->models->is_shorter[last->length], length < last->length);
	while (n < LENGTHS - 1 && range_coder_bit(c, &w->models->steps[shorter][n], distance > n))
		n++;
	return shorter ? last->length - MIN(n, last->length) : last->length + n;
}

static void executions_walk(struct walk *w, uint64_t *executions, struct last *last)
{
	struct range_coder *c = w->coder;
	unsigned n, modelled, length = length_walk(w, bit_length(*executions), last);
	uint64_t value;

	if (length == 0 || length > 64)
		c->in.bad = true;
	if (c->in.bad)
		return;
	last->length = length;
	n = MIN(length, profile_digits(last->level)) - 1; /* after the leading one */
	value = *executions >> (length - 1 - n);
	modelled = MIN(n, MODELLED_DIGITS);
	if (modelled) {
		unsigned high = (unsigned)(value >> (n - modelled)) & ((1u << modelled) - 1);

		high = tree(w, w->models->digits[n], modelled, high);
		value = ((uint64_t)1 << modelled | high) << (n - modelled) |
			range_coder_raw(c, n - modelled, value);
	}
	*executions = (modelled ? value : 1) << (length - 1 - n);
}

static void counts_walk(struct walk *w, struct profile_function *f)
{
	unsigned before = 0, before_that = 0, level;
	struct last last = { 0 };

	for (uint32_t i = 0; i < f->n_counts && !w->coder->in.bad; i++) {
		struct profile_count *count = &f->counts[i];
		unsigned state = count->executions ? RUNS : count->confidence ? ZERO : UNKNOWN;

		state = tree(w, w->models->states[before_that][before], 2, state);
		if (state == ZERO) {
			level = tree(w, w->models->zero, 5, level_find(count->confidence));
			w->coder->in.bad |= level == 0;
			count->confidence = profile_levels[level];
		} else if (state == RUNS) {
			last.level = change_walk(w, w->models->is_same_level[last.level],
						 w->models->levels[last.level], 5,
						 level_find(count->confidence), last.level, &last.same_level);
			count->confidence = profile_levels[last.level];
			executions_walk(w, &count->executions, &last);
		} else if (state != UNKNOWN) {
			w->coder->in.bad = true;
		}
		before_that = before;
		before = MIN(state, (unsigned)RUNS);
	}
}

/* Room for the blocks, if the bytes left can be so many. */
static int counts_make(struct walk *w, struct profile_function *f, uint64_t n)
{
	w->n_counts += n;
	if (n > PROFILE_MAX_COUNTS || w->n_counts > PROFILE_MAX_TOTAL_COUNTS ||
	    n > range_coder_budget(w->coder))
		w->coder->in.bad = true;
	return w->coder->in.bad ? 0 : profile_function_resize(f, (uint32_t)n);
}

static int function_walk(struct walk *w, struct profile_function *f)
{
	struct range_coder *c = w->coder;
	int r = text_walk(w, &f->name);
	uint64_t n, units;

	if (r < 0)
		return r;
	guid_walk(w, f);
	n = number(w, N_COUNTS, f->n_counts);
	hash_walk(w, f, bit_length(n));
	units = number(w, SAMPLES, (uint64_t)(f->samples * PROFILE_SAMPLE_UNITS));
	c->in.bad |= units > PROFILE_MAX_UNITS;
	f->samples = (double)units / PROFILE_SAMPLE_UNITS;
	f->confidence = (uint8_t)tree(w, w->models->certainty[units > 0], 8, f->confidence);
	if (c->decodes)
		r = counts_make(w, f, n);
	if (r == 0)
		counts_walk(w, f);
	return r;
}

static int functions_walk(struct walk *w, struct profile *p)
{
	struct range_coder *c = w->coder;
	uint64_t n = number(w, N_FUNCTIONS, p->n_functions);
	int r = 0;

	if (c->decodes) {
		if (n > reader_left(&c->in) / FUNCTION_BYTES + 2)
			c->in.bad = true;
		if (c->in.bad)
			return 0;
		p->functions = calloc(n + 1, sizeof(*p->functions));
		if (!p->functions)
			return -ENOMEM;
		p->capacity = n + 1;
	}
	for (uint64_t i = 0; i < n && r == 0 && !c->in.bad; i++) {
		p->n_functions = c->decodes ? i + 1 : p->n_functions;
		r = function_walk(w, &p->functions[i]);
	}
	return r;
}

/* The number of the function with that GUID, and the reverse. */
static void share_walk(struct walk *w, const struct profile *p, struct profile_share *share)
{
	struct range_coder *c = w->coder;
	uint64_t at = 0, part;

	while (!c->decodes && p->functions[at].guid != share->guid)
		at++;
	at = range_coder_raw(c, bit_length(p->n_functions), at);
	part = number(w, SHARE, share->share);
	c->in.bad |= at >= p->n_functions || part > UINT16_MAX;
	if (!c->in.bad)
		*share = (struct profile_share){ p->functions[at].guid, (uint16_t)part };
}

static int epoch_walk(struct walk *w, const struct profile *p, struct profile_epoch *epoch)
{
	struct range_coder *c = w->coder;

	epoch->first_ns = range_coder_raw(c, 64, epoch->first_ns);
	epoch->last_ns = epoch->first_ns + number(w, SPAN, epoch->last_ns - epoch->first_ns);
	real_walk(w, &epoch->samples);
	epoch->n_shares = number(w, SHARES, epoch->n_shares);
	if (epoch->n_shares > PROFILE_MAX_SHARES || c->in.bad) {
		epoch->n_shares = 0;
		c->in.bad = true;
		return 0;
	}
	if (c->decodes && !(epoch->shares = calloc(PROFILE_MAX_SHARES, sizeof(*epoch->shares))))
		return -ENOMEM;
	for (size_t i = 0; i < epoch->n_shares && !c->in.bad; i++)
		share_walk(w, p, &epoch->shares[i]);
	return 0;
}

static int epochs_walk(struct walk *w, struct profile *p)
{
	unsigned n = tree(w, w->models->n_epochs, 4, (unsigned)p->n_epochs);
	int r = 0;

	w->coder->in.bad |= n > PROFILE_MAX_EPOCHS;
	for (unsigned i = 0; i < n && r == 0 && !w->coder->in.bad; i++) {
		p->n_epochs = w->coder->decodes ? i + 1 : p->n_epochs;
		r = epoch_walk(w, p, &p->epochs[i]);
	}
	return r;
}

/* After the one before it, in their order. */
static void seen_walk(struct walk *w, struct profile_seen *seen, const struct profile_seen *before)
{
	struct range_coder *c = w->coder;
	uint64_t delta = number(w, FROM, seen->from - (before ? before->from : 0)), distance;
	bool is_jump = range_coder_bit(c, &w->models->is_jump, seen->to != PROFILE_SEEN_SAMPLE), is_back;

	seen->from = (before ? before->from : 0) + delta;
	if (is_jump) {
		is_back = range_coder_bit(c, &w->models->is_back, seen->to < seen->from);
		distance = number(w, DISTANCE, is_back ? seen->from - seen->to : seen->to - seen->from);
		seen->to = is_back ? seen->from - distance : seen->from + distance;
	} else {
		seen->to = PROFILE_SEEN_SAMPLE;
	}
	seen->count = number(w, TIMES, seen->count);
}

static int seens_walk(struct walk *w, struct profile *p)
{
	struct range_coder *c = w->coder;
	uint64_t n = number(w, N_SEEN, p->n_seen);

	if (c->decodes) {
		c->in.bad |= n > PROFILE_MAX_SEEN || n > range_coder_budget(c);
		if (c->in.bad)
			return 0;
		/* Room is a power of two, as seen_place() has it. */
		p->seen = calloc((size_t)1 << bit_length(n), sizeof(*p->seen));
		if (!p->seen)
			return -ENOMEM;
	}
	for (uint64_t i = 0; i < n && !c->in.bad; i++) {
		p->n_seen = c->decodes ? i + 1 : p->n_seen;
		seen_walk(w, &p->seen[i], i ? &p->seen[i - 1] : NULL);
	}
	return 0;
}

static void walk_done(struct walk *w)
{
	free(w->models);
	buffer_done(&w->name);
}

int profile_walk(struct range_coder *coder, unsigned version, struct profile *profile)
{
	_clean_(walk_done) struct walk w = { .coder = coder, .models = malloc(sizeof(struct models)) };
	int r;

	if (!w.models)
		return -ENOMEM;
	range_models_init((uint16_t *)w.models, sizeof(struct models) / sizeof(uint16_t));
	r = header_walk(&w, profile);
	if (r == 0 && !coder->in.bad)
		r = functions_walk(&w, profile);
	if (r == 0 && !coder->in.bad)
		r = epochs_walk(&w, profile);
	if (r == 0 && version == PROFILE_VERSION_SEEN && !coder->in.bad)
		r = seens_walk(&w, profile);
	return r;
}

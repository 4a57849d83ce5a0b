/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A number is coded as its length in bits (four decisions for 0..14, else 15 and six more), then the
 * bits below the leading one, highest first; or, if it is known to be short, as its bits. Up to four
 * decisions are a group; the probabilities of a group's 15 nodes under one context stand in one line of
 * a hash table, with a check: a line that belongs to another group or context is taken over. A
 * probability is 12 bits and a count of 4, a slot: what was seen seldom learns fast and weighs little.
 */

#define _GNU_SOURCE
#include "module/coder/value_coder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <threads.h>

#include "base/macro.h"

#define PROBABILITY_BITS 12 /* of the mixed prediction */
#define GROUP_BITS 4u
#define LINE_SLOTS 16u /* slot 0 is the check */
#define MAX_COUNT 15u
#define GUESS_STEPS 16u
#define MAX_LINE_BITS 20u /* 32 MiB */
#define WEIGHT_ONE 8192
#define FLAG_GROUP 0x5f1a6000u
#define MIN_CHANCE 40960u /* of 65536, to ask whether a number is the guess */
#define WEIGHT_MAX (4 * WEIGHT_ONE - 1)
#define LEARNING_RATE 7
#define KINDS VALUE_KINDS
#define PREFIX_BITS 16u /* groups beyond are told apart by their place alone */
#define N_INPUTS (VALUE_CONTEXTS + VALUE_GUESSES + 1)
#define N_PADDED 16u /* for vector instructions */

/*
 * Half of what a link costs where sanitizers look at each access. These have no index that a file says; builds for fuzzing look
 * at them, too.
 */
#ifdef MORPH_FUZZ
#define HOT
#else
#define HOT __attribute__((no_sanitize("address", "undefined")))
#endif

struct learned {
	int16_t weights[KINDS][N_PADDED];
	uint16_t trust[KINDS][VALUE_GUESSES][GUESS_STEPS]
		      [2]; /* probability of a 1 where the guess has 0, 1 */
	int16_t flag_weights[KINDS][N_PADDED];
	uint16_t hits[KINDS][VALUE_GUESSES]; /* probability that the guess is the number */
};

struct value_coder {
	uint16_t (*lines)[LINE_SLOTS]; /* owned, mapped */
	uint32_t mask;
	struct learned learned;
	int16_t inputs[N_PADDED];
	uint16_t *group[VALUE_CONTEXTS]; /* the lines of the current group */
	uint16_t *guess[VALUE_GUESSES];	 /* trust in each guess at the current decision; NULL: was wrong */
	const struct value_facts *facts; /* of the current number */
	unsigned step;			 /* decisions of the number so far */
	bool is_wrong[VALUE_GUESSES];
	uint32_t low, high, code;	  /* arithmetic coder: the interval, and where in it the input is */
	bool decodes, is_decoder, trains; /* a decoder that is trained does not decode */
	struct reader in;
	unsigned n_beyond; /* bytes taken behind the end of the input */
	struct buffer out;
};

/*
 * By slot: its input to the mixer, ln(p / (1 - p)) in 1/256 weighed by its count; the slot after a 0 and
 * after a 1. By the mixer's sum: p in 1/4096. What a coder begins with.
 */
static int16_t input_table[UINT16_MAX + 1];
static uint16_t learned_table[2][UINT16_MAX + 1];
static uint16_t squash_table[4096];
static struct learned nothing_learned;
static once_flag tables_made = ONCE_FLAG_INIT;

/* 4096 / (1 + e^-(x / 256)), interpolated; from Mahoney's lpaq. */
static int squash(int x)
{
	static const int points[33] = { 1,    2,    3,	  6,	10,   16,   27,	  45,	73,   120,  194,
					310,  488,  747,  1101, 1546, 2047, 2549, 2994, 3348, 3607, 3785,
					3901, 3975, 4024, 4050, 4068, 4079, 4085, 4089, 4092, 4093, 4094 };
	int w = x & 127;

	if (x > 2047)
		return 4095;
	if (x < -2047)
		return 0;
	x = (x >> 7) + 16;
	return (points[x] * (128 - w) + points[x + 1] * w + 64) >> 7;
}

/* How much of an input counts, in 1/16, and how far a probability moves, in 1/65536, by its count. */
static const int32_t confidence[16] = { 0, 6, 9, 11, 13, 14, 15, 16, 16, 17, 17, 18, 18, 19, 19, 20 };
static const int32_t rate[16] = { 43690, 26214, 18724, 14563, 11915, 10082, 8738, 7710,
				  6898,	 6241,	5698,  5242,  4854,  4519,  4228, 3276 };

static uint16_t slot_learned(uint16_t slot, bool bit)
{
	int32_t count = slot & 15, probability = slot >> 4, target = bit ? 4095 : 0;

	probability += (target - probability) * rate[count] >> 16;
	return (uint16_t)(probability << 4 | (count < (int32_t)MAX_COUNT ? count + 1 : count));
}

static void tables_make(void)
{
	int16_t stretch[4096];
	int p = 0;

	for (int x = -2047; x <= 2047; x++) {
		int v = squash(x);

		for (int i = p; i <= v; i++)
			stretch[i] = (int16_t)x;
		p = v + 1;
	}
	for (; p < 4096; p++)
		stretch[p] = 2047;
	for (int x = 0; x < 4096; x++)
		squash_table[x] = (uint16_t)squash(x - 2048);
	for (uint32_t slot = 0; slot <= UINT16_MAX; slot++) {
		input_table[slot] = (int16_t)(stretch[slot >> 4] * confidence[slot & 15] >> 4);
		learned_table[0][slot] = slot_learned((uint16_t)slot, false);
		learned_table[1][slot] = slot_learned((uint16_t)slot, true);
	}
	for (unsigned s = 0; s < KINDS; s++)
		for (unsigned i = 0; i < N_INPUTS; i++)
			nothing_learned.weights[s][i] = nothing_learned.flag_weights[s][i] = WEIGHT_ONE / 5;
	for (size_t i = 0; i < sizeof(nothing_learned.hits) / 2; i++)
		(&nothing_learned.hits[0][0])[i] = 1u << 15;
	for (size_t i = 0; i < sizeof(nothing_learned.trust) / 2; i++)
		(&nothing_learned.trust[0][0][0][0])[i] = 1u << 15;
}

static uint32_t mix_hash(uint32_t a, uint32_t b)
{
	uint32_t h = a * 0x9e3779b1u ^ (b + 0x7f4a7c15u) * 0x85ebca6bu;

	h ^= h >> 15;
	h *= 0xc2b2ae35u;
	return h ^ h >> 13;
}

static size_t lines_size(const struct value_coder *c)
{
	return ((size_t)c->mask + 1) * sizeof(*c->lines);
}

/* A coder with @n_lines lines, which knows nothing yet. */
static struct value_coder *coder_new(const void *in, size_t size, uint32_t n_lines)
{
	_clean_(value_coder_freep) struct value_coder *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->mask = n_lines - 1;
	/* Aligned, so that no line stands in two of the cache; few and large pages: lines are far apart. */
	c->lines = mmap(NULL, lines_size(c), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (c->lines == MAP_FAILED) {
		c->lines = NULL;
		return NULL;
	}
	madvise(c->lines, lines_size(c), MADV_HUGEPAGE); /* slower without */
	c->high = UINT32_MAX;
	c->decodes = c->is_decoder = in != NULL;
	c->in = reader_of(in, size);
	for (int i = 0; c->decodes && i < 4; i++)
		c->code = c->code << 8 | (reader_left(&c->in) ? reader_u8(&c->in) : 0);
	return TAKE(c);
}

struct value_coder *value_coder_new(const void *in, size_t size, size_t volume)
{
	struct value_coder *c;
	unsigned bits = 12;

	while (bits < MAX_LINE_BITS && ((size_t)1 << bits) < 2 * volume)
		bits++;
	call_once(&tables_made, tables_make);
	c = coder_new(in, size, 1u << bits);
	if (c)
		c->learned = nothing_learned;
	return c;
}

struct value_coder *value_coder_copy(const struct value_coder *trained, const void *in, size_t size)
{
	struct value_coder *c = coder_new(in, size, trained->mask + 1);

	if (c) {
		c->learned = trained->learned;
		memcpy(c->lines, trained->lines, lines_size(c));
	}
	return c;
}

void value_coder_train(struct value_coder *c, bool trains)
{
	c->trains = trains;
	c->decodes = c->is_decoder && !trains;
}

void value_coder_free(struct value_coder *c)
{
	if (!c)
		return;
	if (c->lines)
		munmap(c->lines, lines_size(c));
	buffer_done(&c->out);
	free(c);
}

static void bytes_shift(struct value_coder *c)
{
	while (!((c->low ^ c->high) & 0xff000000u)) {
		if (!c->decodes) {
			buffer_u8(&c->out, (uint8_t)(c->high >> 24));
		} else if (reader_left(&c->in)) {
			c->code = c->code << 8 | reader_u8(&c->in);
		} else {
			c->code <<= 8;
			c->n_beyond++;
		}
		c->low <<= 8;
		c->high = c->high << 8 | 255;
	}
}

/* @p: probability of a 1, 1 to 65535 of 65536 */
static bool bit_code(struct value_coder *c, uint32_t p, bool bit)
{
	uint32_t middle = c->low + (uint32_t)(((uint64_t)(c->high - c->low) * p) >> 16);

	if (c->trains)
		return bit;
	if (c->decodes)
		bit = c->code <= middle;
	if (bit)
		c->high = middle;
	else
		c->low = middle + 1;
	bytes_shift(c);
	return bit;
}

/* Find the lines of one group of decisions; @group: which one, within the number. */
HOT static void group_open(struct value_coder *c, uint32_t group)
{
	uint16_t checks[VALUE_CONTEXTS];

	/* The table is larger than caches are: ask for all lines before looking at the first. */
	for (unsigned i = 0; i < VALUE_CONTEXTS; i++) {
		uint32_t h = mix_hash(c->facts->contexts[i] + i * 0x9e3779b1u, group);

		c->group[i] = c->lines[h & c->mask];
		__builtin_prefetch(c->group[i], 1);
		checks[i] = (uint16_t)(h >> 16) | 1;
	}
	for (unsigned i = 0; i < VALUE_CONTEXTS; i++) {
		uint16_t *line = c->group[i];

		if (line[0] == checks[i])
			continue;
		line[0] = checks[i];
		for (unsigned j = 1; j < LINE_SLOTS; j++)
			line[j] = 1u << 15; /* one half, never seen */
	}
}

/* The mixed prediction from the inputs, 1 to 4095 of 4096. */
HOT static int mix(struct value_coder *c, const int16_t *weights)
{
	int32_t dot = 0;

	c->inputs[N_INPUTS - 1] = 32;
	for (unsigned i = 0; i < N_INPUTS; i++)
		dot += c->inputs[i] * weights[i];
	dot >>= 13;
	return squash_table[dot < -2047 ? 1 : dot > 2047 ? 4095 : dot + 2048];
}

/* For @node of the group. */
HOT static int predict(struct value_coder *c, const int16_t *weights, unsigned node)
{
	for (unsigned i = 0; i < VALUE_CONTEXTS; i++)
		c->inputs[i] = input_table[c->group[i][node]];
	for (unsigned i = 0; i < VALUE_GUESSES; i++)
		c->inputs[VALUE_CONTEXTS + i] = c->guess[i] ? input_table[*c->guess[i]] : (int16_t)0;
	return mix(c, weights);
}

/* input x error / 2^17, rounded; in 16 bits, so that one vector instruction does eight */
HOT static void weights_learn(const struct value_coder *c, int16_t *weights, int p, bool bit)
{
	int16_t error = (int16_t)(((bit << 12) - p) * LEARNING_RATE);

	for (unsigned i = 0; i < N_PADDED; i++) {
		int16_t step = (int16_t)(((c->inputs[i] * error >> 16) + 1) >> 1);
		int16_t low = (int16_t)(-WEIGHT_MAX - MIN(step, 0)),
			high = (int16_t)(WEIGHT_MAX - MAX(step, 0));

		weights[i] = (int16_t)(MAX(MIN(weights[i], high), low) + step);
	}
}

HOT static void learn(struct value_coder *c, int16_t *weights, int p, unsigned node, bool bit)
{
	weights_learn(c, weights, p, bit);
	for (unsigned i = 0; i < VALUE_CONTEXTS; i++)
		c->group[i][node] = learned_table[bit][c->group[i][node]];
	for (unsigned i = 0; i < VALUE_GUESSES; i++)
		if (c->guess[i])
			*c->guess[i] = learned_table[bit][*c->guess[i]];
}

static bool mixed_code(struct value_coder *c, int p, bool bit)
{
	uint32_t coded = (uint32_t)p * 16 + 8;

	return bit_code(c, coded < 32 ? 32 : coded > 65504 ? 65504 : coded, bit);
}

/* @guessed: the guesses' decisions here */
HOT static bool decision(struct value_coder *c, unsigned node, bool bit, const bool *guessed)
{
	unsigned step = c->step < GUESS_STEPS ? c->step : GUESS_STEPS - 1;
	int16_t *weights = c->learned.weights[c->facts->kind % KINDS];
	int p;

	for (unsigned i = 0; i < VALUE_GUESSES; i++)
		c->guess[i] = c->is_wrong[i] ?
				      NULL :
				      &c->learned.trust[c->facts->sources[i] % KINDS][i][step][guessed[i]];
	p = predict(c, weights, node);
	bit = mixed_code(c, p, bit);
	learn(c, weights, p, node, bit);
	for (unsigned i = 0; i < VALUE_GUESSES; i++)
		c->is_wrong[i] |= guessed[i] != bit;
	c->step++;
	return bit;
}

/* @n_bits: at most GROUP_BITS; @guesses: what each guess has here */
HOT static unsigned group_code(struct value_coder *c, uint32_t group, unsigned n_bits, unsigned value,
			       const unsigned *guesses)
{
	unsigned path = 1;

	group_open(c, group);
	for (unsigned i = n_bits; i-- > 0;) {
		bool guessed[VALUE_GUESSES];

		for (unsigned g = 0; g < VALUE_GUESSES; g++)
			guessed[g] = guesses[g] >> i & 1;
		path = path << 1 | decision(c, path, value >> i & 1, guessed);
	}
	return path & ((1u << n_bits) - 1);
}

static unsigned length_of(uint64_t value)
{
	return value ? 64 - (unsigned)__builtin_clzll(value) : 0;
}

static unsigned class_of(unsigned length)
{
	return length < 15 ? length : 15;
}

static unsigned length_code(struct value_coder *c, unsigned length)
{
	unsigned guesses[VALUE_GUESSES], lengths[VALUE_GUESSES], class, high;

	for (unsigned g = 0; g < VALUE_GUESSES; g++) {
		lengths[g] = length_of(c->facts->guesses[g]);
		guesses[g] = class_of(lengths[g]);
	}
	class = group_code(c, 0, 4, class_of(length), guesses);
	if (class < 15)
		return class;
	for (unsigned g = 0; g < VALUE_GUESSES; g++)
		guesses[g] = (lengths[g] - 15) >> 3 & 7;
	high = group_code(c, 1, 3, (length - 15) >> 3, guesses);
	for (unsigned g = 0; g < VALUE_GUESSES; g++)
		guesses[g] = (lengths[g] - 15) & 7;
	return 15 + (high << 3 | group_code(c, 2 + high, 3, (length - 15) & 7, guesses));
}

static uint64_t mantissa_code(struct value_coder *c, unsigned length, uint64_t value)
{
	uint64_t v = 1;

	for (unsigned left = length - 1; left;) {
		unsigned n = left < GROUP_BITS ? left : GROUP_BITS, guesses[VALUE_GUESSES];
		bool far = length - 1 - left > PREFIX_BITS;
		uint32_t group = length * 0x1000193u + (far ? 0x80000000u + left : (uint32_t)v * 67 + left);

		left -= n;
		for (unsigned g = 0; g < VALUE_GUESSES; g++)
			guesses[g] = (unsigned)(c->facts->guesses[g] >> left) & 15;
		v = v << n | group_code(c, group, n, (unsigned)(value >> left) & 15, guesses);
	}
	return v;
}

/* A number of @width bits, at most eight: its high bits, then its low four. */
static uint64_t short_code(struct value_coder *c, unsigned width, unsigned value)
{
	unsigned high_bits = width > GROUP_BITS ? width - GROUP_BITS : 0, high = 0, guesses[VALUE_GUESSES];

	if (high_bits) {
		for (unsigned g = 0; g < VALUE_GUESSES; g++)
			guesses[g] = (unsigned)(c->facts->guesses[g] >> GROUP_BITS) & 15;
		high = group_code(c, 8, high_bits, value >> GROUP_BITS, guesses);
	}
	for (unsigned g = 0; g < VALUE_GUESSES; g++)
		guesses[g] = (unsigned)c->facts->guesses[g] & 15;
	return high << GROUP_BITS |
	       group_code(c, 9 + high, width - high_bits, value & ((1u << (width - high_bits)) - 1), guesses);
}

static uint16_t *hits_of(struct value_coder *c, unsigned guess)
{
	return &c->learned.hits[c->facts->sources[guess] % KINDS][guess];
}

/* The guess that has been right most often, VALUE_GUESSES: none that is worth asking. */
static unsigned guess_best(struct value_coder *c)
{
	unsigned best = VALUE_GUESSES;
	uint32_t chance = MIN_CHANCE;

	for (unsigned i = 0; i < VALUE_GUESSES; i++)
		if (!c->is_wrong[i] && *hits_of(c, i) >= chance) {
			chance = *hits_of(c, i) + 1;
			best = i;
		}
	return best;
}

/* Is the number the best guess? That is one decision, and most often the only one. */
static bool hit_code(struct value_coder *c, unsigned best, bool is_hit)
{
	int16_t *weights = c->learned.flag_weights[c->facts->kind % KINDS];
	uint64_t v = c->facts->guesses[best];
	int p;

	group_open(c, FLAG_GROUP ^ (uint32_t)v * 0x85ebca6bu ^ (uint32_t)(v >> 32));
	for (unsigned i = 0; i < VALUE_CONTEXTS; i++)
		c->inputs[i] = input_table[c->group[i][1]];
	for (unsigned i = 0; i < VALUE_GUESSES; i++) {
		int16_t input = c->is_wrong[i] ? (int16_t)0 : input_table[*hits_of(c, i)];

		c->inputs[VALUE_CONTEXTS + i] = (int16_t)(c->facts->guesses[i] == v ? input : -input);
	}
	p = mix(c, weights);
	is_hit = mixed_code(c, p, is_hit);
	weights_learn(c, weights, p, is_hit);
	for (unsigned i = 0; i < VALUE_CONTEXTS; i++)
		c->group[i][1] = learned_table[is_hit][c->group[i][1]];
	return is_hit;
}

/* Digit by digit. */
static bool digits_code(struct value_coder *c, uint64_t *value)
{
	unsigned length;

	if (c->facts->width) {
		*value = short_code(c, c->facts->width, c->decodes ? 0 : (unsigned)*value);
		return true;
	}
	length = length_code(c, length_of(c->decodes ? 0 : *value));
	if (length > 64)
		return false;
	*value = length ? mantissa_code(c, length, *value) : 0;
	return true;
}

bool value_coder_run(struct value_coder *c, const struct value_facts *facts, uint64_t *value)
{
	unsigned best;
	bool is_hit = false, ok = true;

	c->facts = facts;
	c->step = 0;
	memcpy(c->is_wrong, facts->is_none, sizeof(c->is_wrong));
	best = guess_best(c);
	if (best < VALUE_GUESSES) {
		is_hit = hit_code(c, best, !c->decodes && *value == facts->guesses[best]);
		for (unsigned i = 0; i < VALUE_GUESSES; i++)
			c->is_wrong[i] |= facts->guesses[i] == facts->guesses[best];
	}
	if (is_hit)
		*value = facts->guesses[best];
	else
		ok = digits_code(c, value);
	for (unsigned i = 0; i < VALUE_GUESSES; i++)
		if (!facts->is_none[i])
			*hits_of(c, i) = learned_table[facts->guesses[i] == *value][*hits_of(c, i)];
	return ok && c->n_beyond <= 8;
}

int value_coder_end(struct value_coder *c, struct buffer *ret)
{
	for (int i = 24; i >= 0; i -= 8)
		buffer_u8(&c->out, (uint8_t)(c->high >> i));
	buffer_bytes(ret, c->out.data, c->out.size);
	return ret->bad || c->out.bad ? -ENOMEM : 0;
}

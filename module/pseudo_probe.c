/* SPDX-License-Identifier: Apache-2.0 */

/*
 *	section:  group*
 *	group:    GUID(8) n_probes n_children probe* (call site index, group)*
 *	probe:    index, kind(1), place, [discriminator]
 *	kind:     bits 0..3 type, bits 4..6 attributes, bit 7: the place is a delta (SLEB128) from the
 *	          previous probe of the outermost group; else eight bytes
 *	sentinel: an outermost group may open with a probe of attribute SENTINEL whose eight bytes are
 *	          not an address but the GUID of the symbol from whose start deltas count. Without
 *	          one they count from the symbol whose name has the group's own GUID.
 *
 * Children exist only under -g: probes at inlined source locations. They continue the deltas of their
 * parents. One function may own several outermost groups (probes inlined after insertion); they stand
 * together in ascending order of GUID.
 *
 * Reading: 1. the groups, with places counted from an unknown base; 2. the base of each group.
 */

#include "module/pseudo_probe.h"

#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "base/search.h"
#include "module/array.h"
#include "module/md5.h"

#define TYPE_MASK 15u
#define TYPE_BLOCK 0u
#define ATTRIBUTE_SENTINEL 2u
#define ATTRIBUTE_DISCRIMINATOR 4u
#define KIND_IS_DELTA 0x80u
#define MAX_DEPTH 256u /* of inlining */

static int base_compare(const void *a, const void *b)
{
	const struct probe_base *x = a, *y = b;

	if (x->guid != y->guid)
		return x->guid < y->guid ? -1 : 1;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->symbol < y->symbol ? -1 : x->symbol > y->symbol;
}

int probe_bases_init(struct probe_bases *bases, const struct image *image)
{
	size_t n = image_n_symbols(image);

	*bases = (struct probe_bases){ .bases = calloc(n ? n : 1, sizeof(*bases->bases)) };
	if (!bases->bases)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct image_symbol *s = image_symbol_at(image, i);
		size_t length = strcspn(s->name, "@"); /* foo@VERSION is foo to the compiler */

		if (s->type != STT_FUNC && s->type != STT_NOTYPE && s->type != STT_GNU_IFUNC)
			continue;
		bases->bases[bases->n_bases++] = (struct probe_base){
			.guid = md5_guid(s->name, length),
			.address = s->address,
			.name = s->name,
			.symbol = s->index,
		};
	}
	qsort(bases->bases, bases->n_bases, sizeof(*bases->bases), base_compare);
	return 0;
}

void probe_bases_done(struct probe_bases *bases)
{
	free(bases->bases);
	*bases = (struct probe_bases){ 0 };
}

/* Index of the first base not below (@guid, @address). */
static size_t bases_bound(const struct probe_bases *bases, uint64_t guid, uint64_t address)
{
	const struct probe_base *b = bases->bases;

	return LOWER_BOUND(0, bases->n_bases, i,
			   b[i].guid < guid || (b[i].guid == guid && b[i].address < address));
}

/* One outermost group: its probes, and the symbol that they count from. */
struct group {
	uint64_t guid, base_guid;
	size_t first_probe, n_probes;
};

struct section {
	struct pseudo_probes *probes;
	struct group *groups; /* owned */
	size_t n_groups, capacity;
	struct reader in;
	uint64_t place; /* of the latest probe */
	struct fault *reterr;
};

static int damaged(const struct section *s, const char *what)
{
	return fault_set(s->reterr, -EBADMSG, "pseudo probes damaged at byte %zu: %s", reader_offset(&s->in),
			 what);
}

static int probe_keep(struct section *s, uint64_t guid, uint64_t index)
{
	struct pseudo_probes *p = s->probes;

	if (p->n_probes > INT32_MAX)
		return damaged(s, "too many");
	if (!array_reserve(p->probes, p->n_probes, &p->capacity))
		return fault_errno(s->reterr, -ENOMEM, "pseudo probes");
	p->probes[p->n_probes++] =
		(struct pseudo_probe){ .address = s->place, .guid = guid, .index = (uint32_t)index };
	return 0;
}

/* Step over a sentinel if the next probe is one. */
static bool sentinel_take(struct section *s, uint64_t *retguid)
{
	struct reader ahead = s->in;
	unsigned kind;

	reader_uleb(&ahead);
	kind = reader_u8(&ahead);
	if (kind & KIND_IS_DELTA || !(kind >> 4 & ATTRIBUTE_SENTINEL))
		return false;
	*retguid = reader_u64(&ahead);
	if (kind >> 4 & ATTRIBUTE_DISCRIMINATOR)
		reader_uleb(&ahead);
	s->in = ahead;
	return true;
}

static int probe_read(struct section *s, uint64_t guid)
{
	uint64_t index = reader_uleb(&s->in);
	unsigned kind = reader_u8(&s->in), attributes = kind >> 4 & 7;

	if (attributes & ATTRIBUTE_SENTINEL)
		return damaged(s, "sentinel where none can be");
	if (!(kind & KIND_IS_DELTA))
		return damaged(s, "probe without a delta"); /* LLVM 22 writes none */
	s->place += (uint64_t)reader_sleb(&s->in);
	if (attributes & ATTRIBUTE_DISCRIMINATOR)
		reader_uleb(&s->in);
	if (s->in.bad || index > UINT32_MAX)
		return damaged(s, "probe");
	return (kind & TYPE_MASK) == TYPE_BLOCK ? probe_keep(s, guid, index) : 0;
}

/* @group: where to note the outermost one; NULL for children. */
static int group_read(struct section *s, struct group *group, unsigned depth)
{
	uint64_t guid = reader_u64(&s->in), n_probes = reader_uleb(&s->in);
	uint64_t n_children = reader_uleb(&s->in);
	int r = 0;

	if (s->in.bad || n_probes > reader_left(&s->in) || n_children > reader_left(&s->in))
		return damaged(s, "group");
	if (depth > MAX_DEPTH)
		return damaged(s, "inlined too deeply");
	if (group) {
		*group =
			(struct group){ .guid = guid, .base_guid = guid, .first_probe = s->probes->n_probes };
		if (n_probes && sentinel_take(s, &group->base_guid))
			n_probes--;
	}
	for (uint64_t i = 0; i < n_probes && r == 0; i++)
		r = probe_read(s, guid);
	for (uint64_t i = 0; i < n_children && r == 0; i++) {
		reader_uleb(&s->in); /* probe of the call site; 0 for probes inserted after inlining */
		r = group_read(s, NULL, depth + 1);
	}
	return r;
}

/* 1 */
static int groups_read(struct section *s)
{
	while (reader_left(&s->in)) {
		struct group group;
		int r;

		s->place = 0;
		r = group_read(s, &group, 0);
		if (r < 0)
			return r;
		group.n_probes = s->probes->n_probes - group.first_probe;
		if (!array_reserve(s->groups, s->n_groups, &s->capacity))
			return fault_errno(s->reterr, -ENOMEM, "pseudo probes");
		s->groups[s->n_groups++] = group;
	}
	return 0;
}

/* Give a group its base; NULL: of a function without a symbol, the probes go nowhere. */
static void group_place(struct section *s, const struct group *group, const struct probe_base *base)
{
	struct pseudo_probe *probes = s->probes->probes + group->first_probe;

	for (size_t i = 0; i < group->n_probes; i++) {
		probes[i].function = base ? base->address : UINT64_MAX;
		probes[i].address += base ? base->address : 0;
	}
	if (!base)
		s->probes->n_unplaced += group->n_probes;
}

static size_t run_end(const struct section *s, size_t first)
{
	size_t end = first + 1;

	while (end < s->n_groups && s->groups[end].base_guid == s->groups[first].base_guid)
		end++;
	return end;
}

/* The base of the next group behind @from whose name only one symbol has; the order ends there. */
static uint64_t next_certain_base(const struct section *s, const struct probe_bases *bases, size_t from)
{
	for (size_t i = from; i < s->n_groups; i++) {
		uint64_t guid = s->groups[i].base_guid;
		size_t at = bases_bound(bases, guid, 0);

		if (at < bases->n_bases && bases->bases[at].guid == guid &&
		    (at + 1 == bases->n_bases || bases->bases[at + 1].guid != guid))
			return bases->bases[at].address;
	}
	return UINT64_MAX;
}

/*
 * Of the bases [@at, @limit), none of which is between @last and @certain: the one that is least far from there.
 * @above: the first that is not below @last, or @limit.
 */
static size_t nearest_base(const struct probe_bases *bases, size_t at, size_t above, size_t limit,
			   uint64_t last, uint64_t certain)
{
	if (above == at ||
	    (above < limit && bases->bases[above].address - MIN(certain, bases->bases[above].address) <
				      last - bases->bases[above - 1].address))
		return above;
	return above - 1;
}

/*
 * A run of groups that count from symbols of one name. Between the functions before and behind it
 * stand n of that name: usually one, and all groups are its. Otherwise a function ends where GUIDs
 * stop ascending, or where each of the remaining groups must have a function of its own. With none
 * there (a linker that was given an order may leave the groups of neighbours in another), it is the nearest.
 */
static void run_place(struct section *s, const struct probe_bases *bases, size_t first, size_t end,
		      uint64_t *last_base)
{
	uint64_t guid = s->groups[first].base_guid;
	size_t at = bases_bound(bases, guid, 0), n_all = bases_bound(bases, guid + 1, 0) - at, limit;

	if (guid == UINT64_MAX)
		n_all = bases->n_bases - at;
	limit = at + n_all;
	if (n_all > 1) {
		uint64_t certain = next_certain_base(s, bases, end);
		size_t low = bases_bound(bases, guid, *last_base), high = limit;

		while (high > low && bases->bases[high - 1].address > certain)
			high--;
		if (high <= low) {
			low = nearest_base(bases, at, low, limit, *last_base, certain);
			high = low + 1;
		}
		at = low;
		limit = high;
	}
	for (size_t i = first; i < end; i++) {
		if (i > first && at + 1 < limit &&
		    (s->groups[i].guid <= s->groups[i - 1].guid || end - i <= limit - at - 1))
			at++;
		group_place(s, &s->groups[i], n_all ? &bases->bases[at] : NULL);
	}
	if (n_all)
		*last_base = bases->bases[at].address + 1;
}

int pseudo_probes_read(struct pseudo_probes *probes, const struct probe_bases *bases, const void *bytes,
		       size_t size, struct fault *reterr)
{
	struct section s = { .probes = probes, .in = reader_of(bytes, size), .reterr = reterr };
	uint64_t last_base = 0;
	int r = groups_read(&s);

	/* 2 */
	for (size_t i = 0, end; r == 0 && i < s.n_groups; i = end) {
		end = run_end(&s, i);
		run_place(&s, bases, i, end, &last_base);
	}
	free(s.groups);
	return r;
}

void pseudo_probes_done(struct pseudo_probes *probes)
{
	free(probes->probes);
	*probes = (struct pseudo_probes){ 0 };
}

static int descriptor_compare(const void *a, const void *b)
{
	const struct probe_descriptor *x = a, *y = b;

	if (x->guid != y->guid)
		return x->guid < y->guid ? -1 : 1;
	if (x->cfg_hash != y->cfg_hash)
		return x->cfg_hash < y->cfg_hash ? -1 : 1;
	return 0;
}

/* A GUID described twice with different hashes names two functions: no hash is true of both. */
static void descriptors_unify(struct probe_descriptors *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->n_descriptors; i++) {
		struct probe_descriptor *last = n ? &d->descriptors[n - 1] : NULL;

		if (!last || last->guid != d->descriptors[i].guid)
			d->descriptors[n++] = d->descriptors[i];
		else if (last->cfg_hash != d->descriptors[i].cfg_hash)
			last->cfg_hash = 0;
	}
	d->n_descriptors = n;
}

int probe_descriptors_read(struct probe_descriptors *d, const void *bytes, size_t size, struct fault *reterr)
{
	struct reader in = reader_of(bytes, size);

	while (reader_left(&in)) {
		struct probe_descriptor one = { .guid = reader_u64(&in) };

		one.cfg_hash = reader_u64(&in);
		one.name = reader_string(&in, &one.n_name);
		if (in.bad)
			return fault_set(reterr, -EBADMSG, "probe descriptors damaged at byte %zu",
					 reader_offset(&in));
		if (!array_reserve(d->descriptors, d->n_descriptors, &d->capacity))
			return fault_errno(reterr, -ENOMEM, "probe descriptors");
		d->descriptors[d->n_descriptors++] = one;
	}
	if (d->n_descriptors)
		qsort(d->descriptors, d->n_descriptors, sizeof(*d->descriptors), descriptor_compare);
	descriptors_unify(d);
	return 0;
}

void probe_descriptors_done(struct probe_descriptors *d)
{
	free(d->descriptors);
	*d = (struct probe_descriptors){ 0 };
}

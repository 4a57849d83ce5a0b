/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Two open-addressing tables of numbers: modules by identity, aliases by key. Both are rebuilt at twice
 * the size when three quarters are full. Only catalog_round() removes, by making all of it anew.
 */

#include "monitor/identify/catalog.h"

#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#include "monitor/identify/hash.h"
#include "monitor/identify/identity.h"

#define MIN_SLOTS 256u
#define VDSO_MAX_BYTES 8192u

struct alias {
	uint64_t hash;
	uint8_t *key; /* owned */
	size_t size;
	uint32_t module;
};

struct slots {
	uint32_t *at; /* owned; index + 1, 0 is free */
	size_t n, capacity;
};

#define PERSONS 256 /* told apart; those whose numbers have the same low bits share their room */

struct catalog {
	struct catalog_module *modules; /* owned */
	uint64_t *hashes;		/* owned; of the modules */
	size_t n_modules, modules_capacity;
	struct alias *aliases; /* owned */
	size_t n_aliases, aliases_capacity;
	struct slots by_identity, by_key;
	uint32_t round;
	uint32_t of_person[PERSONS], of_persons; /* how many modules are charged to them */
};

static uint64_t module_hash(const struct catalog_module *m)
{
	uint64_t seed = hash_u64((uint64_t)m->kind << 32 ^ m->user) ^ m->space;

	if (file_identity_is_known(&m->file))
		return hash_u64(hash_bytes(seed, &m->file, sizeof(m->file)));
	if (m->build_id.size)
		return hash_u64(hash_bytes(seed, m->build_id.bytes, m->build_id.size));
	return hash_u64(hash_bytes(seed, m->path, strlen(m->path)) ^ hash_u64(m->size) ^ m->mtime_ns);
}

static bool module_is(const struct catalog_module *module, const struct catalog_module *like)
{
	if (module->kind != like->kind || module->user != like->user || module->space != like->space ||
	    !file_identity_is_equal(&module->file, &like->file))
		return false;
	if (file_identity_is_known(&like->file))
		return true;
	if (!build_id_is_equal(&module->build_id, &like->build_id))
		return false;
	return like->build_id.size || (module->size == like->size && module->mtime_ns == like->mtime_ns &&
				       strcmp(module->path, like->path) == 0);
}

static void slots_put(struct slots *slots, uint64_t hash, uint32_t index)
{
	size_t i = hash & (slots->capacity - 1);

	while (slots->at[i])
		i = (i + 1) & (slots->capacity - 1);
	slots->at[i] = index + 1;
	slots->n++;
}

/* A larger empty table when the current one is three quarters full: 1 grown, 0 not needed. */
static int slots_grow(struct slots *slots)
{
	size_t capacity = slots->capacity ? slots->capacity * 2 : MIN_SLOTS;
	uint32_t *at;

	if (slots->n < slots->capacity / 4 * 3)
		return 0;
	at = calloc(capacity, sizeof(*at));
	if (!at)
		return -ENOMEM;
	free(slots->at);
	*slots = (struct slots){ .at = at, .capacity = capacity };
	return 1;
}

static int array_reserve(void **array, size_t n, size_t *capacity, size_t size)
{
	size_t wanted = *capacity ? *capacity * 2 : 64;
	void *grown;

	if (n < *capacity)
		return 0;
	grown = reallocarray(*array, wanted, size);
	if (!grown)
		return -ENOMEM;
	*array = grown;
	*capacity = wanted;
	return 0;
}

struct catalog *catalog_new(void)
{
	return calloc(1, sizeof(struct catalog));
}

static void contents_free(struct catalog *catalog)
{
	for (size_t i = 0; i < catalog->n_modules; i++)
		free(catalog->modules[i].path);
	for (size_t i = 0; i < catalog->n_aliases; i++)
		free(catalog->aliases[i].key);
	free(catalog->modules);
	free(catalog->hashes);
	free(catalog->aliases);
	free(catalog->by_identity.at);
	free(catalog->by_key.at);
}

void catalog_free(struct catalog *catalog)
{
	if (!catalog)
		return;
	contents_free(catalog);
	free(catalog);
}

static int modules_reserve(struct catalog *catalog)
{
	size_t capacity = catalog->modules_capacity;
	int r = array_reserve((void **)&catalog->hashes, catalog->n_modules, &capacity,
			      sizeof(*catalog->hashes));

	if (r == 0)
		r = array_reserve((void **)&catalog->modules, catalog->n_modules, &catalog->modules_capacity,
				  sizeof(*catalog->modules));
	if (r == 0)
		r = slots_grow(&catalog->by_identity);
	for (size_t i = 0; r > 0 && i < catalog->n_modules; i++)
		slots_put(&catalog->by_identity, catalog->hashes[i], (uint32_t)i);
	return MIN(r, 0);
}

static uint32_t module_find(const struct catalog *catalog, uint64_t hash, const struct catalog_module *like)
{
	const struct slots *slots = &catalog->by_identity;

	if (!slots->capacity)
		return CATALOG_NONE;
	for (size_t i = hash & (slots->capacity - 1); slots->at[i]; i = (i + 1) & (slots->capacity - 1)) {
		uint32_t n = slots->at[i] - 1;

		if (catalog->hashes[n] == hash && module_is(&catalog->modules[n], like))
			return n;
	}
	return CATALOG_NONE;
}

static bool is_person(const struct catalog_module *module)
{
	return module->charged >= CATALOG_FIRST_PERSON && module->charged != SAMPLE_USER_UNKNOWN;
}

static bool has_room(const struct catalog *catalog, const struct catalog_module *module)
{
	if (is_person(module) && (catalog->of_person[module->charged % PERSONS] >= CATALOG_OF_PERSON ||
				  catalog->of_persons >= CATALOG_OF_PERSONS))
		return false;
	return catalog->n_modules < CATALOG_MAX;
}

static void charge(struct catalog *catalog, const struct catalog_module *module)
{
	if (!is_person(module))
		return;
	catalog->of_person[module->charged % PERSONS]++;
	catalog->of_persons++;
}

uint32_t catalog_add_like(struct catalog *catalog, const struct catalog_module *like)
{
	uint64_t hash = module_hash(like);
	uint32_t found = module_find(catalog, hash, like);
	struct catalog_module module = *like;

	if (found != CATALOG_NONE)
		return found;
	if (!has_room(catalog, like) || modules_reserve(catalog) < 0)
		return CATALOG_NONE;
	module.path = strdup(like->path);
	if (!module.path)
		return CATALOG_NONE;
	found = (uint32_t)catalog->n_modules++;
	catalog->modules[found] = module;
	catalog->modules[found].last_round = catalog->round;
	catalog->hashes[found] = hash;
	slots_put(&catalog->by_identity, hash, found);
	charge(catalog, like);
	return found;
}

uint32_t catalog_add(struct catalog *catalog, enum sample_module_kind kind, const struct build_id *build_id,
		     const char *path, uint64_t size, uint64_t mtime_ns)
{
	static const struct build_id none;
	struct catalog_module like = { .kind = kind,
				       .build_id = build_id ? *build_id : none,
				       .path = (char *)path,
				       .size = size,
				       .mtime_ns = mtime_ns,
				       .user = SAMPLE_USER_UNKNOWN,
				       .charged = SAMPLE_USER_UNKNOWN };

	return catalog_add_like(catalog, &like);
}

const struct catalog_module *catalog_find_like(const struct catalog *catalog,
					       const struct catalog_module *like)
{
	uint32_t found = module_find(catalog, module_hash(like), like);

	return found == CATALOG_NONE ? NULL : &catalog->modules[found];
}

struct catalog_module *catalog_at(struct catalog *catalog, uint32_t module)
{
	return module < catalog->n_modules ? &catalog->modules[module] : NULL;
}

size_t catalog_size(const struct catalog *catalog)
{
	return catalog->n_modules;
}

static struct alias *alias_find(const struct catalog *catalog, uint64_t hash, const void *key, size_t size)
{
	const struct slots *slots = &catalog->by_key;

	if (!slots->capacity)
		return NULL;
	for (size_t i = hash & (slots->capacity - 1); slots->at[i]; i = (i + 1) & (slots->capacity - 1)) {
		struct alias *alias = &catalog->aliases[slots->at[i] - 1];

		if (alias->hash == hash && alias->size == size && memcmp(alias->key, key, size) == 0)
			return alias;
	}
	return NULL;
}

uint32_t catalog_alias(const struct catalog *catalog, const void *key, size_t size)
{
	const struct alias *alias = alias_find(catalog, hash_u64(hash_bytes(0, key, size)), key, size);

	return alias ? alias->module : CATALOG_NONE;
}

static int aliases_reserve(struct catalog *catalog)
{
	int r = array_reserve((void **)&catalog->aliases, catalog->n_aliases, &catalog->aliases_capacity,
			      sizeof(*catalog->aliases));

	if (r == 0)
		r = slots_grow(&catalog->by_key);
	for (size_t i = 0; r > 0 && i < catalog->n_aliases; i++)
		slots_put(&catalog->by_key, catalog->aliases[i].hash, (uint32_t)i);
	return MIN(r, 0);
}

int catalog_set_alias(struct catalog *catalog, const void *key, size_t size, uint32_t module)
{
	uint64_t hash = hash_u64(hash_bytes(0, key, size));
	struct alias *alias = alias_find(catalog, hash, key, size);
	uint8_t *copy;

	if (alias) {
		alias->module = module;
		return 0;
	}
	if (catalog->n_aliases >= CATALOG_ALIASES || aliases_reserve(catalog) < 0)
		return -ENOMEM;
	copy = malloc(size ? size : 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, key, size);
	catalog->aliases[catalog->n_aliases] =
		(struct alias){ .hash = hash, .key = copy, .size = size, .module = module };
	slots_put(&catalog->by_key, hash, (uint32_t)catalog->n_aliases++);
	return 0;
}

void catalog_seen(struct catalog *catalog, uint32_t module)
{
	catalog->modules[module].last_round = catalog->round;
}

/* When so many are there that the next round may not find room, what has just been sampled is all that stays. */
static bool is_kept(const struct catalog *catalog, const struct catalog_module *module)
{
	uint32_t age = catalog->round - module->last_round;

	return module->kind == SAMPLE_MODULE_KERNEL ||
	       age <= (catalog->n_modules > CATALOG_MAX / 2 ? 0 : CATALOG_ROUNDS);
}

/* Aliases are not taken along: files get new numbers, and names are looked up again. */
static int copy_kept(const struct catalog *from, struct catalog *to, uint32_t *map)
{
	for (uint32_t i = 0; i < from->n_modules; i++) {
		map[i] = is_kept(from, &from->modules[i]) ? catalog_add_like(to, &from->modules[i]) :
							    CATALOG_NONE;
		if (map[i] == CATALOG_NONE && is_kept(from, &from->modules[i]))
			return -ENOMEM;
		if (map[i] != CATALOG_NONE)
			to->modules[map[i]].last_round = from->modules[i].last_round;
	}
	return 0;
}

int64_t catalog_round(struct catalog *catalog, uint32_t **retmap)
{
	_clean_(catalog_freep) struct catalog *fresh = NULL;
	_clean_(freep) uint32_t *map = NULL;
	size_t n = catalog->n_modules, n_kept = 0;

	*retmap = NULL;
	for (size_t i = 0; i < n; i++)
		n_kept += is_kept(catalog, &catalog->modules[i]);
	/* Making it anew is worth it when a good part goes. */
	if ((n <= CATALOG_FEW || n_kept > n - n / 8) && catalog->n_aliases <= CATALOG_ALIASES / 2) {
		catalog->round++;
		return (int64_t)n;
	}
	fresh = catalog_new();
	map = calloc(n, sizeof(*map));
	if (!fresh || !map || copy_kept(catalog, fresh, map) < 0)
		return -ENOMEM;
	fresh->round = catalog->round + 1;
	contents_free(catalog);
	*catalog = *fresh;
	free(TAKE(fresh));
	*retmap = TAKE(map);
	return (int64_t)n;
}

uint32_t catalog_anonymous(struct catalog *catalog, const char *comm)
{
	char name[64];

	snprintf(name, sizeof(name), "[anonymous:%.16s]", comm);
	return catalog_add(catalog, SAMPLE_MODULE_ANONYMOUS, NULL, name, 0, 0);
}

uint32_t catalog_vdso(struct catalog *catalog)
{
	const void *image = (const void *)getauxval(AT_SYSINFO_EHDR);
	struct build_id id = { 0 };

	/* The kernel maps at least one whole page of it; its notes are on the first. */
	if (image)
		id = identity_of_bytes(image, MIN(VDSO_MAX_BYTES, (size_t)sysconf(_SC_PAGESIZE)));
	return catalog_add(catalog, SAMPLE_MODULE_VDSO, &id, "[vdso]", 0, 0);
}

static struct sample_module *log_module(struct catalog *catalog, struct sample_log *log, uint32_t number,
					size_t *places)
{
	const struct catalog_module *module = catalog_at(catalog, number);
	struct sample_module like = { .kind = module->kind,
				      .build_id = module->build_id,
				      .path = module->path,
				      .file_size = module->size,
				      .mtime_ns = module->mtime_ns,
				      .file = module->file,
				      .space = module->space,
				      .user = module->user };
	struct sample_module *made;

	if (places[number])
		return &log->modules[places[number] - 1];
	made = sample_log_module_like(log, &like);
	if (made) {
		made->tick_synchronous = module->tick_synchronous;
		places[number] = (size_t)(made - log->modules) + 1;
	}
	return made;
}

int catalog_log(struct catalog *catalog, const struct histogram *samples, const struct histogram *branches,
		struct sample_log *log)
{
	_clean_(freep) size_t *places = calloc(catalog->n_modules + 1, sizeof(*places));
	int r = places ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < samples->capacity; i++) {
		const struct histogram_entry *entry = &samples->entries[i];
		struct sample_module *module;

		if (!entry->count)
			continue;
		module = log_module(catalog, log, entry->module, places);
		r = module ? sample_module_add(module, entry->a, entry->count) : -ENOMEM;
	}
	for (size_t i = 0; r == 0 && branches && i < branches->capacity; i++) {
		const struct histogram_entry *entry = &branches->entries[i];
		struct sample_module *module;

		if (!entry->count)
			continue;
		module = log_module(catalog, log, entry->module, places);
		r = module ? sample_module_add_branch(module, entry->a, entry->b, entry->count) : -ENOMEM;
	}
	if (r == 0)
		sample_log_normalize(log);
	return r;
}

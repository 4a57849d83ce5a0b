/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Two open-addressing tables of numbers: modules by identity, aliases by key. Both are rebuilt at twice
 * the size when three quarters are full; nothing is ever removed while the catalog lives.
 */

#include "monitor/catalog.h"

#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#include "monitor/hash.h"
#include "monitor/identity.h"

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

struct catalog {
	struct catalog_module *modules; /* owned */
	uint64_t *hashes;		/* owned; of the modules */
	size_t n_modules, modules_capacity;
	struct alias *aliases; /* owned */
	size_t n_aliases, aliases_capacity;
	struct slots by_identity, by_key;
};

static uint64_t module_hash(enum sample_module_kind kind, const struct build_id *id,
			    const char *path, uint64_t size, uint64_t mtime_ns)
{
	if (id->size)
		return hash_u64(hash_bytes(kind, id->bytes, id->size));
	return hash_u64(hash_bytes(kind, path, strlen(path)) ^ hash_u64(size) ^ mtime_ns);
}

static bool module_is(const struct catalog_module *module, enum sample_module_kind kind,
		      const struct build_id *id, const char *path, uint64_t size, uint64_t mtime_ns)
{
	if (module->kind != kind || !build_id_is_equal(&module->build_id, id))
		return false;
	return id->size || (module->size == size && module->mtime_ns == mtime_ns &&
			    strcmp(module->path, path) == 0);
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

void catalog_free(struct catalog *catalog)
{
	if (!catalog)
		return;
	for (size_t i = 0; i < catalog->n_modules; i++)
		free(catalog->modules[i].path);
	for (size_t i = 0; i < catalog->n_aliases; i++)
		free(catalog->aliases[i].key);
	free(catalog->modules);
	free(catalog->hashes);
	free(catalog->aliases);
	free(catalog->by_identity.at);
	free(catalog->by_key.at);
	free(catalog);
}

static int modules_reserve(struct catalog *catalog)
{
	size_t capacity = catalog->modules_capacity;
	int r = array_reserve((void **)&catalog->hashes, catalog->n_modules, &capacity,
			      sizeof(*catalog->hashes));

	if (r == 0)
		r = array_reserve((void **)&catalog->modules, catalog->n_modules,
				  &catalog->modules_capacity, sizeof(*catalog->modules));
	if (r == 0)
		r = slots_grow(&catalog->by_identity);
	for (size_t i = 0; r > 0 && i < catalog->n_modules; i++)
		slots_put(&catalog->by_identity, catalog->hashes[i], (uint32_t)i);
	return MIN(r, 0);
}

static uint32_t module_find(const struct catalog *catalog, uint64_t hash,
			    enum sample_module_kind kind, const struct build_id *id,
			    const char *path, uint64_t size, uint64_t mtime_ns)
{
	const struct slots *slots = &catalog->by_identity;

	if (!slots->capacity)
		return CATALOG_NONE;
	for (size_t i = hash & (slots->capacity - 1); slots->at[i];
	     i = (i + 1) & (slots->capacity - 1)) {
		uint32_t n = slots->at[i] - 1;

		if (catalog->hashes[n] == hash &&
		    module_is(&catalog->modules[n], kind, id, path, size, mtime_ns))
			return n;
	}
	return CATALOG_NONE;
}

uint32_t catalog_add(struct catalog *catalog, enum sample_module_kind kind,
		     const struct build_id *build_id, const char *path, uint64_t size,
		     uint64_t mtime_ns)
{
	static const struct build_id none;
	const struct build_id *id = build_id ? build_id : &none;
	uint64_t hash = module_hash(kind, id, path, size, mtime_ns);
	uint32_t found = module_find(catalog, hash, kind, id, path, size, mtime_ns);
	struct catalog_module module = { .kind = kind, .build_id = *id, .size = size,
					 .mtime_ns = mtime_ns };

	if (found != CATALOG_NONE)
		return found;
	if (modules_reserve(catalog) < 0)
		return CATALOG_NONE;
	module.path = strdup(path);
	if (!module.path)
		return CATALOG_NONE;
	found = (uint32_t)catalog->n_modules++;
	catalog->modules[found] = module;
	catalog->hashes[found] = hash;
	slots_put(&catalog->by_identity, hash, found);
	return found;
}

struct catalog_module *catalog_at(struct catalog *catalog, uint32_t module)
{
	return module < catalog->n_modules ? &catalog->modules[module] : NULL;
}

size_t catalog_size(const struct catalog *catalog)
{
	return catalog->n_modules;
}

static struct alias *alias_find(const struct catalog *catalog, uint64_t hash, const void *key,
				size_t size)
{
	const struct slots *slots = &catalog->by_key;

	if (!slots->capacity)
		return NULL;
	for (size_t i = hash & (slots->capacity - 1); slots->at[i];
	     i = (i + 1) & (slots->capacity - 1)) {
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
	int r = array_reserve((void **)&catalog->aliases, catalog->n_aliases,
			      &catalog->aliases_capacity, sizeof(*catalog->aliases));

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
	if (aliases_reserve(catalog) < 0)
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

static struct sample_module *log_module(struct catalog *catalog, struct sample_log *log,
					uint32_t number, size_t *places)
{
	const struct catalog_module *module = catalog_at(catalog, number);
	struct sample_module *made;

	if (places[number])
		return &log->modules[places[number] - 1];
	made = sample_log_module(log, module->kind, &module->build_id, module->path, module->size,
				 module->mtime_ns);
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

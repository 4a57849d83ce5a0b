/* SPDX-License-Identifier: Apache-2.0 */

/* Mutants of all but the link plan: what the code was made for and how, the block map, the modules. */

#include "bench/security/mutant.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PICK(m, list) ((list)[mutant_draw((m), ARRAY_SIZE(list))])

/* Texts of the data belong to malloc(), as morph_data_free() expects. */
static int text_set(struct mutant *m, const char *name, char **field, const char *value)
{
	free(*field);
	*field = strdup(value);
	return *field ? mutant_says(m, "%s %s", name, value) : -ENOMEM;
}

static int cpu(struct mutant *m)
{
	static const char *const cpus[] = { "x86-64-v2",   "x86-64-v3", "x86-64-v4",	   "znver4",
					    "i386",	   "generic",	"sapphirerapids",  "help",
					    "no-such-cpu", "native",	"x86-64,+avx512f", "atom",
					    "%s%n",	   "pentium-m" };

	return text_set(m, "CPU", &m->data->cpu, PICK(m, cpus));
}

static int target(struct mutant *m)
{
	static const char *const triples[] = { "aarch64-unknown-linux-gnu",
					       "i386-pc-linux-gnu",
					       "x86_64-pc-windows-msvc",
					       "x86_64-pc-linux-gnux32",
					       "x86_64-unknown-freebsd",
					       "bpf",
					       "nvptx64",
					       "x86_64",
					       "x86_64-pc-linux-musl",
					       "x86_64-apple-macosx",
					       "-",
					       "x86_64-pc-linux-gnu-" };
	static const char *const versions[] = { "22.1.7", "21.1.0", "22",      "22.1.8.1",
						"0",	  "99.9.9", "22.1.80", "-1" };

	return mutant_draw(m, 2) ? text_set(m, "target", &m->data->triple, PICK(m, triples)) :
				   text_set(m, "LLVM", &m->data->llvm_version, PICK(m, versions));
}

static int level(struct mutant *m)
{
	switch (mutant_draw(m, 5)) {
	case 0:
		m->data->opt_level = (m->data->opt_level + 1 + (unsigned)mutant_draw(m, 3)) % 4;
		return mutant_says(m, "code level %u", m->data->opt_level);
	case 1:
		m->data->lto_level = (m->data->lto_level + 1 + (unsigned)mutant_draw(m, 3)) % 4;
		return mutant_says(m, "pass level %u", m->data->lto_level);
	case 2:
		m->data->lto = m->data->lto == MORPH_LTO_THIN ? MORPH_LTO_FULL : MORPH_LTO_THIN;
		return mutant_says(m, "LTO %u", (unsigned)m->data->lto);
	case 3: m->data->pic = !m->data->pic; return mutant_says(m, "PIC %d", m->data->pic);
	default: m->data->strips = !m->data->strips; return mutant_says(m, "strips %d", m->data->strips);
	}
}

/* What LLVM takes with -mllvm: other code, output elsewhere, code that is loaded. */
static int option(struct mutant *m)
{
	// clang-format off: a list
	static const char *const options[] = {
		"-load=/tmp/morph-planted.so", "-x86-asm-syntax=intel", "-disable-tail-calls=1", "-frame-pointer=all", "-stats=1",
		"-info-output-file=/tmp/morph-planted", "-time-passes=1", "-print-after-all=1", "-opt-bisect-limit=3",
		"-enable-unsafe-fp-math=1", "-x86-cmov-converter=0", "-align-all-functions=5", "-align-all-nofallthru-blocks=4",
		"-verify-machineinstrs=1", "-regalloc=basic", "-pre-RA-sched=source", "-fast-isel=1", "-global-isel=1",
		"-basic-block-sections=all", "-emulated-tls=1", "-relocation-model=static", "-x86-align-branch-boundary=32",
		"-no-such-option=1", "-help=1", "-version=1", "-stack-size-section=1", "-debug-only=isel", "-rng-seed=7",
		"-inline-threshold=100000", "-jump-table-density=100", "-min-jump-table-entries=1000", "-trap-unreachable=1",
		"-function-sections=0", "-data-sections=0", "-basic-block-address-map=0", "-disable-ifcvt-triangle=1",
		"-enable-no-nans-fp-math=1", "-enable-no-infs-fp-math=1", "-fp-contract=fast", "-x86-speculative-load-hardening=1",
		"-limit-float-precision=6", "-track-memory-operands=1", "-view-isel-dags=1", "-dot-cfg-mssa=/tmp/morph-planted",
		"-pgo-view-counts=text", "-crash-diagnostics-dir=/tmp", "-time-trace=1", "-remarks-section=yes", "@/etc/passwd",
		"-assume-preserve-all=1", "-combiner-global-alias-analysis=1", "-scev-verify-ir=1", "-enable-split-machine-functions=1",
		"-enable-ipra=1", "-enable-tbaa=0", "-force-attribute=main:noreturn", "-force-attribute=naked", "-mtriple=i386",
		"-function-specialize-stack=1", "-stack-symbol-ordering=0", "-x86-disable-avoid-SFB=1", "-enable-shrink-wrap=0"
	};
	// clang-format on
	char **list = reallocarray(m->data->options, m->data->n_options + 1, sizeof(*list));
	const char *picked = PICK(m, options);

	if (!list)
		return -ENOMEM;
	m->data->options = list;
	list[m->data->n_options] = strdup(picked);
	if (!list[m->data->n_options])
		return -ENOMEM;
	m->data->n_options++;
	return mutant_says(m, "option %s", picked);
}

static const char *const commands[] = { "true",
					"false",
					"exit 0",
					"kill -9 $PPID",
					"kill -SEGV $$",
					"touch /tmp/morph-planted",
					"chmod 777 .",
					"(setsid sleep 100 &)",
					"cat /etc/shadow",
					"echo x >result",
					"exit 77",
					"ulimit -v 1000; exec true",
					"rm -rf *",
					"yes",
					"%s%n%n" };

/* Of a file that root does not own it runs on request only; here it must not change what is made. */
static int selftest(struct mutant *m)
{
	return text_set(m, "self-test", &m->data->selftest, PICK(m, commands));
}

/* No edit runs it, and it changes none. */
static int benchmark(struct mutant *m)
{
	return text_set(m, "benchmark", &m->data->benchmark, PICK(m, commands));
}

/* Indexes of the map stay in range: what encodes must be able to. Wild ones are what damaged payloads have. */
static int map_block(struct mutant *m)
{
	struct block_map *map = m->data->map;
	struct block *block;

	if (!map->n_blocks)
		return MUTANT_NONE;
	block = &map->blocks[mutant_draw(m, map->n_blocks)];
	switch (mutant_draw(m, 4)) {
	case 0:
		block->address += mutant_draw(m, 64) - 32;
		return mutant_says(m, "block at %#llx", (unsigned long long)block->address);
	case 1:
		block->size = mutant_draw(m, 4) ? block->size + (uint32_t)mutant_draw(m, 16) :
						  (uint32_t)mutant_draw(m, 0);
		return mutant_says(m, "block of %u bytes", block->size);
	case 2:
		block->id = (uint32_t)mutant_draw(m, mutant_draw(m, 2) ? 64 : UINT32_MAX);
		return mutant_says(m, "block ID %u", block->id);
	default:
		block->flags ^= 1u << mutant_draw(m, 5);
		return mutant_says(m, "block flags %#x", block->flags);
	}
}

static int map_edge(struct mutant *m)
{
	struct block_map *map = m->data->map;
	const struct block_function *f;
	struct block_edge *edge;

	if (!map->n_edges)
		return MUTANT_NONE;
	edge = &map->edges[mutant_draw(m, map->n_edges)];
	f = &map->functions[block_map_function_of(map, edge->target)];
	if (mutant_draw(m, 2))
		edge->probability = (uint32_t)mutant_draw(m, 1u << 31);
	else
		edge->target = f->first_block + (uint32_t)mutant_draw(m, f->n_blocks);
	return mutant_says(m, "edge to %u, %u", edge->target, edge->probability);
}

static int map_probe(struct mutant *m)
{
	struct block_map *map = m->data->map;
	struct block_probe *probe;

	if (!map->n_probes || !map->n_ir_functions)
		return MUTANT_NONE;
	probe = &map->probes[mutant_draw(m, map->n_probes)];
	if (mutant_draw(m, 2))
		probe->index = (uint32_t)mutant_draw(m, mutant_draw(m, 4) ? 40 : UINT32_MAX);
	else
		probe->guid = mutant_draw(m, 2) ?
				      map->ir_functions[mutant_draw(m, map->n_ir_functions)].guid :
				      mutant_draw(m, 0);
	return mutant_says(m, "probe %u of %#llx", probe->index, (unsigned long long)probe->guid);
}

static int map_function(struct mutant *m)
{
	struct block_map *map = m->data->map;
	struct block_function *f;

	if (map->n_functions < 2)
		return MUTANT_NONE;
	f = &map->functions[mutant_draw(m, map->n_functions)];
	switch (mutant_draw(m, 3)) {
	case 0:
		f->guid = mutant_draw(m, 2) ? map->functions[mutant_draw(m, map->n_functions)].guid :
					      mutant_draw(m, 0);
		return mutant_says(m, "function of GUID %#llx", (unsigned long long)f->guid);
	case 1:
		f->name =
			mutant_draw(m, 2) ? map->functions[mutant_draw(m, map->n_functions)].name : "_start";
		return mutant_says(m, "function name %s", f->name ? f->name : "none");
	default:
		for (size_t i = 0; map->n_ir_functions && i < 1 + mutant_draw(m, 4); i++)
			map->ir_functions[mutant_draw(m, map->n_ir_functions)].cfg_hash = mutant_draw(m, 0);
		return mutant_says(m, "hashes of the IR");
	}
}

static int module_name(struct mutant *m)
{
	static const char *const names[] = { "",	  "/etc/passwd", "../../../tmp/morph-planted",
					     "a\nb",	  "%n%s",	 "\033[31m",
					     "ld-temp.o", "x x",	 "-o",
					     "@x" };
	struct morph_module *module;

	if (!m->data->n_modules)
		return MUTANT_NONE;
	module = &m->data->modules[mutant_draw(m, m->data->n_modules)];
	return text_set(m, "module name", &module->name, PICK(m, names));
}

static int module_order(struct mutant *m)
{
	size_t n = m->data->n_modules, a = mutant_draw(m, n), b;
	struct morph_module kept;

	if (n < 2)
		return MUTANT_NONE;
	b = (a + 1 + mutant_draw(m, n - 1)) % n;
	kept = m->data->modules[a];
	m->data->modules[a] = m->data->modules[b];
	m->data->modules[b] = kept;
	return mutant_says(m, "modules %zu and %zu swapped", a, b);
}

/* @name is copied, @bitcode borrowed. */
static int module_add(struct mutant *m, size_t at, const struct morph_module *module)
{
	struct morph_module *list = reallocarray(m->data->modules, m->data->n_modules + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	m->data->modules = list;
	memmove(list + at + 1, list + at, (m->data->n_modules - at) * sizeof(*list));
	m->data->n_modules++;
	list[at] = *module;
	list[at].name = strdup(module->name ? module->name : "");
	return list[at].name ? 0 : -ENOMEM;
}

static int module_twice(struct mutant *m)
{
	size_t n = m->data->n_modules, i = mutant_draw(m, n);
	struct morph_module twin;

	if (!n)
		return MUTANT_NONE;
	twin = m->data->modules[i];
	mutant_says(m, "module %zu twice", i);
	return module_add(m, mutant_draw(m, n + 1), &twin);
}

static int module_missing(struct mutant *m)
{
	size_t n = m->data->n_modules, i = mutant_draw(m, n);

	if (!n)
		return MUTANT_NONE;
	free(m->data->modules[i].name);
	memmove(&m->data->modules[i], &m->data->modules[i + 1], (n - 1 - i) * sizeof(m->data->modules[0]));
	m->data->n_modules--;
	return mutant_says(m, "module %zu missing", i);
}

static int module_foreign(struct mutant *m)
{
	size_t n = m->data->n_modules, i = mutant_draw(m, n), j;

	if (!n || !m->other || !m->other->n_modules)
		return MUTANT_NONE;
	j = mutant_draw(m, m->other->n_modules);
	mutant_says(m, "another program's module %zu", j);
	if (mutant_draw(m, 2))
		return module_add(m, mutant_draw(m, n + 1), &m->other->modules[j]);
	m->data->modules[i].bitcode = m->other->modules[j].bitcode;
	m->data->modules[i].size = m->other->modules[j].size;
	return 0;
}

/* One change of the bitstream, or up to eight. */
static int ir_bytes(struct mutant *m)
{
	size_t n = mutant_draw(m, 4) ? 1 : 1 + mutant_draw(m, 8);
	struct morph_module *module;
	uint8_t *copy;

	if (!m->data->n_modules)
		return MUTANT_NONE;
	module = &m->data->modules[mutant_draw(m, m->data->n_modules)];
	copy = arena_array(m->arena, uint8_t, module->size);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, module->bitcode, module->size);
	module->bitcode = copy;
	while (n--)
		mutant_bytes(m, copy, &module->size);
	module->size &= ~(size_t)3;
	return 0;
}

const struct mutant_class mutant_data_classes[] = {
	{ "cpu", cpu },
	{ "target", target },
	{ "level", level },
	{ "option", option },
	{ "selftest", selftest },
	{ "benchmark", benchmark },
	{ "map-block", map_block },
	{ "map-edge", map_edge },
	{ "map-probe", map_probe },
	{ "map-function", map_function },
	{ "module-name", module_name },
	{ "module-order", module_order },
	{ "module-twice", module_twice },
	{ "module-missing", module_missing },
	{ "module-foreign", module_foreign },
	{ "ir-bytes", ir_bytes },
	{ NULL, NULL },
};

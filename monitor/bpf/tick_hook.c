/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The tick is an hrtimer whose handler is tick_nohz_handler (Linux 6.8) or tick_sched_timer (before).
 *
 * The registers that an interrupt found are in the per-CPU variable __irq_regs. Data symbols are in no
 * symbol table of most kernels, but BTF lists the per-CPU variables with their offsets in the per-CPU
 * section, and every hrtimer points to the per-CPU variable hrtimer_bases: the difference of the two
 * offsets leads from one to the other.
 */

#include "monitor/bpf/tick_hook.h"

#include <bpf/btf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"

#define PER_CPU_SECTION ".data..percpu"

static int handler_find(const char *kallsyms, struct tick_hook *ret, struct fault *reterr)
{
	static const char *const names[] = { "tick_nohz_handler", "tick_sched_timer" };
	FILE *file = fopen(kallsyms, "re");
	uint64_t address = 0;
	char name[512];

	if (!file)
		return fault_errno(reterr, -errno, "%s", kallsyms);
	while (!ret->name && fscanf(file, "%" SCNx64 " %*c %511s%*[^\n]", &address, name) == 2)
		for (size_t i = 0; i < ARRAY_SIZE(names); i++)
			if (strcmp(name, names[i]) == 0)
				ret->name = names[i];
	fclose(file);
	if (!ret->name)
		return fault_set(reterr, -ENOENT, "%s: this kernel has no %s; its tick is not a timer",
				 kallsyms, names[0]);
	if (!address)
		return fault_set(reterr, -EPERM,
				 "%s hides addresses; CAP_SYSLOG is needed "
				 "(sysctl kernel.kptr_restrict)",
				 kallsyms);
	ret->function = address;
	return 0;
}

static bool variable_offset(const struct btf *btf, const struct btf_type *section, const char *name,
			    uint32_t *ret)
{
	const struct btf_var_secinfo *variables = btf_var_secinfos(section);

	for (unsigned i = 0; i < btf_vlen(section); i++) {
		const struct btf_type *type = btf__type_by_id(btf, variables[i].type);
		const char *found = type ? btf__name_by_offset(btf, type->name_off) : NULL;

		if (found && strcmp(found, name) == 0) {
			*ret = variables[i].offset;
			return true;
		}
	}
	return false;
}

static int32_t distance_find(const char *path)
{
	struct btf *btf = path ? btf__parse(path, NULL) : btf__load_vmlinux_btf();
	uint32_t from, to;
	int32_t distance = 0, id;

	if (!btf)
		return 0;
	id = btf__find_by_name_kind(btf, PER_CPU_SECTION, BTF_KIND_DATASEC);
	if (id > 0) {
		const struct btf_type *section = btf__type_by_id(btf, (uint32_t)id);

		if (variable_offset(btf, section, "hrtimer_bases", &from) &&
		    variable_offset(btf, section, "__irq_regs", &to))
			distance = (int32_t)(to - from);
	}
	btf__free(btf);
	return distance;
}

int tick_hook_find(const char *kallsyms, const char *btf, struct tick_hook *ret, struct fault *reterr)
{
	struct tick_hook hook = { 0 };
	int r = handler_find(kallsyms ? kallsyms : "/proc/kallsyms", &hook, reterr);

	if (r < 0)
		return r;
	hook.irq_regs_distance = distance_find(btf);
	*ret = hook;
	return 0;
}

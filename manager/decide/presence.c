/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/decide/presence.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SLOW_NS 2000000000u /* between two looks at what changes slowly */
#define NEXT_TO_NOTHING 0.05

bool presence_is_busy(const struct settings *settings, struct presence *p, uint64_t now_ns, uint64_t own_us,
		      char *retwhy, size_t size)
{
	uint64_t busy_us = 0, passed_us = (now_ns - p->at_ns) / 1000, busy, own;
	unsigned n_cpus = 1;
	bool is_known = machine_busy_us(settings, &busy_us, &n_cpus);

	if (!p->at_ns || now_ns - p->slow_ns >= SLOW_NS) {
		machine_load_read(settings, &p->load);
		p->slow_ns = now_ns;
	} else {
		p->load.pressure = machine_pressure(settings);
	}
	busy = busy_us > p->busy_us ? busy_us - p->busy_us : 0;
	own = own_us - p->own_us;
	p->others = !is_known || !p->at_ns || !passed_us || own_us < p->own_us ? -1 :
		    busy <= own ? 0 :
				  (double)(busy - own) / (double)passed_us / n_cpus;
	p->at_ns = now_ns;
	p->busy_us = busy_us;
	p->own_us = own_us;
	if (p->others > settings->idle_load) {
		snprintf(retwhy, size, "others use %.0f %% of the CPUs, allowed %.0f %%", 100 * p->others,
			 100 * settings->idle_load);
		return true;
	}
	p->load.load = -1; /* the edit is in it */
	p->load.used_by = p->used_by;
	if (p->others >= 0 && p->others < NEXT_TO_NOTHING)
		p->load.pressure = -1;
	return !machine_is_idle(settings, &p->load, retwhy, size);
}

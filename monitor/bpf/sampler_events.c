/* SPDX-License-Identifier: Apache-2.0 */

/* What is told one by one: new files, starts and ends of watched programs, whose share of that is used up. */

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "monitor/bpf/sampler_state.h"

int sampler_events_fd(const struct sampler *sampler)
{
	return ring_buffer__epoll_fd(sampler->ring);
}

int sampler_events(struct sampler *sampler,
		   void (*each)(const struct sampler_event *event, size_t size, void *closure), void *closure)
{
	sampler->each = each;
	sampler->closure = closure;
	return ring_buffer__consume(sampler->ring);
}

void sampler_flush(struct sampler *sampler)
{
	__atomic_fetch_add(&sampler->bpf->bss->control.cache_flushes, 1, __ATOMIC_RELEASE);
}

void sampler_forget(struct sampler *sampler, const struct sampler_file *file)
{
	bpf_map_delete_elem(bpf_map__fd(sampler->bpf->maps.announced), file);
	/* What is cached per CPU would never be announced. */
	sampler_flush(sampler);
}

void sampler_forget_all(struct sampler *sampler)
{
	struct sampler_file file, next;
	int fd = bpf_map__fd(sampler->bpf->maps.announced);

	while (bpf_map_get_next_key(fd, NULL, &next) == 0) {
		file = next;
		if (bpf_map_delete_elem(fd, &file) < 0 && errno != ENOENT)
			break;
	}
	sampler_flush(sampler);
}

int sampler_untold(struct sampler *sampler,
		   int (*each)(uint32_t user, const struct sampler_share *share, void *closure),
		   void *closure)
{
	int fd = bpf_map__fd(sampler->bpf->maps.shares), r = 0;
	uint32_t user, next, *previous = NULL;

	for (unsigned i = 0;
	     r == 0 && i < SAMPLER_MAX_USERS && bpf_map_get_next_key(fd, previous, &next) == 0; i++) {
		struct sampler_share share, kept;

		user = next;
		previous = &user;
		if (bpf_map_lookup_elem(fd, &user, &share) < 0 ||
		    !(share.files_untold || share.deaths_untold || share.starts_untold))
			continue;
		/* What is counted in between is lost; it only tells that there was more. */
		kept = share;
		kept.files_untold = kept.deaths_untold = kept.starts_untold = 0;
		bpf_map_update_elem(fd, &user, &kept, BPF_EXIST);
		r = each(user, &share, closure);
	}
	return r;
}

/* The first program to watch makes starts and ends interesting. */
static int lifecycle_attach(struct sampler *sampler)
{
	struct sampler_bpf *bpf = sampler->bpf;

	if (sampler->options.no_lifecycle)
		return 0;
	if (!bpf->links.on_exec)
		bpf->links.on_exec = bpf_program__attach(bpf->progs.on_exec);
	if (bpf->links.on_exec && !bpf->links.on_exit)
		bpf->links.on_exit = bpf_program__attach(bpf->progs.on_exit);
	return bpf->links.on_exit ? 0 : -errno;
}

int sampler_watch(struct sampler *sampler, const struct sampler_inode *inode, bool on)
{
	struct sampler_inode key = *inode;
	int fd = bpf_map__fd(sampler->bpf->maps.watched), r = on ? lifecycle_attach(sampler) : 0;
	uint32_t one = 1;

	if (r < 0)
		return r;
	key.device = 0;
	r = on ? bpf_map_update_elem(fd, &key, &one, BPF_ANY) : bpf_map_delete_elem(fd, &key);
	return r < 0 && !(errno == ENOENT && !on) ? -errno : 0;
}

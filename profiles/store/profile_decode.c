/* SPDX-License-Identifier: Apache-2.0 */

/* Foreign bytes to a profile: the payload of either version, and then whether it makes sense. */

#include "profiles/store/profile.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/container.h"
#include "profiles/store/profile_walk.h"
#include "profiles/store/seen.h"

static int compare_functions(const void *a, const void *b)
{
	const struct profile_function *x = a, *y = b;

	return (x->guid > y->guid) - (x->guid < y->guid);
}

static int compare_shares(const void *a, const void *b)
{
	const struct profile_share *x = a, *y = b;

	return (x->guid > y->guid) - (x->guid < y->guid);
}

/* A sum of samples must be finite and not negative. */
static bool is_sum(double v)
{
	return v >= 0 && v <= 0x1p200;
}

static bool epoch_makes_sense(const struct profile_epoch *epoch)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < epoch->n_shares; i++) {
		sum += epoch->shares[i].share;
		if (i && epoch->shares[i].guid == epoch->shares[i - 1].guid)
			return false;
	}
	return sum <= UINT16_MAX && is_sum(epoch->samples);
}

static bool makes_sense(const struct profile *p)
{
	if (!is_sum(p->samples) || !is_sum(p->unmapped) || !is_sum(p->dropped) ||
	    !(p->carried >= 0 && p->carried <= 1) || !(p->scale >= 1 && p->scale < 2))
		return false;
	for (size_t i = 1; i < p->n_functions; i++)
		if (p->functions[i].guid == p->functions[i - 1].guid)
			return false;
	for (size_t i = 0; i < p->n_epochs; i++)
		if (!epoch_makes_sense(&p->epochs[i]))
			return false;
	return seen_makes_sense(p);
}

static int coded_read(struct reader *in, unsigned version, struct profile *profile)
{
	struct range_coder coder;
	int r;

	range_coder_decode(&coder, in->at, reader_left(in));
	r = profile_walk(&coder, version, profile);
	*in = coder.in;
	if (r < 0)
		return r;
	if (!range_coder_is_whole(&coder))
		return -EBADMSG;
	qsort(profile->functions, profile->n_functions, sizeof(*profile->functions), compare_functions);
	for (size_t i = 0; i < profile->n_epochs; i++)
		qsort(profile->epochs[i].shares, profile->epochs[i].n_shares,
		      sizeof(*profile->epochs[i].shares), compare_shares);
	return makes_sense(profile) ? 0 : -EBADMSG;
}

/* The one to be expected: it, if it is one of ours. */
static unsigned version_known(unsigned version)
{
	return version == PROFILE_VERSION_COLUMNS || version == PROFILE_VERSION ? version :
										  PROFILE_VERSION_SEEN;
}

int profile_decode(const void *container, size_t size, struct profile **ret, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer payload = { 0 };
	_clean_(profile_freep) struct profile *profile = profile_new();
	unsigned kind, version = PROFILE_VERSION;
	struct reader in;
	int r;

	if (!profile)
		return fault_errno(reterr, -ENOMEM, "profile");
	r = container_peek(container, size, &kind, &version, reterr);
	if (r == 0)
		r = container_unpack_limited(container, size, CONTAINER_PROFILE, version_known(version),
					     PROFILE_MAX_PAYLOAD_BYTES, &payload, reterr);
	if (r < 0)
		return r;
	in = reader_of(payload.data, payload.size);
	r = version == PROFILE_VERSION_COLUMNS ? profile_columns_read(&in, profile) :
						 coded_read(&in, version, profile);
	if (r == -EBADMSG)
		return fault_set(reterr, r, "damaged: the profile makes no sense at byte %zu of its payload",
				 reader_offset(&in));
	if (r < 0)
		return fault_errno(reterr, r, "profile");
	*ret = TAKE(profile);
	return 0;
}

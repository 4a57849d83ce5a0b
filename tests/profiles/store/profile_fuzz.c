/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Foreign bytes as a profile, twice: as a container, and as the payload of a well-formed container
 * (otherwise the checksum would stop nearly every mutation), of the version that the last byte chooses. What decodes must merge, encode to
 * bytes that decode again, and those must encode to themselves.
 */

#include "profiles/store/profile.h"

#include <string.h>

#include "base/container.h"
#include "profiles/store/history.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
	if (!condition)
		abort();
}

/* Of two profiles only one is taken, by the luck of the input. */
static void encode_twice(const struct profile *profile)
{
	_clean_(profile_freep) struct profile *again = NULL;
	_clean_(buffer_donep) struct buffer first = { 0 }, second = { 0 };
	struct fault fault;

	must(profile_encode(profile, &first) == 0);
	must(profile_decode(first.data, first.size, &again, &fault) == 0);
	must(profile_encode(again, &second) == 0);
	must(first.size == second.size && memcmp(first.data, second.data, first.size) == 0);
}

static void decode(const uint8_t *data, size_t size)
{
	_clean_(profile_freep) struct profile *profile = NULL, *sum = profile_new();
	struct fault fault;

	must(sum != NULL);
	if (profile_decode(data, size, &profile, &fault) != 0)
		return;
	must(profile_merge(sum, 1, profile, &fault) == 0);
	must(profile_merge(sum, 0.7, profile, &fault) == 0);
	must(profile_merge(sum, 0, profile, &fault) == 0);
	encode_twice(size % 2 ? profile : sum);
	if (profile->n_epochs > 1) {
		history_overlap(&profile->epochs[0], &profile->epochs[1]);
		history_overlap_expected(&profile->epochs[0], &profile->epochs[1]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_clean_(buffer_donep) struct buffer framed = { 0 };
	static const unsigned versions[] = { PROFILE_VERSION, PROFILE_VERSION_COLUMNS, PROFILE_VERSION_SEEN };
	unsigned version = versions[size ? data[size - 1] % ARRAY_SIZE(versions) : 0];

	decode(data, size);
	if (container_pack(CONTAINER_PROFILE, version, data, size, 0, &framed) == 0)
		decode(framed.data, framed.size);
	return 0;
}

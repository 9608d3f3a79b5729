/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/replay/scale_calls.h"

#include <errno.h>
#include <stdlib.h>

struct rest {
	uint64_t rest;
	size_t index;
};

static int larger_first(const void *a, const void *b)
{
	const struct rest *one = a, *other = b;

	if (one->rest != other->rest)
		return one->rest < other->rest ? 1 : -1;
	return one->index < other->index ? -1 : one->index > other->index;
}

static uint64_t sum_of(const uint64_t *calls, size_t count)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		if (__builtin_add_overflow(sum, calls[i], &sum))
			return UINT64_MAX;
	return sum;
}

int scale_calls(uint64_t *calls, size_t count, uint64_t exact,
		uint64_t *unknown)
{
	uint64_t sum = sum_of(calls, count), given = 0;
	struct rest *rests;

	*unknown = sum ? 0 : exact;
	if (!sum || exact <= sum)
		return 0;
	rests = calloc(count, sizeof(*rests));
	if (!rests)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		unsigned __int128 share = (unsigned __int128)calls[i] * exact;

		calls[i] = (uint64_t)(share / sum);
		given += calls[i];
		rests[i] = (struct rest){ (uint64_t)(share % sum), i };
	}
	qsort(rests, count, sizeof(*rests), larger_first);
	/* Fewer than the stacks: each rounds by less than one. */
	for (size_t i = 0; given < exact; i++, given++)
		calls[rests[i].index]++;
	free(rests);
	return 0;
}

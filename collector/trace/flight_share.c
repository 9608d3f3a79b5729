/* SPDX-License-Identifier: Apache-2.0
 *
 * flight_share - the lock guards the list of members, so that no member is
 * freed while another thread shrinks it. The size of a member is read without
 * the member's lock, to find the largest.
 */
#include "collector/trace/flight_share.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "collector/base/clock.h"
#include "collector/base/lock.h"
#include "collector/trace/flight_memory_inner.h"
#include "shared/atomic.h"
#include "shared/compiler.h"

/* A member drops this much before another one is chosen. */
#define STEP_BYTES (UINT64_C(64) << 10)

struct flight_share {
	struct lock lock;
	uint64_t most_bytes;
	uint64_t used_bytes; /* atomic */
	uint32_t count; /* atomic: of members */
	struct flight_memory *first;
	uint64_t age_ns; /* next time to look for old segments */
};

int flight_share_new(uint64_t bytes, struct flight_share **out)
{
	struct flight_share *share = calloc(1, sizeof(*share));

	if (!share)
		return -ENOMEM;
	lock_init(&share->lock, LOCK_FLIGHT_SHARE);
	share->most_bytes = bytes;
	*out = share;
	return 0;
}

void flight_share_free(struct flight_share **share)
{
	struct flight_share *old = *share;

	*share = NULL;
	if (!old)
		return;
	assert(!old->first);
	lock_destroy(&old->lock);
	free(old);
}

void flight_share_join(struct flight_share *share, struct flight_memory *memory)
{
	lock_acquire(&share->lock);
	memory->next = share->first;
	share->first = memory;
	/* relaxed: shares are approximate */
	atom_add_rlx(&share->count, 1);
	lock_release(&share->lock);
}

void flight_share_leave(struct flight_share *share,
			struct flight_memory *memory)
{
	struct flight_memory **link = &share->first;

	lock_acquire(&share->lock);
	while (*link != memory)
		link = &(*link)->next;
	*link = memory->next;
	/* relaxed: as above */
	atom_add_rlx(&share->count, -1u);
	lock_release(&share->lock);
}

void flight_share_count(struct flight_share *share, int64_t more)
{
	/* relaxed: a sum; a thread that exceeds the limit settles later */
	atom_add_rlx(&share->used_bytes, (uint64_t)more);
}

static uint64_t used(const struct flight_share *share)
{
	/* relaxed: as above */
	return atom_load_rlx(&share->used_bytes);
}

static uint64_t share_of_one(const struct flight_share *share)
{
	/* relaxed: approximate */
	uint32_t count = atom_load_rlx(&share->count);

	return share->most_bytes / MAX(count, 1);
}

bool flight_share_is_full(const struct flight_share *share, uint64_t bytes,
			  unsigned int eighths)
{
	return used(share) > share->most_bytes / 8 * eighths &&
	       bytes > share_of_one(share) / 8 * eighths;
}

/* --- shrinking; lock held ------------------------------------------------ */

/* Returns the largest member above its share that has something to drop, or
 * NULL. */
static struct flight_memory *find_largest_memory(
	const struct flight_share *share)
{
	uint64_t most = share_of_one(share);
	struct flight_memory *found = NULL;

	for (struct flight_memory *one = share->first; one; one = one->next) {
		/* relaxed: the present size may differ a little */
		uint64_t bytes = atom_load_rlx(&one->told_bytes);

		if (bytes <= most || one->exhausted)
			continue;
		most = bytes;
		found = one;
	}
	return found;
}

void flight_share_settle(struct flight_share *share, uint64_t now_ns)
{
	/* Programs set the times of events, which may lie in the future. */
	now_ns = MIN(now_ns, clock_boottime_ns());
	/* relaxed: checked again under the lock */
	if (likely(now_ns < atom_load_rlx(&share->age_ns) &&
		   used(share) <= share->most_bytes))
		return;
	lock_acquire(&share->lock);
	if (now_ns >= share->age_ns) {
		uint64_t keep_ns = UINT64_MAX;

		for (struct flight_memory *one = share->first; one;
		     one = one->next) {
			flight_memory_age(one, now_ns);
			keep_ns = MIN(keep_ns, one->keep_ns);
		}
		/* relaxed: a hint for threads without the lock */
		atom_store_rlx(&share->age_ns, now_ns + keep_ns / 16);
	}
	if (used(share) > share->most_bytes) {
		struct flight_memory *most;

		for (struct flight_memory *one = share->first; one;
		     one = one->next)
			one->exhausted = false;
		while (used(share) > share->most_bytes &&
		       (most = find_largest_memory(share)))
			most->exhausted = !flight_memory_give(
				most,
				MIN(STEP_BYTES,
				    used(share) - share->most_bytes),
				now_ns);
	}
	lock_release(&share->lock);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * wakes - a sleeping reader is woken by the first write after it fell asleep. It
 * runs later, and other threads may write meanwhile. So the first write is the
 * answer, unless it may have woken another reader, or another thread wrote at
 * nearly the same time: its record comes before its call. A close ends a wait
 * only if no other end is open. So it counts only without a write, and if the
 * reader ran at once.
 *
 * The end of a wait may become known long after it, so each wait collects its
 * own writes. The records of a thread come in order, but those of another may
 * come earlier or later. All tables keep the last entry of each place. What is
 * forgotten is unknown.
 */
#include "collector/record/wakes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/budget.h"
#include "collector/base/lock.h"
#include "collector/names/modules.h"
#include "shared/compiler.h"
#include "shared/record_ext.h"

#define FILES 512u /* these four are powers of two */
#define WAITS 16384u
#define RECENT_WAITS 64u /* of a file: their writes may still come */
#define RECENT_WRITES 16u /* of a file: their waits may still come */
#define WRITERS 3u /* of a wait, the first ones */
#define CLOSE_NS 50000u /* writes at nearly the same time */
#define END_NS 100000u /* the longest time until a reader of the end runs */

struct expected_wait {
	uint64_t from_ns;
	pid_t tid; /* 0: none */
	bool is_shared; /* several threads wait for one of its files */
	/* The first write of each writer, and the last close; no modules: not
	 * used. */
	struct wake write[WRITERS], end;
};

struct awaited_file {
	uint64_t file;
	pid_t waiter; /* the last one */
	bool is_shared; /* several threads have waited for it */
	uint32_t waits, writes; /* counts */
	struct recent_wait {
		uint64_t from_ns;
		pid_t tid;
	} wait[RECENT_WAITS]; /* by number */
	struct wake write[RECENT_WRITES]; /* by number */
};

struct wakes {
	struct budget *budget;
	struct lock lock; /* guards all below */
	struct awaited_file *file[FILES];
	struct expected_wait *wait; /* WAITS, by time and thread; or NULL */
};

uint64_t wakes_file(pid_t pid, uint64_t object)
{
	return object & SYNC_NUMBERED
		       ? object << 32 | (uint32_t)pid | 1ULL << 63
		       : object;
}

int wakes_new(struct budget *budget, struct wakes **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	(*out)->budget = budget;
	lock_init(&(*out)->lock, LOCK_WAKES);
	return 0;
}

/* Allocates @bytes of zeros from the budget. NULL: no memory. */
static void *allocate_zeros(struct wakes *wakes, size_t bytes)
{
	void *zeros;

	if (!budget_take(wakes->budget, bytes))
		return NULL;
	zeros = calloc(1, bytes);
	if (!zeros)
		budget_give(wakes->budget, bytes);
	return zeros;
}

static void drop_file(struct wakes *wakes, struct awaited_file **place)
{
	struct awaited_file *old = *place;

	*place = NULL;
	if (!old)
		return;
	for (uint32_t i = 0; i < RECENT_WRITES; i++)
		modules_put(&old->write[i].modules);
	budget_give(wakes->budget, sizeof(*old));
	free(old);
}

static void drop_wait(struct expected_wait *wait)
{
	for (uint32_t i = 0; i < WRITERS; i++)
		modules_put(&wait->write[i].modules);
	modules_put(&wait->end.modules);
	*wait = (struct expected_wait){ .tid = 0 };
}

void wakes_free(struct wakes **wakes)
{
	struct wakes *old = *wakes;

	*wakes = NULL;
	if (!old)
		return;
	for (uint32_t i = 0; i < FILES; i++)
		drop_file(old, &old->file[i]);
	for (uint32_t i = 0; old->wait && i < WAITS; i++)
		drop_wait(&old->wait[i]);
	if (old->wait)
		budget_give(old->budget, WAITS * sizeof(*old->wait));
	free(old->wait);
	lock_destroy(&old->lock);
	free(old);
}

/* Returns the entry of @file, a new one if necessary. NULL: no memory. */
static struct awaited_file *keep_file(struct wakes *wakes, uint64_t file)
{
	struct awaited_file **place =
		&wakes->file[(file * 0x9e3779b97f4a7c15ULL) >> 32 &
			     (FILES - 1)];
	struct awaited_file *known = *place;

	if (known && known->file == file)
		return known;
	drop_file(wakes, place);
	known = allocate_zeros(wakes, sizeof(*known));
	if (known)
		known->file = file;
	*place = known;
	return known;
}

static struct expected_wait *expected_place(struct wakes *wakes, pid_t tid,
					    uint64_t from_ns)
{
	uint64_t key = from_ns ^ (uint64_t)tid << 40;

	return &wakes->wait[(key * 0x9e3779b97f4a7c15ULL) >> 32 & (WAITS - 1)];
}

static void keep_wake(struct wake *place, const struct wake *wake)
{
	modules_put(&place->modules);
	*place = *wake;
	place->modules = modules_get(wake->modules);
}

/* Adds @wake to the writes of @wait, if it is one of the first. */
static void offer_wake(struct expected_wait *wait, const struct wake *wake)
{
	struct wake *place = &wait->write[0];

	if (wake->tid == wait->tid || wake->ns < wait->from_ns)
		return;
	if (wake->closes) {
		if (!wait->end.modules || wake->ns > wait->end.ns)
			keep_wake(&wait->end, wake);
		return;
	}
	/* The place of the same writer, or a free one, or the latest write. */
	for (uint32_t i = 0; i < WRITERS; i++) {
		struct wake *other = &wait->write[i];

		if (other->modules && other->tid == wake->tid) {
			place = other;
			break;
		}
		if (place->modules &&
		    (!other->modules || other->ns > place->ns))
			place = other;
	}
	if (!place->modules || wake->ns < place->ns)
		keep_wake(place, wake);
}

/* Makes @wait one for @file. */
static void expect_file(struct wakes *wakes, struct expected_wait *wait,
			uint64_t file)
{
	struct awaited_file *known = keep_file(wakes, file);

	if (!known)
		return;
	known->is_shared |= known->waiter && known->waiter != wait->tid;
	known->waiter = wait->tid;
	wait->is_shared |= known->is_shared;
	known->wait[known->waits++ % RECENT_WAITS] =
		(struct recent_wait){ wait->from_ns, wait->tid };
	for (uint32_t i = 0; i < RECENT_WRITES; i++)
		if (known->write[i].modules)
			offer_wake(wait, &known->write[i]);
}

void wakes_expect(struct wakes *wakes, pid_t tid, uint64_t from_ns,
		  const uint64_t *file, uint32_t count)
{
	struct expected_wait *wait;

	lock_acquire(&wakes->lock);
	if (!wakes->wait)
		wakes->wait =
			allocate_zeros(wakes, WAITS * sizeof(*wakes->wait));
	if (wakes->wait) {
		wait = expected_place(wakes, tid, from_ns);
		drop_wait(wait);
		wait->tid = tid;
		wait->from_ns = from_ns;
		for (uint32_t i = 0; i < count; i++)
			expect_file(wakes, wait, file[i]);
	}
	lock_release(&wakes->lock);
}

void wakes_add(struct wakes *wakes, uint64_t file, const struct wake *wake)
{
	struct awaited_file *known;

	lock_acquire(&wakes->lock);
	known = keep_file(wakes, file);
	if (known)
		keep_wake(&known->write[known->writes++ % RECENT_WRITES], wake);
	for (uint32_t i = 1; known && i <= MIN(known->waits, RECENT_WAITS);
	     i++) {
		const struct recent_wait *recent =
			&known->wait[(known->waits - i) % RECENT_WAITS];
		struct expected_wait *wait =
			expected_place(wakes, recent->tid, recent->from_ns);

		if (recent->from_ns > wake->ns || wait->tid != recent->tid ||
		    wait->from_ns != recent->from_ns)
			continue;
		wait->is_shared |= known->is_shared;
		offer_wake(wait, wake);
		/* All older waits of one thread were over. */
		if (!known->is_shared)
			break;
	}
	lock_release(&wakes->lock);
}

/* Returns the write that ended @wait at @to_ns, or NULL. */
static const struct wake *waker_of_wait(const struct expected_wait *wait,
					uint64_t to_ns)
{
	const struct wake *first = NULL;

	for (const struct wake *write = wait->write;
	     write < wait->write + WRITERS; write++)
		if (write->modules && write->ns <= to_ns &&
		    (!first || write->ns < first->ns))
			first = write;
	for (const struct wake *write = wait->write;
	     first && write < wait->write + WRITERS; write++)
		if (write != first && write->modules && write->ns <= to_ns &&
		    (wait->is_shared || write->ns < first->ns + CLOSE_NS))
			return NULL;
	if (!first && wait->end.modules && wait->end.ns <= to_ns &&
	    wait->end.ns + END_NS >= to_ns)
		first = &wait->end;
	return first;
}

bool wakes_find(struct wakes *wakes, pid_t tid, uint64_t from_ns,
		uint64_t to_ns, struct wake *out)
{
	const struct expected_wait *wait;
	const struct wake *found = NULL;

	lock_acquire(&wakes->lock);
	if (wakes->wait) {
		wait = expected_place(wakes, tid, from_ns);
		if (wait->tid == tid && wait->from_ns == from_ns)
			found = waker_of_wait(wait, to_ns);
	}
	if (found) {
		*out = *found;
		out->modules = modules_get(out->modules);
	}
	lock_release(&wakes->lock);
	return found;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * clock_sync - one list of (tick, CLOCK_BOOTTIME) pairs for the whole daemon.
 * All drain workers share it under a lock.
 *
 * Between two pairs, time is the straight line through both. So time has no
 * steps, and the frequency of the counter need not be known. Beyond the last
 * pair the line goes on for EXTRAPOLATE_NS. That is enough: a worker reads a
 * pair after it has read the heads of rings, so the ticks in them are hardly
 * younger than the last pair. A younger tick is hostile, and counts as the end
 * of the line.
 *
 * A suspend moves BOOTTIME, but not always the counter. The counter of a
 * virtual machine may change its pace when the machine migrates. If the slope
 * of an interval is off the usual slope by more than SLOPE_PPM, the interval
 * runs at the usual pace, and time jumps at its end.
 *
 * A full list drops every second pair of its older half. Interpolation over a
 * longer stretch is no worse, and little of the past is needed: every ring is
 * drained many times a second.
 */
#include "collector/replay/clock_sync.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

#include "collector/base/clock.h"
#include "collector/base/lock.h"
#include "collector/base/search.h"
#include "shared/compiler.h"

#define PAIRS_MAX 4096
#define PAIR_AGE_NS 1000000
#define EXTRAPOLATE_NS (20 * PAIR_AGE_NS)
#define SLOPE_PPM 50
/* The error of a pair, however short the interval. */
#define PAIR_ERROR_NS 2000
#define READINGS 3

struct clock_pair {
	uint64_t tick;
	uint64_t ns;
	uint64_t ns_per_tick;
};

struct clock_sync {
	struct lock lock;
	uint64_t usual; /* ns_per_tick of the last sane interval */
	uint32_t count;
	struct clock_pair pair[PAIRS_MAX];
};

uint64_t clock_ticks(void)
{
#if defined(__x86_64__)
	return __rdtsc();
#elif defined(__aarch64__)
	uint64_t ticks;

	__asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#else
	return clock_boottime_ns();
#endif
}

static bool counter_invariant(void)
{
#if defined(__x86_64__)
	unsigned int a, b, c, d;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && d & 1 << 8;
#elif defined(__aarch64__)
	return true;
#else
	return false;
#endif
}

bool clock_ticks_usable(void)
{
	char source[32] = "";
	FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/"
			   "current_clocksource",
			   "re");

	if (!file)
		return false;
	if (!fgets(source, sizeof(source), file))
		source[0] = '\0';
	fclose(file);
	source[strcspn(source, "\n")] = '\0';
	return counter_invariant() &&
	       (!strcmp(source, "tsc") || !strcmp(source, "arch_sys_counter"));
}

/* Reads a pair a few times and returns the fastest reading. */
static void read_pair(uint64_t *tick, uint64_t *ns)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < READINGS; i++) {
		uint64_t before = clock_ticks();
		uint64_t middle = clock_boottime_ns();
		uint64_t took = clock_ticks() - before;

		if (took < least) {
			least = took;
			*tick = before + took / 2;
			*ns = middle;
		}
	}
}

/* Returns ns per tick between two pairs, times 2^32. */
static uint64_t slope_between(const struct clock_pair *from,
			      const struct clock_pair *to)
{
	unsigned __int128 ns = to->ns - from->ns;

	return (uint64_t)((ns << 32) / (to->tick - from->tick));
}

static bool is_usual_pace(const struct clock_sync *sync,
			  const struct clock_pair *from,
			  const struct clock_pair *to)
{
	unsigned __int128 ticks = to->tick - from->tick;
	uint64_t expected = (uint64_t)(ticks * sync->usual >> 32);
	uint64_t ns = to->ns - from->ns;
	uint64_t off = ns > expected ? ns - expected : expected - ns;

	return !sync->usual ||
	       off <= PAIR_ERROR_NS + expected / 1000000 * SLOPE_PPM;
}

static void thin_out_pairs(struct clock_sync *sync)
{
	uint32_t half = PAIRS_MAX / 2, kept = 0;

	for (uint32_t i = 0; i < half; i += 2) {
		struct clock_pair *next = &sync->pair[i + 2];

		sync->pair[kept] = sync->pair[i];
		if (is_usual_pace(sync, &sync->pair[kept], next))
			sync->pair[kept].ns_per_tick =
				slope_between(&sync->pair[kept], next);
		kept++;
	}
	memmove(&sync->pair[kept], &sync->pair[half],
		(PAIRS_MAX - half) * sizeof(sync->pair[0]));
	sync->count = kept + PAIRS_MAX - half;
}

static void append_pair(struct clock_sync *sync, uint64_t tick, uint64_t ns)
{
	struct clock_pair *last, *new;

	if (sync->count == PAIRS_MAX)
		thin_out_pairs(sync);
	new = &sync->pair[sync->count];
	*new = (struct clock_pair){ tick, ns, sync->usual };
	if (sync->count) {
		last = new - 1;
		if (tick <= last->tick || ns < last->ns)
			return;
		if (is_usual_pace(sync, last, new)) {
			last->ns_per_tick = slope_between(last, new);
			sync->usual = last->ns_per_tick;
		} else {
			last->ns_per_tick =
				MIN(sync->usual, slope_between(last, new));
			/* If the next interval agrees, it is the pace from now
			 * on. */
			sync->usual = slope_between(last, new);
		}
		new->ns_per_tick = sync->usual;
	}
	sync->count++;
}

void clock_sync_append(struct clock_sync *sync, uint64_t tick, uint64_t ns)
{
	lock_acquire(&sync->lock);
	append_pair(sync, tick, ns);
	lock_release(&sync->lock);
}

void clock_sync_update(struct clock_sync *sync)
{
	uint64_t tick = 0, ns;

	lock_acquire(&sync->lock);
	ns = clock_boottime_ns();
	if (!sync->count ||
	    ns - sync->pair[sync->count - 1].ns >= PAIR_AGE_NS) {
		read_pair(&tick, &ns);
		append_pair(sync, tick, ns);
	}
	lock_release(&sync->lock);
}

/* Returns the last pair not after @tick, or pair 0. */
static uint32_t find_pair(const struct clock_sync *sync, uint64_t tick)
{
	uint32_t after =
		search_first(i, sync->count, sync->pair[i].tick > tick);

	return after ? after - 1 : 0;
}

static struct clock_segment frozen_segment(uint64_t tick, uint64_t ticks,
					   uint64_t ns)
{
	return (struct clock_segment){ tick, ticks, ns, ns, 0 };
}

static struct clock_segment last_segment(const struct clock_pair *last,
					 uint64_t tick)
{
	uint64_t ticks = UINT64_MAX - last->tick, ns = EXTRAPOLATE_NS;

	if (last->ns_per_tick)
		ticks = MIN(ticks, (ns << 32) / last->ns_per_tick);
	/* The segment has only this tick: callers keep it, and later pairs
	 * define the ticks around it. */
	if (tick - last->tick >= ticks)
		return frozen_segment(tick, 1, last->ns + ns);
	return (struct clock_segment){ last->tick, ticks, last->ns,
				       last->ns + ns, last->ns_per_tick };
}

void clock_sync_segment(struct clock_sync *sync, uint64_t tick,
			struct clock_segment *out)
{
	const struct clock_pair *pair;

	lock_acquire(&sync->lock);
	pair = &sync->pair[find_pair(sync, tick)];
	if (tick < pair->tick)
		*out = frozen_segment(0, pair->tick, pair->ns);
	else if (pair == &sync->pair[sync->count - 1])
		*out = last_segment(pair, tick);
	else
		*out = (struct clock_segment){ pair->tick,
					       pair[1].tick - pair->tick,
					       pair->ns, pair[1].ns,
					       pair->ns_per_tick };
	lock_release(&sync->lock);
}

static uint32_t find_pair_ns(const struct clock_sync *sync, uint64_t ns)
{
	uint32_t after = search_first(i, sync->count, sync->pair[i].ns > ns);

	return after ? after - 1 : 0;
}

uint64_t clock_sync_tick(struct clock_sync *sync, uint64_t ns)
{
	unsigned __int128 ticks = 0;
	const struct clock_pair *pair;
	uint64_t most, tick;

	lock_acquire(&sync->lock);
	pair = &sync->pair[find_pair_ns(sync, ns)];
	most = pair == &sync->pair[sync->count - 1] ? UINT64_MAX : pair[1].tick;
	if (ns > pair->ns && pair->ns_per_tick)
		ticks = ((unsigned __int128)(ns - pair->ns) << 32) /
			pair->ns_per_tick;
	tick = (uint64_t)MIN(ticks, (unsigned __int128)(most - pair->tick)) +
	       pair->tick;
	lock_release(&sync->lock);
	return tick;
}

struct clock_segment clock_segment_identity(uint64_t now_ns)
{
	return (struct clock_segment){ 0, UINT64_MAX, 0, now_ns, 1ULL << 32 };
}

int clock_sync_new(struct clock_sync **out)
{
	struct clock_sync *sync = calloc(1, sizeof(*sync));
	struct timespec pause = { 0, PAIR_AGE_NS };

	if (!sync)
		return -ENOMEM;
	lock_init(&sync->lock, LOCK_CLOCK);
	clock_sync_update(sync);
	clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
	clock_sync_update(sync);
	*out = sync;
	return 0;
}

void clock_sync_free(struct clock_sync **sync)
{
	if (*sync)
		lock_destroy(&(*sync)->lock);
	free(*sync);
	*sync = NULL;
}

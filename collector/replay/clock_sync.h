/* SPDX-License-Identifier: Apache-2.0
 *
 * clock_sync - turns raw ticks into nanoseconds of CLOCK_BOOTTIME, the clock of
 * the trace. clock_sync.c says how.
 */
#ifndef PERFREC_COLLECTOR_REPLAY_CLOCK_SYNC_H
#define PERFREC_COLLECTOR_REPLAY_CLOCK_SYNC_H

#include <stdbool.h>
#include <stdint.h>

struct clock_sync;

/* A stretch of time in which ticks and nanoseconds run in step. */
struct clock_segment {
	uint64_t tick; /* where it starts */
	uint64_t ticks; /* how far it reaches */
	uint64_t ns; /* what @tick is */
	uint64_t ns_end; /* no tick in it is later than this */
	uint64_t ns_per_tick; /* times 2^32 */
};

/* Now, in the ticks that programs write (rdtsc, cntvct_el0). */
uint64_t clock_ticks(void);
/* Whether ticks may be used at all: an invariant counter that the kernel
 * itself trusts as its clocksource. */
bool clock_ticks_usable(void);

/* Reads the first two pairs, about a millisecond apart, so it sleeps for that
 * long. 0 or -ENOMEM; the caller ends *@out by clock_sync_free(). */
int clock_sync_new(struct clock_sync **out);
/* Also for NULL; clears *@sync. */
void clock_sync_free(struct clock_sync **sync);

/* Reads a pair of both clocks, unless the last pair is younger than a
 * millisecond. Call it after you have read the head of a ring: then nearly
 * every tick in the ring lies between two pairs. Any thread. */
void clock_sync_update(struct clock_sync *sync);

/* Adds the pair (@tick, @ns), as clock_sync_update() does. For tests. */
void clock_sync_append(struct clock_sync *sync, uint64_t tick, uint64_t ns);

/* The segment that holds @tick, into *@out. Every tick has one: a tick before
 * the first pair, or one that claims to be in the future, gets a segment in
 * which time stands still. Any thread. */
void clock_sync_segment(struct clock_sync *sync, uint64_t tick,
			struct clock_segment *out);

/* The tick at which it was @ns: the inverse of the above, within the error of a
 * pair. Before the first pair it is that of the first; beyond the last pair the
 * line goes on. Any thread. */
uint64_t clock_sync_tick(struct clock_sync *sync, uint64_t ns);

/* The only segment of a program whose ticks are nanoseconds already. Clocks
 * that are later than @now_ns count as @now_ns. */
struct clock_segment clock_segment_identity(uint64_t now_ns);

/* Whether @tick lies in @segment. */
static inline bool clock_segment_has(const struct clock_segment *segment,
				     uint64_t tick)
{
	return tick - segment->tick < segment->ticks;
}

/* @tick, which must lie in @segment, in ns of CLOCK_BOOTTIME. */
static inline uint64_t clock_segment_ns(const struct clock_segment *segment,
					uint64_t tick)
{
	unsigned __int128 wide = tick - segment->tick;
	uint64_t ns =
		segment->ns + (uint64_t)(wide * segment->ns_per_tick >> 32);

	return ns < segment->ns_end ? ns : segment->ns_end;
}

#endif

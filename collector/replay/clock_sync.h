/* SPDX-License-Identifier: Apache-2.0
 *
 * clock_sync - converts raw ticks to nanoseconds of CLOCK_BOOTTIME, the clock
 * of the trace. clock_sync.c explains how.
 */
#ifndef PERFREC_COLLECTOR_REPLAY_CLOCK_SYNC_H
#define PERFREC_COLLECTOR_REPLAY_CLOCK_SYNC_H

#include <stdbool.h>
#include <stdint.h>

struct clock_sync;

/* A stretch of time with one pace. */
struct clock_segment {
	uint64_t tick;
	uint64_t ticks;
	uint64_t ns; /* the time at @tick */
	uint64_t ns_end;
	uint64_t ns_per_tick; /* times 2^32 */
};

/* Returns the current ticks, as programs write them (rdtsc, cntvct_el0). */
uint64_t clock_ticks(void);
/* Returns true if ticks can be used at all: the counter is invariant, and the
 * kernel itself uses it as its clocksource. */
bool clock_ticks_usable(void);

/* Reads the first two pairs, so it sleeps for about a millisecond. Returns 0 or
 * -ENOMEM. The caller ends *@out with clock_sync_free(). */
int clock_sync_new(struct clock_sync **out);
void clock_sync_free(struct clock_sync **sync);

/* Reads a pair of both clocks, unless the last pair is younger than a
 * millisecond. Call it after reading the head of a ring, so that nearly every
 * tick in the ring lies between two pairs. Any thread. */
void clock_sync_update(struct clock_sync *sync);

/* For tests: adds the pair (@tick, @ns). */
void clock_sync_append(struct clock_sync *sync, uint64_t tick, uint64_t ns);

/* Sets *@out to the segment that holds @tick. Time stands still in the segment
 * of a tick before the first pair, or in the future. Any thread. */
void clock_sync_segment(struct clock_sync *sync, uint64_t tick,
			struct clock_segment *out);

/* Returns the tick at @ns: the inverse of clock_sync_segment(), within the
 * error of a pair. Before the first pair, returns the tick of that pair. Beyond
 * the last pair the line goes on. Any thread. */
uint64_t clock_sync_tick(struct clock_sync *sync, uint64_t ns);

/* Returns the only segment of a program whose ticks are nanoseconds. Times
 * later than @now_ns count as @now_ns. */
struct clock_segment clock_segment_identity(uint64_t now_ns);

static inline bool clock_segment_has(const struct clock_segment *segment,
				     uint64_t tick)
{
	return tick - segment->tick < segment->ticks;
}

/* Returns the time of @tick, which must lie in @segment, in ns of
 * CLOCK_BOOTTIME. */
static inline uint64_t clock_segment_ns(const struct clock_segment *segment,
					uint64_t tick)
{
	unsigned __int128 wide = tick - segment->tick;
	uint64_t ns =
		segment->ns + (uint64_t)(wide * segment->ns_per_tick >> 32);

	return ns < segment->ns_end ? ns : segment->ns_end;
}

#endif

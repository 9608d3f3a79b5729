/* SPDX-License-Identifier: Apache-2.0
 *
 * flight_share - the memory that the flight recorders of all recordings of a
 * collector have together. When it is full, the recording that has most gives
 * way, which need not be the one that wants more. What a recording has up to
 * its share, which is the same for all of them, no other one takes from it: not
 * even if what others have cannot be forgotten, such as names.
 *
 * Any thread. No lock of a flight_memory is held meanwhile.
 */
#ifndef PERFREC_COLLECTOR_TRACE_FLIGHT_SHARE_H
#define PERFREC_COLLECTOR_TRACE_FLIGHT_SHARE_H

#include <stdbool.h>
#include <stdint.h>

struct flight_memory;
struct flight_share;

/* Of @bytes for all of them. 0: the caller ends *@out by flight_share_free();
 * or -ENOMEM. */
int flight_share_new(uint64_t bytes, struct flight_share **out);
/* Frees *@share, which may be NULL, and clears it. Nobody is a member. */
void flight_share_free(struct flight_share **share);

/* @memory becomes a member, or is none any more. */
void flight_share_join(struct flight_share *share,
		       struct flight_memory *memory);
void flight_share_leave(struct flight_share *share,
			struct flight_memory *memory);

/* A member has @more bytes more than it had, which may be less than none. The
 * only call for whoever holds its lock. */
void flight_share_count(struct flight_share *share, int64_t more);
/* Whether a member with @bytes has more than its share, and all together have
 * more than @eighths eighths of what there is. Never waits. */
bool flight_share_is_full(const struct flight_share *share, uint64_t bytes,
			  unsigned int eighths);

/* After something was added, at @now_ns, CLOCK_BOOTTIME: makes members give way
 * if there is no room. Now and then what is too old in those that nobody
 * writes to is forgotten. A time ahead of the clock is taken for now. */
void flight_share_settle(struct flight_share *share, uint64_t now_ns);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * flight_share - the memory shared by the flight recorders of all recordings of
 * a collector. When it is full, the largest recording drops data, which need
 * not be the recording that grows. All recordings have the same share; up to
 * its share a recording keeps its data, even if the others have only data that
 * cannot be dropped, such as names.
 *
 * Any thread, without the lock of a flight_memory.
 */
#ifndef PERFREC_COLLECTOR_TRACE_FLIGHT_SHARE_H
#define PERFREC_COLLECTOR_TRACE_FLIGHT_SHARE_H

#include <stdbool.h>
#include <stdint.h>

struct flight_memory;
struct flight_share;

/* Creates *@out with @bytes for all members. Returns 0, and the caller frees it
 * with flight_share_free(); or -ENOMEM. */
int flight_share_new(uint64_t bytes, struct flight_share **out);
/* Frees *@share, which may be NULL and has no member, and clears it. */
void flight_share_free(struct flight_share **share);

void flight_share_join(struct flight_share *share,
		       struct flight_memory *memory);
void flight_share_leave(struct flight_share *share,
			struct flight_memory *memory);

/* Adds @more (may be negative) to the bytes of a member. The only function that
 * a thread may call under a member's lock. */
void flight_share_count(struct flight_share *share, int64_t more);
/* Returns true if a member with @bytes exceeds @eighths eighths of its share,
 * and all members together exceed @eighths eighths of the memory. Never
 * waits. */
bool flight_share_is_full(const struct flight_share *share, uint64_t bytes,
			  unsigned int eighths);

/* Call after adding data at @now_ns, CLOCK_BOOTTIME: shrinks members if memory
 * is full, and sometimes drops old segments of members without new data. A time
 * in the future counts as now. */
void flight_share_settle(struct flight_share *share, uint64_t now_ns);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * flight_view - the packets in the flight recorder's memory for a time range,
 * and the packets needed to read them: descriptions of tracks and names, begins
 * of open slices, last values. They have the order that a packet_window
 * (cut/packet_window.h) needs. One thread at a time; other threads may write to
 * the memory meanwhile.
 */
#ifndef PERFREC_COLLECTOR_TRACE_FLIGHT_VIEW_H
#define PERFREC_COLLECTOR_TRACE_FLIGHT_VIEW_H

#include <stdint.h>

struct compact;
struct flight_memory;
struct flight_view;
struct wire;

/* Creates *@out for [@from_ns, @to_ns), CLOCK_BOOTTIME. The view has all
 * packets of the memory in that range, and some others. Returns 0, and the
 * caller frees *@out with flight_view_free() before the memory; or -ENOMEM. */
int flight_view_new(struct flight_memory *memory, uint64_t from_ns,
		    uint64_t to_ns, struct flight_view **out);
/* Returns the time before which packets may be missing; 0: complete. */
uint64_t flight_view_first_ns(const struct flight_view *view);
void flight_view_free(struct flight_view **view);

/* Returns 1 and the next packet, without tag and length, valid until the next
 * call; 0 at the end; or -ENOMEM. */
int flight_view_next(struct flight_view *view, struct wire *out);
/* For callers that do not need packets. flight_view_run() returns the next
 * events if they are in the compact form, and sets *@sequence; else NULL. The
 * caller advances the result past the begins and ends that it has read, and
 * then calls flight_view_ran(). */
struct compact *flight_view_run(struct flight_view *view, uint32_t *sequence);
void flight_view_ran(struct flight_view *view);

#endif

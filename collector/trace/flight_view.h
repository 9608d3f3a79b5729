/* SPDX-License-Identifier: Apache-2.0
 *
 * flight_view - the packets that the flight recorder's memory has of a stretch
 * of time, and what is needed to read them: what describes tracks and names,
 * the begins of slices that are open, the last values. They are in the order in
 * which a packet_window (cut/packet_window.h) takes them. One thread at a time;
 * the memory goes on being written meanwhile.
 */
#ifndef PERFREC_COLLECTOR_TRACE_FLIGHT_VIEW_H
#define PERFREC_COLLECTOR_TRACE_FLIGHT_VIEW_H

#include <stdint.h>

struct compact;
struct flight_memory;
struct flight_view;
struct index_get;

/* Looks at [@from_ns, @to_ns), CLOCK_BOOTTIME. There is more in the view, but
 * nothing less, of what the memory has. 0: the caller ends *@out by
 * flight_view_free(), before the memory is freed; or -ENOMEM. */
int flight_view_new(struct flight_memory *memory, uint64_t from_ns,
		    uint64_t to_ns, struct flight_view **out);
/* What is before that time may be missing; 0: nothing is. */
uint64_t flight_view_first_ns(const struct flight_view *view);
/* Frees *@view, which may be NULL, and clears it. */
void flight_view_free(struct flight_view **view);

/* The next packet, without tag and length, until the next call. 1; 0: there are
 * no more; or -ENOMEM. */
int flight_view_next(struct flight_view *view, struct index_get *out);
/* The events that come next, if they are in the compact form, and *@sequence of
 * which they are; NULL: they are not. Whoever can do without their packets
 * moves it behind as many begins and ends as he has taken, and says so by
 * flight_view_ran(). */
struct compact *flight_view_run(struct flight_view *view, uint32_t *sequence);
void flight_view_ran(struct flight_view *view);

#endif

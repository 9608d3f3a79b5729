/* SPDX-License-Identifier: Apache-2.0
 *
 * flight_windows - which stretches of time snapshots will be of. An event
 * wants what it is about and a margin around it. Windows that overlap become
 * one, as long as that is short enough: so each event is in one window.
 *
 * One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_FLIGHT_FLIGHT_WINDOWS_H
#define PERFREC_COLLECTOR_FLIGHT_FLIGHT_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/flight/flight_queue.h"

/* So many events of a window are told one by one. */
#define FLIGHT_LISTED 16
/* So many windows wait: there are more only if the disk hangs, or if the
 * machine has no time for it. */
#define FLIGHT_PENDING 128

struct flight_window {
	uint64_t from_ns, to_ns; /* [from, to), CLOCK_BOOTTIME */
	uint64_t events; /* how many it is of */
	uint32_t listed; /* the first of them; 0: none is known closer */
	struct flight_event event[FLIGHT_LISTED];
};

struct flight_windows {
	uint64_t margin_ns;
	uint64_t most_ns; /* windows do not grow longer together */
	uint32_t count;
	uint64_t lost; /* events that no window has room for */
	struct flight_window window[FLIGHT_PENDING];
};

/* A window of a single event is at most 2 * @most_ns long: what is longer loses
 * its begin. */
void flight_windows_init(struct flight_windows *windows, uint64_t margin_ns,
			 uint64_t most_ns);
/* Takes in @event; or counts it as lost, if too many windows wait already. */
void flight_windows_add(struct flight_windows *windows,
			const struct flight_event *event);
/* The same of events of which only the times are known. */
void flight_windows_add_rest(struct flight_windows *windows,
			     const struct flight_rest *rest);

/* Whether flight_windows_take() would take one out. */
bool flight_windows_are_due(const struct flight_windows *windows,
			    uint64_t now_ns, uint64_t hurry_ns);
/* Takes the window out that ends first, if it has ended at @now_ns; or one that
 * began before @hurry_ns, before it is lost (0: none is), and then ends at
 * @now_ns if it has not ended yet. False: there is none. */
bool flight_windows_take(struct flight_windows *windows, uint64_t now_ns,
			 uint64_t hurry_ns, struct flight_window *out);

#endif

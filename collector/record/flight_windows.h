/* SPDX-License-Identifier: Apache-2.0
 *
 * flight_windows - the time spans of future snapshots. Each event asks for its
 * own span with a margin on both sides. Overlapping windows are joined while
 * the union is short enough, so each event is in one window.
 *
 * One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_RECORD_FLIGHT_WINDOWS_H
#define PERFREC_COLLECTOR_RECORD_FLIGHT_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/record/flight_queue.h"

/* Events of a window that are kept in full. */
#define FLIGHT_LISTED 16
/* Windows that can wait. More wait only if the disk hangs or the machine is
 * overloaded. */
#define FLIGHT_PENDING 128

struct flight_window {
	uint64_t from_ns, to_ns; /* [from, to), CLOCK_BOOTTIME */
	uint64_t events;
	uint32_t listed; /* entries of event[], the first events; 0: only times
			  * are known */
	struct flight_event event[FLIGHT_LISTED];
};

struct flight_windows {
	uint64_t margin_ns;
	uint64_t most_ns; /* the longest window that joining may create */
	uint32_t count;
	uint64_t lost; /* events dropped because all windows were in use */
	struct flight_window window[FLIGHT_PENDING];
};

/* @margin_ns: time before and after an event. A window of one event has at most
 * 2 * @most_ns; a longer one loses its beginning. */
void flight_windows_init(struct flight_windows *windows, uint64_t margin_ns,
			 uint64_t most_ns);
/* Adds a window for @event, or counts @event as lost if FLIGHT_PENDING windows
 * wait. */
void flight_windows_add(struct flight_windows *windows,
			const struct flight_event *event);
/* As flight_windows_add(), for events with known times but unknown causes. */
void flight_windows_add_rest(struct flight_windows *windows,
			     const struct flight_rest *rest);

bool flight_windows_are_due(const struct flight_windows *windows,
			    uint64_t now_ns, uint64_t hurry_ns);
/* Removes the window with the earliest end into *@out, if that end is at or
 * before @now_ns. A window that begins before @hurry_ns (0: ignored) is
 * returned early, cut at @now_ns, before the memory loses its events. Returns
 * false if no window is ready. */
bool flight_windows_take(struct flight_windows *windows, uint64_t now_ns,
			 uint64_t hurry_ns, struct flight_window *out);

#endif

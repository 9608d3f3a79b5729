/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/record/flight_windows.h"

#include <stddef.h>
#include <string.h>

#include "shared/compiler.h"

void flight_windows_init(struct flight_windows *windows, uint64_t margin_ns,
			 uint64_t most_ns)
{
	/* At least 1 ns, so that the window includes the end of the event. */
	windows->margin_ns = MAX(margin_ns, 1);
	windows->most_ns = most_ns;
	windows->count = 0;
	windows->lost = 0;
}

static uint64_t minus(uint64_t ns, uint64_t less)
{
	return ns > less ? ns - less : 0;
}

/* Returns true if the windows overlap, and their union is short enough or no
 * longer than one of the two. */
static bool fit_together(const struct flight_windows *windows,
			 const struct flight_window *left,
			 const struct flight_window *right)
{
	uint64_t from = MIN(left->from_ns, right->from_ns);
	uint64_t to = MAX(left->to_ns, right->to_ns), ns = to - from;

	return left->from_ns <= right->to_ns && right->from_ns <= left->to_ns &&
	       (ns <= windows->most_ns || ns == left->to_ns - left->from_ns ||
		ns == right->to_ns - right->from_ns);
}

static void join_windows(struct flight_window *window,
			 const struct flight_window *with)
{
	window->from_ns = MIN(window->from_ns, with->from_ns);
	window->to_ns = MAX(window->to_ns, with->to_ns);
	window->events += with->events;
	for (uint32_t i = 0; i < with->listed && window->listed < FLIGHT_LISTED;
	     i++)
		window->event[window->listed++] = with->event[i];
}

static void take_out(struct flight_windows *windows, uint32_t at)
{
	windows->count--;
	memmove(&windows->window[at], &windows->window[at + 1],
		(windows->count - at) * sizeof(windows->window[0]));
}

static void join_others(struct flight_windows *windows, uint32_t at)
{
	for (uint32_t i = 0; i < windows->count; i++) {
		struct flight_window *one = &windows->window[MIN(i, at)];
		struct flight_window *other = &windows->window[MAX(i, at)];

		if (i == at || !fit_together(windows, one, other))
			continue;
		join_windows(one, other);
		take_out(windows, MAX(i, at));
		at = MIN(i, at);
		i = UINT32_MAX;
	}
}

static void add_window(struct flight_windows *windows,
		       const struct flight_window *window)
{
	for (uint32_t i = 0; i < windows->count; i++) {
		if (!fit_together(windows, &windows->window[i], window))
			continue;
		join_windows(&windows->window[i], window);
		join_others(windows, i);
		return;
	}
	if (windows->count == FLIGHT_PENDING)
		windows->lost += window->events;
	else
		windows->window[windows->count++] = *window;
}

static void set_times(const struct flight_windows *windows, uint64_t begin_ns,
		      uint64_t end_ns, struct flight_window *window)
{
	window->to_ns = end_ns < UINT64_MAX - windows->margin_ns
				? end_ns + windows->margin_ns
				: UINT64_MAX;
	window->from_ns = MAX(minus(begin_ns, windows->margin_ns),
			      minus(window->to_ns, 2 * windows->most_ns));
}

void flight_windows_add(struct flight_windows *windows,
			const struct flight_event *event)
{
	struct flight_window window = { .events = 1, .listed = 1 };

	window.event[0] = *event;
	set_times(windows, event->begin_ns, event->end_ns, &window);
	add_window(windows, &window);
}

void flight_windows_add_rest(struct flight_windows *windows,
			     const struct flight_rest *rest)
{
	struct flight_window window = { .events = rest->count };

	set_times(windows, rest->begin_ns, rest->end_ns, &window);
	add_window(windows, &window);
}

static uint32_t find_due(const struct flight_windows *windows, uint64_t now_ns,
			 uint64_t hurry_ns)
{
	uint32_t best = UINT32_MAX;

	for (uint32_t i = 0; i < windows->count; i++) {
		const struct flight_window *one = &windows->window[i];

		if ((one->to_ns <= now_ns || one->from_ns < hurry_ns) &&
		    (best == UINT32_MAX ||
		     one->to_ns < windows->window[best].to_ns))
			best = i;
	}
	return best;
}

bool flight_windows_are_due(const struct flight_windows *windows,
			    uint64_t now_ns, uint64_t hurry_ns)
{
	return find_due(windows, now_ns, hurry_ns) != UINT32_MAX;
}

bool flight_windows_take(struct flight_windows *windows, uint64_t now_ns,
			 uint64_t hurry_ns, struct flight_window *out)
{
	uint32_t due = find_due(windows, now_ns, hurry_ns);

	if (due == UINT32_MAX)
		return false;
	*out = windows->window[due];
	out->to_ns = MIN(out->to_ns, MAX(now_ns, out->from_ns));
	take_out(windows, due);
	return true;
}

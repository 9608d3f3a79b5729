/* SPDX-License-Identifier: Apache-2.0
 *
 * window_leave - what is written when the rest of a trace follows as it is.
 */
#include <stdlib.h>

#include "collector/cut/packet_window_inner.h"

/* Tracks lie below each other: a track of waits below its thread. */
#define PARENTS_MAX 16

struct leaving {
	struct packet_window *window;
	const struct packet_window_rest *rest;
	uint64_t others_ns; /* what follows but on a sequence's own track is not
			     * earlier; 0: not known */
};

static bool has_own_clock(const struct wsequence *sequence)
{
	return sequence->sets_clock && sequence->track;
}

static bool lives(const struct leaving *leaving,
		  const struct wsequence *sequence)
{
	return leaving->rest->lives(leaving->rest->context,
				    (uint32_t)sequence->id);
}

static void look_at_sequences(struct leaving *leaving)
{
	const struct by_number *list = &leaving->window->sequences;

	for (uint32_t i = 0; i < list->ids.count; i++) {
		const struct wsequence *sequence = list->items[i];

		if (sequence->track && !lives(leaving, sequence))
			sequence->track->gone = true;
	}
}

/* Whether @track, or one that it lies below, is that of a thread or of a
 * context that has ended. */
static bool is_gone(const struct packet_window *window,
		    const struct wtrack *track)
{
	for (int i = 0; i < PARENTS_MAX && track; i++) {
		if (track->gone)
			return true;
		track = track->parent
				? by_number_find(&window->tracks, track->parent)
				: NULL;
	}
	return false;
}

static void put_sequences(struct leaving *leaving)
{
	const struct by_number *list = &leaving->window->sequences;

	for (uint32_t i = 0; i < list->ids.count; i++) {
		struct wsequence *sequence = list->items[i];

		if (sequence->track &&
		    is_gone(leaving->window, sequence->track))
			continue;
		window_start_as_is(leaving->window, sequence);
		window_put_names(leaving->window, sequence);
	}
}

/* The same of a slice on the track of @sequence. */
static uint64_t own_begin_of(const struct leaving *leaving,
			     const struct wsequence *sequence)
{
	const struct packet_window_rest *rest = leaving->rest;
	uint64_t step, ns = sequence->clock_ns;

	if (!rest->all_known)
		return ns;
	step = rest->next_step(rest->context, (uint32_t)sequence->id);
	if (step <= UINT64_MAX - ns)
		return MAX(ns, MIN(rest->from_ns, ns + step));
	return MAX(ns, rest->from_ns);
}

/* When @slice of @track begins in the rest. */
static uint64_t begin_of(const struct leaving *leaving,
			 const struct wtrack *track, const struct wslice *slice)
{
	const struct wsequence *sequence = slice->sequence;

	if (!has_own_clock(sequence) || sequence->track != track)
		return MAX(leaving->others_ns, slice->begin_ns);
	return own_begin_of(leaving, sequence);
}

static void put_track(struct leaving *leaving, struct wtrack *track)
{
	struct packet_window *window = leaving->window;
	uint64_t ns = 0;

	if (is_gone(window, track))
		return;
	window_use_track(window, track);
	for (uint32_t i = 0; i < track->slice_count; i++) {
		/* None begins before the one around it. */
		ns = MAX(ns, begin_of(leaving, track, &track->slices[i]));
		window_begin_again(window, track, &track->slices[i], ns);
	}
	if (track->last_count && track->lasts[0].sequence)
		window_put_last(window, track, &track->lasts[0],
				MAX(track->lasts[0].ns, leaving->others_ns));
}

/* Of all events, of whatever kind. */
static uint64_t last_ns(const struct packet_window *window)
{
	uint64_t ns =
		MAX(window->totals.last_ns, cut_sched_last_ns(window->sched));

	for (uint32_t i = 0; i < window->tracks.ids.count; i++) {
		const struct wtrack *track = window->tracks.items[i];

		ns = MAX(ns, track->now_ns);
		if (track->last_count)
			ns = MAX(ns, track->lasts[0].ns);
	}
	return ns;
}

uint64_t packet_window_leave(struct packet_window *window,
			     const struct packet_window_rest *rest)
{
	struct leaving leaving = { .window = window, .rest = rest };

	window->leaves = true;
	look_at_sequences(&leaving);
	if (rest->all_known)
		leaving.others_ns = rest->first_ns
					    ? MIN(rest->from_ns, rest->first_ns)
					    : rest->from_ns;
	put_sequences(&leaving);
	for (uint32_t i = 0; i < window->tracks.ids.count; i++)
		put_track(&leaving, window->tracks.items[i]);
	cut_sched_leave(window->sched, leaving.others_ns);
	return last_ns(window);
}

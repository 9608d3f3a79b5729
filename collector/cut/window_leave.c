/* SPDX-License-Identifier: Apache-2.0
 *
 * window_leave - writes the state for a rest of a trace that follows unchanged.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/protobuf.h"
#include "collector/cut/packet_window_inner.h"
#include "collector/trace/fields.h"

/* The depth of tracks below each other, as a track of waits below its
 * thread. */
#define PARENTS_MAX 16

/* --- the usual packets --------------------------------------------------- */

/* As encode.h writes them: 0a LL  50 S  5a MM 48 01 50 N  40 D. They have at
 * most 34 bytes, so 40 need no checks of bounds. */
#define USUAL_BYTES 40

static inline uint64_t take_varint(const uint8_t **at)
{
	const uint8_t *from = *at;
	uint64_t value = *from & 0x7f;

	for (unsigned int shift = 7; *from++ & 0x80 && shift < 70; shift += 7)
		value |= (uint64_t)(*from & 0x7f) << (shift & 63);
	*at = from;
	return value;
}

struct skipped {
	uint64_t type, name_iid, step;
};

/* Reads the packet at @at, whose bytes after its length must begin with the
 * first @count bytes of @head. Returns its end, or NULL if it is not a usual
 * one. */
static inline const uint8_t *take_skipped(const uint8_t *at, uint64_t head,
					  unsigned int count,
					  struct skipped *out)
{
	uint64_t begin, mask = UINT64_MAX >> (64 - 8 * count);
	const uint8_t *end = at + 2 + at[1], *event;

	memcpy(&begin, at + 2, sizeof(begin));
	if (at[0] != TAG_TRACE_PACKET || at[1] & 0x80 ||
	    (le64toh(begin) & mask) != head)
		return NULL;
	at += 2 + count;
	event = at + 1 + at[0];
	if (at[1] != TAG_TRACK_EVENT_TYPE)
		return NULL;
	out->type = at[2];
	at += 3;
	if (out->type == TYPE_SLICE_BEGIN) {
		if (*at++ != TAG_TRACK_EVENT_NAME_IID)
			return NULL;
		out->name_iid = take_varint(&at);
	} else if (out->type != TYPE_SLICE_END) {
		return NULL;
	}
	if (at != event || *at++ != TAG_TRACE_PACKET_TIMESTAMP)
		return NULL;
	out->step = take_varint(&at);
	return at == end ? end : NULL;
}

/* Returns the bytes behind the length of usual packets of @sequence, as a
 * little-endian number, and sets *@count to how many they are. */
static uint64_t usual_head(const struct wsequence *sequence,
			   unsigned int *count)
{
	uint8_t bytes[WIRE_FIELD_MAX + 1];
	uint8_t *end =
		wire_put(bytes, TAG_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID,
			 (uint32_t)sequence->id);
	uint64_t head;

	*end++ = TAG_TRACE_PACKET_TRACK_EVENT;
	*count = (unsigned int)(end - bytes);
	memset(end, 0, sizeof(bytes) - *count);
	memcpy(&head, bytes, sizeof(head));
	return le64toh(head);
}

/* Returns false for a BEGIN without room. */
static inline bool skip_slice(struct packet_window *window,
			      struct wsequence *sequence,
			      const struct skipped *skipped)
{
	struct wtrack *track = sequence->track;
	struct wslice *slice;

	sequence->clock_ns += skipped->step;
	track->now_ns = MAX(track->now_ns, sequence->clock_ns);
	if (skipped->type == TYPE_SLICE_END) {
		if (track->slice_count)
			track->slice_count--;
		return true;
	}
	slice = window_new_slice(window, track);
	if (!slice)
		return false;
	slice->sequence = sequence;
	slice->begin_ns = track->now_ns;
	slice->name_iid = skipped->name_iid;
	bytes_clear(&slice->fields);
	return true;
}

size_t packet_window_skip(struct packet_window *window, const uint8_t *at,
			  size_t count)
{
	struct wsequence *sequence = window->last_sequence;
	const uint8_t *from = at, *end = at + count, *next;
	struct skipped skipped = { 0 };
	unsigned int head_bytes;
	uint64_t head;

	if (!sequence || !sequence->track || sequence->track->deeper ||
	    sequence->id > UINT32_MAX ||
	    !is_clock_of_sequence(sequence->clock_id))
		return 0;
	head = usual_head(sequence, &head_bytes);
	while (end - at >= USUAL_BYTES && at[1] < USUAL_BYTES) {
		next = take_skipped(at, head, head_bytes, &skipped);
		if (!next || next > end)
			break;
		at = next;
		if (unlikely(!skip_slice(window, sequence, &skipped)))
			break;
	}
	if (at != from)
		window->totals.last_ns =
			MAX(window->totals.last_ns, sequence->clock_ns);
	return (size_t)(at - from);
}

/* --- writing ------------------------------------------------------------- */

struct leaving {
	struct packet_window *window;
	const struct packet_window_rest *rest;
	uint64_t others_ns; /* no event of the rest is earlier, except on a
			     * sequence's own track; 0: unknown */
};

static bool lives(const struct leaving *leaving,
		  const struct wsequence *sequence)
{
	return leaving->rest->lives(leaving->rest->context,
				    (uint32_t)sequence->id);
}

static void look_at_sequences(struct leaving *leaving)
{
	const struct by_id *list = &leaving->window->sequences;

	for (uint32_t i = 0; i < list->ids.count; i++) {
		const struct wsequence *sequence = list->items[i];

		if (sequence->track && !lives(leaving, sequence))
			sequence->track->gone = true;
	}
}

/* Returns true if @track, or a track above it, belongs to an ended thread or
 * context. */
static bool is_gone(const struct packet_window *window,
		    const struct wtrack *track)
{
	for (int i = 0; i < PARENTS_MAX && track; i++) {
		if (track->gone)
			return true;
		track = track->parent
				? by_id_find(&window->tracks, track->parent)
				: NULL;
	}
	return false;
}

/* Returns true if switches of an ended thread may follow, which need its name
 * and its process: a CPU's are written some hundred at a time. */
static bool has_switches(const struct packet_window *window,
			 const struct wsequence *sequence)
{
	return sequence->track->tid &&
	       cut_sched_may_follow(window->sched, sequence->track->tid,
				    sequence->clock_ns);
}

static void put_sequences(struct leaving *leaving)
{
	const struct by_id *list = &leaving->window->sequences;

	for (uint32_t i = 0; i < list->ids.count; i++) {
		struct wsequence *sequence = list->items[i];

		if (!sequence->track ||
		    !is_gone(leaving->window, sequence->track)) {
			window_start_as_is(leaving->window, sequence);
			window_put_names(leaving->window, sequence);
		} else if (has_switches(leaving->window, sequence)) {
			window_start_as_is(leaving->window, sequence);
		}
	}
}

/* Returns the start in the rest of a slice on the track of @sequence. */
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

static uint64_t begin_of(const struct leaving *leaving,
			 const struct wtrack *track, const struct wslice *slice)
{
	const struct wsequence *sequence = slice->sequence;

	if (!sequence->sets_clock || sequence->track != track)
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
		/* None begins before the slice around it. */
		ns = MAX(ns, begin_of(leaving, track, &track->slices[i]));
		window_begin_again(window, track, &track->slices[i], ns);
	}
	if (track->last_count && track->lasts[0].sequence)
		window_put_last(window, track, &track->lasts[0],
				MAX(track->lasts[0].ns, leaving->others_ns));
}

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

/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/cut/packet_window_inner.h"
#include "collector/trace/fields.h"
#include "collector/trace/out_perfetto.h"

/* Deeper slices are counted, not kept. perfrec draws 512. */
#define SLICES_MAX 1024
/* The depth of tracks below each other: a context, its thread, its process. */
#define PARENTS_MAX 16

/* The last track with this pid or tid, since ids are reused. NULL: none yet,
 * but the cut has switches of the thread. */
struct id_track {
	int64_t id;
	struct wtrack *track;
};

void window_tracks_init(struct packet_window *window)
{
	by_id_init(&window->tracks, &window->budget);
	pool_init(&window->pids, &window->budget, sizeof(struct id_track),
		  sizeof(int64_t));
	pool_init(&window->tids, &window->budget, sizeof(struct id_track),
		  sizeof(int64_t));
}

static void free_track_parts(struct wtrack *track)
{
	for (uint32_t i = 0; i < track->slice_room; i++)
		bytes_release(&track->slices[i].fields);
	for (uint32_t i = 0; i < track->last_count; i++)
		bytes_release(&track->lasts[i].fields);
	bytes_release(&track->descriptor);
	free(track->slices);
	free(track->lasts);
}

void window_tracks_release(struct packet_window *window)
{
	for (uint32_t i = 0; i < window->tracks.ids.count; i++)
		free_track_parts(window->tracks.items[i]);
	by_id_release(&window->tracks);
	pool_release(&window->pids);
	pool_release(&window->tids);
}

struct wtrack *window_track(struct packet_window *window, uint64_t uuid)
{
	struct wtrack *track = by_id_find(&window->tracks, uuid);

	if (track)
		return track;
	track = by_id_add(&window->tracks, uuid, sizeof(*track));
	if (track)
		track->uuid = uuid;
	else
		window->totals.refused++;
	return track;
}

static struct wtrack *track_of_id(const struct pool *ids, int64_t id)
{
	const struct id_track *known = ids->items;
	struct id_track wanted = { .id = id };
	uint32_t number;

	return pool_find(ids, &wanted, &number) ? known[number].track : NULL;
}

static void keep_id(struct packet_window *window, struct pool *ids, int64_t id,
		    struct wtrack *track)
{
	struct id_track item = { id, track }, *known;
	uint32_t number;

	if (pool_intern(ids, &item, &number) < 0) {
		window->totals.refused++;
		return;
	}
	known = (struct id_track *)ids->items + number;
	track->used |= !known->track;
	*known = item;
}

void window_use_thread(struct packet_window *window, int64_t tid)
{
	const struct id_track item = { .id = tid };
	struct wtrack *thread = track_of_id(&window->tids, tid);
	uint32_t number;

	if (thread)
		window_use_track(window, thread);
	else if (pool_intern(&window->tids, &item, &number) < 0)
		window->totals.refused++;
}

/* --- descriptors --------------------------------------------------------- */

static void describe_process(struct packet_window *window, struct wtrack *track,
			     struct wire fields)
{
	struct wire_field field;

	track->is_process = true;
	while (wire_next(&fields, &field))
		if (field.tag == TAG_PROCESS_DESCRIPTOR_PID)
			track->pid = (int32_t)field.value;
	keep_id(window, &window->pids, track->pid, track);
}

static void describe_thread(struct packet_window *window, struct wtrack *track,
			    struct wire fields)
{
	struct wire_field field;

	while (wire_next(&fields, &field))
		if (field.tag == TAG_THREAD_DESCRIPTOR_PID)
			track->pid = (int32_t)field.value;
		else if (field.tag == TAG_THREAD_DESCRIPTOR_TID)
			track->tid = (int64_t)field.value;
	if (!track->process)
		track->process = track_of_id(&window->pids, track->pid);
	keep_id(window, &window->tids, track->tid, track);
}

static void describe_fields(struct packet_window *window, struct wtrack *track,
			    struct wire fields)
{
	struct wire_field field;
	bool named_waits = false;

	while (wire_next(&fields, &field))
		switch (field.tag) {
		case TAG_TRACK_DESCRIPTOR_PARENT_UUID:
			track->parent = field.value;
			break;
		case TAG_TRACK_DESCRIPTOR_NAME:
			named_waits =
				out_perfetto_is_waits(field.bytes, field.value);
			break;
		case TAG_TRACK_DESCRIPTOR_PROCESS:
			describe_process(window, track, wire_of(&field));
			break;
		case TAG_TRACK_DESCRIPTOR_THREAD:
			describe_thread(window, track, wire_of(&field));
			break;
		}
	track->is_waits = named_waits && track->parent;
}

void window_describe(struct packet_window *window, const struct wpacket *packet)
{
	struct wtrack *track =
		window_track(window, wire_find(packet->descriptor,
					       TAG_TRACK_DESCRIPTOR_UUID));
	struct bytes *out = &window->packet;
	struct wire descriptor = packet->descriptor;

	if (!track)
		return;
	describe_fields(window, track, descriptor);
	bytes_clear(out);
	bytes_field(out, TAG_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID,
		    packet->sequence->id);
	bytes_part(out, TAG_TRACE_PACKET_TRACK_DESCRIPTOR, descriptor.at,
		   (size_t)(descriptor.end - descriptor.at));
	if (out->count == track->descriptor.count &&
	    memcmp(out->at, track->descriptor.at, out->count) == 0)
		return;
	/* Ignores new names of a thread after the last range. */
	if (track->described && packet->sequence->clock_ns >= window->end_ns)
		return;
	if (!window_keep(window, &track->descriptor, out->at, out->count))
		return;
	track->described = false;
	if (track->used)
		window_use_track(window, track);
}

void window_use_track(struct packet_window *window, struct wtrack *track)
{
	if (!track || likely(track->described) || track->using)
		return;
	track->used = track->using = true;
	window_use_track(window, track->process);
	if (track->parent)
		window_use_track(window,
				 by_id_find(&window->tracks, track->parent));
	track->using = false;
	if (!track->descriptor.count)
		return;
	track->described = true;
	cut_file_packet(window->file, track->descriptor.at,
			track->descriptor.count);
}

/* --- chosen threads ------------------------------------------------------ */

static struct wtrack *thread_of(const struct packet_window *window,
				struct wtrack *track)
{
	for (int i = 0; i < PARENTS_MAX && track; i++) {
		if (track->tid)
			return track;
		track = track->parent
				? by_id_find(&window->tracks, track->parent)
				: NULL;
	}
	return NULL;
}

int cut_threads_compare(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

	return a < b ? -1 : a > b;
}

bool window_has_thread(const struct packet_window *window, int64_t tid)
{
	const struct cut_threads *threads = window->threads;

	return !threads || bsearch(&tid, threads->tids, threads->count,
				   sizeof(tid), cut_threads_compare);
}

bool window_has_track(const struct packet_window *window, struct wtrack *track)
{
	struct wtrack *thread;

	if (likely(!window->threads))
		return true;
	thread = thread_of(window, track);
	return !thread || window_has_thread(window, thread->tid);
}

/* --- slices -------------------------------------------------------------- */

static void begin_range(struct packet_window *window, struct wtrack *track)
{
	uint64_t ns = window->ranges->at[track->range].from;

	if (track->slice_count && window_has_track(window, track))
		for (uint32_t i = 0; i < track->slice_count; i++)
			window_begin_again(window, track, &track->slices[i],
					   ns);
	track->inside = true;
}

static void end_range(struct packet_window *window, struct wtrack *track,
		      uint64_t ns)
{
	if (track->slice_count && window_has_track(window, track))
		for (uint32_t i = track->slice_count; i-- > 0;)
			window_end_early(window, track, &track->slices[i], ns);
	track->inside = false;
	track->range++;
}

static void advance_slow(struct packet_window *window, struct wtrack *track,
			 uint64_t ns)
{
	const struct cut_ranges *ranges = window->ranges;

	while (track->range < ranges->count &&
	       ranges->at[track->range].to <= ns) {
		if (!track->inside)
			begin_range(window, track);
		end_range(window, track, ranges->at[track->range].to);
	}
	if (track->range < ranges->count &&
	    ranges->at[track->range].from <= ns && !track->inside)
		begin_range(window, track);
}

void window_advance(struct packet_window *window, struct wtrack *track,
		    uint64_t ns)
{
	const struct cut_range *range;

	if (track->range == window->ranges->count)
		return;
	range = &window->ranges->at[track->range];
	if (unlikely(ns >= (track->inside ? range->to : range->from)))
		advance_slow(window, track, ns);
}

struct wslice *window_new_slice(struct packet_window *window,
				struct wtrack *track)
{
	uint32_t before = track->slice_room;

	if (track->deeper || track->slice_count == SLICES_MAX ||
	    grow_array_from(&window->budget, track->slices, track->slice_room,
			    track->slice_count + 1)) {
		track->deeper++;
		window->totals.refused++;
		return NULL;
	}
	if (unlikely(track->slice_room > before))
		memset(track->slices + before, 0,
		       (track->slice_room - before) * sizeof(*track->slices));
	return &track->slices[track->slice_count++];
}

void window_push(struct packet_window *window, struct wtrack *track,
		 struct wsequence *sequence, uint64_t ns, uint64_t name_iid,
		 struct wire fields)
{
	struct wslice *slice = window_new_slice(window, track);

	if (!slice)
		return;
	slice->sequence = sequence;
	slice->begin_ns = ns;
	slice->name_iid = name_iid;
	bytes_clear(&slice->fields);
	if (fields.at)
		(void)window_keep(window, &slice->fields, fields.at,
				  (size_t)(fields.end - fields.at));
}

bool window_pop(struct packet_window *window, struct wtrack *track)
{
	if (track->deeper) {
		track->deeper--;
		return false;
	}
	if (!track->slice_count) {
		window->totals.bad_events++;
		return false;
	}
	track->slice_count--;
	return true;
}

/* --- counters and states ------------------------------------------------- */

static struct wlast *last_before(struct packet_window *window,
				 struct wtrack *track, uint32_t number)
{
	uint32_t room = track->last_count;

	if (grow_array_from(&window->budget, track->lasts, room, number + 1)) {
		window->totals.refused++;
		return NULL;
	}
	memset(track->lasts + track->last_count, 0,
	       (room - track->last_count) * sizeof(*track->lasts));
	track->last_count = room;
	return &track->lasts[number];
}

void window_note_last(struct packet_window *window, struct wtrack *track,
		      struct wsequence *sequence, uint64_t ns,
		      struct wire fields)
{
	const struct cut_ranges *ranges = window->ranges;
	uint32_t number = cut_ranges_after(ranges, ns);
	struct wlast *last;

	if (number == ranges->count || ns > ranges->at[number].from)
		return;
	last = last_before(window, track, number);
	if (!last || ns < last->ns)
		return;
	last->ns = ns;
	last->sequence = NULL;
	if (ns < ranges->at[number].from &&
	    window_keep(window, &last->fields, fields.at,
			(size_t)(fields.end - fields.at)))
		last->sequence = sequence;
}

static void put_lasts(struct packet_window *window, struct wtrack *track,
		      uint64_t end_ns)
{
	const struct cut_ranges *ranges = window->ranges;

	if (!track->last_count || !window_has_track(window, track))
		return;
	for (uint32_t i = 0; i < track->last_count && i < ranges->count; i++)
		if (track->lasts[i].sequence && ranges->at[i].from <= end_ns)
			window_put_last(window, track, &track->lasts[i],
					ranges->at[i].from);
}

/* --- the end ------------------------------------------------------------- */

/* Ends a range that goes on when the trace ends. */
static void end_track(struct packet_window *window, struct wtrack *track,
		      uint64_t ns)
{
	ns = MAX(ns, track->now_ns);
	window_advance(window, track, ns);
	if (track->inside)
		end_range(window, track, ns);
	put_lasts(window, track, ns);
}

static int compare_tracks(const void *left, const void *right)
{
	uint64_t a = (*(struct wtrack *const *)left)->uuid;
	uint64_t b = (*(struct wtrack *const *)right)->uuid;

	return a < b ? -1 : a > b;
}

/* Ends tracks in an order that does not depend on skipped packets. */
static void end_tracks(struct packet_window *window, uint64_t ns)
{
	uint32_t count = window->tracks.ids.count;
	struct wtrack **tracks = calloc((size_t)count + 1, sizeof(*tracks));

	for (uint32_t i = 0; tracks && i < count; i++)
		tracks[i] = window->tracks.items[i];
	if (tracks)
		qsort(tracks, count, sizeof(*tracks), compare_tracks);
	else
		window->totals.refused++;
	for (uint32_t i = 0; i < count; i++)
		end_track(window, tracks ? tracks[i] : window->tracks.items[i],
			  ns);
	free(tracks);
}

void window_tracks_end(struct packet_window *window, uint64_t ns)
{
	end_tracks(window, ns);
	for (uint32_t i = 0; i < window->tracks.ids.count; i++) {
		struct wtrack *track = window->tracks.items[i], *thread;

		thread = track->has_slices ? thread_of(window, track) : NULL;
		if (!thread || thread->using || track->is_waits)
			continue;
		thread->using = true;
		window->totals.threads++;
	}
}

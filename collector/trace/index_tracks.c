/* SPDX-License-Identifier: Apache-2.0
 *
 * index_tracks - keeps the open slices of each track as the packets that began
 * them. Slices already in the index are not repeated: each extent stores how
 * many of these are still open, and the new ones. A track without open slices
 * is dropped once the index has it, so the tracks in memory are only those in
 * use.
 *
 * Switches of an extent are kept until its end. The index stores the last
 * switch of each CPU and of each thread. A thread's last switch has the
 * greatest time, because switches of two CPUs arrive in any order.
 */
#include "collector/trace/index_tracks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/budget.h"
#include "collector/base/bytes.h"
#include "collector/base/grow.h"
#include "collector/base/pool.h"
#include "collector/trace/index_curves.h"
#include "collector/trace/index_file.h"
#include "collector/trace/out_perfetto.h"
#include "collector/trace/out_sched.h"
#include "collector/trace/packet_look.h"
#include "shared/compiler.h"

/* Budget of all tracks. */
#define BUDGET_BYTES (UINT64_C(64) << 20)
/* The depth that readers follow (cut/window_tracks.c). */
#define SLICES_MAX 1024u
/* Few extents are shorter. */
#define EXTENT_BYTES (256u << 10)
/* Budget of the curves of counters. */
#define CURVES_BYTES (UINT64_C(32) << 20)
/* Limit of tracks without open slices, in addition to the number of tracks in
 * use. */
#define SPARE_TRACKS 1024u

struct kept_packet {
	uint8_t *at; /* from malloc(); NULL: none */
	uint32_t count, room;
};

struct kept_track {
	uint64_t uuid;
	struct kept_packet *slices; /* open, outermost first */
	uint32_t slice_count, slice_room;
	uint32_t told; /* open slices at the start of the extent */
	uint32_t still; /* of these, still open */
	bool touched;
	struct kept_packet value; /* in this extent */
	uint64_t value_ns;
};

struct kept_switch {
	uint64_t ns;
	uint32_t cpu;
	int32_t left, came;
	uint64_t state;
	bool lost;
};

/* Time of a thread's last switch in this extent. */
struct last_switch {
	int64_t tid;
	uint64_t ns;
};

struct index_tracks {
	struct budget budget;
	struct pool tracks;
	struct pool waits; /* of uint64_t: uuids of tracks with waits */
	uint32_t *touched;
	uint32_t touched_count, touched_room;
	uint32_t used; /* tracks in use at the last forget_tracks() */
	uint64_t first_ns, last_ns; /* of events in the extent; 0, 0: none */
	uint64_t last_event_ns; /* without waits */
	bool lost; /* some state was not kept */

	uint32_t sequence;
	struct kept_switch *switches;
	uint32_t switch_count, switch_room;
	struct pool threads;
	struct sched_cpu {
		uint64_t ns;
		int32_t running;
		uint32_t last; /* number in switches + 1 */
	} cpus[OUT_SCHED_CPUS_MAX];

	struct budget curves_budget;
	struct index_curves curves;
	struct bytes curve_items; /* not in the index yet */

	struct bytes payload;
};

int index_tracks_new(struct index_tracks **out)
{
	struct index_tracks *tracks = calloc(1, sizeof(*tracks));

	if (!tracks)
		return -ENOMEM;
	tracks->budget.left = BUDGET_BYTES;
	tracks->curves_budget.left = CURVES_BYTES;
	index_curves_init(&tracks->curves, &tracks->curves_budget, true);
	pool_init(&tracks->tracks, &tracks->budget, sizeof(struct kept_track),
		  sizeof(uint64_t));
	pool_init(&tracks->waits, &tracks->budget, sizeof(uint64_t),
		  sizeof(uint64_t));
	pool_init(&tracks->threads, &tracks->budget, sizeof(struct last_switch),
		  sizeof(int64_t));
	*out = tracks;
	return 0;
}

static void release_packet(struct index_tracks *tracks,
			   struct kept_packet *packet)
{
	free(packet->at);
	budget_give(&tracks->budget, packet->room);
	*packet = (struct kept_packet){ 0 };
}

static void release_track(struct index_tracks *tracks, struct kept_track *track)
{
	for (uint32_t i = 0; i < track->slice_room; i++)
		release_packet(tracks, &track->slices[i]);
	free(track->slices);
	budget_give(&tracks->budget,
		    track->slice_room * sizeof(*track->slices));
	release_packet(tracks, &track->value);
}

void index_tracks_free(struct index_tracks **tracks)
{
	struct index_tracks *freed = *tracks;
	struct kept_track *track;

	if (!freed)
		return;
	track = freed->tracks.items;
	for (uint32_t i = 0; i < freed->tracks.count; i++, track++)
		release_track(freed, track);
	pool_release(&freed->tracks);
	pool_release(&freed->waits);
	pool_release(&freed->threads);
	index_curves_release(&freed->curves);
	bytes_release(&freed->curve_items);
	bytes_release(&freed->payload);
	free(freed->touched);
	free(freed->switches);
	free(freed);
	*tracks = NULL;
}

/* --- events -------------------------------------------------------------- */

static void note_tracks_time(struct index_tracks *tracks, uint64_t ns,
			     bool is_wait)
{
	if (!tracks->last_ns || ns < tracks->first_ns)
		tracks->first_ns = ns;
	tracks->last_ns = MAX(tracks->last_ns, ns);
	if (!is_wait)
		tracks->last_event_ns = MAX(tracks->last_event_ns, ns);
}

void index_tracks_sample(struct index_tracks *tracks, uint64_t ns)
{
	note_tracks_time(tracks, ns, false);
}

void index_tracks_describe(struct index_tracks *tracks, struct wire descriptor)
{
	struct wire_field field;
	uint64_t uuid = 0;
	bool is_waits = false;
	uint32_t number;

	while (wire_next(&descriptor, &field))
		if (field.tag == TAG_TRACK_DESCRIPTOR_UUID)
			uuid = field.value;
		else if (field.tag == TAG_TRACK_DESCRIPTOR_NAME)
			is_waits =
				out_perfetto_is_waits(field.bytes, field.value);
	if (is_waits && pool_intern(&tracks->waits, &uuid, &number) < 0)
		tracks->lost = true;
}

/* Returns track @uuid and marks it as touched, or NULL without room. */
static struct kept_track *touch(struct index_tracks *tracks, uint64_t uuid)
{
	const struct kept_track new = { .uuid = uuid };
	struct kept_track *track;
	uint32_t number;

	if (pool_intern(&tracks->tracks, &new, &number) < 0 ||
	    grow_array_from(&tracks->budget, tracks->touched,
			    tracks->touched_room, tracks->touched_count + 1)) {
		tracks->lost = true;
		return NULL;
	}
	track = (struct kept_track *)tracks->tracks.items + number;
	if (!track->touched)
		tracks->touched[tracks->touched_count++] = number;
	track->touched = true;
	return track;
}

static void keep_packet(struct index_tracks *tracks, struct kept_packet *to,
			const void *packet, size_t bytes)
{
	if (bytes > UINT32_MAX ||
	    grow_array_from(&tracks->budget, to->at, to->room, bytes)) {
		tracks->lost = true;
		return;
	}
	memcpy(to->at, packet, bytes);
	to->count = (uint32_t)bytes;
}

static void begin_slice(struct index_tracks *tracks, struct kept_track *track,
			const void *packet, size_t bytes)
{
	uint32_t before = track->slice_room;

	if (track->slice_count == SLICES_MAX ||
	    grow_array_from(&tracks->budget, track->slices, track->slice_room,
			    track->slice_count + 1)) {
		tracks->lost = true;
		return;
	}
	memset(track->slices + before, 0,
	       (track->slice_room - before) * sizeof(*track->slices));
	keep_packet(tracks, &track->slices[track->slice_count++], packet,
		    bytes);
}

static bool is_wait(struct index_tracks *tracks,
		    const struct packet_event *about)
{
	uint32_t number;

	return pool_find(&tracks->waits, &about->track, &number);
}

bool index_tracks_is_wait(struct index_tracks *tracks, struct wire event)
{
	struct packet_event about;

	if (!tracks->waits.count)
		return false;
	packet_look_at_event(event, &about);
	return is_wait(tracks, &about);
}

void index_tracks_event(struct index_tracks *tracks, uint64_t ns,
			struct wire event, const void *packet, size_t bytes)
{
	struct packet_event about;
	struct kept_track *track;

	packet_look_at_event(event, &about);
	note_tracks_time(tracks, ns, is_wait(tracks, &about));
	if (about.type == TYPE_COUNTER) {
		const struct index_count count = { about.track, about.is_double,
						   about.value };

		index_curves_take(&tracks->curves, ns, &count,
				  &tracks->curve_items);
	}
	if (about.type == TYPE_INSTANT)
		return;
	track = touch(tracks, about.track);
	if (!track)
		return;
	if (about.type == TYPE_SLICE_BEGIN)
		begin_slice(tracks, track, packet, bytes);
	else if (about.type == TYPE_SLICE_END) {
		if (track->slice_count)
			track->slice_count--;
		track->still = MIN(track->still, track->slice_count);
	} else {
		if (track->value.count && ns < track->value_ns)
			return;
		track->value_ns = ns;
		keep_packet(tracks, &track->value, packet, bytes);
	}
}

/* --- switches ------------------------------------------------------------ */

static void note_thread(struct index_tracks *tracks, int32_t tid, uint64_t ns)
{
	const struct last_switch item = { tid, ns };
	struct last_switch *known;
	uint32_t number;

	if (!tid)
		return;
	if (pool_intern(&tracks->threads, &item, &number) < 0) {
		tracks->lost = true;
		return;
	}
	known = (struct last_switch *)tracks->threads.items + number;
	known->ns = MAX(known->ns, ns);
}

static void take_switch(struct index_tracks *tracks, struct kept_switch at)
{
	struct sched_cpu *cpu = &tracks->cpus[at.cpu];

	if (grow_array_from(&tracks->budget, tracks->switches,
			    tracks->switch_room, tracks->switch_count + 1)) {
		tracks->lost = true;
		return;
	}
	/* Clamped as readers do it. */
	at.ns = cpu->ns = MAX(cpu->ns, at.ns);
	at.left = cpu->running;
	cpu->running = at.came;
	tracks->switches[tracks->switch_count++] = at;
	cpu->last = tracks->switch_count;
	note_thread(tracks, at.left, at.ns);
	note_thread(tracks, at.came, at.ns);
}

struct switch_lists {
	struct wire times, states, threads;
};

static struct switch_lists lists_of(struct wire sched)
{
	struct switch_lists lists = { 0 };
	struct wire_field field;

	while (wire_next(&sched, &field))
		switch (field.tag) {
		case TAG_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_SWITCH_TIMESTAMP:
			lists.times = wire_of(&field);
			break;
		case TAG_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_SWITCH_PREV_STATE:
			lists.states = wire_of(&field);
			break;
		case TAG_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_SWITCH_NEXT_PID:
			lists.threads = wire_of(&field);
			break;
		}
	return lists;
}

void index_tracks_switches(struct index_tracks *tracks, uint32_t sequence,
			   struct wire bundle)
{
	struct switch_lists lists = { 0 };
	struct wire_field field;
	uint64_t cpu = UINT64_MAX;
	bool lost = false;

	tracks->sequence = sequence;
	while (wire_next(&bundle, &field))
		if (field.tag == TAG_FTRACE_EVENT_BUNDLE_CPU)
			cpu = field.value;
		else if (field.tag == TAG_FTRACE_EVENT_BUNDLE_LOST_EVENTS)
			lost = field.value;
		else if (field.tag == TAG_FTRACE_EVENT_BUNDLE_COMPACT_SCHED)
			lists = lists_of(wire_of(&field));
	if (cpu < OUT_SCHED_CPUS_MAX) {
		struct kept_switch at = { .cpu = (uint32_t)cpu, .lost = lost };
		uint64_t step, came;

		while (wire_varint(&lists.times, &step) &&
		       wire_varint(&lists.states, &at.state) &&
		       wire_varint(&lists.threads, &came)) {
			at.ns += step;
			at.came = (int32_t)came;
			take_switch(tracks, at);
			at.lost = false;
		}
	}
}

/* Returns true if thread @tid has no switch later than @ns in the extent. */
static bool is_last_of(const struct index_tracks *tracks, int32_t tid,
		       uint64_t ns)
{
	const struct last_switch item = { .tid = tid };
	const struct last_switch *known = tracks->threads.items;
	uint32_t number;

	return tid && pool_find(&tracks->threads, &item, &number) &&
	       known[number].ns == ns;
}

static void put_switches(struct index_tracks *tracks, struct index_file *file)
{
	struct bytes *out = &tracks->payload;
	uint64_t before = 0;

	if (!tracks->switch_count)
		return;
	bytes_clear(out);
	bytes_varint(out, tracks->sequence);
	for (uint32_t i = 0; i < tracks->switch_count; i++) {
		const struct kept_switch *at = &tracks->switches[i];

		if (tracks->cpus[at->cpu].last != i + 1 &&
		    !is_last_of(tracks, at->left, at->ns) &&
		    !is_last_of(tracks, at->came, at->ns))
			continue;
		bytes_varint(out, at->cpu);
		bytes_varint(out, index_zigzag((int64_t)(at->ns - before)));
		bytes_varint(out, (uint32_t)at->left);
		bytes_varint(out, (uint32_t)at->came);
		bytes_varint(out, 2 * at->state + at->lost);
		before = at->ns;
	}
	tracks->lost |= out->failed;
	index_file_item(file, INDEX_SWITCHES, out->at, out->count);
	tracks->switch_count = 0;
	pool_release(&tracks->threads);
	pool_init(&tracks->threads, &tracks->budget, sizeof(struct last_switch),
		  sizeof(int64_t));
	for (uint32_t i = 0; i < OUT_SCHED_CPUS_MAX; i++)
		tracks->cpus[i].last = 0;
}

/* --- the end of an extent ------------------------------------------------ */

static void put_packet(struct bytes *out, const struct kept_packet *packet)
{
	bytes_varint(out, packet->count);
	bytes_put(out, packet->at, packet->count);
}

static void forget_tracks(struct index_tracks *tracks)
{
	struct pool old = tracks->tracks;
	struct kept_track *track = old.items;
	uint32_t number;

	pool_init(&tracks->tracks, &tracks->budget, sizeof(*track),
		  sizeof(uint64_t));
	for (uint32_t i = 0; i < old.count; i++, track++)
		if (!track->slice_count) {
			release_track(tracks, track);
		} else if (pool_intern(&tracks->tracks, track, &number) < 0) {
			release_track(tracks, track);
			tracks->lost = true;
		}
	pool_release(&old);
	tracks->used = tracks->tracks.count;
}

static void put_curves(struct index_tracks *tracks, struct index_file *file)
{
	struct bytes *items = &tracks->curve_items;

	index_curves_spare(&tracks->curves, EXTENT_BYTES);
	tracks->curves.lost |= items->failed;
	if (!items->failed)
		index_file_items(file, items->at, items->count);
	bytes_clear(items);
}

void index_tracks_end(struct index_tracks *tracks, struct index_file *file)
{
	index_curves_end(&tracks->curves, &tracks->curve_items);
	put_curves(tracks, file);
}

static void put_kept_track(struct index_tracks *tracks, struct index_file *file,
			   struct kept_track *track)
{
	struct bytes *out = &tracks->payload;

	bytes_clear(out);
	bytes_varint(out, track->uuid);
	bytes_varint(out, track->still);
	for (uint32_t i = track->still; i < track->slice_count; i++)
		put_packet(out, &track->slices[i]);
	if (track->value.count)
		put_packet(out, &track->value);
	tracks->lost |= out->failed;
	if (track->told || track->slice_count || track->value.count)
		index_file_item(file, INDEX_TRACK, out->at, out->count);
	track->told = track->still = track->slice_count;
	track->value.count = 0;
	track->touched = false;
}

static void put_rest(struct index_tracks *tracks, struct index_file *file)
{
	struct bytes *out = &tracks->payload;

	bytes_clear(out);
	bytes_varint(out, tracks->lost ? INDEX_REST_LOST : 0);
	bytes_varint(out, tracks->first_ns);
	bytes_varint(out, tracks->last_ns - tracks->first_ns);
	bytes_varint(out, tracks->last_event_ns);
	index_file_item(file, INDEX_REST, out->at, out->count);
	tracks->first_ns = tracks->last_ns = tracks->last_event_ns = 0;
}

void index_tracks_put(void *context, struct index_file *file)
{
	struct index_tracks *tracks = context;

	for (uint32_t i = 0; i < tracks->touched_count; i++)
		put_kept_track(tracks, file,
			       (struct kept_track *)tracks->tracks.items +
				       tracks->touched[i]);
	tracks->touched_count = 0;
	put_curves(tracks, file);
	put_switches(tracks, file);
	put_rest(tracks, file);
	if (tracks->tracks.count > 2 * tracks->used + SPARE_TRACKS)
		forget_tracks(tracks);
}

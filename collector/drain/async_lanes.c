/* SPDX-License-Identifier: Apache-2.0
 *
 * async_lanes - a track is a stack, so slices that overlap cannot share a
 * track. A track of the program becomes several lanes, one for each slice that
 * is open at a time. The lanes have one name, and a viewer draws them as one
 * track. The first lane is the track itself.
 *
 * The packets of a lane are kept until nothing is open on it, and then written
 * together. So a trace that stops, at its size limit or because the collector
 * is killed, has no slice without an end. There are two exceptions that write
 * while a slice is open: a lane that keeps more than KEPT_BYTES, and any lane
 * while all lanes keep more than KEPT_ALL_BYTES.
 *
 * The packets are on a sequence of the process. They have absolute times of the
 * trace's clock, because they are not written in the order of time.
 */
#include "collector/drain/async_lanes.h"

#include <stdlib.h>
#include <string.h>

#include "collector/base/budget.h"
#include "collector/base/grow.h"
#include "collector/base/random.h"
#include "collector/drain/note.h"
#include "collector/names/sites.h"
#include "collector/record/recording.h"
#include "collector/record/tracks.h"
#include "collector/record/triggers.h"
#include "collector/trace/encode.h"
#include "collector/trace/fields.h"
#include "collector/trace/out_track.h"
#include "collector/trace/trace_file.h"

#define KEPT_BYTES (32u << 10) /* of a lane */
#define KEPT_ALL_BYTES (16u << 20) /* of all lanes */
#define FLUSH_BYTES (64u << 10)
#define LANES_MAX 4096 /* of a track */
#define QUIET_LANES 64
#define DEPTH_MAX 500 /* of slices on a lane; readers accept 512 */
#define BUCKETS_MIN 256u
/* Overhead of malloc() per block. */
#define MALLOC_BYTES 16

struct lane {
	uint64_t uuid;
	uint32_t number;
	uint32_t depth; /* 0: free */
	uint64_t last_ns; /* of the latest write; 0: none */
	struct bytes kept;
	size_t paid; /* taken from the budget, for kept */
};

struct shared_track {
	struct shared_track *next;
	uint64_t uuid;
	struct lane **lane;
	uint32_t count, room;
	uint32_t first_free; /* all lanes below are in use */
	uint64_t sum; /* of a counter: bits of an int64_t or a double */
	uint32_t set; /* of its triggers, if has_set */
	bool has_set;
};

uint32_t lanes_bucket(const struct async_lanes *lanes, uint64_t a, uint64_t b,
		      uint32_t buckets)
{
	const unsigned __int128 product =
		(unsigned __int128)(a ^ lanes->secret[0]) *
		(b ^ lanes->secret[1]);
	uint64_t hash = (uint64_t)(product ^ product >> 64);

	/* Keys at equal distances have products at equal distances: with some
	 * secrets their low bits have few values. */
	for (int i = 0; i < 2; i++) {
		hash ^= hash >> 32;
		hash *= 0x9e3779b97f4a7c15ULL;
	}
	return (uint32_t)(hash >> 32) & (buckets - 1);
}

/* --- memory -------------------------------------------------------------- */

void *lanes_take_memory(struct async_lanes *lanes, size_t bytes)
{
	void *memory;

	if (!budget_take(lanes->setup->budget, bytes + MALLOC_BYTES))
		return NULL;
	memory = calloc(1, bytes);
	if (!memory)
		budget_give(lanes->setup->budget, bytes + MALLOC_BYTES);
	return memory;
}

void lanes_give_memory(struct async_lanes *lanes, void *memory, size_t bytes)
{
	if (memory)
		budget_give(lanes->setup->budget, bytes + MALLOC_BYTES);
	free(memory);
}

/* Takes the growth of lane->kept by @most bytes from the budget. Returns false
 * if there is no budget. */
static bool pay_kept(struct async_lanes *lanes, struct lane *lane, size_t most)
{
	struct bytes *kept = &lane->kept;
	size_t before = kept->room;

	if (grow_array_from(lanes->setup->budget, kept->at, kept->room,
			    kept->count + most))
		return false;
	lane->paid += kept->room - before;
	lanes->kept += kept->room - before;
	return true;
}

static void release_kept(struct async_lanes *lanes, struct lane *lane)
{
	bytes_release(&lane->kept);
	budget_give(lanes->setup->budget, lane->paid);
	lanes->kept -= lane->paid;
	lane->paid = 0;
}

/* --- output -------------------------------------------------------------- */

void lanes_flush(struct async_lanes *lanes)
{
	if (lanes->out.count && !lanes->out.failed)
		trace_file_append(lanes->setup->trace, lanes->encoder.sequence,
				  lanes->out.at, lanes->out.count);
	bytes_clear(&lanes->out);
}

static void put_lane_packets(struct async_lanes *lanes, const uint8_t *packets,
			     size_t bytes)
{
	if (lanes->out.count + bytes > FLUSH_BYTES)
		lanes_flush(lanes);
	bytes_put(&lanes->out, packets, bytes);
}

static void start_sequence(struct async_lanes *lanes)
{
	uint8_t packet[256];
	uint32_t sequence;

	if (lanes->started)
		return;
	lanes->started = true;
	sequence = recording_sequence(lanes->recording);
	encoder_init(&lanes->encoder, sequence, 0);
	put_lane_packets(lanes, packet,
			 out_track_sequence(packet, sizeof(packet), sequence));
}

/* Writes lanes->interned in a packet of its own, before the packets that need
 * it. */
static void put_lane_names(struct async_lanes *lanes)
{
	const struct bytes *interned = &lanes->interned;
	struct bytes packet = { 0 };
	uint32_t sequence = lanes->encoder.sequence;

	if (!interned->count)
		return;
	bytes_field(
		&packet, TAG_TRACE_PACKET,
		bytes_field_size(TAG_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID,
				 sequence) +
			bytes_field_size(TAG_TRACE_PACKET_INTERNED_DATA,
					 interned->count) +
			interned->count);
	bytes_field(&packet, TAG_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID,
		    sequence);
	bytes_part(&packet, TAG_TRACE_PACKET_INTERNED_DATA, interned->at,
		   interned->count);
	if (!packet.failed && !interned->failed)
		put_lane_packets(lanes, packet.at, packet.count);
	bytes_release(&packet);
}

static size_t packet_bytes(const struct async_lanes *lanes)
{
	const struct encode_event event = { .absolute = true,
					    .field_bytes =
						    lanes->fields.count };

	return encode_event_bytes(&event);
}

static bool put_lane_event(struct async_lanes *lanes, struct bytes *to,
			   enum trace_event_type type, uint64_t ns,
			   uint32_t name_iid)
{
	const struct encode_event event = { .type = type,
					    .name_iid = name_iid,
					    .absolute = true,
					    .fields = lanes->fields.at,
					    .field_bytes =
						    lanes->fields.count };
	size_t most = encode_event_bytes(&event), before = to->count;
	uint8_t *at = lanes->fields.failed ? NULL : bytes_add(to, most);

	if (!at)
		return false;
	lanes->encoder.out = at;
	encode_event(&lanes->encoder, ns, &event);
	to->count = before + (size_t)(lanes->encoder.out - at);
	return true;
}

static void describe_number(struct async_lanes *lanes, const char *key,
			    uint64_t number)
{
	note_number(key, number, &lanes->names, &lanes->fields,
		    &lanes->interned);
}

/* Writes the data of @edge into lanes->fields, and writes new interned data.
 * Returns the iid of the name if it @begins. */
static uint32_t describe_edge(struct async_lanes *lanes,
			      const struct lane_edge *edge, bool begins,
			      uint64_t track)
{
	uint32_t iid = 0;

	start_sequence(lanes);
	bytes_clear(&lanes->fields);
	bytes_clear(&lanes->interned);
	bytes_field(&lanes->fields, TAG_TRACK_EVENT_TRACK_UUID, track);
	if (begins) {
		const struct site *site = edge->site;

		iid = seq_names_site(&lanes->names, site, &lanes->interned);
		if (edge->note && note_name(edge->note, &lanes->names,
					    &lanes->fields, &lanes->interned))
			iid |= ENCODE_NAMELESS;
		else if (!iid)
			bytes_text(&lanes->fields, TAG_TRACK_EVENT_NAME,
				   site->name, strlen(site->name));
	}
	if (edge->note)
		note_encode(edge->note, edge->site, &lanes->names,
			    &lanes->fields, &lanes->interned, NULL,
			    &lanes->notes);
	if (edge->thread && edge->thread[0])
		note_text("perfrec.thread", edge->thread, &lanes->names,
			  &lanes->fields, &lanes->interned);
	if (edge->sums && edge->sums->entered) {
		describe_number(lanes, "perfrec.busy_ns", edge->sums->busy_ns);
		describe_number(lanes, "perfrec.idle_ns",
				edge->sums->total_ns - edge->sums->active_ns);
		if (edge->sums->unknown_ns < edge->sums->busy_ns)
			describe_number(lanes, "perfrec.on_cpu_ns",
					edge->sums->on_cpu_ns);
		if (edge->sums->unknown_ns &&
		    edge->sums->unknown_ns < edge->sums->busy_ns)
			describe_number(lanes, "perfrec.unknown_sched_ns",
					edge->sums->unknown_ns);
	}
	put_lane_names(lanes);
	return iid;
}

/* --- lanes --------------------------------------------------------------- */

/* Returns false if there is no table. */
static bool grow_tracks(struct async_lanes *lanes)
{
	uint32_t before = lanes->track_buckets;
	uint32_t buckets = before ? 2 * before : BUCKETS_MIN;
	struct shared_track **table;

	if (lanes->track_count < before)
		return true;
	table = lanes_take_memory(lanes,
				  buckets * sizeof(struct shared_track *));
	if (!table)
		return before;
	for (uint32_t i = 0; i < before; i++) {
		struct shared_track *track, **head;

		while ((track = lanes->track[i])) {
			lanes->track[i] = track->next;
			head = &table[lanes_bucket(lanes, track->uuid, 0,
						   buckets)];
			track->next = *head;
			*head = track;
		}
	}
	lanes_give_memory(lanes, lanes->track,
			  before * sizeof(struct shared_track *));
	lanes->track = table;
	lanes->track_buckets = buckets;
	return true;
}

struct shared_track *lanes_track(struct async_lanes *lanes, uint64_t uuid)
{
	struct shared_track **head, *track;

	if (!grow_tracks(lanes))
		return NULL;
	head = &lanes->track[lanes_bucket(lanes, uuid, 0,
					  lanes->track_buckets)];
	for (track = *head; track; track = track->next)
		if (track->uuid == uuid)
			return track;
	track = lanes_take_memory(lanes, sizeof(*track));
	if (!track)
		return NULL;
	track->uuid = uuid;
	track->next = *head;
	*head = track;
	lanes->track_count++;
	return track;
}

static struct lane *new_lane(struct async_lanes *lanes,
			     struct shared_track *track)
{
	struct lane *lane;

	if (track->count == LANES_MAX ||
	    grow_array_from(lanes->setup->budget, track->lane, track->room,
			    track->count + 1))
		return NULL;
	lane = lanes_take_memory(lanes, sizeof(*lane));
	if (!lane)
		return NULL;
	lane->number = track->count;
	lane->uuid = track->count ? tracks_lane(lanes->tracks, track->uuid,
						track->count)
				  : track->uuid;
	track->lane[track->count++] = lane;
	return lane;
}

struct lane *lanes_free(struct async_lanes *lanes, struct shared_track *track)
{
	while (track->first_free < track->count) {
		struct lane *lane = track->lane[track->first_free];

		if (!lane->depth)
			return lane;
		track->first_free++;
	}
	return new_lane(lanes, track);
}

bool lanes_is_quiet(const struct lane *lane, uint64_t ns)
{
	return lane->last_ns <= ns && lane->depth < DEPTH_MAX;
}

struct lane *lanes_quiet(struct async_lanes *lanes, struct shared_track *track,
			 uint64_t ns)
{
	uint32_t end = MIN(track->count, track->first_free + QUIET_LANES);

	for (uint32_t i = track->first_free; i < end; i++)
		if (!track->lane[i]->depth && track->lane[i]->last_ns <= ns)
			return track->lane[i];
	return new_lane(lanes, track);
}

/* --- slices -------------------------------------------------------------- */

static void write_kept_packets(struct async_lanes *lanes, struct lane *lane)
{
	put_lane_packets(lanes, lane->kept.at, lane->kept.count);
	bytes_clear(&lane->kept);
}

/* Called while a slice is open on @lane. */
static void write_if_too_much(struct async_lanes *lanes, struct lane *lane)
{
	bool too_much = lanes->kept > KEPT_ALL_BYTES;

	if (too_much || lane->kept.count > KEPT_BYTES)
		write_kept_packets(lanes, lane);
	if (too_much)
		release_kept(lanes, lane);
}

bool lanes_put_begin(struct async_lanes *lanes, struct lane *lane,
		     const struct lane_edge *edge, uint64_t ns)
{
	uint32_t iid;

	if (lane->depth == DEPTH_MAX)
		return false;
	iid = describe_edge(lanes, edge, true, lane->uuid);
	if (!pay_kept(lanes, lane, packet_bytes(lanes)) ||
	    !put_lane_event(lanes, &lane->kept, TYPE_SLICE_BEGIN, ns, iid))
		return false;
	lane->depth++;
	lane->last_ns = ns;
	write_if_too_much(lanes, lane);
	return true;
}

void lanes_put_end(struct async_lanes *lanes, struct shared_track *track,
		   struct lane *lane, const struct lane_edge *edge, uint64_t ns)
{
	describe_edge(lanes, edge, false, lane->uuid);
	(void)pay_kept(lanes, lane, packet_bytes(lanes));
	put_lane_event(lanes, &lane->kept, TYPE_SLICE_END, ns, 0);
	lane->last_ns = ns;
	lane->depth--;
	if (lane->depth) {
		write_if_too_much(lanes, lane);
		return;
	}
	track->first_free = MIN(track->first_free, lane->number);
	write_kept_packets(lanes, lane);
	release_kept(lanes, lane);
}

/* --- counters ------------------------------------------------------------ */

bool lanes_step(struct async_lanes *lanes, uint64_t uuid,
		const struct site *site, uint64_t step, uint64_t ns)
{
	struct shared_track *track = lanes_track(lanes, uuid);
	struct bytes *fields = &lanes->fields;
	struct triggers *triggers;
	struct trigger_place place;

	if (!track)
		return false;
	start_sequence(lanes);
	track->sum = site_counter_add(site, track->sum, step);
	triggers = lanes->setup->triggers;
	place = (struct trigger_place){ .ns = ns, .pid = lanes->pid };
	if (!track->has_set)
		track->set = triggers_of_counter(triggers, site->name);
	track->has_set = true;
	if (track->set)
		triggers_counter(triggers, track->set, track->uuid, &place,
				 site->name,
				 site_counter_value(site, track->sum));
	bytes_clear(fields);
	bytes_field(fields, TAG_TRACK_EVENT_TRACK_UUID, uuid);
	if (site->flags & SITE_DOUBLE)
		bytes_fixed64(fields, TAG_TRACK_EVENT_DOUBLE_COUNTER_VALUE,
			      track->sum);
	else
		bytes_field(fields, TAG_TRACK_EVENT_COUNTER_VALUE, track->sum);
	if (lanes->out.count > FLUSH_BYTES)
		lanes_flush(lanes);
	put_lane_event(lanes, &lanes->out, TYPE_COUNTER, ns, 0);
	return true;
}

/* --- life ---------------------------------------------------------------- */

void lanes_init(struct async_lanes *lanes, struct recording *recording,
		struct tracks *tracks, pid_t pid)
{
	*lanes = (struct async_lanes){ .recording = recording,
				       .setup = recording_setup(recording),
				       .tracks = tracks,
				       .pid = pid,
				       .secret = { random_u64(),
						   random_u64() } };
	seq_names_init(&lanes->names, lanes->setup->budget, &lanes->last_iid);
}

static void free_shared_track(struct async_lanes *lanes,
			      struct shared_track *track)
{
	for (uint32_t i = 0; i < track->count; i++) {
		release_kept(lanes, track->lane[i]);
		lanes_give_memory(lanes, track->lane[i],
				  sizeof(*track->lane[i]));
	}
	budget_give(lanes->setup->budget, track->room * sizeof(struct lane *));
	free(track->lane);
	lanes_give_memory(lanes, track, sizeof(*track));
}

void lanes_release(struct async_lanes *lanes)
{
	for (uint32_t i = 0; i < lanes->track_buckets; i++) {
		struct shared_track *track;

		while ((track = lanes->track[i])) {
			lanes->track[i] = track->next;
			free_shared_track(lanes, track);
		}
	}
	lanes_give_memory(lanes, lanes->track,
			  lanes->track_buckets * sizeof(struct shared_track *));
	seq_names_release(&lanes->names);
	bytes_release(&lanes->out);
	bytes_release(&lanes->fields);
	bytes_release(&lanes->interned);
}

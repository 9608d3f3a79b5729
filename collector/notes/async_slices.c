/* SPDX-License-Identifier: Apache-2.0
 *
 * async_slices - a track is a stack, so slices that overlap cannot lie on one
 * track. Therefore a track of the program becomes several lanes: as many as
 * slices are open on it at a time. The lanes have one name, and a viewer draws
 * them as one track. The first lane is the track itself.
 *
 *   BEGIN   takes the first lane that is free; but if a slice with the same
 *           handle is open, it lies inside that slice
 *   END     ends the innermost slice with its handle; an END without a BEGIN is
 *           withheld
 *
 * The packets of a lane are kept until nothing is open on it, and are then
 * written together. So a trace that stops, at its size limit or because the
 * collector is killed, has no slice without an end. There are two exceptions,
 * which write while a slice is open: a lane that keeps more than KEPT_BYTES,
 * and whoever comes when all lanes keep KEPT_ALL_BYTES. A slice that is open
 * when its process ends is ended there.
 *
 * All memory is paid from the budget of the recording: slices, lanes, what
 * lanes keep, and both hash tables, which grow so that no bucket is long. What
 * there is no budget for is withheld, and counted. Only the END of a slice that
 * was begun is kept in any case: its lane may then have some bytes more than it
 * paid for.
 *
 * The packets are on a sequence of the process. They have absolute times of the
 * trace's clock, since they are not written in the order of their times.
 */
#include "collector/notes/async_slices.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/budget.h"
#include "collector/trace/encode.h"
#include "collector/replay/order.h"
#include "collector/trace/out_track.h"
#include "collector/record/recording.h"
#include "collector/notes/seq_names.h"
#include "collector/names/sites.h"
#include "collector/trace/trace_file.h"
#include "collector/record/tracks.h"
#include "collector/trace/fields.h"
#include "shared/atomic.h"

#define ORDER_BYTES (64ULL << 20)
#define KEPT_BYTES (32u << 10) /* of a lane */
#define KEPT_ALL_BYTES (16u << 20) /* of all lanes */
#define FLUSH_BYTES (64u << 10)
#define LANES_MAX 4096 /* of a track */
#define DEPTH_MAX 500 /* of slices on a lane; readers take 512 */
#define BUCKETS_MIN 256u
/* What malloc() takes beside each block that it gives. */
#define MALLOC_BYTES 16

struct lane {
	uint64_t uuid;
	uint32_t number;
	uint32_t depth; /* 0: free */
	struct bytes kept;
	size_t paid; /* of the budget, for kept */
};

/* A track of the program's, by its uuid. */
struct shared_track {
	struct shared_track *next;
	uint64_t uuid;
	struct lane **lane;
	uint32_t count, room;
	uint32_t first_free; /* lanes below it are taken */
	uint64_t sum; /* of a counter: bits of an int64_t or a double */
};

struct open_slice {
	struct open_slice *next; /* the latest first */
	uint64_t key, handle;
	struct shared_track *track;
	struct lane *lane;
};

#define CHUNK_SLICES 200

/* Slices of a program come and go; all of their memory goes with it, at once.
 */
struct slice_chunk {
	struct slice_chunk *next;
	struct open_slice slice[CHUNK_SLICES];
};

struct async_slices {
	struct recording *recording; /* outlives it */
	const struct recording_setup *setup; /* of the recording */
	struct tracks *tracks;
	struct order *order;
	uint64_t withheld; /* by feeders; relaxed */

	/* The consumer's. */
	struct encoder encoder;
	uint32_t last_iid;
	struct seq_names names;
	bool started; /* the sequence has its first packet */
	struct bytes out, fields, interned;
	uint64_t last_ns;
	size_t kept; /* what lanes have paid for */
	/* Hash tables; the numbers of buckets are powers of two. */
	struct open_slice **open;
	uint32_t open_count, open_buckets;
	struct open_slice *unused;
	struct slice_chunk *chunks;
	struct shared_track **track;
	uint32_t track_count, track_buckets;
	struct async_counts counts;
};

static uint32_t slice_bucket(uint64_t a, uint64_t b, uint32_t buckets)
{
	return (uint32_t)((a ^ b * 0x9e3779b97f4a7c15ULL) *
				  0xff51afd7ed558ccdULL >>
			  32) &
	       (buckets - 1);
}

/* --- memory -----------------------------------------------------------------
 */

static void *take_memory(struct async_slices *slices, size_t bytes)
{
	void *memory;

	if (!budget_take(slices->setup->budget, bytes + MALLOC_BYTES))
		return NULL;
	memory = calloc(1, bytes);
	if (!memory)
		budget_give(slices->setup->budget, bytes + MALLOC_BYTES);
	return memory;
}

static void give_memory(struct async_slices *slices, void *memory, size_t bytes)
{
	if (memory)
		budget_give(slices->setup->budget, bytes + MALLOC_BYTES);
	free(memory);
}

/* Pays for @most bytes more of lane->kept, as far as it has to grow for them.
 * False: there is no budget. */
static bool pay_kept(struct async_slices *slices, struct lane *lane,
		     size_t most)
{
	struct bytes *kept = &lane->kept;
	size_t before = kept->room;

	if (grow_array_from(slices->setup->budget, kept->at, kept->room,
			    kept->count + most))
		return false;
	lane->paid += kept->room - before;
	slices->kept += kept->room - before;
	return true;
}

static void release_kept(struct async_slices *slices, struct lane *lane)
{
	bytes_release(&lane->kept);
	budget_give(slices->setup->budget, lane->paid);
	slices->kept -= lane->paid;
	lane->paid = 0;
}

static size_t event_bytes(const struct async_event *event)
{
	return sizeof(*event) + MALLOC_BYTES +
	       (event->note ? sizeof(*event->note) + event->note->args.room +
				      event->note->name.room + 3 * MALLOC_BYTES
			    : 0);
}

static void event_free(struct async_slices *slices, struct async_event *event)
{
	budget_give(slices->setup->budget, event_bytes(event));
	if (event->note)
		note_release(event->note);
	free(event->note);
	free(event);
}

/* --- output -----------------------------------------------------------------
 */

static void flush_packets(struct async_slices *slices)
{
	if (slices->out.count && !slices->out.failed)
		trace_file_append(slices->setup->trace,
				  slices->encoder.sequence, slices->out.at,
				  slices->out.count);
	bytes_clear(&slices->out);
}

static void put_packets(struct async_slices *slices, const uint8_t *packets,
			size_t bytes)
{
	if (slices->out.count + bytes > FLUSH_BYTES)
		flush_packets(slices);
	bytes_put(&slices->out, packets, bytes);
}

static void start_sequence(struct async_slices *slices)
{
	uint8_t packet[256];
	uint32_t sequence;

	if (slices->started)
		return;
	slices->started = true;
	sequence = recording_sequence(slices->recording);
	encoder_init(&slices->encoder, sequence, 0);
	put_packets(slices, packet,
		    out_track_sequence(packet, sizeof(packet), sequence));
}

/* Write slices->interned in a packet of its own, at once: later packets rely on
 * it. */
static void put_interned(struct async_slices *slices)
{
	const struct bytes *interned = &slices->interned;
	struct bytes packet = { 0 };
	uint32_t sequence = slices->encoder.sequence;

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
	bytes_field(&packet, TAG_TRACE_PACKET_INTERNED_DATA, interned->count);
	bytes_put(&packet, interned->at, interned->count);
	if (!packet.failed && !interned->failed)
		put_packets(slices, packet.at, packet.count);
	bytes_release(&packet);
}

/* The most bytes of a packet with an event whose fields are in slices->fields.
 */
static size_t packet_bytes(const struct async_slices *slices)
{
	const struct encode_event event = { .absolute = true,
					    .field_bytes =
						    slices->fields.count };

	return encode_event_bytes(&event);
}

/* Append a packet with an event, whose fields are in slices->fields, to @to. */
static bool put_event(struct async_slices *slices, struct bytes *to,
		      enum trace_event_type type, uint64_t ns,
		      uint32_t name_iid)
{
	const struct encode_event event = { .type = type,
					    .name_iid = name_iid,
					    .absolute = true,
					    .fields = slices->fields.at,
					    .field_bytes =
						    slices->fields.count };
	size_t most = encode_event_bytes(&event), before = to->count;
	uint8_t *at = slices->fields.failed ? NULL : bytes_add(to, most);

	if (!at)
		return false;
	slices->encoder.out = at;
	encode_event(&slices->encoder, ns, &event);
	to->count = before + (size_t)(slices->encoder.out - at);
	slices->counts.written++;
	return true;
}

/* Put what @event says into slices->fields, and write what it interns. Returns
 * the iid of its name. */
static uint32_t describe_event(struct async_slices *slices,
			       const struct async_event *event, uint64_t track)
{
	const struct site *site = event->site;
	uint32_t iid = 0;

	start_sequence(slices);
	bytes_clear(&slices->fields);
	bytes_clear(&slices->interned);
	bytes_field(&slices->fields, TAG_TRACK_EVENT_TRACK_UUID, track);
	if (event->type == ASYNC_BEGIN) {
		iid = seq_names_site(&slices->names, site, &slices->interned);
		if (event->note &&
		    note_name(event->note, &slices->names, &slices->fields,
			      &slices->interned))
			iid |= ENCODE_NAMELESS;
		else if (!iid)
			bytes_text(&slices->fields, 23 << 3 | 2, site->name,
				   strlen(site->name));
	}
	if (event->note)
		note_encode(event->note, site, &slices->names, &slices->fields,
			    &slices->interned, &slices->counts.notes);
	put_interned(slices);
	return iid;
}

/* --- lanes ------------------------------------------------------------------
 */

/* Makes the table of tracks larger if it is full. False: there is no table. */
static bool grow_tracks(struct async_slices *slices)
{
	uint32_t before = slices->track_buckets;
	uint32_t buckets = before ? 2 * before : BUCKETS_MIN;
	struct shared_track **table;

	if (slices->track_count < before)
		return true;
	table = take_memory(slices, buckets * sizeof(struct shared_track *));
	if (!table)
		return before;
	for (uint32_t i = 0; i < before; i++) {
		struct shared_track *track, **head;

		while ((track = slices->track[i])) {
			slices->track[i] = track->next;
			head = &table[slice_bucket(track->uuid, 0, buckets)];
			track->next = *head;
			*head = track;
		}
	}
	give_memory(slices, slices->track,
		    before * sizeof(struct shared_track *));
	slices->track = table;
	slices->track_buckets = buckets;
	return true;
}

static struct shared_track *find_shared_track(struct async_slices *slices,
					      uint64_t uuid)
{
	struct shared_track **head, *track;

	if (!grow_tracks(slices))
		return NULL;
	head = &slices->track[slice_bucket(uuid, 0, slices->track_buckets)];
	for (track = *head; track; track = track->next)
		if (track->uuid == uuid)
			return track;
	track = take_memory(slices, sizeof(*track));
	if (!track)
		return NULL;
	track->uuid = uuid;
	track->next = *head;
	*head = track;
	slices->track_count++;
	return track;
}

static struct lane *new_lane(struct async_slices *slices,
			     struct shared_track *track)
{
	struct lane *lane;

	if (track->count == LANES_MAX ||
	    grow_array_from(slices->setup->budget, track->lane, track->room,
			    track->count + 1))
		return NULL;
	lane = take_memory(slices, sizeof(*lane));
	if (!lane)
		return NULL;
	lane->number = track->count;
	lane->uuid = track->count ? tracks_lane(slices->tracks, track->uuid,
						track->count)
				  : track->uuid;
	track->lane[track->count++] = lane;
	return lane;
}

/* The first one that is free. */
static struct lane *free_lane(struct async_slices *slices,
			      struct shared_track *track)
{
	while (track->first_free < track->count) {
		struct lane *lane = track->lane[track->first_free];

		if (!lane->depth)
			return lane;
		track->first_free++;
	}
	return new_lane(slices, track);
}

/* --- slices -----------------------------------------------------------------
 */

/* Makes the table of open slices larger if it is full. False: there is no
 * table.
 */
static bool grow_open(struct async_slices *slices)
{
	uint32_t before = slices->open_buckets;
	uint32_t buckets = before ? 2 * before : BUCKETS_MIN;
	struct open_slice **table;

	if (slices->open_count < before)
		return true;
	table = take_memory(slices, buckets * sizeof(struct open_slice *));
	if (!table)
		return before;
	for (uint32_t i = 0; i < before; i++) {
		/* A bucket becomes two, in which the latest stays the first. */
		struct open_slice **tail[2] = { &table[i], &table[i + before] };
		struct open_slice *slice = slices->open[i];

		for (; slice; slice = slice->next) {
			uint32_t to = slice_bucket(slice->key, slice->handle,
						   buckets) != i;

			*tail[to] = slice;
			tail[to] = &slice->next;
		}
		*tail[0] = *tail[1] = NULL;
	}
	give_memory(slices, slices->open, before * sizeof(struct open_slice *));
	slices->open = table;
	slices->open_buckets = buckets;
	return true;
}

/* Memory for a slice. NULL: there is no budget. */
static struct open_slice *take_slice(struct async_slices *slices)
{
	struct open_slice *slice = slices->unused;
	struct slice_chunk *chunk;

	if (slice) {
		slices->unused = slice->next;
		return slice;
	}
	chunk = take_memory(slices, sizeof(*chunk));
	if (!chunk)
		return NULL;
	chunk->next = slices->chunks;
	slices->chunks = chunk;
	for (int i = 1; i < CHUNK_SLICES; i++) {
		chunk->slice[i].next = slices->unused;
		slices->unused = &chunk->slice[i];
	}
	return &chunk->slice[0];
}

/* @slice may be NULL. */
static void give_slice(struct async_slices *slices, struct open_slice *slice)
{
	if (!slice)
		return;
	slice->next = slices->unused;
	slices->unused = slice;
}

/* slices->open must be there. */
static struct open_slice **find_open_slice(struct async_slices *slices,
					   uint64_t key, uint64_t handle)
{
	struct open_slice **link =
		&slices->open[slice_bucket(key, handle, slices->open_buckets)];

	while (*link && ((*link)->key != key || (*link)->handle != handle))
		link = &(*link)->next;
	return link;
}

static void write_kept_packets(struct async_slices *slices, struct lane *lane)
{
	put_packets(slices, lane->kept.at, lane->kept.count);
	bytes_clear(&lane->kept);
}

/* A slice is open on @lane, which has just kept more. */
static void write_if_too_much(struct async_slices *slices, struct lane *lane)
{
	bool too_much = slices->kept > KEPT_ALL_BYTES;

	if (too_much || lane->kept.count > KEPT_BYTES)
		write_kept_packets(slices, lane);
	if (too_much)
		release_kept(slices, lane);
}

/* Writes the begin of a slice to @lane. False: there is no room for it. */
static bool put_begin(struct async_slices *slices, struct lane *lane,
		      const struct async_event *event)
{
	uint32_t iid;

	if (lane->depth == DEPTH_MAX)
		return false;
	iid = describe_event(slices, event, lane->uuid);
	return pay_kept(slices, lane, packet_bytes(slices)) &&
	       put_event(slices, &lane->kept, TYPE_SLICE_BEGIN, event->ns, iid);
}

static void begin_slice(struct async_slices *slices,
			const struct async_event *event)
{
	struct open_slice *outer = NULL, *slice = NULL, **head;
	struct shared_track *track = NULL;
	struct lane *lane = NULL;

	if (grow_open(slices)) {
		outer = *find_open_slice(slices, event->key, event->handle);
		slice = take_slice(slices);
		track = outer ? outer->track
			      : find_shared_track(slices, event->track);
	}
	if (slice && track)
		lane = outer ? outer->lane : free_lane(slices, track);
	if (!lane || !put_begin(slices, lane, event)) {
		give_slice(slices, slice);
		slices->counts.withheld++;
		return;
	}
	lane->depth++;
	slice->key = event->key;
	slice->handle = event->handle;
	slice->track = track;
	slice->lane = lane;
	head = &slices->open[slice_bucket(slice->key, slice->handle,
					  slices->open_buckets)];
	slice->next = *head;
	*head = slice;
	slices->open_count++;
	write_if_too_much(slices, lane);
}

/* Writes the end of a slice to @lane. */
static void put_end(struct async_slices *slices, struct shared_track *track,
		    struct lane *lane, const struct async_event *event)
{
	describe_event(slices, event, lane->uuid);
	(void)pay_kept(slices, lane, packet_bytes(slices));
	put_event(slices, &lane->kept, TYPE_SLICE_END, event->ns, 0);
	lane->depth--;
	if (lane->depth)
		return;
	track->first_free = MIN(track->first_free, lane->number);
	write_kept_packets(slices, lane);
	release_kept(slices, lane);
}

static void close_slice(struct async_slices *slices, struct open_slice **link,
			const struct async_event *event)
{
	struct open_slice *slice = *link;

	*link = slice->next;
	put_end(slices, slice->track, slice->lane, event);
	give_slice(slices, slice);
	slices->open_count--;
}

static void end_slice(struct async_slices *slices,
		      const struct async_event *event)
{
	struct open_slice **link =
		slices->open
			? find_open_slice(slices, event->key, event->handle)
			: NULL;

	if (link && *link)
		close_slice(slices, link, event);
	else
		slices->counts.orphan_ends++;
}

static uint64_t add_step(const struct site *site, uint64_t sum, uint64_t step)
{
	double a, b;

	if (!(site->flags & SITE_DOUBLE))
		return sum + step;
	memcpy(&a, &sum, sizeof(a));
	memcpy(&b, &step, sizeof(b));
	a += b;
	memcpy(&sum, &a, sizeof(sum));
	return sum;
}

static void step_counter(struct async_slices *slices,
			 const struct async_event *event)
{
	struct shared_track *track = find_shared_track(slices, event->track);
	struct bytes *fields = &slices->fields;

	if (!track) {
		slices->counts.withheld++;
		return;
	}
	start_sequence(slices);
	track->sum = add_step(event->site, track->sum, event->step);
	bytes_clear(fields);
	bytes_field(fields, TAG_TRACK_EVENT_TRACK_UUID, event->track);
	if (event->site->flags & SITE_DOUBLE)
		bytes_fixed64(fields, TAG_TRACK_EVENT_DOUBLE_COUNTER_VALUE,
			      track->sum);
	else
		bytes_field(fields, TAG_TRACK_EVENT_COUNTER_VALUE, track->sum);
	if (slices->out.count > FLUSH_BYTES)
		flush_packets(slices);
	put_event(slices, &slices->out, TYPE_COUNTER,
		  event->at_ns ? event->at_ns : event->ns, 0);
}

/* --- the order --------------------------------------------------------------
 */

static void consume_events(void *context, const struct order_item *items,
			   size_t count)
{
	struct async_slices *slices = context;

	for (size_t i = 0; i < count; i++) {
		struct async_event *event =
			(struct async_event *)(uintptr_t)items[i].a;

		event->ns = slices->last_ns = MAX(slices->last_ns, event->ns);
		if (event->type == ASYNC_BEGIN)
			begin_slice(slices, event);
		else if (event->type == ASYNC_END)
			end_slice(slices, event);
		else
			step_counter(slices, event);
		event_free(slices, event);
	}
	flush_packets(slices);
}

struct order_stream *async_slices_open(struct async_slices *slices)
{
	struct order_stream *stream;

	return order_open(slices->order, &stream) == 0 ? stream : NULL;
}

void async_slices_feed(struct async_slices *slices, struct order_stream *stream,
		       uint64_t clock, const struct async_event *event)
{
	struct budget *budget = slices->setup->budget;
	size_t bytes = event_bytes(event);
	struct async_event *copy =
		budget_take(budget, bytes) ? malloc(sizeof(*copy)) : NULL;

	if (copy) {
		*copy = *event;
		order_feed(stream, (struct order_item){ .clock = clock,
							.a = (uintptr_t)copy,
							.c = event->type });
		return;
	}
	/* relaxed: a counter */
	atom_add_rlx(&slices->withheld, 1);
	if (event->note)
		note_release(event->note);
	free(event->note);
}

/* --- life -------------------------------------------------------------------
 */

int async_slices_new(struct recording *recording, struct tracks *tracks,
		     struct async_slices **out)
{
	const struct recording_setup *setup = recording_setup(recording);
	struct async_slices *slices = calloc(1, sizeof(*slices));

	if (!slices)
		return -ENOMEM;
	slices->recording = recording;
	slices->setup = setup;
	slices->tracks = tracks;
	seq_names_init(&slices->names, setup->budget, &slices->last_iid);
	if (order_new(setup->budget, ORDER_BYTES, consume_events, slices,
		      &slices->order) < 0) {
		free(slices);
		return -ENOMEM;
	}
	*out = slices;
	return 0;
}

struct order *async_slices_order(struct async_slices *slices)
{
	return slices->order;
}

static void track_free(struct async_slices *slices, struct shared_track *track)
{
	for (uint32_t i = 0; i < track->count; i++) {
		release_kept(slices, track->lane[i]);
		give_memory(slices, track->lane[i], sizeof(*track->lane[i]));
	}
	budget_give(slices->setup->budget, track->room * sizeof(struct lane *));
	free(track->lane);
	give_memory(slices, track, sizeof(*track));
}

static void free_open(struct async_slices *slices)
{
	struct slice_chunk *chunk;

	while ((chunk = slices->chunks)) {
		slices->chunks = chunk->next;
		give_memory(slices, chunk, sizeof(*chunk));
	}
	give_memory(slices, slices->open,
		    slices->open_buckets * sizeof(struct open_slice *));
}

static void free_tracks(struct async_slices *slices)
{
	for (uint32_t i = 0; i < slices->track_buckets; i++) {
		struct shared_track *track;

		while ((track = slices->track[i])) {
			slices->track[i] = track->next;
			track_free(slices, track);
		}
	}
	give_memory(slices, slices->track,
		    slices->track_buckets * sizeof(struct shared_track *));
}

/* Ends what is open, lane by lane: the table of open slices is in no order, and
 * is not needed any more. */
static void end_all(struct async_slices *slices, struct shared_track *track,
		    const struct async_event *event)
{
	for (uint32_t i = 0; i < track->count; i++) {
		slices->counts.unended += track->lane[i]->depth;
		while (track->lane[i]->depth)
			put_end(slices, track, track->lane[i], event);
	}
}

void async_slices_finish(struct async_slices *slices, uint64_t end_ns)
{
	struct async_event event = { .type = ASYNC_END };

	order_release_all(slices->order);
	event.ns = slices->last_ns = MAX(slices->last_ns, end_ns);
	for (uint32_t i = 0; i < slices->track_buckets; i++)
		for (struct shared_track *track = slices->track[i]; track;
		     track = track->next)
			end_all(slices, track, &event);
	flush_packets(slices);
	/* relaxed: feeders are done */
	slices->counts.withheld += atom_load_rlx(&slices->withheld);
	slices->counts.early = order_early(slices->order);
}

struct async_counts async_slices_counts(struct async_slices *slices)
{
	return slices->counts;
}

void async_slices_free(struct async_slices **slices)
{
	struct async_slices *old = *slices;

	*slices = NULL;
	if (!old)
		return;
	order_release_all(old->order);
	order_put(&old->order);
	free_open(old);
	free_tracks(old);
	seq_names_release(&old->names);
	bytes_release(&old->out);
	bytes_release(&old->fields);
	bytes_release(&old->interned);
	free(old);
}
